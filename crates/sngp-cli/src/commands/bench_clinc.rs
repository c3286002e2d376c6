//! `sngp bench clinc`: intents, and sentences that are none of them.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use sngp::Error;
use sngp::backbone::Backbone;
use sngp::files::write_whole;
use sngp::method::Method;
use sngp_lab::language::{BUILT_IN, Bench, RunOptions, Setup, TextExperiment, Trained, document};
use sngp_lab::report::Measurements;

use crate::args::Clinc;
use crate::context::Context;
use crate::output;

pub fn run(args: &Clinc, context: &Context) -> Result<()> {
    let (name, experiment) = experiment(&args.config)?;
    let Some(data) = &args.data else {
        bail!(
            "where is the data? --data FOLDER (or SNGP_DATA) names the folder that holds {} and \
             the experiment's sentences",
            experiment.encoder.folder.display()
        )
    };
    let files = [format!("{name}.json"), format!("{name}.md")];
    output::shared_folder(&args.out, &files[0], &files.each_ref().map(String::as_str))?;
    let runs = args.runs.join(&name);
    let cache = runs.join("embeddings");
    context.progress.say(&format!("reading {}", data.display()));
    if experiment.encoder.train == Trained::Nothing || experiment.head_first.is_some() {
        let remark = format!("vectors of the encoder: computed once, kept in {}", cache.display());
        context.progress.say(&remark);
    }
    let mut measurements = Measurements::default();
    let work = Work { args, context, name: &name, runs: &runs };
    match experiment.encoder.train {
        Trained::Nothing => {
            let setup = Setup::frozen(experiment, data, &cache, &context.device)?;
            work.measure(&setup, &mut measurements)?;
        }
        Trained::Everything | Trained::Layers => {
            let setup = Setup::fine_tuning(experiment, data, &cache, &context.device)?;
            work.measure(&setup, &mut measurements)?;
        }
    }
    let report = output::report(&measurements, context.threads)?;
    let page = document(&format!("Out-of-scope intents: {name}"), &report);
    write_whole(&args.out.join(&files[0]), report.json()?.as_bytes())?;
    write_whole(&args.out.join(&files[1]), page.as_bytes())?;
    if context.json {
        print!("{}", report.json()?);
    } else {
        print!("{page}");
        println!(
            "Written: {0}/{1}, {2}; models in {3}",
            args.out.display(),
            files[1],
            files[0],
            runs.display()
        );
    }
    Ok(())
}

/// A built-in experiment by name, or a file.
fn experiment(config: &Path) -> Result<(String, TextExperiment)> {
    let built_in = BUILT_IN.iter().find(|(name, _)| config == Path::new(name));
    if let Some((name, text)) = built_in {
        return Ok((name.to_string(), TextExperiment::parse(text)?));
    }
    let known = BUILT_IN.map(|(name, _)| name).join(", ");
    let text = std::fs::read_to_string(config)
        .map_err(Error::io(config))
        .with_context(|| format!("no experiment file, and none of the built-in ones ({known})"))?;
    let name = config.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let experiment = TextExperiment::parse(&text).with_context(|| config.display().to_string())?;
    Ok((name, experiment))
}

struct Work<'a> {
    args: &'a Clinc,
    context: &'a Context,
    name: &'a str,
    runs: &'a Path,
}

impl Work<'_> {
    fn measure<B: Backbone>(
        &self,
        setup: &Setup<B>,
        measurements: &mut Measurements,
    ) -> Result<()> {
        let Self { args, context, name, runs } = *self;
        let observe = |name: String| context.progress.observer(name);
        let bench = Bench {
            setup,
            name,
            options: RunOptions {
                device: &context.device,
                interrupter: context.interrupter.clone(),
                observe: &observe,
                runs,
            },
        };
        let methods = match args.methods.is_empty() {
            true => published_methods(),
            false => args.methods.clone(),
        };
        for method in &methods {
            // Ensembles of successive seeds would share most of their networks.
            let seeds = if method.recipe().members > 1 { 1 } else { args.seeds.count };
            for seed in (args.seeds.first..).take(seeds) {
                context.check_interrupted()?;
                bench.run(method, seed, measurements)?;
            }
        }
        Ok(())
    }
}

/// The methods of the paper's table; the exact GP takes vectors of small data sets only.
fn published_methods() -> Vec<Method> {
    let paper = sngp_lab::published::clinc();
    Method::all().into_iter().filter(|method| paper.contains_key(method.name())).collect()
}
