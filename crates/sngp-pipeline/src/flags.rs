//! Rows of one batch flagged as out-of-distribution (OOD), few of them falsely.

use sngp::detect::HeldOutRows;
use sngp::metrics::false_discovery_limit;
use sngp::model::percent;
use sngp::{Error, Result};

use crate::answer::Answer;
use crate::pipeline::Pipeline;

/// Which rows of a batch are flagged.
#[derive(Clone, Debug, PartialEq)]
pub struct Flags {
    /// The largest p-value that is flagged; none where no row is.
    pub limit: Option<f64>,
    /// Rows that have a p-value.
    pub rows: usize,
    /// Those that are flagged.
    pub flagged: usize,
    /// What holds of them, in words.
    pub basis: String,
}

impl Flags {
    /// Whether a row with this p-value is flagged.
    pub fn holds(&self, p_value: f64) -> bool {
        self.limit.is_some_and(|limit| p_value <= limit)
    }
}

impl Pipeline {
    /// Flags rows of a batch as OOD, so that of the flagged ones, on average over batches and
    /// held-out sets, at most a share `rate` is not: Benjamini-Hochberg on the conformal
    /// [p-values](Answer::p_value) of all rows that have one. An error where its p-values are not
    /// such that this can be promised.
    ///
    /// ```
    /// # use ndarray::Array2;
    /// # use sngp_pipeline::calibrate::Goal;
    /// # use sngp_pipeline::input::Dataset;
    /// # use sngp_pipeline::{Options, Pipeline};
    /// # let vectors = |start: usize, rows| Array2::from_shape_fn((rows, 3), |(i, j)| {
    /// #     ((start + i + j) % 2) as f32 + 0.1 * (((start + i) * (j + 3)) as f32).sin()
    /// # });
    /// # let labels: Vec<usize> = (0..400).map(|i| i % 2).collect();
    /// # let options = Options { features: 64, ..Default::default() };
    /// # let mut pipeline = Pipeline::fit_vectors(vectors(0, 400).view(), &labels, &options)?;
    /// let held_out = Dataset::of_vectors(vectors(400, 400).view())?.with_labels(&labels)?;
    /// pipeline.calibrate(&held_out, &Goal::MaxAbstain { share: 0.1 }, None)?;
    /// let far = pipeline.answer(&Dataset::of_vectors((-vectors(0, 50)).view())?)?;
    /// let flags = pipeline.flags(0.1, &far)?;
    /// assert_eq!((flags.rows, flags.flagged), (50, 50));
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn flags<'a>(
        &self,
        rate: f64,
        answers: impl IntoIterator<Item = &'a Answer>,
    ) -> Result<Flags> {
        let p_values: Vec<f64> = answers.into_iter().filter_map(|answer| answer.p_value).collect();
        self.flags_of(rate, &p_values)
    }

    /// The same by p-values alone, which take less room than answers.
    pub fn flags_of(&self, rate: f64, p_values: &[f64]) -> Result<Flags> {
        let held_out = self.exact_p_values()?;
        let limit = false_discovery_limit(p_values, rate)?;
        let (rows, percent) = (p_values.len(), percent(rate));
        let flagged = p_values.iter().filter(|p| limit.is_some_and(|limit| **p <= limit)).count();
        let promise = match self.card.fresh_p_values {
            true => format!(
                "on average at most {percent} % of the rows flagged as out-of-distribution are not"
            ),
            false => format!(
                "about {percent} % of the rows flagged as out-of-distribution may be none: the \
                 held-out rows of the training also calibrated the probabilities; after `sngp \
                 calibrate` on other rows it is a promise"
            ),
        };
        // No p-value is smaller than one of the held-out examples and the row itself.
        let fewest = (rows as f64 / (rate * (held_out + 1) as f64)).ceil();
        let basis = format!(
            "{flagged} of {rows} rows are flagged by {held_out} held-out examples, which can flag no \
             fewer than {fewest} of so many: {promise}"
        );
        Ok(Flags { limit, rows, flagged, basis })
    }

    /// How many held-out examples its p-values are among, where those are exact.
    fn exact_p_values(&self) -> Result<usize> {
        let because = |reason: &str| {
            Err(Error::Unsupported(format!(
                "no share of false flags can be promised: {reason}; calibrating with at least 400 \
                 rows that the model has not learned from makes p-values that can"
            )))
        };
        match self.combination() {
            None => Err(Error::Unsupported(
                "no share of false flags can be promised: the model has no p-values; train it anew \
                 to classify"
                    .to_string(),
            )),
            Some(_) if self.card.uncalibrated => {
                because("the model has changed since its p-values were made")
            }
            Some(told) if told.rows() == HeldOutRows::Shared => {
                because("its p-values are by too few held-out rows to be exact")
            }
            Some(told) => Ok(told.usual().sorted().len()),
        }
    }
}
