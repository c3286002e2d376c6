//! `sngp list`: every registry.

use anyhow::Result;
use serde::Serialize;
use sngp::backbone::BACKBONES;
use sngp::likelihood::Likelihood;
use sngp::method::Method;
use sngp::metrics::{Classification, Detection};
use sngp::score::Score;
use sngp_lab::dataset::PlaneDataset;
use sngp_lab::{language, vision};

use crate::context::Context;
use crate::output::{self, outln};

#[derive(Serialize)]
struct Section {
    kind: &'static str,
    entries: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    summary: &'static str,
}

/// The entries of a registry made by `registry!`.
macro_rules! section {
    ($kind:literal, $($registry:ty),+) => {{
        let mut entries = Vec::new();
        $(entries.extend(
            <$registry>::all().iter().map(|e| Entry { name: e.name(), summary: e.summary() }),
        );)+
        Section { kind: $kind, entries }
    }};
}

/// The built-in experiments; the first line of each says what it is.
fn experiments(built_in: &[(&'static str, &'static str)]) -> Vec<Entry> {
    let entry = |&(name, text): &(&'static str, &'static str)| Entry {
        name,
        summary: text.lines().next().unwrap_or_default().trim_start_matches("# "),
    };
    built_in.iter().map(entry).collect()
}

pub fn run(context: &Context) -> Result<()> {
    let backbones = BACKBONES.iter().map(|e| Entry { name: e.name, summary: e.summary }).collect();
    let sections = [
        section!("methods", Method),
        Section { kind: "backbones", entries: backbones },
        section!("likelihoods", Likelihood),
        section!("data sets", PlaneDataset),
        Section { kind: "experiments of bench clinc", entries: experiments(&language::BUILT_IN) },
        Section {
            kind: "experiments of bench cifar10 and cifar100",
            entries: experiments(&vision::BUILT_IN),
        },
        section!("metrics", Classification, Detection),
        section!("scores", Score),
    ];
    if context.json {
        return output::json(serde_json::json!({ "registries": sections }));
    }
    for (index, section) in sections.iter().enumerate() {
        if index > 0 {
            outln!("");
        }
        outln!("{}", section.kind);
        for entry in &section.entries {
            outln!("  {:22} {}", entry.name, entry.summary);
        }
    }
    Ok(())
}
