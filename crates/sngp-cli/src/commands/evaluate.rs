//! `sngp evaluate`: the evidence, in one page.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::json;
use sngp::Error;
use sngp::files::write_whole;
use sngp::score::Score;
use sngp_pipeline::Pipeline;
use sngp_pipeline::input::{Dataset, Place};
use sngp_report::evaluation::{Evaluation, evaluate};
use sngp_report::evidence::{Answered, Evidence, MetricRow, check, html, plots};
use sngp_report::figure::Figure;

use super::train::beside;
use crate::args::Evaluate;
use crate::context::Context;
use crate::output::{self, command_line, outln};

const REPORT: &str = "report.html";
const FIGURES: &str = "evidence.json";

pub fn run(args: &Evaluate, context: &Context) -> Result<()> {
    let model = Pipeline::load(&args.model, &context.device)?;
    let out = args.out.clone().unwrap_or_else(|| beside(&args.model, "-report"));
    let foreign = out.exists() && !out.join(REPORT).is_file();
    if foreign && fs::read_dir(&out).map_or(true, |mut entries| entries.next().is_some()) {
        return Err(Error::NotOurs(out).into());
    }
    let label = args.label.clone().unwrap_or_else(|| model.card().label.clone());
    let read = |file: &String| Dataset::read(&Place::parse(file), Some(&label), true);
    let test = read(&args.data)?;
    // Labels of OOD rows are of no use, and rows without any are as good.
    let ood = args.ood.iter().map(|text| {
        let (name, place) = named(text);
        Ok((name, Dataset::read(&place, None, false)?))
    });
    let ood: Vec<(String, Dataset)> = ood.collect::<Result<_>>()?;
    let shift = args.shift.as_ref().map(read).transpose()?;
    context.progress.say(&format!("measuring {} rows", test.rows()));
    let sets = Evaluation {
        test: &test,
        ood: ood.iter().map(|(name, set)| (name.clone(), set)).collect(),
        shift: shift.as_ref(),
        strict: args.strict,
    };
    let mut evidence = evaluate(&model, &sets)?;
    evidence
        .warnings
        .iter()
        .for_each(|warning| context.progress.say(&format!("warning: {warning}")));
    evidence.title = args
        .model
        .file_name()
        .map_or_else(|| "model".to_string(), |name| name.to_string_lossy().into_owned());
    evidence.facts = facts(&model, &sets, context);
    check(&evidence).context("the figures cannot be shown")?;
    write(&evidence, &out)?;
    let report = out.join(REPORT);
    if context.json {
        return output::json(json!({
            "metrics": evidence.metrics,
            "threshold": evidence.at_threshold(),
            "classes": evidence.classes,
            "warnings": evidence.warnings,
            "report": report,
        }));
    }
    print_metrics(&evidence)?;
    outln!("{}", decided(&evidence));
    outln!("Written: {}", report.display());
    Ok(())
}

/// The name and the place of an OOD set: `NAME=FILE`, or `FILE`, which is called by its stem. A file
/// that has the whole name is meant first.
fn named(text: &str) -> (String, Place) {
    let whole = Place::parse(text);
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !whole.path.exists() => {
            (name.to_string(), Place::parse(file))
        }
        _ => {
            let stem = whole.path.file_stem().unwrap_or_default().to_string_lossy();
            // Two arrays of one file are two sets.
            let array = whole.vectors.as_ref().map_or(String::new(), |name| format!(":{name}"));
            (format!("{stem}{array}"), whole)
        }
    }
}

/// The page, its plots and its figures.
fn write(evidence: &Evidence, out: &Path) -> Result<()> {
    fs::create_dir_all(out).map_err(Error::io(out))?;
    for (stem, plot) in plots(evidence) {
        plot.save(&out.join(stem))?;
    }
    let json = serde_json::to_string_pretty(evidence)?;
    write_whole(&out.join(FIGURES), json.as_bytes())?;
    Ok(write_whole(&out.join(REPORT), html(evidence).as_bytes())?)
}

fn facts(model: &Pipeline, sets: &Evaluation<'_>, context: &Context) -> Vec<(String, String)> {
    let (card, config) = (model.card(), model.model().config());
    let rows = |set: &Dataset| format!("{}, {} rows", set.file, set.rows());
    let fit = match card.training.fit.as_str() {
        "" => String::new(),
        fit => format!(", {fit}"),
    };
    let mut facts = vec![
        ("method".to_string(), format!("{}{fit}", config.method)),
        ("input".to_string(), card.preparation.describe()),
    ];
    // A network of a benchmark does not say what it was trained on.
    if card.training.rows > 0 {
        let trained = format!("{}, {} rows", card.training.file, card.training.rows);
        facts.push(("trained on".to_string(), trained));
    }
    facts.push(("test".to_string(), rows(sets.test)));
    facts.extend(sets.ood.iter().map(|(name, set)| (format!("OOD set {name}"), rows(set))));
    facts.extend(sets.shift.map(|set| ("shifted".to_string(), rows(set))));
    facts.extend([
        ("intervals".to_string(), "95 %, bootstrap of 200 resamples".to_string()),
        ("command".to_string(), command_line()),
        ("commit".to_string(), sngp_lab::provenance::commit().to_string()),
        ("CPU".to_string(), sngp_lab::provenance::cpu(context.threads)),
    ]);
    facts
}

/// Metrics by the score the model decides by, and by the detectors it is compared with; those of its
/// other scores are in the report.
fn print_metrics(evidence: &Evidence) -> Result<()> {
    let shown = |row: &&MetricRow| match &row.by {
        Some(by) if *by != evidence.score => row.ood.is_none() && by.parse::<Score>().is_err(),
        _ => true,
    };
    for row in evidence.metrics.iter().filter(shown) {
        let interval = match (row.low, row.high) {
            (Some(low), Some(high)) => format!("  [{low:.4}, {high:.4}]"),
            _ => String::new(),
        };
        let ood = row.ood.as_ref().map_or(String::new(), |name| format!(" ({name})"));
        let name = format!("{}{ood}", row.name);
        outln!("{:17} {name:44} {:8.4}{interval}", row.set.name(), row.value);
    }
    Ok(())
}

/// What the model's own decision makes of the rows, in a sentence.
fn decided(evidence: &Evidence) -> String {
    let found = evidence.at_threshold();
    let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    let Answered { rows, answered, wrong, errors } = &found.test;
    let by = match found.threshold {
        Some(_) => "at its threshold",
        None => "without a threshold of its own",
    };
    let mut line = format!("{by} it answers {:.1} % of the test rows", percent(*answered, *rows));
    if let Some(wrong) = wrong.filter(|_| *answered > 0) {
        line += &format!(" and is wrong on {:.2} % of those", percent(wrong, *answered));
    }
    if let Some((errors, rmse)) = errors.and_then(|errors| Some((errors, errors.rmse_of_answered?)))
    {
        line += &format!(" with an RMSE of {rmse:.4} ({:.4} on all rows)", errors.rmse_of_all);
    }
    for set in &found.ood {
        let rejected = percent(set.rejected, set.rows);
        line += &format!("; {rejected:.1} % of the OOD set {} are rejected", set.name);
    }
    line
}
