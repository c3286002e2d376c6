//! Ranks and ties, and the rank correlation.

use super::input;
use crate::Result;

/// The indices of `values` from the smallest to the largest. The values must not be NaN.
pub(super) fn ascending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    order
}

/// `order`, as made by [`ascending`], cut into groups of equal values.
pub(super) fn ties<'a>(
    order: &'a [usize],
    values: &'a [f64],
) -> impl DoubleEndedIterator<Item = &'a [usize]> {
    // `==` and not the total order, which tells -0 from +0: they are neighbours, and a tie.
    order.chunk_by(|&a, &b| values[a] == values[b])
}

/// Spearman's rank correlation: the correlation of the ranks, tied values sharing their average
/// rank. 1 when one grows with the other, -1 when it falls.
///
/// When either is constant, or there is a single pair, there is no ranking to agree with: the
/// result is 0, since a score that never changes says nothing about the other.
///
/// ```
/// use sngp::metrics::spearman;
///
/// assert_eq!(spearman(&[1.0, 2.0, 3.0], &[0.1, 10.0, 1000.0])?, 1.0);
/// assert_eq!(spearman(&[1.0, 2.0, 3.0], &[5.0, 5.0, 5.0])?, 0.0);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn spearman(a: &[f64], b: &[f64]) -> Result<f64> {
    input::comparable("a", a)?;
    input::comparable("b", b)?;
    input::same_length("b", b.len(), "the values of a", a.len())?;

    let (a, b) = (centred_ranks(a), centred_ranks(b));
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let scale = (dot(&a, &a) * dot(&b, &b)).sqrt();
    if scale == 0.0 {
        return Ok(0.0);
    }
    Ok((dot(&a, &b) / scale).clamp(-1.0, 1.0))
}

/// Average ranks minus their mean. Both are whole or half numbers, so a constant gives exact
/// zeros.
fn centred_ranks(values: &[f64]) -> Vec<f64> {
    let order = ascending(values);
    let mean = (values.len() - 1) as f64 / 2.0;
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    for group in ties(&order, values) {
        let rank = start as f64 + (group.len() - 1) as f64 / 2.0;
        for &index in group {
            ranks[index] = rank - mean;
        }
        start += group.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tied_values_share_their_average_rank() {
        assert_eq!(centred_ranks(&[3.0, 1.0, 3.0, 0.0]), [1.0, -0.5, 1.0, -1.5]);
    }

    #[test]
    fn agrees_with_a_worked_example() {
        // Without ties, 1 - 6 sum d^2 / (n (n^2 - 1)); here the ranks differ by 1, 1, 0, 0.
        let value = spearman(&[1.0, 2.0, 3.0, 4.0], &[2.0, 1.0, 3.0, 4.0]).unwrap();
        assert!((value - (1.0 - 6.0 * 2.0 / 60.0)).abs() < 1e-15);
    }

    #[test]
    fn bad_input_is_an_error_and_a_single_pair_is_not() {
        assert!(spearman(&[], &[]).is_err());
        assert!(spearman(&[1.0, f64::NAN], &[1.0, 2.0]).is_err());
        assert!(spearman(&[1.0], &[1.0, 2.0]).is_err());
        assert_eq!(spearman(&[1.0], &[2.0]).unwrap(), 0.0);
    }
}
