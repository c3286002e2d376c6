//! Risk over coverage.

use super::{Plot, Sorted, mark};
use crate::evidence::Evidence;
use crate::evidence::curve::{RiskCoverage, Sweep, risk_coverage};
use crate::figure::{Axis, Chart, Position, Scale, Series, Shape, Tone};

/// The share of wrong answers, or for regression the mean squared error.
pub(super) fn plot(evidence: &Evidence, sorted: &Sorted, sweep: &Sweep) -> Plot {
    let numbers = evidence.regression.is_some();
    let test = risk_coverage(&sorted.test);
    let shift = risk_coverage(&sorted.shift);
    let start = sweep.starting();
    let at = [sweep.coverage(start), start.loss.unwrap_or(0.0)];
    let areas = format!(
        "Area under the curve (AURC): {:.4}; at best {:.4}; with a score that says nothing {:.4}.",
        test.area, test.oracle_area, sweep.loss
    );
    let caption = if numbers {
        format!(
            "The fewer examples it answers (further left), the smaller the mean squared error of \
             its answers should be; the dashed line knows every error beforehand. {areas}"
        )
    } else {
        format!(
            "The fewer examples it answers (further left), the fewer of its answers should be \
             wrong; the closer to the dashed line, which knows every mistake beforehand, the \
             better. {areas}"
        )
    };
    let x = Axis {
        label: "coverage: share of the examples answered (%)".into(),
        range: [0.0, 1.0],
        scale: Scale::Percent,
    };
    let top = settled(&test, &shift);
    let y = if numbers {
        let range = [0.0, if top > 0.0 { 1.12 * top } else { 1.0 }];
        Axis { label: "mean squared error of answered".into(), range, scale: Scale::Linear }
    } else {
        let range = [0.0, (1.12 * top).clamp(0.01, 1.0)];
        Axis { label: "wrong among answered (%)".into(), range, scale: Scale::Percent }
    };
    let series = |label: &str, tone, shape| Series { label: label.into(), tone, shape };
    let mut lines = vec![series("best possible", Tone::Grey, Shape::Dashed(test.oracle))];
    if !shift.points.is_empty() {
        lines.push(series("shifted", Tone::Teal, Shape::Line(shift.points)));
    }
    lines.push(series("test", Tone::Blue, Shape::Line(test.points)));
    let mark = mark(Position::Point(at));
    let chart = Chart { id: "risk_coverage".into(), x, y, series: lines, mark, counts: Vec::new() };
    Plot { chart, title: "Risk against coverage", caption }
}

/// The highest risk of either curve. A mistake among the very first few examples is a risk of
/// 100 %, which would press the rest of the curve flat; such a spike is left to be cut off.
fn settled(test: &RiskCoverage, shift: &RiskCoverage) -> f64 {
    let points = test.points.iter().chain(&shift.points);
    let settled = points.filter(|[coverage, _]| *coverage >= 0.1).map(|[_, risk]| *risk);
    settled.fold(0.0, f64::max)
}
