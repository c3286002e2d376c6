//! `sngp train`: from somebody's data to a model that abstains.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::json;
use sngp_lab::own::{
    Card, Dataset, Kind, OwnModel, Place, Task, TrainOptions, Trial, guess, train, tune,
};

use crate::args::{KindName, TaskName, Train};
use crate::context::Context;

/// Epochs where the user says nothing: of an encoder, and of anything else.
const EPOCHS: [usize; 2] = [4, 40];

pub fn run(args: &Train, context: &Context) -> Result<()> {
    let started = Instant::now();
    let place = Place::parse(&args.data);
    let out = args.out.clone().unwrap_or_else(|| beside(&place.path, "-model"));
    refuse_foreign(&out)?;
    let data = Dataset::read(&place, Some(&args.label), true)?;
    let (kind, reason) = kind(args, &data)?;
    if let (Some(_), false) = (&args.encoder, matches!(kind, Kind::Text(_))) {
        bail!("--encoder is for text; which column holds it? --text COLUMN says it");
    }
    context.progress.say(&format!("{}: {} rows; {}", data.file, data.rows(), told(&kind, &reason)));
    let validation = args
        .validation
        .as_ref()
        .map(|file| Dataset::read(&Place::parse(file), Some(&args.label), true))
        .transpose()?;
    let observe = |_| context.progress.observer(args.method.to_string());
    let options = TrainOptions {
        kind,
        label: args.label.clone(),
        ignore: args.ignore.clone(),
        regression: args.task == TaskName::Regression,
        method: args.method.clone(),
        features: args.features,
        length_scale: args.length_scale,
        l2: args.l2,
        epochs: args.epochs.unwrap_or(EPOCHS[usize::from(!args.fine_tune)]),
        encoder: args.encoder.clone(),
        fine_tune: args.fine_tune,
        max_tokens: args.max_tokens,
        image_size: args.image_size,
        seed: args.seed,
        device: &context.device,
        interrupter: context.interrupter.clone(),
        observe: &observe,
    };
    let mut trained = match args.tune || options.should_tune(data.rows()) {
        true => tune(&data, validation.as_ref(), &options, |trial| {
            let Trial { length_scale, l2, loss } = trial;
            let line = format!("length scale {length_scale:.4}, l2 {l2}: held-out loss {loss:.4}");
            context.progress.say(&line);
        })?,
        false => train(&data, validation.as_ref(), &options)?,
    };
    for remark in &trained.remarks {
        context.progress.say(remark);
    }
    trained.model.save(&out)?;
    let seconds = started.elapsed().as_secs_f64();
    if context.json {
        let decision = trained.model.any().decision();
        let card = &trained.model.card;
        println!(
            "{}",
            serde_json::to_string_pretty(&json!({
                "model": out, "seconds": seconds, "fit_seconds": trained.fit_seconds,
                "held_out": card.held_out,
                "training": card.training, "decision": decision, "remarks": trained.remarks,
            }))?
        );
        return Ok(());
    }
    summary(&trained.model, &out, seconds);
    Ok(())
}

/// A path beside another, by its name.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("sngp");
    PathBuf::from(format!("{stem}{ending}"))
}

/// Before hours of work, not after: a folder that is somebody else's is not replaced.
fn refuse_foreign(out: &Path) -> Result<()> {
    let occupied = out.is_dir() && std::fs::read_dir(out).is_ok_and(|mut dir| dir.next().is_some());
    if out.is_file() || (occupied && !out.join("manifest.json").is_file()) {
        return Err(sngp::Error::NotOurs(out.to_path_buf()).into());
    }
    Ok(())
}

fn kind(args: &Train, data: &Dataset) -> Result<(Kind, String)> {
    let (guessed, reason) = guess(data, &args.label);
    let told = || "as told".to_string();
    let reason = format!("{reason}; --kind says otherwise");
    Ok(match (args.kind, &args.text, &args.vectors) {
        (_, _, Some(column)) => (Kind::Vectors(column.clone()), told()),
        (None | Some(KindName::Text), Some(column), None) => (Kind::Text(column.clone()), told()),
        (None, None, None) => (guessed, reason),
        (Some(KindName::Table), None, None) => (Kind::Table, told()),
        (Some(KindName::Text), None, None) => match guessed {
            Kind::Text(_) => (guessed, reason),
            _ => bail!("which column holds the text? --text COLUMN says it"),
        },
        (Some(KindName::Embeddings), None, None) => match guessed {
            Kind::Vectors(_) => (guessed, reason),
            _ => bail!("{} holds no vectors; --vectors COLUMN names a column of lists", data.file),
        },
        (Some(KindName::Images), None, None) => match guessed {
            Kind::Images(_) => (guessed, reason),
            _ => bail!("{} is neither a folder of images nor a table of their paths", data.file),
        },
        (Some(kind), Some(_), None) => bail!("--text does not go with --kind {kind:?}"),
    })
}

fn told(kind: &Kind, reason: &str) -> String {
    let what = match kind {
        Kind::Table => "taken as a table".to_string(),
        Kind::Text(column) => format!("taken as texts in `{column}`"),
        Kind::Vectors(column) => format!("taken as vectors in `{column}`"),
        Kind::Images(column) => format!("taken as images in `{column}`"),
    };
    format!("{what} ({reason})")
}

fn summary(model: &OwnModel, out: &Path, seconds: f64) {
    let Card { training, held_out, task, .. } = &model.card;
    println!("{} rows learned from; {}", training.rows, training.fit);
    let metrics: Vec<String> =
        held_out.metrics.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
    println!("on {} rows held out: {}", held_out.rows, metrics.join(", "));
    match task {
        Task::Classification { .. } => {}
        Task::Regression { coverage, .. } => {
            println!("intervals hold {} % of values like the held-out ones", 100.0 * coverage);
        }
    }
    match model.any().decision() {
        Some(decision) => {
            println!(
                "it abstains when {} is above {:.6}: {}",
                decision.score, decision.threshold, decision.basis
            );
        }
        None => {
            println!("it never abstains: there are too few held-out rows to choose a threshold")
        }
    }
    println!("Written: {} in {seconds:.1} s", out.display());
}
