//! `sngp train`: from somebody's data to a model that abstains.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::json;
use sngp_encoder::hub::locate;
use sngp_pipeline::fit::Trial;
use sngp_pipeline::input::{Dataset, Kind, Place, guess};
use sngp_pipeline::{Card, Options, Pipeline, Target, Task};

use crate::args::{KindName, PredictiveName, TaskName, Train};
use crate::context::Context;
use crate::output::{self, outln};

pub fn run(args: &Train, context: &Context) -> Result<()> {
    let started = Instant::now();
    let place = Place::parse(&args.data);
    let out = args.out.clone().unwrap_or_else(|| beside(&place.path, "-model"));
    output::claim_model_folder(&out, args.force)?;
    let data = Dataset::read(&place, Some(&args.label), true)?;
    let (kind, reason) = kind(args, &data)?;
    if args.encoder.is_some() && !matches!(kind, Kind::Text(_) | Kind::Images(_)) {
        bail!("--encoder is for text and images; --text COLUMN says which column holds text");
    }
    let say = |text: &str| context.progress.say(text);
    say(&format!("{}: {} rows; {}", data.file, data.rows(), told(&kind, &reason)));
    let validation = args
        .validation
        .as_ref()
        .map(|file| Dataset::read(&Place::parse(file), Some(&args.label), true))
        .transpose()?;
    let encoder = args.encoder.as_deref().map(|given| locate(given, &say)).transpose()?;
    let observe = |_| context.progress.observer(args.method.to_string());
    let tried = |Trial { units, length_scale, l2, loss }: &Trial| {
        let (units, rows) = match units {
            Some(units) => (format!("units {}, ", units.name()), "inner"),
            None => (String::new(), "held-out"),
        };
        say(&format!("{units}length scale {length_scale:.4}, l2 {l2}: {rows} loss {loss:.4}"));
    };
    let options = Options {
        kind: Some(kind),
        label: args.label.clone(),
        ignore: args.ignore.clone(),
        target: match args.task {
            TaskName::Classification => Target::Classes,
            TaskName::Regression => Target::Numbers,
        },
        many_classes: false,
        method: args.method.clone(),
        features: args.features,
        length_scale: args.length_scale,
        l2: args.l2,
        epochs: args.epochs,
        tune: args.tune.then_some(true),
        budget: Duration::from_secs_f64(args.budget),
        encoder,
        fine_tune: args.fine_tune,
        keep_classifier: args.keep_classifier,
        max_tokens: args.max_tokens,
        prompt: args.prompt.clone(),
        image_size: args.image_size,
        minimax: args.predictive == PredictiveName::Minimax,
        seed: args.seed,
        device: context.device.clone(),
        interrupter: context.interrupter.clone(),
        observe: &observe,
        tried: &tried,
    };
    let mut fitted = Pipeline::fit(&data, validation.as_ref(), &options)?;
    fitted.remarks.iter().for_each(|remark| say(remark));
    context.check_interrupted()?;
    fitted.pipeline.save(&out)?;
    let seconds = started.elapsed().as_secs_f64();
    if context.json {
        let card = fitted.pipeline.card();
        return output::done(output::json(json!({
            "model": out, "seconds": seconds, "fit_seconds": fitted.fit_seconds,
            "search_seconds": fitted.search_seconds,
            "held_out": card.held_out, "training": card.training,
            "decision": fitted.pipeline.decision(), "remarks": fitted.remarks,
        })));
    }
    output::done(summary(&fitted.pipeline, &out, seconds))
}

/// A path beside another, by its name.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("sngp");
    PathBuf::from(format!("{stem}{ending}"))
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

fn summary(pipeline: &Pipeline, out: &Path, seconds: f64) -> Result<()> {
    let Card { training, held_out, task, .. } = pipeline.card();
    outln!("{} rows learned from; {}", training.rows, training.fit);
    let metrics: Vec<String> =
        held_out.metrics.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
    outln!("on {} rows held out: {}", held_out.rows, metrics.join(", "));
    match *task {
        Task::Regression { coverage, .. } if coverage > 0.0 => {
            outln!("intervals hold {:.0} % of values like the held-out ones", 100.0 * coverage);
        }
        _ => {}
    }
    outln!("{}", super::decided(pipeline));
    outln!("Written: {} in {seconds:.1} s", out.display());
    Ok(())
}
