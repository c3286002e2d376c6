//! `sngp bench cifar10` and `sngp bench cifar100`: images, corrupted images, and other images.

use anyhow::{Result, bail};
use sngp_lab::bench::Networks;
use sngp_lab::report::Measurements;
use sngp_lab::vision::{BUILT_IN, Bench, MeasuredOn, Setup, Source, VisionExperiment, document};
use sngp_report::figure::Figure;

use super::bench::{Results, experiment};
use crate::args::Cifar;
use crate::context::Context;
use crate::output;

pub fn run(args: &Cifar, data: &str, context: &Context) -> Result<()> {
    let quick = format!("{data}-quick").into();
    let config = args.config.as_ref().unwrap_or(&quick);
    let (name, experiment) = experiment(config, &BUILT_IN, VisionExperiment::parse)?;
    let source = &experiment.data.source;
    if matches!(source, Source::Cifar10 { .. } | Source::Cifar100 { .. }) && source.name() != data {
        bail!("{name} is on {0}: sngp bench {0} --config {1}", source.name(), config.display());
    }
    let folder = args.trainings.folder("the images that the experiment names")?;
    let results = Results { folder: &args.trainings.out, name: &name };
    results.claim()?;
    context.progress.say(&format!("reading {}", folder.display()));
    let setup = Setup::read(experiment, folder, &context.device)?;
    let experiment = &setup.experiment;
    let sets = MeasuredOn::read(experiment, &setup.task.labels, folder)?;
    let observe = |name: String| context.progress.observer(name);
    let say = |text: &str| context.progress.say(text);
    let runs = args.trainings.runs.join(&name);
    let options = context.run_options(&observe, &say, &runs);
    let networks = Networks { study: &setup, name: &name, options, alter: None };
    let mut bench = Bench::new(networks, sets);
    let mut measurements = Measurements::default();
    args.trainings.each(experiment.methods_compared()?, context, |method, seed| {
        bench.run(method, seed, &mut measurements)
    })?;
    let report = output::report(&measurements, context.threads)?;
    for (file, figure) in &bench.figures {
        if !figure.panels.is_empty() {
            figure.save(&results.folder.join(format!("{name}-{file}")))?;
        }
    }
    let page = document(&name, experiment, &report);
    results.write(&report, &page, &runs, context)
}
