//! Risk over coverage.

use super::{Plot, Sorted, mark};
use crate::evidence::curve::{RiskCoverage, Sweep, risk_coverage};
use crate::figure::{Axis, Chart, Position, Scale, Series, Shape, Tone};

pub(super) fn plot(sorted: &Sorted, sweep: &Sweep) -> Plot {
    let test = risk_coverage(&sorted.test);
    let shift = risk_coverage(&sorted.shift);
    let start = sweep.starting();
    let at = [sweep.coverage(start), start.test.risk().unwrap_or(0.0)];
    let all = sweep.test.risk().unwrap_or(0.0);
    let caption = format!(
        "The fewer examples it answers (further left), the fewer of its answers should be wrong; \
         the closer to the dashed line, which knows every mistake beforehand, the better. \
         Area under the curve (AURC): {:.4}; at best {:.4}; with a score that says nothing {:.4}.",
        test.area, test.oracle_area, all
    );
    let x = Axis {
        label: "answered: share of the examples (%)".into(),
        range: [0.0, 1.0],
        scale: Scale::Percent,
    };
    let y = Axis {
        label: "wrong among answered (%)".into(),
        range: [0.0, ceiling(&test, &shift)],
        scale: Scale::Percent,
    };
    let series = |label: &str, tone, shape| Series { label: label.into(), tone, shape };
    let mut lines = vec![series("best possible", Tone::Grey, Shape::Dashed(test.oracle))];
    if !shift.points.is_empty() {
        lines.push(series("shifted", Tone::Teal, Shape::Line(shift.points)));
    }
    lines.push(series("test", Tone::Blue, Shape::Line(test.points)));
    let mark = mark(Position::Point(at));
    let chart = Chart { id: "risk_coverage".into(), x, y, series: lines, mark, counts: Vec::new() };
    Plot { chart, title: "Error against coverage", caption }
}

/// The top of the risk axis. A mistake among the very first few examples is a risk of 100 %,
/// which would press the rest of the curve flat; such a spike is cut off.
fn ceiling(test: &RiskCoverage, shift: &RiskCoverage) -> f64 {
    let points = test.points.iter().chain(&shift.points);
    let settled = points.filter(|[coverage, _]| *coverage >= 0.1).map(|[_, risk]| *risk);
    (1.12 * settled.fold(0.0, f64::max)).clamp(0.01, 1.0)
}
