//! The score of each set.

use super::{Plot, Sorted, mark};
use crate::evidence::curve::{Histogram, Sweep};
use crate::evidence::{Evidence, Scored};
use crate::figure::{Axis, Chart, Position, Scale, Series, Shape, Tone};

pub(super) fn plot(evidence: &Evidence, sorted: &Sorted, sweep: &Sweep) -> Option<Plot> {
    let (right, wrong): (Vec<&Scored>, Vec<&Scored>) =
        evidence.test.iter().partition(|one| one.correct);
    let scores = |rows: &[&Scored]| rows.iter().map(|one| one.uncertainty).collect::<Vec<_>>();
    let (right, wrong) = (scores(&right), scores(&wrong));
    let [test, shift, ood] =
        [&sorted.test, &sorted.shift, &sorted.ood].map(|ranked| ranked.values());
    let histogram = Histogram::of(&[test, shift, ood])?;

    let mut series = Vec::new();
    let mut add = |label: &str, tone, values: &[f64], shape: fn(Vec<[f64; 2]>) -> Shape| {
        if !values.is_empty() {
            let shape = shape(histogram.outline(values));
            series.push(Series { label: label.into(), tone, shape });
        }
    };
    add("test, right", Tone::Blue, &right, Shape::Area);
    add("out of domain", Tone::Red, ood, Shape::Area);
    add("shifted", Tone::Teal, shift, Shape::Line);
    add("test, wrong", Tone::Orange, &wrong, Shape::Dashed);

    let label = if evidence.score.is_empty() { "uncertainty" } else { &evidence.score };
    let scale = if histogram.log { Scale::Log } else { Scale::Linear };
    let chart = Chart {
        id: "histogram".into(),
        x: Axis { label: label.into(), range: histogram.range, scale },
        y: Axis {
            label: "density: share of each set (%)".into(),
            range: [0.0, top(&series)],
            scale: Scale::Percent,
        },
        series,
        mark: mark(Position::Vertical(sweep.starting().threshold)),
        counts: Vec::new(),
    };
    let logarithm = if histogram.log { " The axis is logarithmic." } else { "" };
    let others = match (ood.is_empty(), wrong.is_empty()) {
        (false, false) => "out-of-domain examples and its own mistakes",
        (false, true) => "out-of-domain examples",
        (true, _) => "its own mistakes",
    };
    let caption = format!(
        "How uncertain it is: right answers should lie left of the threshold, {others} right of \
         it.{logarithm} Small sets have wider bars, equal areas are equal shares, and scores \
         beyond either end are counted in the outermost bars."
    );
    Some(Plot { chart, title: "The score in and out of domain", caption })
}

fn top(series: &[Series]) -> f64 {
    let heights = series.iter().flat_map(|one| match &one.shape {
        Shape::Line(points) | Shape::Dashed(points) | Shape::Area(points) => points.as_slice(),
        Shape::Dots(_) | Shape::Spans(_) => &[],
    });
    (1.06 * heights.map(|[_, share]| *share).fold(0.0, f64::max)).clamp(0.01, 1.06)
}
