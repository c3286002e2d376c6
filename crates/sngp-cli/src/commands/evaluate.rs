//! `sngp evaluate`: the evidence, in one page.

use std::fs;

use anyhow::{Context as _, Result, bail};
use sngp::Error;
use sngp::files::write_whole;
use sngp_lab::evidence::{Evidence, Set, check, html, plots};
use sngp_lab::figure::Figure;
use sngp_lab::own::{Dataset, Evaluation, OwnModel, Place, Task, evaluate};

use super::train::beside;
use crate::args::Evaluate;
use crate::context::Context;
use crate::output::command_line;

const REPORT: &str = "report.html";
const FIGURES: &str = "evidence.json";

pub fn run(args: &Evaluate, context: &Context) -> Result<()> {
    let model = load(&args.model, context)?;
    let out = args.out.clone().unwrap_or_else(|| beside(&args.model, "-report"));
    let foreign = out.exists() && !out.join(REPORT).is_file();
    if foreign && fs::read_dir(&out).map_or(true, |mut entries| entries.next().is_some()) {
        return Err(Error::NotOurs(out).into());
    }
    if let (Task::Regression { .. }, true) =
        (&model.card.task, args.ood.is_some() || args.shift.is_some())
    {
        bail!("--ood and --shift are for classes; a model of numbers is measured on --data");
    }
    let label = args.label.as_deref().unwrap_or(&model.card.label);
    let read = |file: &String, labels| Dataset::read(&Place::parse(file), Some(label), labels);
    let test = read(&args.data, true)?;
    let ood = args.ood.as_ref().map(|file| read(file, false)).transpose()?;
    let shift = args.shift.as_ref().map(|file| read(file, true)).transpose()?;
    let reference = args.reference.as_ref().map(|file| read(file, true)).transpose()?;
    context.progress.say(&format!("measuring {} rows", test.rows()));
    let sets = Evaluation {
        test: &test,
        ood: ood.as_ref(),
        shift: shift.as_ref(),
        reference: reference.as_ref(),
    };
    let mut evidence = evaluate(&model, &sets)?;
    evidence.title = args
        .model
        .file_name()
        .map_or_else(|| "model".to_string(), |name| name.to_string_lossy().into_owned());
    evidence.facts = facts(&model, &sets, context);
    check(&evidence).context("the figures cannot be shown")?;
    fs::create_dir_all(&out).map_err(Error::io(&out))?;
    for (stem, plot) in plots(&evidence) {
        plot.save(&out.join(stem))?;
    }
    let json = serde_json::to_string_pretty(&evidence)?;
    write_whole(&out.join(FIGURES), json.as_bytes())?;
    write_whole(&out.join(REPORT), html(&evidence).as_bytes())?;
    if context.json {
        println!("{}", serde_json::to_string_pretty(&evidence.metrics)?);
    } else {
        print_metrics(&evidence);
        println!("Written: {}", out.join(REPORT).display());
    }
    Ok(())
}

fn facts(model: &OwnModel, sets: &Evaluation<'_>, context: &Context) -> Vec<(String, String)> {
    let config = model.any().config();
    let rows = |set: &Dataset| format!("{}, {} rows", set.file, set.rows());
    let mut facts = vec![
        ("method".to_string(), format!("{}, {}", config.method, model.card.training.fit)),
        ("input".to_string(), model.card.recipe.describe()),
        (
            "trained on".to_string(),
            format!("{}, {} rows", model.card.training.file, model.card.training.rows),
        ),
        ("test".to_string(), rows(sets.test)),
    ];
    facts.extend(sets.ood.map(|set| ("out of domain".to_string(), rows(set))));
    facts.extend(sets.shift.map(|set| ("shifted".to_string(), rows(set))));
    facts.extend([
        ("intervals".to_string(), "95 %, bootstrap of 200 resamples".to_string()),
        ("command".to_string(), command_line()),
        ("commit".to_string(), sngp_lab::provenance::commit().to_string()),
        ("CPU".to_string(), sngp_lab::provenance::cpu(context.threads)),
    ]);
    facts
}

fn print_metrics(evidence: &Evidence) {
    for row in &evidence.metrics {
        let set = match row.set {
            Set::Test => "test",
            Set::Shift => "shift",
            Set::Ood => "ood",
        };
        let interval = match (row.low, row.high) {
            (Some(low), Some(high)) => format!("  [{low:.4}, {high:.4}]"),
            _ => String::new(),
        };
        println!("{set:6} {:36} {:8.4}{interval}", row.name, row.value);
    }
    let Some(threshold) = evidence.threshold else { return };
    if evidence.test.is_empty() {
        return;
    }
    let accepted: Vec<_> =
        evidence.test.iter().filter(|row| row.uncertainty <= threshold).collect();
    let wrong = accepted.iter().filter(|row| !row.correct).count();
    let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    print!(
        "at its threshold it answers {:.1} % of the test rows and is wrong on {:.2} % of those",
        share(accepted.len(), evidence.test.len()),
        share(wrong, accepted.len())
    );
    if !evidence.ood.is_empty() {
        let caught = evidence.ood.iter().filter(|&&uncertainty| uncertainty > threshold).count();
        print!("; {:.1} % of the others are turned away", share(caught, evidence.ood.len()));
    }
    println!();
}

/// For commands that need a model of somebody's own data.
pub fn load(folder: &std::path::Path, context: &Context) -> Result<OwnModel> {
    if !OwnModel::is_one(folder) {
        bail!("{} is no model made by `sngp train`; this command needs one", folder.display());
    }
    Ok(OwnModel::load(folder, &context.device)?)
}
