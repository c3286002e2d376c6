//! Held-out rows.

use rand::seq::SliceRandom;
use sngp::seed::{Purpose, Rng, stream};

/// Held-out share of small and of larger sets, and their most rows.
const SMALL: usize = 2000;
const SHARES: [f64; 2] = [0.2, 0.1];
/// The share where held-out rows choose nothing and promise intervals of 90 %.
const FEW: f64 = 0.1;
/// One row less than a multiple of this: then the conformal quantile of 90 % is a rank by itself. By
/// rounding up to a rank, other counts give wider intervals than are promised.
const TENTHS: usize = 10;
const MOST: usize = 5000;

/// Rows to learn from and rows to hold out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Rows to learn from.
    pub train: Vec<usize>,
    /// Rows held out.
    pub held_out: Vec<usize>,
}

/// Holds out a share of every class: a fifth of up to 2,000 rows, a tenth of more, and no more
/// than 5,000. A class of one example is learned from.
///
/// ```
/// let classes: Vec<usize> = (0..100).map(|row| usize::from(row >= 90)).collect();
/// let split = sngp_pipeline::fit::stratified(&classes, 7);
/// assert_eq!(split.held_out.len(), 20);
/// assert_eq!(split.held_out.iter().filter(|&&row| row >= 90).count(), 2);
/// ```
pub fn stratified(classes: &[usize], seed: u64) -> Split {
    let share = SHARES[usize::from(classes.len() > SMALL)];
    let share = share.min(MOST as f64 / classes.len().max(1) as f64);
    stratified_share(classes, share, stream(seed, Purpose::Shuffle, u64::MAX))
}

/// Holds out about a tenth, of a size whose conformal quantile holds nine tenths exactly.
pub(super) fn for_intervals(classes: &[usize], seed: u64) -> Split {
    let about = (classes.len() as f64 * FEW).min(MOST as f64);
    let tens = ((about + 1.0) / TENTHS as f64).round().max(1.0) as usize;
    let share = (tens * TENTHS - 1) as f64 / classes.len().max(1) as f64;
    stratified_share(classes, share, stream(seed, Purpose::Shuffle, u64::MAX))
}

/// Holds out a given share of every class.
pub(super) fn stratified_share(classes: &[usize], share: f64, mut rng: Rng) -> Split {
    let count = classes.iter().max().map_or(0, |most| most + 1);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (row, &class) in classes.iter().enumerate() {
        members[class].push(row);
    }
    let mut split = Split { train: Vec::new(), held_out: Vec::new() };
    // What rounding leaves over in one class is made up for in the next.
    let mut owed = 0.0;
    for mut rows in members {
        rows.shuffle(&mut rng);
        let wanted = rows.len() as f64 * share + owed;
        let held_out = (wanted.round().max(0.0) as usize).min(rows.len().saturating_sub(1));
        owed = wanted - held_out as f64;
        split.train.extend_from_slice(&rows[held_out..]);
        split.held_out.extend_from_slice(&rows[..held_out]);
    }
    split.train.sort_unstable();
    split.held_out.sort_unstable();
    split
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_row_is_on_one_side_and_every_class_is_learned(
            classes in prop::collection::vec(0usize..7, 1..300), seed: u64
        ) {
            let split = stratified(&classes, seed);
            let mut rows = [split.train.clone(), split.held_out.clone()].concat();
            rows.sort_unstable();
            prop_assert_eq!(rows, (0..classes.len()).collect::<Vec<_>>());
            for class in &classes {
                prop_assert!(split.train.iter().any(|&row| classes[row] == *class));
            }
        }
    }

    #[test]
    fn many_rare_classes_are_held_out_from_as_well() {
        let classes: Vec<usize> = (0..300).map(|row| row / 3).collect();
        assert!((55..=65).contains(&stratified(&classes, 1).held_out.len()));
    }

    #[test]
    fn rows_for_intervals_hold_nine_tenths_exactly() {
        for (rows, expected) in [(200, 19), (277, 29), (455, 49), (927, 89), (60_000, 4999)] {
            let strata: Vec<usize> = (0..rows).map(|row| row * 10 / rows).collect();
            assert_eq!(for_intervals(&strata, 3).held_out.len(), expected);
        }
    }

    #[test]
    fn large_sets_hold_out_no_more_than_they_need() {
        let classes: Vec<usize> = (0..200_000).map(|row| row % 10).collect();
        assert_eq!(stratified(&classes, 1).held_out.len(), 5000);
    }
}
