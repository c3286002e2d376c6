//! Predicted intervals against the truth.

use super::Plot;
use crate::evidence::{Evidence, Interval};
use crate::figure::{Axis, Chart, Scale, Series, Shape, Tone};

/// Intervals that are drawn; more would run together.
const DRAWN: usize = 300;

/// None for classification, or without rows.
pub(in crate::evidence) fn plot(evidence: &Evidence) -> Option<Plot> {
    let regression = evidence.regression.as_ref().filter(|found| !found.rows.is_empty())?;
    let drawn = evenly(&regression.rows);
    let (hit, missed): (Vec<Interval>, Vec<Interval>) = drawn.iter().partition(|row| row.hit());
    let spans = |rows: &[Interval]| rows.iter().map(|row| [row.truth, row.low, row.high]).collect();
    let means = |rows: &[Interval]| rows.iter().map(|row| [row.truth, row.mean]).collect();
    let x = range(drawn.iter().map(|row| row.truth));
    let y = range(drawn.iter().flat_map(|row| [row.truth, row.mean, row.low, row.high]));
    let series = |label: &str, tone, shape| Series { label: label.into(), tone, shape };
    let axis = |label: &str, range| Axis { label: label.into(), range, scale: Scale::Linear };
    let exact = series("exact", Tone::Grey, Shape::Dashed(x.map(|end| [end, end]).to_vec()));
    let lines = if regression.has_intervals() {
        vec![
            series("", Tone::Blue, Shape::Spans(spans(&hit))),
            series("", Tone::Orange, Shape::Spans(spans(&missed))),
            exact,
            series("truth within the interval", Tone::Blue, Shape::Dots(means(&hit))),
            series("outside", Tone::Orange, Shape::Dots(means(&missed))),
        ]
    } else {
        vec![exact, series("test", Tone::Blue, Shape::Dots(means(&drawn)))]
    };
    let chart = Chart {
        id: "regression_scatter".into(),
        x: axis("truth", x),
        y: axis("predicted", y),
        series: lines,
        mark: None,
        counts: Vec::new(),
    };
    let of = match regression.rows.len() {
        all if all > drawn.len() => {
            format!(" Shown are {} of {all} examples, spread evenly over the truth.", drawn.len())
        }
        _ => String::new(),
    };
    let (title, caption) = if regression.has_intervals() {
        let expected = 100.0 * regression.coverage;
        let caption = format!(
            "Each stroke is a predicted interval, the dot its mean; about {expected:.0} in 100 \
             should reach the dashed line.{of}"
        );
        ("Predicted intervals and the truth", caption)
    } else {
        let caption = format!("Each dot is a prediction; the dashed line is the truth.{of}");
        ("Predictions and the truth", caption)
    };
    Some(Plot { chart, title, caption })
}

/// At most [`DRAWN`] rows, evenly over the ranks of the truth.
fn evenly(rows: &[Interval]) -> Vec<Interval> {
    let mut sorted = rows.to_vec();
    sorted.sort_by(|a, b| a.truth.total_cmp(&b.truth));
    let kept = sorted.len().min(DRAWN);
    (0..kept).map(|index| sorted[index * sorted.len() / kept]).collect()
}

/// From the least to the most, with some air, never of no length.
fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let [low, high] =
        values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)]);
    let air = if high > low { 0.04 * (high - low) } else { (low.abs() * 0.5).max(0.5) };
    [low - air, high + air]
}
