//! What a model says about a row.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// The answer to one row.
///
/// ```
/// use sngp_pipeline::{Answer, Reason, Verdict};
///
/// let answer = Answer::invalid("age", "`old` is not a number");
/// assert!(!answer.is_accepted());
/// assert_eq!(answer.decision(), "abstain");
/// assert_eq!(answer.reason().unwrap(), "invalid_input: column `age`: `old` is not a number");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Whether the outcome may be used.
    pub verdict: Verdict,
    /// What is predicted; nothing for a row that cannot be used.
    pub outcome: Option<Outcome>,
    /// How uncertain that is by the score the model decides by; nothing where that cannot be
    /// computed.
    pub uncertainty: Option<f64>,
    /// The share of examples like the held-out ones that are at least so uncertain: small for what
    /// is out-of-distribution or bound to be wrong. Nothing where that is not known.
    pub p_value: Option<f64>,
    /// Whether it is flagged as out-of-distribution among the rows of its batch; nothing where
    /// nobody asked, or it has no p-value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flagged: Option<bool>,
    /// What else is known about the uncertainty, by the name of each part.
    pub parts: Vec<(&'static str, f64)>,
}

/// Whether an answer may be used.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It may.
    Accepted,
    /// The model does not know.
    Abstained {
        /// Why.
        why: Reason,
    },
    /// The row cannot be used.
    Invalid {
        /// The column, where one is to blame.
        column: Option<String>,
        /// What is wrong.
        reason: String,
    },
}

/// Why a model does not know.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Reason {
    /// The row is unlike the training data.
    FarFromData,
    /// It is like them, but of more than one class, or too uncertain a number.
    Ambiguous,
    /// There is nothing in it: no letter, no digit.
    EmptyInput,
    /// Hardly any piece of its text was ever seen.
    UnknownWords,
    /// A value is missing where none was in training.
    MissingValue {
        /// The column.
        column: String,
    },
    /// A category that was never seen.
    UnseenCategory {
        /// The column.
        column: String,
    },
    /// It is among the rows of its batch that are flagged as out-of-distribution.
    Flagged,
    /// Its uncertainty has no value.
    NotComputable,
    /// The model was changed since it was decided when it abstains.
    NotCalibrated,
}

impl Reason {
    /// Every reason with what it means, for listings.
    pub const ALL: [(&'static str, &'static str); 10] = [
        ("far_from_data", "unlike the training data"),
        ("ambiguous", "like the training data, but the outcome is too uncertain"),
        ("empty_input", "no letter or digit in it"),
        ("unknown_words", "hardly a piece of the text was seen in training"),
        ("missing_value", "no value where training always had one"),
        ("unseen_category", "a category that was never seen"),
        ("flagged", "out-of-distribution among the rows of its file"),
        ("not_computable", "its uncertainty has no value"),
        ("not_calibrated", "the model was changed since its threshold was chosen"),
        ("invalid_input", "the row cannot be read; the column and the fault follow"),
    ];

    /// The name in output files.
    pub fn code(&self) -> &'static str {
        match self {
            Self::FarFromData => "far_from_data",
            Self::Ambiguous => "ambiguous",
            Self::EmptyInput => "empty_input",
            Self::UnknownWords => "unknown_words",
            Self::MissingValue { .. } => "missing_value",
            Self::UnseenCategory { .. } => "unseen_category",
            Self::Flagged => "flagged",
            Self::NotComputable => "not_computable",
            Self::NotCalibrated => "not_calibrated",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingValue { column } | Self::UnseenCategory { column } => {
                write!(formatter, "{}: column `{column}`", self.code())
            }
            _ => formatter.write_str(self.code()),
        }
    }
}

/// What is predicted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// A class.
    Class {
        /// Its number.
        index: usize,
        /// Its name.
        label: String,
        /// Its probability.
        probability: f64,
        /// Those of all classes, where they were asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        probabilities: Option<Vec<f64>>,
        /// The adjusted logits of all classes, where they were asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        logits: Option<Vec<f64>>,
    },
    /// A number.
    Number {
        /// Its mean.
        value: f64,
        /// The lower end of its interval, where the model promises one.
        low: Option<f64>,
        /// The upper end.
        high: Option<f64>,
    },
}

/// A value of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerValue<'a> {
    /// A number.
    Number(f64),
    /// One number a class.
    Numbers(&'a [f64]),
    /// A text.
    Text(Cow<'a, str>),
}

impl Answer {
    /// What it says by the name of an output in the [signature](crate::Signature); nothing where
    /// it says nothing.
    ///
    /// ```
    /// use sngp_pipeline::{Answer, AnswerValue};
    ///
    /// let answer = Answer::unreadable("no such file");
    /// assert_eq!(answer.value("decision"), Some(AnswerValue::Text("abstain".into())));
    /// assert_eq!(answer.value("label"), None);
    /// ```
    pub fn value(&self, output: &str) -> Option<AnswerValue<'_>> {
        use AnswerValue::{Number, Numbers, Text};
        let of_outcome = match (&self.outcome, output) {
            (Some(Outcome::Class { label, .. }), "label") => Some(Text(Cow::Borrowed(label))),
            (Some(Outcome::Class { probability, .. }), "probability") => Some(Number(*probability)),
            (Some(Outcome::Class { probabilities, .. }), "probabilities") => {
                probabilities.as_deref().map(Numbers)
            }
            (Some(Outcome::Class { logits, .. }), "logits") => logits.as_deref().map(Numbers),
            (Some(Outcome::Number { value, .. }), "value") => Some(Number(*value)),
            (Some(Outcome::Number { low, .. }), "low") => low.map(Number),
            (Some(Outcome::Number { high, .. }), "high") => high.map(Number),
            _ => None,
        };
        of_outcome.or_else(|| match output {
            "uncertainty" => self.uncertainty.map(Number),
            "p_value" => self.p_value.map(Number),
            "decision" => Some(Text(Cow::Borrowed(self.decision()))),
            "reason" => self.reason().map(|reason| Text(Cow::Owned(reason))),
            _ => self.parts.iter().find(|(name, _)| *name == output).map(|(_, n)| Number(*n)),
        })
    }

    /// The answer to a row that cannot be used.
    pub fn invalid(column: &str, reason: impl Into<String>) -> Self {
        Self::unusable(Some(column.to_string()), reason.into())
    }

    /// The same where no column is to blame.
    pub fn unreadable(reason: impl Into<String>) -> Self {
        Self::unusable(None, reason.into())
    }

    /// Nothing is predicted, and nobody knows why yet.
    pub(crate) fn unanswered() -> Self {
        Self {
            verdict: Verdict::Abstained { why: Reason::NotComputable },
            outcome: None,
            uncertainty: None,
            p_value: None,
            flagged: None,
            parts: Vec::new(),
        }
    }

    fn unusable(column: Option<String>, reason: String) -> Self {
        let verdict = Verdict::Invalid { column, reason };
        Self { verdict, ..Self::unanswered() }
    }

    /// Whether the outcome may be used.
    pub fn is_accepted(&self) -> bool {
        self.verdict == Verdict::Accepted
    }

    /// Whether the row could not be used at all.
    pub fn is_invalid(&self) -> bool {
        matches!(self.verdict, Verdict::Invalid { .. })
    }

    /// `accept` or `abstain`.
    pub fn decision(&self) -> &'static str {
        if self.is_accepted() { "accept" } else { "abstain" }
    }

    /// Why not, as one of [`Reason::ALL`].
    pub fn reason_code(&self) -> Option<&'static str> {
        match &self.verdict {
            Verdict::Accepted => None,
            Verdict::Abstained { why } => Some(why.code()),
            Verdict::Invalid { .. } => Some("invalid_input"),
        }
    }

    /// Why not, in the words of output files.
    pub fn reason(&self) -> Option<String> {
        match &self.verdict {
            Verdict::Accepted => None,
            Verdict::Abstained { why } => Some(why.to_string()),
            Verdict::Invalid { column: None, reason } => Some(format!("invalid_input: {reason}")),
            Verdict::Invalid { column: Some(column), reason } => {
                Some(format!("invalid_input: column `{column}`: {reason}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_listed() {
        let column = String::new();
        let all = [
            Reason::FarFromData,
            Reason::Ambiguous,
            Reason::EmptyInput,
            Reason::UnknownWords,
            Reason::MissingValue { column: column.clone() },
            Reason::UnseenCategory { column },
            Reason::Flagged,
            Reason::NotComputable,
            Reason::NotCalibrated,
        ];
        let listed: Vec<&str> = Reason::ALL.iter().map(|(code, _)| *code).collect();
        let codes: Vec<&str> = all.iter().map(Reason::code).chain(["invalid_input"]).collect();
        assert_eq!(listed, codes);
    }
}
