/// Groups of fewer rows are not cut further: a row alone computes hardly faster.
const FEWEST: usize = 8;
/// A row may be this many times as long as the shortest of its group.
const RATIO: usize = 2;

/// Rows of like length together: a batch is padded to its longest row, so that one long sentence
/// among short ones makes all of them long.
pub(super) fn groups(lengths: &[usize]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&row| lengths[row]);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (place, &row) in order.iter().enumerate() {
        let enough = order.len() - place >= FEWEST;
        match groups.last_mut() {
            Some(group)
                if !enough || group.len() < FEWEST || lengths[row] <= RATIO * lengths[group[0]] =>
            {
                group.push(row);
            }
            _ => groups.push(vec![row]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_ones_are_apart() {
        let lengths: Vec<usize> = (0..40).map(|row| if row % 2 == 0 { 10 } else { 100 }).collect();
        let groups = groups(&lengths);
        assert_eq!(groups.len(), 2);
        assert!(groups[0].iter().all(|row| row % 2 == 0));
    }

    proptest! {
        #[test]
        fn every_row_is_in_one_group(lengths in prop::collection::vec(1usize..500, 0..80)) {
            let mut rows = groups(&lengths).concat();
            rows.sort_unstable();
            prop_assert_eq!(rows, (0..lengths.len()).collect::<Vec<_>>());
        }
    }
}
