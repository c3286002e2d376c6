//! How good are the predictions, and how well does the model know when they are not?
//!
//! Three questions, three groups of functions:
//!
//! 1. *Are the probabilities right?* [`accuracy`], [`nll`] and [`brier`] grade them against the
//!    labels; in [`balanced_accuracy`] and [`macro_f1`] rare classes count as much as frequent
//!    ones; [`reliability`] bins them by confidence, and [`ece`] sums the gaps up. For
//!    regression there are [`rmse`] and [`gaussian_nll`]. [`UnionCalibration`] grades them where
//!    rows of no class are among the others.
//! 2. *Is the model right when it is sure?* [`risk_coverage`] keeps the most certain predictions
//!    first and follows the error rate, [`loss_coverage`] any other loss; [`RiskCoverage::area`]
//!    and [`RiskCoverage::accuracy_at`] make numbers of it.
//! 3. *Does the score tell strange inputs from familiar ones?* [`auroc`], [`average_precision`]
//!    and [`fpr_at_tpr`] rank OOD inputs, the positives, against in-distribution ones;
//!    [`detection_curve`] has the curves they are read off. Of the rows that are flagged,
//!    [`false_discovery_limit`] keeps the false ones few.
//!
//! [`spearman`] compares two rankings, and [`MeanStderr`] sums up a figure over seeds.
//!
//! Nothing here depends on the order of the examples: tied scores are taken together, as if
//! averaged over every order they could stand in. Bad input is an error that says what to do;
//! no metric returns NaN.
//!
//! The metrics of groups 1 and 2 that belong in a result table are entries of
//! [`Classification`], those of group 3 of [`Detection`]. To add one, write its file and add its
//! line below.
//!
//! ```
//! use ndarray::array;
//! use sngp::metrics::{Classification, Detection};
//!
//! let probabilities = array![[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]];
//! let labels = [0, 1, 1];
//! for metric in Classification::all() {
//!     let value = metric.evaluate(probabilities.view(), &labels)?;
//!     println!("{metric}: {value:.3} ({})", metric.summary());
//! }
//!
//! let auroc: Detection = "auroc".parse()?;
//! assert_eq!(auroc.evaluate(&[0.1, 0.2, 0.9], &[false, false, true])?, 1.0);
//! # Ok::<(), sngp::Error>(())
//! ```

use ndarray::ArrayView2;

use crate::Result;

mod accuracy;
mod auroc;
mod average_precision;
mod brier;
mod calibration;
mod conformal;
mod detection_curve;
mod false_discovery;
mod fpr;
mod input;
mod nll;
mod per_class;
mod rank;
mod regression;
mod risk_coverage;
mod selective;
mod summary;
#[cfg(test)]
mod tests;
mod union;

pub use accuracy::{Accuracy, accuracy};
pub use auroc::{Auroc, auroc};
pub use average_precision::{Aupr, average_precision};
pub use brier::{Brier, brier};
pub use calibration::{Bin, Ece, calibration_error, ece, reliability};
pub use conformal::conformal_quantile;
pub use detection_curve::{DetectionCurve, detection_curve};
pub use false_discovery::false_discovery_limit;
pub use fpr::{FprAt95Tpr, fpr_at_tpr};
pub use input::fewest;
pub use nll::{Nll, nll};
pub use per_class::{BalancedAccuracy, MacroF1, balanced_accuracy, macro_f1};
pub use rank::spearman;
pub use regression::{gaussian_nll, rmse};
pub use risk_coverage::{RiskCoverage, RiskCoveragePoint, loss_coverage, risk_coverage};
pub use selective::{AccuracyAtCoverage, Aurc};
pub use summary::MeanStderr;
pub use union::UnionCalibration;

/// A figure for predicted class probabilities, given the true classes.
///
/// ```
/// use sngp::metrics::{Accuracy, ClassificationMetric};
///
/// let probabilities = ndarray::array![[0.9, 0.1], [0.3, 0.7]];
/// assert_eq!(Accuracy.evaluate(probabilities.view(), &[0, 0])?, 0.5);
/// # Ok::<(), sngp::Error>(())
/// ```
pub trait ClassificationMetric {
    /// What it measures, in one line.
    fn summary(&self) -> &'static str;

    /// Whether a larger value is a better one.
    fn higher_is_better(&self) -> bool;

    /// The figure for `probabilities` (one row an example, one column a class) and `labels`
    /// (the true class of each row).
    fn evaluate(&self, probabilities: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64>;
}

/// A figure for an uncertainty score as a detector of OOD inputs.
///
/// ```
/// use sngp::metrics::{Auroc, DetectionMetric};
///
/// assert_eq!(Auroc.evaluate(&[0.1, 0.9], &[false, true])?, 1.0);
/// # Ok::<(), sngp::Error>(())
/// ```
pub trait DetectionMetric {
    /// What it measures, in one line.
    fn summary(&self) -> &'static str;

    /// Whether a larger value is a better one.
    fn higher_is_better(&self) -> bool;

    /// The figure for `scores` (higher means less certain) and `is_ood` (whether the input was
    /// out-of-distribution (OOD), which is the positive class).
    fn evaluate(&self, scores: &[f64], is_ood: &[bool]) -> Result<f64>;
}

/// The scores of inputs from inside and outside the domain as detection metrics take them: one
/// after the other, and which of them are from outside.
///
/// ```
/// use sngp::metrics::{Auroc, DetectionMetric, inside_and_outside};
///
/// let (scores, is_ood) = inside_and_outside(&[0.1, 0.2], &[0.9]);
/// assert_eq!(is_ood, [false, false, true]);
/// assert_eq!(Auroc.evaluate(&scores, &is_ood)?, 1.0);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn inside_and_outside(inside: &[f64], outside: &[f64]) -> (Vec<f64>, Vec<bool>) {
    let scores: Vec<f64> = inside.iter().chain(outside).copied().collect();
    let is_ood = (0..scores.len()).map(|row| row >= inside.len()).collect();
    (scores, is_ood)
}

crate::registry! {
    /// The classification metrics, by name.
    ///
    /// ```
    /// use sngp::metrics::{Classification, Ece};
    ///
    /// assert_eq!("ece".parse::<Classification>()?, Classification::Ece(Ece { bins: 15 }));
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub enum Classification as "classification metric": ClassificationMetric {
        "accuracy" => Accuracy(Accuracy),
        "balanced_accuracy" => BalancedAccuracy(BalancedAccuracy),
        "macro_f1" => MacroF1(MacroF1),
        "ece" => Ece(Ece),
        "nll" => Nll(Nll),
        "brier" => Brier(Brier),
        "aurc" => Aurc(Aurc),
        "accuracy_at_coverage" => AccuracyAtCoverage(AccuracyAtCoverage),
    }
}

crate::registry! {
    /// The OOD detection metrics, by name.
    ///
    /// ```
    /// use sngp::metrics::Detection;
    ///
    /// let names: Vec<_> = Detection::all().iter().map(Detection::name).collect();
    /// assert_eq!(names, ["auroc", "aupr", "fpr_at_95_tpr"]);
    /// ```
    pub enum Detection as "detection metric": DetectionMetric {
        "auroc" => Auroc(Auroc),
        "aupr" => Aupr(Aupr),
        "fpr_at_95_tpr" => FprAt95Tpr(FprAt95Tpr),
    }
}
