//! What probabilities are said of rows unlike the training data.

use std::sync::Arc;

use sngp::predict::{Minimax, Prediction};
use sngp::{Error, Result};

use crate::calibrate::Calibrated;
use crate::input::Dataset;
use crate::pipeline::Pipeline;

impl Pipeline {
    /// Lets probabilities go to uniform away from the data: the paper's minimax predictive (Eq. 4),
    /// `w p + (1 - w) / K` with the probability `w` of being in the domain. How fast they go is
    /// chosen by held-out examples that it has not learned from, see [`Minimax::choose`]. The most
    /// probable class and what is accepted stay as they are.
    ///
    /// ```
    /// # use ndarray::Array2;
    /// # use sngp_pipeline::input::Dataset;
    /// # use sngp_pipeline::{Detail, Options, Outcome, Pipeline};
    /// # let vectors = |start: usize| Array2::from_shape_fn((100, 3), |(i, j)| {
    /// #     ((start + i) % 2) as f32 + 0.1 * (((start + i) * (j + 3)) as f32).sin()
    /// # });
    /// # let labels: Vec<usize> = (0..100).map(|i| i % 2).collect();
    /// # let options = Options { features: 64, ..Default::default() };
    /// # let mut pipeline = Pipeline::fit_vectors(vectors(0).view(), &labels, &options)?;
    /// let held_out = Dataset::of_vectors(vectors(100).view())?.with_labels(&labels)?;
    /// pipeline.use_minimax(&held_out)?;
    /// let far = Dataset::of_vectors((vectors(0) * 40.0 - 70.0).view())?;
    /// for answer in pipeline.answer(&far)? {
    ///     let Some(Outcome::Class { probability, .. }) = answer.outcome else { panic!() };
    ///     assert!(probability < 0.51);
    /// }
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn use_minimax(&mut self, held_out: &Dataset) -> Result<Calibrated> {
        if self.labels().is_empty() {
            return Err(no_classes());
        }
        let (inputs, labels, calibrated) = self.fresh(held_out, true)?;
        let prediction = self.predict(&inputs)?;
        self.choose_minimax(&prediction, &labels.unwrap_or_default())?;
        Ok(calibrated)
    }

    /// Says the model's own probabilities again.
    pub fn use_own_probabilities(&mut self) {
        self.set_minimax(None);
    }

    /// What [`use_minimax`](Self::use_minimax) does, by held-out rows that are predicted already.
    pub(crate) fn choose_minimax(
        &mut self,
        prediction: &Prediction,
        labels: &[usize],
    ) -> Result<()> {
        let combination = self.combination().ok_or_else(|| {
            let message = "this model was never told what its scores are like on held-out examples; \
                           train it anew to mix its probabilities out of domain";
            Error::Unsupported(message.to_string())
        })?;
        let minimax = combination.choose_minimax(prediction, labels)?;
        self.set_minimax(Some(minimax));
        Ok(())
    }

    fn set_minimax(&mut self, minimax: Option<Minimax>) {
        self.card.minimax = minimax;
        let told = self.combination.take();
        self.combination =
            told.map(|told| Arc::new(Arc::unwrap_or_clone(told).with_minimax(minimax)));
    }
}

pub(crate) fn no_classes() -> Error {
    let message = "a model of numbers has no probabilities to mix with the uniform distribution";
    Error::Unsupported(message.to_string())
}
