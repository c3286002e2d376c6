//! Learning-rate schedules.

use burn::lr_scheduler::{LrScheduler, LrSchedulerRecord};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// How the learning rate changes over a training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Schedule {
    /// Share of all steps in which it rises linearly from zero.
    pub warm_up: f64,
    /// What it does afterwards.
    pub decay: Decay,
}

/// How the learning rate falls after the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Decay {
    /// It stays.
    #[default]
    Constant,
    /// Linearly to zero.
    Linear,
    /// Along half a cosine to zero.
    Cosine,
    /// By a factor at given points.
    Step {
        /// Shares of all steps, ascending.
        milestones: Vec<f64>,
        /// The factor at each of them.
        factor: f64,
    },
}

impl Schedule {
    /// Refuses shares outside `[0, 1]`.
    pub fn check(&self) -> Result<()> {
        let share = |what, value: f64| match (0.0..=1.0).contains(&value) {
            true => Ok(()),
            false => Err(Error::config(what, value, "it is a share of all steps, in [0, 1]")),
        };
        share("warm_up", self.warm_up)?;
        if let Decay::Step { milestones, factor } = &self.decay {
            milestones.iter().try_for_each(|&milestone| share("milestones", milestone))?;
            if !(factor.is_finite() && *factor > 0.0) {
                return Err(Error::config("factor", factor, "it must be positive"));
            }
        }
        Ok(())
    }

    /// The factor on the learning rate in step `step` (from 1) of `total`.
    ///
    /// ```
    /// use sngp::train::{Decay, Schedule};
    ///
    /// let schedule = Schedule { warm_up: 0.1, decay: Decay::Linear };
    /// assert_eq!(schedule.factor(5, 100), 0.5);
    /// assert_eq!(schedule.factor(10, 100), 1.0);
    /// assert!((schedule.factor(55, 100) - 0.5).abs() < 1e-12);
    /// ```
    pub fn factor(&self, step: usize, total: usize) -> f64 {
        if total <= 1 {
            return 1.0;
        }
        let warm_up = (self.warm_up * total as f64).round();
        let step = step as f64;
        if step < warm_up {
            return step / warm_up;
        }
        let progress = ((step - warm_up) / (total as f64 - warm_up).max(1.0)).min(1.0);
        match &self.decay {
            Decay::Constant => 1.0,
            Decay::Linear => 1.0 - progress,
            Decay::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * progress).cos()),
            Decay::Step { milestones, factor } => {
                let passed = milestones.iter().filter(|&&m| step / total as f64 > m).count();
                factor.powi(passed as i32)
            }
        }
    }
}

/// A schedule in progress; its only state is the step.
#[derive(Clone)]
pub(super) struct ScheduleState {
    pub schedule: Schedule,
    pub learning_rate: f64,
    pub total: usize,
    pub step: usize,
}

impl LrScheduler for ScheduleState {
    fn step(&mut self) -> f64 {
        self.step += 1;
        self.learning_rate * self.schedule.factor(self.step, self.total)
    }

    fn to_record(&self) -> LrSchedulerRecord {
        LrSchedulerRecord::new().with_scalar("step", self.step as u64)
    }

    fn load_record(&mut self, record: LrSchedulerRecord) {
        if let Some(step) = record.scalar::<u64>("step") {
            self.step = step as usize;
        }
    }
}
