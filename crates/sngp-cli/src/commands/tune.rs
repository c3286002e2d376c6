//! `sngp tune`: a norm bound, a length scale, a ridge and a factor, on held-out data.

use anyhow::{Context as _, Result};
use sngp::Error;
use sngp::backbone::{ResNet, WideResNet};
use sngp::files::write_whole;
use sngp_lab::bench::{BoundOf, Found, Search, Study, TuningConfig};
use sngp_lab::language::{self, TextExperiment, Trained};
use sngp_lab::vision::{self, NetworkConfig, VisionExperiment};

use super::bench::experiment;
use crate::args::Tune;
use crate::context::Context;

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
    let data = args.data.as_deref().context(
        "where is the data? --data FOLDER (or SNGP_DATA) names the folder the experiment's paths \
         are relative to",
    )?;
    let device = &context.device;
    let runs = args.runs.join(format!("{name}-tune"));
    let work = Work { args, context, name: &name, runs: &runs };
    context.progress.say(&format!("reading {}", data.display()));
    let (found, bound_of) = match experiment {
        Experiment::Images(mut experiment) => {
            args.choices(&mut experiment.tuning);
            let found = match experiment.network.clone() {
                NetworkConfig::WideResnet(network) => work.search(
                    &vision::Setup::<WideResNet>::new(*experiment, network, data, device)?,
                    BoundOf::Convolutions,
                ),
                NetworkConfig::Resnet(network) => work.search(
                    &vision::Setup::<ResNet>::new(*experiment, network, data, device)?,
                    BoundOf::Convolutions,
                ),
            };
            (found?, BoundOf::Convolutions)
        }
        Experiment::Sentences(mut experiment) => {
            args.choices(&mut experiment.tuning);
            let cache = runs.join("embeddings");
            let found = match experiment.encoder.train {
                Trained::Nothing => work.search(
                    &language::Setup::frozen(*experiment, data, &cache, device)?,
                    BoundOf::Dense,
                ),
                Trained::Everything | Trained::Layers => work.search(
                    &language::Setup::fine_tuning(*experiment, data, &cache, device)?,
                    BoundOf::Dense,
                ),
            };
            (found?, BoundOf::Dense)
        }
    };
    let search = args.search();
    write_whole(&out, found.experiment(&text, &search, bound_of)?.as_bytes())?;
    print!("{}", found.account(&search));
    println!("Written: {}; networks in {}", out.display(), runs.display());
    Ok(())
}

struct Work<'a> {
    args: &'a Tune,
    context: &'a Context,
    name: &'a str,
    runs: &'a std::path::Path,
}

impl Work<'_> {
    fn search<S: Study>(&self, study: &S, bound_of: BoundOf) -> Result<Found> {
        let observe = |name: String| self.context.progress.observer(name);
        let options = self.context.run_options(&observe, self.runs);
        Ok(self.args.search().run(study, bound_of, self.name, &options)?)
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
