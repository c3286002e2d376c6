//! The exact Gaussian process, for data small enough to afford it: the reference that random
//! features approximate and the gold standard of the two-dimensional benchmarks.
//!
//! The prior is a zero-mean Gaussian process with the kernel of [`rbf`],
//! `k(x, x') = exp(-||x - x'||^2 / (2 l))`, so a latent has variance 1 before any data is seen
//! and far away from it. Three likelihoods:
//!
//! | latent | likelihood | posterior |
//! | --- | --- | --- |
//! | [`ExactGpRegression`] | Gaussian noise | exact |
//! | [`BinaryGp`] | logistic, one latent | Laplace, Rasmussen & Williams algorithms 3.1 and 3.2 |
//! | [`MulticlassGp`] | softmax, one latent a class | Laplace, algorithms 3.3 and 3.4 |
//!
//! [`ExactGpClassifier`] chooses between the last two. Fitting is a Newton iteration to the mode
//! of the posterior; everything prediction needs follows from that mode in closed form. So
//! [`ExactGpState`], what is saved, holds the data and the mode and nothing else, and
//! [`from_state`](ExactGpClassifier::from_state), which [`fit`](ExactGpClassifier::fit) itself
//! ends with, gives back a classifier that predicts the same bits. A test row's prediction does
//! not depend on the rows it is predicted with, nor on the number of threads.
//!
//! ```
//! use ndarray::array;
//! use sngp::exact_gp::{ExactGpClassifier, ExactGpConfig};
//!
//! let inputs = array![[-1.0, 0.0], [-0.8, 0.2], [1.0, 0.0], [0.9, -0.1]];
//! let config = ExactGpConfig { length_scale: 0.5 };
//! let gp = ExactGpClassifier::fit(inputs.view(), &[0, 0, 1, 1], 2, &config)?;
//!
//! let test = array![[-1.0, 0.1], [50.0, 50.0]];
//! let latent = gp.predict(test.view())?;
//! assert!(latent.mean[[0, 1]] < 0.0); // class 0 near class 0
//! assert!(latent.variance[[0, 0]] < 0.8);
//! assert_eq!(latent.variance[[1, 0]], 1.0); // knows nothing far away
//! # Ok::<(), sngp::Error>(())
//! ```

mod binary;
mod data;
mod kernel;
mod linalg;
mod multiclass;
mod newton;
mod regression;
mod relevance;
#[cfg(test)]
mod tests;
mod tiles;

use faer::{Mat, MatRef};
use ndarray::{Array2, ArrayView2, Axis, concatenate};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};
pub use binary::BinaryGp;
use data::Training;
pub use data::{MAX_LATENTS, MAX_POINTS};
pub use kernel::rbf;
pub use multiclass::MulticlassGp;
pub use regression::ExactGpRegression;
pub use relevance::Relevance;

/// The options of an [`ExactGpClassifier`].
///
/// ```
/// assert_eq!(sngp::exact_gp::ExactGpConfig::default().length_scale, 1.0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExactGpConfig {
    /// `l` in `exp(-||x - x'||^2 / (2 l))`: it is not squared.
    pub length_scale: f64,
}

impl Default for ExactGpConfig {
    fn default() -> Self {
        Self { length_scale: 1.0 }
    }
}

/// Gaussian beliefs about the latents at test rows; see [`ExactGpClassifier::predict`].
#[derive(Clone, Debug, PartialEq)]
pub struct LatentPrediction {
    /// One logit a class, `[n, K]`. For two classes the columns are `[0, f]`.
    pub mean: Array2<f64>,
    /// A variance in `[0, 1]` for every class, `[n, K]`; for two classes that of `f`, `[n, 1]`.
    pub variance: Array2<f64>,
}

/// What there is to save of a fitted [`ExactGpClassifier`].
///
/// Store the numbers as f64: at a rounded mode the predictions would differ, and
/// [`ExactGpClassifier::from_state`] refuses it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactGpState {
    /// The kernel's length scale.
    pub length_scale: f64,
    /// The number of classes, `K`.
    pub classes: usize,
    /// The training inputs, `[n, d]`.
    pub inputs: Array2<f64>,
    /// The training labels, each below `classes`.
    pub labels: Vec<usize>,
    /// The latents at the mode of their posterior: `[n, 1]` for two classes, otherwise `[n, K]`.
    pub mode: Array2<f64>,
}

/// An exact Gaussian process classifier.
///
/// ```
/// use ndarray::array;
/// use sngp::exact_gp::{ExactGpClassifier, ExactGpConfig};
///
/// let inputs = array![[0.0], [0.1], [2.0], [2.1], [4.0], [4.1]];
/// let labels = [0, 0, 1, 1, 2, 2];
/// let gp = ExactGpClassifier::fit(inputs.view(), &labels, 3, &ExactGpConfig::default())?;
/// let latent = gp.predict(inputs.view())?;
/// assert_eq!(latent.mean.dim(), (6, 3));
/// assert!(latent.mean[[5, 2]] > latent.mean[[5, 1]]);
///
/// let loaded = ExactGpClassifier::from_state(gp.state())?;
/// assert_eq!(loaded.predict(inputs.view())?, latent);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum ExactGpClassifier {
    /// Two classes, one latent.
    Binary(BinaryGp),
    /// Three classes or more, one latent each.
    Multiclass(MulticlassGp),
}

impl ExactGpClassifier {
    /// Finds the posterior mode for `inputs` `[n, d]` and `labels` below `classes`.
    ///
    /// Refuses more than [`MAX_POINTS`] rows or [`MAX_LATENTS`] rows times classes, fewer than
    /// two classes, and anything that is not finite.
    pub fn fit(
        inputs: ArrayView2<f64>,
        labels: &[usize],
        classes: usize,
        config: &ExactGpConfig,
    ) -> Result<Self> {
        if classes == 2 {
            BinaryGp::fit(inputs, labels, config.length_scale).map(Self::Binary)
        } else {
            MulticlassGp::fit(inputs, labels, classes, config.length_scale).map(Self::Multiclass)
        }
    }

    /// What to save.
    pub fn state(&self) -> ExactGpState {
        let (training, mode) = match self {
            Self::Binary(gp) => gp.parts(),
            Self::Multiclass(gp) => gp.parts(),
        };
        ExactGpState {
            length_scale: training.length_scale,
            classes: training.classes,
            inputs: training.inputs.clone(),
            labels: training.labels.clone(),
            mode: Array2::from_shape_fn(mode.shape(), |(row, latent)| mode[(row, latent)]),
        }
    }

    /// The classifier that was saved, without iterating again.
    ///
    /// The state is checked like training data, and its mode has to be the mode of that data.
    pub fn from_state(state: ExactGpState) -> Result<Self> {
        let ExactGpState { length_scale, classes, inputs, labels, mode } = state;
        let training = Training::new(inputs.view(), &labels, classes, length_scale)?;
        let latents = if classes == 2 { 1 } else { classes };
        if mode.dim() != (labels.len(), latents) {
            let expected = format!("[{}, {latents}]", labels.len());
            return Err(Error::shape("exact GP mode", expected, format!("{:?}", mode.shape())));
        }
        data::check_finite("exact GP mode", mode.view())?;
        let mode = Mat::from_fn(mode.nrows(), mode.ncols(), |row, latent| mode[[row, latent]]);
        if classes == 2 {
            BinaryGp::from_mode(training, mode).map(Self::Binary)
        } else {
            MulticlassGp::from_mode(training, mode).map(Self::Multiclass)
        }
    }

    /// The latents' means and variances at `test` `[n, d]`.
    ///
    /// Two classes share one latent `f`, the log odds of class 1. It is returned as the logits
    /// `[0, f]`, whose softmax is the logistic function of `f`, with its one variance `[n, 1]`:
    /// it is the variance of the difference of the two logits.
    pub fn predict(&self, test: ArrayView2<f64>) -> Result<LatentPrediction> {
        match self {
            Self::Binary(gp) => {
                let (mean, variance) = gp.predict(test)?;
                let mean = mean.insert_axis(Axis(1));
                let reference = Array2::zeros(mean.dim());
                let mean = concatenate![Axis(1), reference, mean];
                Ok(LatentPrediction { mean, variance: variance.insert_axis(Axis(1)) })
            }
            Self::Multiclass(gp) => gp.predict(test),
        }
    }
}

/// Refuses latents that are not where the gradient vanishes, `f = K grad log p(y|f)`: a mode that
/// was rounded, damaged or saved with other data.
fn check_mode(kernel: MatRef<f64>, gradient: MatRef<f64>, mode: MatRef<f64>) -> Result<()> {
    let residual = (linalg::product(kernel, gradient) - mode).norm_max();
    if residual <= 1e-6 {
        return Ok(());
    }
    Err(Error::Data(format!(
        "the exact GP's mode does not belong to its training data (off by {residual:.1e}); it was \
         changed or rounded after fitting: fit again, and save it as f64"
    )))
}
