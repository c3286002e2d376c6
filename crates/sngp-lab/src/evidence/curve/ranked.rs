//! Examples from the surest to the least sure.

use crate::evidence::Scored;

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

/// Sorted uncertainties with the mistakes counted up.
#[derive(Debug, Clone)]
pub(in crate::evidence) struct Ranked {
    values: Vec<f64>,
    /// Entry `k` is the number of mistakes among the first `k`.
    wrong: Vec<usize>,
}

impl Ranked {
    pub fn new(examples: &[Scored]) -> Self {
        Self::sorted(examples.iter().map(|one| (one.uncertainty, !one.correct)).collect())
    }

    /// Out-of-domain examples have no right answer; none of them counts as a mistake here.
    pub fn unlabelled(uncertainties: &[f64]) -> Self {
        Self::sorted(uncertainties.iter().map(|&uncertainty| (uncertainty, false)).collect())
    }

    fn sorted(mut rows: Vec<(f64, bool)>) -> Self {
        rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let counted = rows.iter().scan(0, |wrong, row| {
            *wrong += usize::from(row.1);
            Some(*wrong)
        });
        let wrong = std::iter::once(0).chain(counted).collect();
        Self { values: rows.into_iter().map(|row| row.0).collect(), wrong }
    }

    /// The uncertainties in ascending order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All examples.
    pub fn total(&self) -> Accepted {
        self.first(self.values.len())
    }

    /// The surest `count` examples.
    pub fn first(&self, count: usize) -> Accepted {
        Accepted { count, wrong: self.wrong[count] }
    }

    /// What is at most as uncertain as `threshold`.
    pub fn at(&self, threshold: f64) -> Accepted {
        self.first(self.values.partition_point(|value| *value <= threshold))
    }

    /// Whether the answer is right, from the surest to the least sure.
    pub fn correct(&self) -> Vec<bool> {
        self.wrong.windows(2).map(|pair| pair[0] == pair[1]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(uncertainty: f64, correct: bool) -> Scored {
        Scored { uncertainty, correct, probability: 0.5 }
    }

    #[test]
    fn ties_are_accepted_together() {
        let rows = [(0.5, false), (0.0, true), (0.5, true), (-0.0, false), (0.9, true)];
        let ranked = Ranked::new(&rows.map(|(uncertainty, correct)| scored(uncertainty, correct)));
        assert_eq!(ranked.correct().iter().filter(|right| !**right).count(), 2);
        assert_eq!(ranked.at(0.0), Accepted { count: 2, wrong: 1 });
        assert_eq!(ranked.at(0.5), Accepted { count: 4, wrong: 2 });
        assert_eq!(ranked.at(0.49), Accepted { count: 2, wrong: 1 });
        assert_eq!(ranked.at(-1.0).risk(), None);
        assert_eq!(ranked.total().risk(), Some(0.4));
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
