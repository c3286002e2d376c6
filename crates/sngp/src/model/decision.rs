//! When a prediction is accepted.

use serde::{Deserialize, Serialize};

use crate::score::Score;
use crate::{Error, Result};

/// A rule saved with a model: what is more uncertain than the threshold is turned away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The score that is compared.
    pub score: Score,
    /// The largest uncertainty that is accepted.
    pub threshold: f64,
    /// Where the threshold comes from, in words.
    pub basis: String,
}

impl Decision {
    /// The rule that turns away at most a share, on average, of examples like the held-out ones,
    /// whose uncertainties are given: the `ceil((n + 1) (1 - share))`-th smallest of them. This is
    /// split conformal prediction, valid for any n as long as nothing else was chosen by the same
    /// examples.
    ///
    /// ```
    /// use sngp::model::Decision;
    /// use sngp::score::{Score, Variance};
    ///
    /// let held_out: Vec<f64> = (0..99).map(f64::from).collect();
    /// let rule = Decision::turning_away_at_most(0.05, Score::from(Variance {}), &held_out)?;
    /// assert_eq!(rule.threshold, 94.0);
    /// assert!(rule.accepts(94.0) && !rule.accepts(94.5));
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn turning_away_at_most(share: f64, score: Score, held_out: &[f64]) -> Result<Self> {
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::config("the share turned away", share, "it must be in (0, 1)"));
        }
        let mut sorted = held_out.to_vec();
        sorted.sort_by(f64::total_cmp);
        let rank = ((sorted.len() + 1) as f64 * (1.0 - share)).ceil() as usize;
        let Some(&threshold) = sorted.get(rank.saturating_sub(1)) else {
            return Err(Error::Data(format!(
                "with {0} held-out examples a share of at least {1:.4} is turned away; \
                 {share} needs more of them",
                sorted.len(),
                1.0 / (sorted.len() + 1) as f64
            )));
        };
        let basis = format!(
            "on average at most {} % of examples like the {} held-out ones are turned away",
            100.0 * share,
            sorted.len()
        );
        Ok(Self { score, threshold, basis })
    }

    /// Whether a prediction of this uncertainty is accepted.
    pub fn accepts(&self, uncertainty: f64) -> bool {
        uncertainty <= self.threshold
    }
}
