//! One method of an experiment: trained where it is missing, tuned, measured.

use std::collections::BTreeMap;

use sngp::Result;
use sngp::method::Method;
use sngp_report::figure::{Panel, Panels};

use super::evaluate::measure;
use super::measured_on::MeasuredOn;
use crate::bench::{FittedDetectors, Networks};
use crate::report::Measurements;

/// The plots of every method, and the names of the files they are in.
pub const PLOTS: [(&str, &str); 3] =
    [("reliability", "reliability"), ("histogram", "scores"), ("risk_coverage", "risk-coverage")];

/// An image benchmark.
pub struct Bench<'a> {
    /// Its networks.
    pub networks: Networks<'a>,
    /// What they are measured on.
    pub sets: MeasuredOn,
    /// The plots of the methods' first seeds, by the name of their file.
    pub figures: BTreeMap<&'static str, Panels>,
}

impl<'a> Bench<'a> {
    /// A benchmark that has measured nothing yet.
    pub fn new(networks: Networks<'a>, sets: MeasuredOn) -> Self {
        Self { networks, sets, figures: BTreeMap::new() }
    }

    /// Measures a method with one seed.
    pub fn run(
        &mut self,
        method: &Method,
        seed: u64,
        measurements: &mut Measurements,
    ) -> Result<()> {
        let (sets, options) = (&self.sets, &self.networks.options);
        let measured = self.networks.measure(method, seed, &sets.digest, &|model, found| {
            let fitted = FittedDetectors::of(&model, self.networks.study)?;
            measure(sets, &model, fitted.as_ref(), options, found)
        })?;
        self.networks.add(method, &measured, measurements);
        for (plot, file) in PLOTS {
            let panels = &mut self.figures.entry(file).or_default().panels;
            let known = panels.iter().any(|panel| panel.title == method.name());
            if let Some(body) = measured.plots.get(plot).filter(|_| !known) {
                panels.push(Panel { title: method.to_string(), body: body.clone() });
            }
        }
        Ok(())
    }
}
