//! One method of an experiment: trained where it is missing, tuned, measured.

use sngp::Result;
use sngp::method::Method;

use super::evaluate::measure;
use super::setup::Setup;
use crate::bench::{Networks, class_labels, latency};
use crate::report::Measurements;

/// A text benchmark.
pub struct Bench<'a> {
    /// Its networks.
    pub networks: Networks<'a>,
    /// What they are trained on.
    pub setup: &'a Setup,
}

impl Bench<'_> {
    /// Measures a method with one seed.
    pub fn run(&self, method: &Method, seed: u64, measurements: &mut Measurements) -> Result<()> {
        let setup = self.setup;
        let task = &setup.task;
        let measured_on = format!(
            "{:?} {:?} {:?}",
            task.test.inputs.digest(),
            task.test.targets,
            task.out_of_scope.digest()
        );
        let measured = self.networks.measure(method, seed, &measured_on, &|model, measured| {
            let test = model.predict(&*task.test.inputs)?;
            let ood = model.predict(&*task.out_of_scope)?;
            let labels = class_labels(&task.test)?;
            measure(&test, labels, &ood, &model.config().score(), measured)?;
            let model = setup.export(model)?;
            let texts = &setup.sentences.test.texts;
            let predict = |index: usize| model.predict(&[&texts[index]]).map(drop);
            measured.add("one sentence", "latency_ms", latency(texts.len(), predict)?);
            Ok(())
        })?;
        self.networks.add(method, &measured, measurements);
        Ok(())
    }
}
