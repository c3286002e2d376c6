//! Whether a posterior can tell near from far.

use serde::Serialize;

use super::{Curvature, Precision};
use crate::Result;
use crate::linalg::eigenvalues;

/// The condition of a posterior, with a hint in plain words when something is off.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Health {
    /// Rows that went into the precision.
    pub rows: u64,
    /// How strongly each row counted.
    pub curvature: Curvature,
    /// The ridge.
    pub ridge: f64,
    /// Condition number of `s I + P`, the worst over the matrices.
    pub condition_number: f64,
    /// The smallest variance a unit feature vector can have.
    pub smallest_variance: f64,
    /// The largest variance a unit feature vector can have.
    pub largest_variance: f64,
    /// Directions of feature space the data has settled (variance below one half).
    pub settled_directions: usize,
    /// All directions.
    pub directions: usize,
    /// What is wrong and what to try, if anything is.
    pub hint: Option<String>,
}

impl Health {
    /// Examines a precision under its ridge.
    pub fn examine(precision: &Precision, ridge: f64) -> Result<Self> {
        let n = precision.dimension();
        let (mut condition, mut low, mut high, mut settled) = (1.0f64, f64::INFINITY, 0.0f64, 0);
        for k in 0..precision.matrices() {
            let values = eigenvalues(&precision.with_ridge(k, ridge))?;
            let (least, most) = (values[0], values[values.len() - 1]);
            condition = condition.max(most / least);
            low = low.min(ridge / most);
            high = high.max(ridge / least);
            settled = settled.max(values.iter().filter(|&&value| ridge / value < 0.5).count());
        }
        let hint = hint(precision.rows(), [low, high], settled, n);
        Ok(Self {
            rows: precision.rows(),
            curvature: precision.curvature(),
            ridge,
            condition_number: condition,
            smallest_variance: low,
            largest_variance: high,
            settled_directions: settled,
            directions: n,
            hint,
        })
    }
}

fn hint(
    rows: u64,
    [smallest, largest]: [f64; 2],
    settled: usize,
    directions: usize,
) -> Option<String> {
    if rows == 0 {
        return Some(
            "the posterior was never accumulated: every variance equals the prior's; \
             run the accumulation pass over the training data"
                .to_string(),
        );
    }
    if smallest > 0.5 {
        return Some(format!(
            "the variance is flat (at least {smallest:.2} everywhere): {rows} rows do not outweigh \
             the ridge; lower the ridge, or use the gaussian curvature"
        ));
    }
    if settled <= 2 {
        return Some(format!(
            "the data settles only {settled} of {directions} directions, so the variance is low \
             everywhere it looks: the length scale is probably too large"
        ));
    }
    let nearly_all = |of: u64| rows > 100 && settled as u64 >= of * 9 / 10;
    if rows <= directions as u64 && nearly_all(rows) {
        return Some(format!(
            "{rows} rows settle {settled} directions: every example is its own neighbourhood, and \
             unseen inputs of the same kind will look far; the length scale is probably too small"
        ));
    }
    // Many rows fill few directions whatever the length scale.
    if rows > directions as u64 && nearly_all(directions as u64) {
        return Some(format!(
            "the data settles {settled} of {directions} directions, which leaves the variance of \
             strange inputs little room (at most {largest:.2} of the prior's): try more features"
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn a_hint_names_the_setting_to_change() {
        let says = |rows, range, settled, word: &str| {
            let hint = hint(rows, range, settled, 1000).unwrap_or_default();
            assert!(hint.contains(word), "{word}: {hint:?}");
        };
        says(0, [1.0, 1.0], 0, "accumulation pass");
        says(500, [0.9, 1.0], 0, "lower the ridge");
        says(500, [0.01, 1.0], 1, "too large");
        says(500, [0.01, 1.0], 480, "too small");
        says(50_000, [0.0001, 0.4], 990, "0.40 of the prior's): try more features");
        assert_eq!(hint(50_000, [0.0001, 0.9], 600, 1000), None);
        assert_eq!(hint(500, [0.01, 1.0], 200, 1000), None);
    }
}
