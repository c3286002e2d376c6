//! Confidence against accuracy.

use sngp::metrics::{Bin, calibration_error};

use super::Plot;
use crate::evidence::Evidence;
use crate::evidence::curve::Accepted;
use crate::figure::{Axis, Chart, Scale, Series, Shape, Tone};

/// None when there are no filled bins.
pub(in crate::evidence) fn plot(evidence: &Evidence) -> Option<Plot> {
    let mut bins: Vec<&Bin> = evidence.reliability.iter().filter(|bin| bin.count > 0).collect();
    if bins.is_empty() {
        return None;
    }
    bins.sort_by(|a, b| a.confidence.total_cmp(&b.confidence));
    let points: Vec<[f64; 2]> = bins.iter().map(|bin| [bin.confidence, bin.accuracy]).collect();
    let low = lowest(&points);
    let share =
        |label: &str| Axis { label: label.into(), range: [low, 1.0], scale: Scale::Percent };
    let series = |label: &str, tone, shape| Series { label: label.into(), tone, shape };
    let chart = Chart {
        id: "reliability".into(),
        x: share("confidence: probability of its answer (%)"),
        y: share("right (%)"),
        series: vec![
            series("perfectly calibrated", Tone::Grey, Shape::Dashed(vec![[low; 2], [1.0; 2]])),
            series("95 % interval", Tone::Blue, Shape::Spans(intervals(&bins))),
            series("", Tone::Blue, Shape::Line(points.clone())),
            series("test", Tone::Blue, Shape::Dots(points)),
        ],
        mark: None,
        counts: bins.iter().map(|bin| (bin.confidence, bin.count)).collect(),
    };
    let caption = format!(
        "When it says 80 %, it should be right 80 % of the time: dots below the dashed line are \
         overconfident, above it too modest; an interval that crosses it may be chance. The grey \
         bars count the examples. Expected calibration error (ECE): {:.4}.",
        calibration_error(&evidence.reliability)
    );
    Some(Plot { chart, title: "Are its probabilities right?", caption })
}

/// The round tenth below every point, so that the axes waste no room.
fn lowest(points: &[[f64; 2]]) -> f64 {
    let least = points.iter().flatten().copied().fold(0.9, f64::min);
    (least * 10.0).floor().max(0.0) / 10.0
}

/// How far each accuracy may be off, given how few examples it is counted from.
fn intervals(bins: &[&Bin]) -> Vec<[f64; 3]> {
    let interval = |bin: &&Bin| {
        let wrong = ((1.0 - bin.accuracy) * bin.count as f64).round() as usize;
        let [low, high] = Accepted { count: bin.count, wrong }.interval()?;
        Some([bin.confidence, 1.0 - high, 1.0 - low])
    };
    bins.iter().filter_map(interval).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axes_begin_at_a_round_tenth() {
        assert_eq!(lowest(&[[0.58, 0.64], [0.99, 0.97]]), 0.5);
        assert_eq!(lowest(&[[0.99, 0.97]]), 0.9);
        assert_eq!(lowest(&[[0.03, 0.0]]), 0.0);
    }

    #[test]
    fn an_interval_surrounds_its_accuracy() {
        let bin = Bin { lower: 0.6, upper: 0.8, confidence: 0.7, accuracy: 0.75, count: 40 };
        let [x, low, high] = intervals(&[&bin])[0];
        assert!(x == 0.7 && low < 0.75 && high > 0.75 && low > 0.5);
    }
}
