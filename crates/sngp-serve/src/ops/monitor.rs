//! Recent traffic of a model, against what it was calibrated on.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use sngp_pipeline::Answer;

use super::drift::Drift;

/// Answers that are remembered.
const WINDOW: usize = 1000;
/// With fewer, a share or a distance says little and is not given.
const FEWEST: usize = 30;

/// The last answers of a model.
pub struct Monitor {
    reference: Vec<f64>,
    threshold: Option<f64>,
    recent: Mutex<VecDeque<Recent>>,
}

/// One answer, as far as it is remembered: not what was asked.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Recent {
    /// Seconds since 1970.
    pub time: f64,
    /// Its uncertainty.
    pub uncertainty: Option<f64>,
    /// The share of held-out rows that were less uncertain.
    pub rank: Option<f64>,
    /// Whether it was accepted.
    pub accepted: bool,
}

/// What recent traffic looks like.
#[derive(Clone, Debug, Serialize)]
pub struct Traffic {
    /// Answers it is about.
    pub rows: usize,
    /// The share of them that was abstained from.
    pub abstained: Option<f64>,
    /// The share of held-out rows above the threshold: what was to be expected.
    pub expected: Option<f64>,
    /// The largest distance between the scores' distribution functions.
    pub drift: Option<f64>,
    /// Its p-value.
    pub p_value: Option<f64>,
    /// The last of them.
    pub recent: Vec<Recent>,
}

impl Monitor {
    /// For a model with these held-out scores, least first.
    pub fn new(reference: &[f64], threshold: Option<f64>) -> Self {
        let recent = Mutex::new(VecDeque::with_capacity(WINDOW));
        Self { reference: reference.to_vec(), threshold, recent }
    }

    /// Remembers answers.
    pub fn record(&self, answers: &[Answer]) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        // Of a long request, the last ones are all that would be left.
        for answer in &answers[answers.len().saturating_sub(WINDOW)..] {
            if recent.len() == WINDOW {
                recent.pop_front();
            }
            let uncertainty = answer.uncertainty;
            let rank = uncertainty.and_then(|value| self.rank(value));
            recent.push_back(Recent {
                time: now,
                uncertainty,
                rank,
                accepted: answer.is_accepted(),
            });
        }
    }

    /// The share of held-out rows that were less uncertain; evenly spread where traffic is like
    /// them.
    pub fn rank(&self, uncertainty: f64) -> Option<f64> {
        let below = self.reference.partition_point(|value| *value < uncertainty);
        (!self.reference.is_empty()).then(|| below as f64 / self.reference.len() as f64)
    }

    /// The score's values on held-out rows, least first.
    pub fn reference(&self) -> &[f64] {
        &self.reference
    }

    /// The largest uncertainty that is accepted.
    pub fn threshold(&self) -> Option<f64> {
        self.threshold
    }

    /// Recent traffic, with the last `shown` answers.
    pub fn traffic(&self, shown: usize) -> Traffic {
        let recent: Vec<Recent> = {
            let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            recent.iter().copied().collect()
        };
        let rows = recent.len();
        let scores: Vec<f64> = recent.iter().filter_map(|row| row.uncertainty).collect();
        let enough = scores.len() >= FEWEST;
        let drift = enough.then(|| Drift::measure(&self.reference, scores)).flatten();
        let abstained = recent.iter().filter(|row| !row.accepted).count();
        let above = |threshold: f64| {
            let below = self.reference.partition_point(|value| *value <= threshold);
            1.0 - below as f64 / self.reference.len() as f64
        };
        let expected = self.threshold.filter(|_| !self.reference.is_empty()).map(above);
        Traffic {
            rows,
            abstained: (rows >= FEWEST).then(|| abstained as f64 / rows as f64),
            expected,
            drift: drift.map(|drift| drift.statistic),
            p_value: drift.map(|drift| drift.p_value),
            recent: recent[rows.saturating_sub(shown)..].to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use sngp_pipeline::{Outcome, Verdict};

    use super::*;

    fn answer(uncertainty: f64) -> Answer {
        let outcome = Outcome::Number { value: 0.0, low: None, high: None };
        let mut answer = Answer::unreadable("");
        answer.verdict = Verdict::Accepted;
        answer.outcome = Some(outcome);
        answer.uncertainty = Some(uncertainty);
        answer
    }

    #[test]
    fn traffic_is_held_against_the_reference() {
        let reference: Vec<f64> = (0..100).map(f64::from).collect();
        let monitor = Monitor::new(&reference, Some(89.5));
        assert_eq!(monitor.rank(-1.0), Some(0.0));
        assert_eq!(monitor.rank(49.5), Some(0.5));
        assert_eq!(monitor.traffic(5).drift, None, "nothing is known yet");
        let like: Vec<Answer> = (0..500).map(|i| answer(f64::from(i % 100) + 0.3)).collect();
        monitor.record(&like);
        let traffic = monitor.traffic(5);
        assert!(traffic.p_value.unwrap() > 0.5);
        assert!((traffic.expected.unwrap() - 0.1).abs() < 1e-12);
        assert_eq!((traffic.rows, traffic.recent.len()), (500, 5));
        monitor.record(&vec![answer(95.0); 3000]);
        let traffic = monitor.traffic(5);
        assert_eq!(traffic.rows, WINDOW, "no more is remembered");
        assert!(traffic.p_value.unwrap() < 1e-6);
    }
}
