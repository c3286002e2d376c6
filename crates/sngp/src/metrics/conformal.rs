//! Quantiles that promise something about the next example.

use crate::{Error, Result};

/// The `ceil((n + 1) coverage)`-th smallest of held-out values: a new one like them is at most
/// this large with at least the probability `coverage`. None where so few values cannot promise
/// that much.
///
/// ```
/// use sngp::metrics::conformal_quantile;
///
/// let held_out: Vec<f64> = (1..=9).map(f64::from).collect();
/// assert_eq!(conformal_quantile(&held_out, 0.9)?, Some(9.0));
/// assert_eq!(conformal_quantile(&held_out, 0.95)?, None);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn conformal_quantile(held_out: &[f64], coverage: f64) -> Result<Option<f64>> {
    if held_out.iter().any(|value| value.is_nan()) {
        return Err(Error::Data("a held-out value is not a number".to_string()));
    }
    let mut sorted = held_out.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = ((sorted.len() + 1) as f64 * coverage).ceil() as usize;
    Ok(sorted.get(rank.saturating_sub(1)).copied())
}
