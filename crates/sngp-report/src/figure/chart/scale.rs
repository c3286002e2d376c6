//! From values to places along an axis.

use crate::figure::axis::{self, Tick};

/// About how many ticks an axis gets.
const COUNT: usize = 4;

/// An axis of a [`Chart`](super::Chart).
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it measures, with the unit.
    pub label: String,
    /// The values at its ends; finite and increasing.
    pub range: [f64; 2],
    /// How the values are spread.
    pub scale: Scale,
}

/// How values are spread over an axis, and how its ticks read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// Evenly; the ticks are in hundredths.
    Percent,
    /// By their logarithm; the range has to be positive.
    Log,
}

impl Axis {
    /// Where `value` stands: 0 at the low end, 1 at the high one.
    pub(super) fn fraction(&self, value: f64) -> f64 {
        let [low, high] = self.range.map(|end| self.spread(end));
        (self.spread(value) - low) / (high - low)
    }

    /// Like [`fraction`](Self::fraction), but never off the axis.
    pub(super) fn clamped(&self, value: f64) -> f64 {
        self.fraction(value.clamp(self.range[0], self.range[1]))
    }

    /// Round values within the range and their labels.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        let [low, high] = self.range;
        match self.scale {
            Scale::Linear => {
                let mut ticks = axis::ticks(self.range, COUNT);
                // Zeros without end would run into each other.
                if high - low >= 1e6 || low.abs().max(high.abs()) < 1e-4 {
                    ticks.iter_mut().for_each(|tick| tick.label = format!("{:.1e}", tick.value));
                }
                ticks
            }
            Scale::Percent => {
                let mut ticks = axis::ticks([100.0 * low, 100.0 * high], COUNT);
                ticks.iter_mut().for_each(|tick| tick.value /= 100.0);
                ticks
            }
            Scale::Log => powers(low, high),
        }
    }

    fn spread(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear | Scale::Percent => value,
            // A value that has no logarithm is below every one that has.
            Scale::Log => value.max(f64::MIN_POSITIVE).log10(),
        }
    }
}

/// Powers of ten, only every second, third, ... one where there would be too many.
fn powers(low: f64, high: f64) -> Vec<Tick> {
    let slack = 1e-9;
    let first = (low.log10() - slack).ceil() as i32;
    let last = (high.log10() + slack).floor() as i32;
    let step = ((last - first) / 6 + 1).max(1) as usize;
    let label = |power: i32, value: f64| match power {
        -4..=-1 => format!("{value:.digits$}", digits = power.unsigned_abs() as usize),
        0..=4 => format!("{value:.0}"),
        _ => format!("1e{power}"),
    };
    (first..=last)
        .step_by(step)
        .map(|power| {
            let value = 10_f64.powi(power);
            Tick { value, label: label(power, value) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(range: [f64; 2], scale: Scale) -> Axis {
        Axis { label: String::new(), range, scale }
    }

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn values_are_placed_by_their_scale() {
        assert_eq!(axis([1.0, 3.0], Scale::Linear).fraction(1.5), 0.25);
        assert!((axis([0.01, 1.0], Scale::Log).fraction(0.1) - 0.5).abs() < 1e-12);
        assert_eq!(axis([0.01, 1.0], Scale::Log).clamped(-5.0), 0.0);
        assert_eq!(axis([0.01, 1.0], Scale::Log).clamped(7.0), 1.0);
    }

    #[test]
    fn ticks_read_as_the_scale_says() {
        assert_eq!(labels(&axis([0.0, 0.1], Scale::Percent)), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(&axis([0.0005, 12.0], Scale::Log)), ["0.001", "0.01", "0.1", "1", "10"]);
        assert_eq!(labels(&axis([0.0, 2e6], Scale::Linear))[1], "5.0e5");
        assert_eq!(labels(&axis([1e-12, 1.0], Scale::Log)).len(), 5);
    }
}
