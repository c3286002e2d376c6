//! `sngp bench clinc`: intents, and sentences that are none of them.

use anyhow::Result;
use sngp_lab::bench::Networks;
use sngp_lab::language::{BUILT_IN, Bench, Setup, TextExperiment, Trained, document};
use sngp_lab::published;
use sngp_lab::report::Measurements;

use super::bench::{Results, experiment};
use crate::args::Clinc;
use crate::context::Context;
use crate::output;

pub fn run(args: &Clinc, context: &Context) -> Result<()> {
    let (name, experiment) = experiment(&args.config, &BUILT_IN, TextExperiment::parse)?;
    let encoder = experiment.encoder.folder.display();
    let trainings = &args.trainings;
    let data = trainings.folder(&format!("{encoder} and the experiment's sentences"))?;
    let results = Results { folder: &trainings.out, name: &name };
    results.claim()?;
    let runs = trainings.runs.join(&name);
    let cache = runs.join("embeddings");
    context.progress.say(&format!("reading {}", data.display()));
    if experiment.encoder.train == Trained::Nothing || experiment.head_first.is_some() {
        let remark = format!("vectors of the encoder: computed once, kept in {}", cache.display());
        context.progress.say(&remark);
    }
    let setup = Setup::read(experiment, data, &cache, &context.device)?;
    let observe = |name: String| context.progress.observer(name);
    let say = |text: &str| context.progress.say(text);
    let options = context.run_options(&observe, &say, &runs);
    let networks = Networks { study: &setup, name: &name, options, alter: None };
    let bench = Bench { networks, setup: &setup };
    let mut measurements = Measurements::default();
    trainings.each(published::methods(&published::clinc()), context, |method, seed| {
        bench.run(method, seed, &mut measurements)
    })?;
    let report = output::report(&measurements, context.threads)?;
    let page = document(&format!("Out-of-scope intents: {name}"), &setup.experiment.data, &report);
    results.write(&report, &page, &runs, context)
}
