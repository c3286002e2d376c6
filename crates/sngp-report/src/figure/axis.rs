//! Round tick positions and their labels.

/// A tick: where it stands and what it says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    /// Position in the units of the axis.
    pub value: f64,
    /// The value with as many decimals as the step needs.
    pub label: String,
}

/// Ticks within `low..=high` at multiples of 1, 2 or 5 times a power of ten, about `count` of them.
pub(super) fn ticks([low, high]: [f64; 2], count: usize) -> Vec<Tick> {
    let rough = (high - low) / count.max(1) as f64;
    let power = rough.log10().floor();
    let unit = 10_f64.powf(power);
    // The unit is no larger than `rough`, so one of the three always is; the hair of slack keeps
    // a step that only rounding made too large.
    let steps = [5.0, 2.0, 1.0].map(|multiple| multiple * unit);
    let step = steps.into_iter().find(|step| *step <= rough * 1.001).unwrap_or(unit);
    let decimals = (-power).max(0.0) as usize;

    // Multiples of the step rather than repeated sums, and a hair of slack: 0.1 * 3 must not miss
    // an upper end of 0.3.
    let slack = 1e-9;
    let first = (low / step - slack).ceil() as i64;
    let last = (high / step + slack).floor() as i64;
    (first..=last)
        .map(|multiple| {
            let value = multiple as f64 * step;
            Tick { value, label: format!("{value:.decimals$}") }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::ticks;

    fn labels(range: [f64; 2], count: usize) -> Vec<String> {
        ticks(range, count).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn the_unit_interval_gets_fifths() {
        assert_eq!(labels([0.0, 1.0], 5), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    }

    #[test]
    fn other_ranges_get_round_steps_inside_them() {
        assert_eq!(labels([0.0, 0.3], 3), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(labels([-3.0, 12.0], 3), ["0", "5", "10"]);
        assert_eq!(labels([0.0, 0.25], 5), ["0.00", "0.05", "0.10", "0.15", "0.20", "0.25"]);
    }
}
