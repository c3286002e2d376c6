//! The score of each set.

use super::{Plot, Sorted, mark};
use crate::evidence::Evidence;
use crate::evidence::curve::{Histogram, Sweep};
use crate::figure::{Axis, Chart, Position, Scale, Series, Shape, Tone};

pub(super) fn plot(evidence: &Evidence, sorted: &Sorted, sweep: &Sweep) -> Option<Plot> {
    let [test, shift, ood] =
        [&sorted.test, &sorted.shift, &sorted.ood].map(|ranked| ranked.values());
    let histogram = Histogram::of(&[test, shift, ood])?;
    let numbers = evidence.regression.is_some();
    // No number is exactly right: the test examples of a regression stay together.
    let scores = |right: bool| {
        let rows = evidence.test.iter().filter(|one| one.correct == right);
        rows.map(|one| one.uncertainty).collect::<Vec<_>>()
    };
    let (right, wrong) =
        if numbers { (test.to_vec(), Vec::new()) } else { (scores(true), scores(false)) };

    let mut series = Vec::new();
    let mut add = |label: &str, tone, values: &[f64], shape: fn(Vec<[f64; 2]>) -> Shape| {
        if !values.is_empty() {
            let shape = shape(histogram.outline(values));
            series.push(Series { label: label.into(), tone, shape });
        }
    };
    add(if numbers { "test" } else { "test, right" }, Tone::Blue, &right, Shape::Area);
    add("out-of-distribution", Tone::Red, ood, Shape::Area);
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
    let wanted = match (numbers, ood.is_empty(), wrong.is_empty()) {
        (true, false, _) => {
            "test examples should lie left of the threshold, OOD examples right of it"
        }
        (true, true, _) => "test examples should lie left of the threshold",
        (false, false, false) => {
            "right answers should lie left of the threshold, OOD examples and its own mistakes \
             right of it"
        }
        (false, false, true) => {
            "right answers should lie left of the threshold, OOD examples right of it"
        }
        (false, true, _) => {
            "right answers should lie left of the threshold, its own mistakes right of it"
        }
    };
    let caption = format!(
        "How uncertain it is: {wanted}.{logarithm} Small sets have wider bars, equal areas are \
         equal shares, and scores beyond either end are counted in the outermost bars."
    );
    Some(Plot { chart, title: "The score of each set", caption })
}

fn top(series: &[Series]) -> f64 {
    let heights = series.iter().flat_map(|one| match &one.shape {
        Shape::Line(points) | Shape::Dashed(points) | Shape::Area(points) => points.as_slice(),
        Shape::Dots(_) | Shape::Spans(_) => &[],
    });
    (1.06 * heights.map(|[_, share]| *share).fold(0.0, f64::max)).clamp(0.01, 1.06)
}
