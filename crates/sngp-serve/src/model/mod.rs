//! What the server needs of a model, on one screen.

mod registry;
mod served;

use std::path::Path;

use burn::tensor::Device;
use sngp_pipeline::input::Dataset;
use sngp_pipeline::{Answer, Detail, Pipeline, Signature};

pub use registry::{Registry, VERSION};
pub use served::{Loaded, Served};

/// A model that answers rows. [`Pipeline`] is one; tests have others.
pub trait Answers: Send + Sync + 'static {
    /// What goes in and what comes out.
    fn signature(&self) -> Signature;

    /// The answer to every row, in their order.
    fn answer(&self, rows: &Dataset, detail: Detail) -> sngp::Result<Vec<Answer>>;

    /// The score's values on held-out rows, least first: what traffic is compared with.
    fn reference(&self) -> &[f64];

    /// The largest uncertainty that is accepted, if there is one.
    fn threshold(&self) -> Option<f64>;

    /// What it is and when it abstains, in words.
    fn describe(&self) -> String;
}

impl Answers for Pipeline {
    fn signature(&self) -> Signature {
        Pipeline::signature(self)
    }

    fn answer(&self, rows: &Dataset, detail: Detail) -> sngp::Result<Vec<Answer>> {
        self.answer_with(rows, detail)
    }

    fn reference(&self) -> &[f64] {
        &self.card().reference
    }

    fn threshold(&self) -> Option<f64> {
        self.decision().map(|decision| decision.threshold)
    }

    fn describe(&self) -> String {
        let takes = self.card().preparation.describe();
        let basis = self.decision().map(|decision| format!("; {}", decision.basis));
        format!("{} on {takes}{}", self.model().config().method, basis.unwrap_or_default())
    }
}

/// Loads a model from its folder.
pub type Load = Box<dyn Fn(&Path) -> sngp::Result<Box<dyn Answers>> + Send + Sync>;

/// Loads model folders as pipelines.
pub fn pipelines(device: Device) -> Load {
    Box::new(move |folder| Ok(Box::new(Pipeline::load(folder, &device)?)))
}
