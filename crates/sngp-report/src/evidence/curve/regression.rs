//! Does a wider interval mean a larger error?

use crate::evidence::Interval;

/// Groups of equally many examples.
const GROUPS: usize = 5;

/// Examples whose intervals are about equally wide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::evidence) struct Group {
    pub rows: usize,
    /// Mean width of the intervals.
    pub width: f64,
    /// Mean absolute error.
    pub error: f64,
    /// The share of intervals that contains the truth.
    pub coverage: f64,
}

/// Up to five groups, the narrowest intervals first. Equal widths stay together.
pub(in crate::evidence) fn by_width(rows: &[Interval]) -> Vec<Group> {
    let width = |row: &Interval| row.high - row.low;
    let mut sorted = rows.to_vec();
    sorted.sort_by(|a, b| width(a).total_cmp(&width(b)));
    let mut ends: Vec<usize> = (1..=GROUPS)
        .map(|group| {
            let end = sorted.len() * group / GROUPS;
            let widest = sorted[..end].last().map_or(f64::NEG_INFINITY, width);
            sorted.partition_point(|row| width(row) <= widest)
        })
        .collect();
    ends.dedup();
    let mut start = 0;
    let cut = |end: usize| &sorted[std::mem::replace(&mut start, end)..end];
    ends.into_iter().map(cut).filter(|rows| !rows.is_empty()).map(group).collect()
}

fn group(rows: &[Interval]) -> Group {
    let mean =
        |value: fn(&Interval) -> f64| rows.iter().map(value).sum::<f64>() / rows.len() as f64;
    Group {
        rows: rows.len(),
        width: mean(|row| row.high - row.low),
        error: mean_absolute_error(rows),
        coverage: mean(|row| f64::from(u8::from(row.hit()))),
    }
}

/// Zero when there are no rows.
pub(in crate::evidence) fn mean_absolute_error(rows: &[Interval]) -> f64 {
    let errors = rows.iter().map(|row| (row.truth - row.mean).abs());
    errors.sum::<f64>() / rows.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(truth: f64, width: f64) -> Interval {
        let (low, high) = (-width / 2.0, width / 2.0);
        Interval { truth, mean: 0.0, low, high, uncertainty: width, admitted: true }
    }

    #[test]
    fn groups_are_by_width() {
        let rows: Vec<_> = (1..=10).rev().map(|i| interval(1.0, f64::from(i))).collect();
        let groups = by_width(&rows);
        assert_eq!(groups.iter().map(|group| group.rows).collect::<Vec<_>>(), [2; 5]);
        assert_eq!(groups[0], Group { rows: 2, width: 1.5, error: 1.0, coverage: 0.5 });
        assert_eq!(groups[4].coverage, 1.0);
    }

    #[test]
    fn equal_widths_are_one_group() {
        assert_eq!(by_width(&[interval(0.0, 1.0); 7]).len(), 1);
        assert_eq!(by_width(&[interval(0.0, 1.0), interval(0.0, 2.0)]).len(), 2);
        assert!(by_width(&[]).is_empty());
    }
}
