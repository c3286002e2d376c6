//! What an evaluation found.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};
use sngp::metrics::Bin;
use sngp::predict::Prediction;
use sngp::score::Score;

/// Everything the report shows. What is empty is left out of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// What was evaluated, e.g. the name of the model's folder.
    pub title: String,
    /// Where the figures come from: method, data files, rows, classes, command, commit, CPU.
    pub facts: Vec<(String, String)>,
    /// Name of the uncertainty score.
    pub score: String,
    /// The metrics, in the order they are to be shown.
    pub metrics: Vec<MetricRow>,
    /// The classes, in any order.
    pub classes: Vec<ClassRow>,
    /// The classes that are taken for each other most often, the most frequent pair first.
    pub confusions: Vec<Confusion>,
    /// The bins of the reliability diagram of the test examples.
    pub reliability: Vec<Bin>,
    /// The test examples.
    pub test: Vec<Scored>,
    /// Shifted examples of the same classes.
    pub shift: Vec<Scored>,
    /// Uncertainties of out-of-distribution (OOD) examples, one set after the other. A model
    /// without an uncertainty has the same for all: 0.
    pub ood: Vec<f64>,
    /// The sets those belong to, in the same order. Where there is none, they are one set without
    /// a name and all admitted.
    pub ood_sets: Vec<OodSet>,
    /// The model's own rule: what is more uncertain is rejected.
    pub threshold: Option<f64>,
    /// Where that threshold comes from, in words.
    pub basis: Option<String>,
    /// The most uncertain test examples, the most uncertain first.
    pub uncertain: Vec<Example>,
    /// The most confidently wrong test examples, the worst first.
    pub wrong: Vec<Example>,
    /// OOD examples that are accepted, the most certain first.
    pub accepted_ood: Vec<Example>,
    /// What a reader has to know before believing the figures: rows that were left out, classes
    /// that are hardly ever answered.
    pub warnings: Vec<String>,
    /// For regression, in place of `test`, `shift`, `reliability` and `classes`.
    pub regression: Option<RegressionEvidence>,
}

/// A set of out-of-distribution examples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OodSet {
    /// Its name.
    pub name: String,
    /// Whether each of its examples is admitted by everything but the threshold.
    pub admitted: Vec<bool>,
}

/// What something was measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Set {
    /// Examples like those of the training.
    Test,
    /// The same classes under other conditions.
    Shift,
    /// Misclassification detection: wrong test answers against right ones.
    Misclassification,
    /// OOD detection: OOD examples against test examples.
    Ood,
    /// Test and OOD examples together: how well the probabilities are calibrated where an OOD
    /// example should have uniform ones.
    Union,
    /// Failure detection over test and OOD examples: what is wrong or OOD against what is right.
    Failure,
}

impl Set {
    /// All of them, in the order they are shown.
    pub const ALL: [Self; 6] =
        [Self::Test, Self::Shift, Self::Misclassification, Self::Ood, Self::Union, Self::Failure];

    /// The name in listings and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Shift => "shift",
            Self::Misclassification => "misclassification",
            Self::Ood => "ood",
            Self::Union => "union",
            Self::Failure => "failure",
        }
    }
}

/// A metric and its bootstrap interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricRow {
    /// What it was measured on.
    pub set: Set,
    /// The OOD set it was measured on; none for all of them together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ood: Option<String>,
    /// The score or detector that ranks the examples, where they are ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Its name.
    pub name: String,
    /// What it measures, in one line; may be empty.
    pub summary: String,
    /// Whether a larger value is a better one, if either is.
    pub higher_is_better: Option<bool>,
    /// Its value.
    pub value: f64,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// How one class fares. Shares that divide by nothing are 0, as in scikit-learn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassRow {
    /// The class.
    pub label: String,
    /// Test examples of it.
    pub rows: usize,
    /// The share of them that is predicted.
    pub recall: f64,
    /// The share of its predictions that is right.
    pub precision: f64,
    /// The harmonic mean of both.
    pub f1: f64,
    /// The mean top probability of its examples.
    pub mean_probability: f64,
    /// The share of its examples that the model's decision rejects.
    pub abstained: f64,
    /// The least threshold that would accept as large a share of them as is accepted of all test
    /// examples.
    pub threshold: Option<f64>,
}

/// Examples of one class that are taken for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Confusion {
    /// The class they are of.
    pub truth: String,
    /// The class that is predicted.
    pub predicted: String,
    /// How many.
    pub count: usize,
    /// How many of those the model's decision accepts.
    pub accepted: usize,
}

/// One scored example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scored {
    /// Its uncertainty; higher is less certain.
    pub uncertainty: f64,
    /// Whether the predicted class is right.
    pub correct: bool,
    /// The probability of the predicted class.
    pub probability: f64,
    /// Whether everything but the threshold admits it: the guard, the distance rule, nothing odd
    /// about the input.
    pub admitted: bool,
}

impl Scored {
    /// What was predicted for labelled examples, scored; all of them admitted.
    pub fn of(prediction: &Prediction, labels: &[usize], score: &Score) -> sngp::Result<Vec<Self>> {
        let probabilities = prediction.stated_probabilities()?;
        let uncertainty = score.evaluate(prediction)?;
        let rows = prediction.labels()?.into_iter().zip(labels).zip(uncertainty).enumerate();
        let row = |(index, ((found, &label), uncertainty)): (usize, ((usize, &usize), f64))| Self {
            uncertainty,
            correct: found == label,
            probability: probabilities[[index, found]],
            admitted: true,
        };
        Ok(rows.map(row).collect())
    }
}

/// An example to look at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Example {
    /// Its row in the data file, as the reader counts.
    pub row: usize,
    /// What the model saw.
    pub content: Content,
    /// What it is.
    pub truth: Truth,
    /// The model's answer.
    pub predicted: String,
    /// The probability of that answer.
    pub probability: f64,
    /// Its uncertainty.
    pub uncertainty: f64,
}

/// What an example is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Truth {
    /// The label in the data.
    Label(String),
    /// Out-of-distribution: the name of its set.
    Ood(String),
}

/// What the model saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// A text.
    Text(String),
    /// A table's row as column and value.
    Cells(Vec<(String, String)>),
    /// A PNG file; in JSON it is base64.
    Png(#[serde(serialize_with = "base64")] Vec<u8>),
}

fn base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

/// Predicted intervals against the truth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegressionEvidence {
    /// The test examples.
    pub rows: Vec<Interval>,
    /// Examples under other conditions.
    pub shift: Vec<Interval>,
    /// The share of truths the intervals are meant to contain, e.g. 0.9; 0 for a model that
    /// promises none.
    pub coverage: f64,
}

impl RegressionEvidence {
    /// Whether the model promises intervals at all.
    pub fn has_intervals(&self) -> bool {
        self.coverage > 0.0
    }
}

/// A predicted interval and what it should contain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The true value.
    pub truth: f64,
    /// The predicted mean.
    pub mean: f64,
    /// The interval's lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Its uncertainty; 0 for a model without one.
    pub uncertainty: f64,
    /// Whether everything but the threshold admits it.
    pub admitted: bool,
}

impl Interval {
    /// Whether it contains the truth.
    pub fn hit(&self) -> bool {
        (self.low..=self.high).contains(&self.truth)
    }

    /// The squared error of the mean.
    pub fn squared_error(&self) -> f64 {
        (self.truth - self.mean).powi(2)
    }
}
