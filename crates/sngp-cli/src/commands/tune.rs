//! `sngp tune`: a norm bound, a length scale, a ridge and a factor, on held-out data.

use std::path::Path;

use anyhow::{Context as _, Result};
use sngp::Error;
use sngp::files::write_whole;
use sngp_lab::bench::{Search, Study, TuningConfig};
use sngp_lab::language::{self, TextExperiment};
use sngp_lab::vision::{self, VisionExperiment};

use super::bench::experiment;
use crate::args::Tune;
use crate::context::Context;
use crate::output::{self, outln};

/// An experiment of either kind, and its text.
enum Experiment {
    Images(Box<VisionExperiment>),
    Sentences(Box<TextExperiment>),
}

fn parse(text: &str) -> sngp::Result<(Experiment, String)> {
    let table: toml::Table =
        text.parse().map_err(|error| Error::Data(format!("experiment: {error}")))?;
    let experiment = match table.contains_key("encoder") {
        true => Experiment::Sentences(Box::new(TextExperiment::parse(text)?)),
        false => Experiment::Images(Box::new(VisionExperiment::parse(text)?)),
    };
    Ok((experiment, text.to_string()))
}

pub fn run(args: &Tune, context: &Context) -> Result<()> {
    let built_in = [&vision::BUILT_IN[..], &language::BUILT_IN[..]].concat();
    let (name, (experiment, text)) = experiment(&args.config, &built_in, parse)?;
    let out = args.out.clone().unwrap_or_else(|| format!("{name}-tuned.toml").into());
    if out.exists() {
        return Err(Error::corrupt(out, "it exists; choose another file with --out").into());
    }
    if let Some(parent) = out.parent() {
        std::fs::create_dir_all(parent).map_err(Error::io(parent))?;
    }
    let data = args.data.as_deref().context(
        "where is the data? --data FOLDER (or SNGP_DATA) names the folder the experiment's paths \
         are relative to",
    )?;
    let device = &context.device;
    let runs = args.runs.join(format!("{name}-tune"));
    let work = Work { args, context, name: &name, runs: &runs, text: &text, out: &out };
    context.progress.say(&format!("reading {}", data.display()));
    match experiment {
        Experiment::Images(mut experiment) => {
            args.choices(&mut experiment.tuning);
            work.search(&vision::Setup::read(*experiment, data, device)?)
        }
        Experiment::Sentences(mut experiment) => {
            args.choices(&mut experiment.tuning);
            let cache = runs.join("embeddings");
            work.search(&language::Setup::read(*experiment, data, &cache, device)?)
        }
    }
}

struct Work<'a> {
    args: &'a Tune,
    context: &'a Context,
    name: &'a str,
    runs: &'a Path,
    /// The experiment's text.
    text: &'a str,
    out: &'a Path,
}

impl Work<'_> {
    /// Searches, and writes and shows what was found.
    fn search(&self, study: &dyn Study) -> Result<()> {
        let Self { args, context, name, runs, text, out } = self;
        let observe = |name: String| context.progress.observer(name);
        let say = |text: &str| context.progress.say(text);
        let options = context.run_options(&observe, &say, runs);
        let search = args.search();
        let found = search.run(study, name, &options)?;
        let tuned = found.experiment(text, &search, study.bound(), study.tuning())?;
        write_whole(out, tuned.as_bytes())?;
        if context.json {
            return output::json(serde_json::to_value(&found)?);
        }
        output::print(&found.account(&search))?;
        outln!("Written: {}; networks in {}", out.display(), runs.display());
        Ok(())
    }
}

impl Tune {
    fn search(&self) -> Search {
        Search {
            method: self.method.clone(),
            seed: self.seed,
            bounds: self.bounds.clone(),
            length_scales: self.length_scales.clone(),
            tolerance: self.tolerance,
        }
    }

    /// What was asked for in place of the experiment's own.
    fn choices(&self, tuning: &mut TuningConfig) {
        for (own, asked) in
            [(&mut tuning.ridges, &self.ridges), (&mut tuning.factors, &self.factors)]
        {
            if !asked.is_empty() {
                own.clone_from(asked);
            }
        }
    }
}
