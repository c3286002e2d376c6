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
    /// The bins of the reliability diagram of the test examples.
    pub reliability: Vec<Bin>,
    /// The test examples.
    pub test: Vec<Scored>,
    /// Shifted examples of the same classes.
    pub shift: Vec<Scored>,
    /// Uncertainties of out-of-domain examples.
    pub ood: Vec<f64>,
    /// The model's own rule: what is more uncertain is turned away.
    pub threshold: Option<f64>,
    /// Where that threshold comes from, in words.
    pub basis: Option<String>,
    /// The most uncertain test examples, the most uncertain first.
    pub uncertain: Vec<Example>,
    /// The most confidently wrong test examples, the worst first.
    pub wrong: Vec<Example>,
    /// For regression, in place of `test`, `shift`, `ood`, `reliability` and `classes`.
    pub regression: Option<RegressionEvidence>,
}

/// What something was measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Set {
    /// Examples like those of the training.
    Test,
    /// The same classes under other conditions.
    Shift,
    /// Examples of no class, against the test examples.
    Ood,
}

/// A metric and its bootstrap interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricRow {
    /// What it was measured on.
    pub set: Set,
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
    /// The share of its examples that is turned away at the model's threshold.
    pub abstained: f64,
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
}

impl Scored {
    /// What was predicted for labelled examples, scored.
    pub fn of(prediction: &Prediction, labels: &[usize], score: &Score) -> sngp::Result<Vec<Self>> {
        let probabilities = prediction.probabilities()?;
        let uncertainty = score.evaluate(prediction)?;
        let rows = prediction.labels()?.into_iter().zip(labels).zip(uncertainty).enumerate();
        let row = |(index, ((found, &label), uncertainty)): (usize, ((usize, &usize), f64))| Self {
            uncertainty,
            correct: found == label,
            probability: probabilities[[index, found]],
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
    /// The label in the data.
    pub truth: String,
    /// The model's answer.
    pub predicted: String,
    /// The probability of that answer.
    pub probability: f64,
    /// Its uncertainty.
    pub uncertainty: f64,
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
    /// The share of truths the intervals are meant to contain, e.g. 0.9.
    pub coverage: f64,
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
}

impl Interval {
    /// Whether it contains the truth.
    pub fn hit(&self) -> bool {
        (self.low..=self.high).contains(&self.truth)
    }
}
