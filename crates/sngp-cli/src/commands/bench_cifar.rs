//! `sngp bench cifar10` and `sngp bench cifar100`: images, corrupted images, and other images.

use anyhow::Result;
use sngp::backbone::{ResNet, WideResNet};
use sngp_lab::bench::Networks;
use sngp_lab::figure::Figure;
use sngp_lab::report::Measurements;
use sngp_lab::vision::{
    BUILT_IN, Bench, ImageBackbone, NetworkConfig, Setup, VisionExperiment, document,
};

use super::bench::{Results, compared, experiment};
use crate::args::Cifar;
use crate::context::Context;
use crate::output;

pub fn run(args: &Cifar, data: &str, context: &Context) -> Result<()> {
    let quick = format!("{data}-quick").into();
    let config = args.config.as_ref().unwrap_or(&quick);
    let (name, experiment) = experiment(config, &BUILT_IN, VisionExperiment::parse)?;
    let folder = args.trainings.folder("the images that the experiment names")?;
    let results = Results { folder: &args.trainings.out, name: &name };
    results.claim()?;
    context.progress.say(&format!("reading {}", folder.display()));
    let device = &context.device;
    match experiment.network.clone() {
        NetworkConfig::WideResnet(network) => {
            let setup = Setup::<WideResNet>::new(experiment, network, folder, device)?;
            measure(&setup, args, &results, context)
        }
        NetworkConfig::Resnet(network) => {
            let setup = Setup::<ResNet>::new(experiment, network, folder, device)?;
            measure(&setup, args, &results, context)
        }
    }
}

fn measure<B: ImageBackbone>(
    setup: &Setup<B>,
    args: &Cifar,
    results: &Results<'_>,
    context: &Context,
) -> Result<()> {
    let observe = |name: String| context.progress.observer(name);
    let runs = args.trainings.runs.join(results.name);
    let options = context.run_options(&observe, &runs);
    let mut bench = Bench::new(Networks { study: setup, name: results.name, options });
    let mut measurements = Measurements::default();
    args.trainings.each(compared(&setup.experiment)?, context, |method, seed| {
        bench.run(method, seed, &mut measurements)
    })?;
    let report = output::report(&measurements, context.threads)?;
    for (file, figure) in &bench.figures {
        if !figure.panels.is_empty() {
            figure.save(&results.folder.join(format!("{}-{file}", results.name)))?;
        }
    }
    let page = document(results.name, &setup.experiment, &report);
    results.write(&report, &page, &runs, context)
}
