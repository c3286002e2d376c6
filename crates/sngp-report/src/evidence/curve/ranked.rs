//! Examples from the surest to the least sure.

use crate::evidence::{Interval, Scored};

/// What a threshold needs to know of an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::evidence) struct Row {
    pub uncertainty: f64,
    /// Whether everything but the threshold admits it.
    pub admitted: bool,
    /// Whether the answer is wrong; of a number, whether the interval misses the truth.
    pub wrong: bool,
    /// What the answer costs: 1 for a wrong class, the squared error of a number.
    pub loss: f64,
}

impl Row {
    pub fn of_scored(one: &Scored) -> Self {
        let (wrong, loss) = if one.correct { (false, 0.0) } else { (true, 1.0) };
        Self { uncertainty: one.uncertainty, admitted: one.admitted, wrong, loss }
    }

    pub fn of_interval(one: &Interval) -> Self {
        let (wrong, loss) = (!one.hit(), one.squared_error());
        Self { uncertainty: one.uncertainty, admitted: one.admitted, wrong, loss }
    }

    /// OOD examples have no right answer; none of them counts as a mistake here.
    pub fn ood(uncertainty: f64, admitted: bool) -> Self {
        Self { uncertainty, admitted, wrong: false, loss: 0.0 }
    }
}

/// How many examples a threshold accepts, and how many of those are wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::evidence) struct Accepted {
    pub count: usize,
    pub wrong: usize,
}

impl Accepted {
    /// The share of the accepted that is wrong; none where nothing is accepted.
    pub fn risk(self) -> Option<f64> {
        (self.count > 0).then(|| self.wrong as f64 / self.count as f64)
    }

    /// The 95 % interval of [`risk`](Self::risk) by Wilson's score, which is sound for few
    /// examples and for no mistakes at all.
    pub fn interval(self) -> Option<[f64; 2]> {
        let risk = self.risk()?;
        let (n, z2) = (self.count as f64, 1.96_f64 * 1.96);
        let centre = risk + z2 / (2.0 * n);
        let half = (z2 * (risk * (1.0 - risk) / n + z2 / (4.0 * n * n))).sqrt();
        let scale = 1.0 / (1.0 + z2 / n);
        Some([((centre - half) * scale).max(0.0), ((centre + half) * scale).min(1.0)])
    }
}

/// Sorted uncertainties with the mistakes and losses counted up.
#[derive(Debug, Clone)]
pub(in crate::evidence) struct Ranked {
    values: Vec<f64>,
    losses: Vec<f64>,
    /// Entry `k` is the number of mistakes among the first `k`.
    wrong: Vec<usize>,
    /// Entry `k` is the loss of the first `k`.
    lost: Vec<f64>,
}

impl Ranked {
    /// By the score alone.
    pub fn new(rows: &[Row]) -> Self {
        Self::sorted(rows.to_vec())
    }

    /// Those that a threshold can accept.
    pub fn admitted(rows: &[Row]) -> Self {
        Self::sorted(rows.iter().filter(|row| row.admitted).copied().collect())
    }

    fn sorted(mut rows: Vec<Row>) -> Self {
        // Equal uncertainties by their loss, so that sums do not depend on the order of the data.
        rows.sort_unstable_by(|a, b| {
            a.uncertainty.total_cmp(&b.uncertainty).then(a.loss.total_cmp(&b.loss))
        });
        let (mut wrong, mut lost) = (vec![0], vec![0.0]);
        for (index, row) in rows.iter().enumerate() {
            wrong.push(wrong[index] + usize::from(row.wrong));
            lost.push(lost[index] + row.loss);
        }
        let values = rows.iter().map(|row| row.uncertainty).collect();
        let losses = rows.iter().map(|row| row.loss).collect();
        Self { values, losses, wrong, lost }
    }

    /// The uncertainties in ascending order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The loss of each, in the same order.
    pub fn losses(&self) -> &[f64] {
        &self.losses
    }

    /// All examples.
    pub fn total(&self) -> Accepted {
        self.first(self.values.len())
    }

    fn first(&self, count: usize) -> Accepted {
        Accepted { count, wrong: self.wrong[count] }
    }

    /// What is at most as uncertain as `threshold`.
    pub fn at(&self, threshold: f64) -> Accepted {
        self.first(self.values.partition_point(|value| *value <= threshold))
    }

    /// The mean loss of that; none where it is nothing.
    pub fn loss_at(&self, threshold: f64) -> Option<f64> {
        let count = self.at(threshold).count;
        (count > 0).then(|| self.lost[count] / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(uncertainty: f64, wrong: bool) -> Row {
        Row { uncertainty, admitted: true, wrong, loss: if wrong { 2.0 } else { 0.0 } }
    }

    #[test]
    fn ties_are_accepted_together() {
        let rows = [(0.5, true), (0.0, false), (0.5, false), (-0.0, true), (0.9, false)];
        let ranked = Ranked::new(&rows.map(|(uncertainty, wrong)| row(uncertainty, wrong)));
        assert_eq!(ranked.at(0.0), Accepted { count: 2, wrong: 1 });
        assert_eq!(ranked.at(0.5), Accepted { count: 4, wrong: 2 });
        assert_eq!(ranked.at(0.49), Accepted { count: 2, wrong: 1 });
        assert_eq!((ranked.at(-1.0).risk(), ranked.loss_at(-1.0)), (None, None));
        assert_eq!(ranked.total().risk(), Some(0.4));
        assert_eq!(ranked.loss_at(0.5), Some(1.0));
    }

    #[test]
    fn what_is_not_admitted_is_never_accepted() {
        let rows = [row(0.1, false), Row { admitted: false, ..row(0.0, true) }];
        assert_eq!(Ranked::admitted(&rows).total(), Accepted { count: 1, wrong: 0 });
        assert_eq!(Ranked::new(&rows).total(), Accepted { count: 2, wrong: 1 });
    }

    #[test]
    fn the_interval_is_wilsons() {
        // Newcombe (1998), table I: 81 of 263 and 0 of 20.
        let near = |found: [f64; 2], expected: [f64; 2]| {
            found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 5e-5)
        };
        let interval = |wrong, count| Accepted { count, wrong }.interval().unwrap();
        assert!(near(interval(81, 263), [0.2553, 0.3662]), "{:?}", interval(81, 263));
        assert!(near(interval(0, 20), [0.0, 0.1611]), "{:?}", interval(0, 20));
        assert_eq!(Accepted::default().interval(), None);
    }
}
