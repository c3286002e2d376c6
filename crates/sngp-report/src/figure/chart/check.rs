//! Refuses what would become a hole or a lie in the picture.

use super::{Axis, Chart, Position, Scale, Shape};
use crate::figure::{FigureError, Result};

/// Checks everything that drawing relies on.
pub(super) fn chart(chart: &Chart) -> Result<()> {
    let refuse = |reason| FigureError::Panel { panel: chart.id.to_string(), reason };
    for axis in [&chart.x, &chart.y] {
        self::axis(axis).map_err(refuse)?;
    }
    for series in &chart.series {
        if let Some(values) = not_finite(&series.shape) {
            return Err(refuse(format!("`{}` has the point {values:?}", series.label)));
        }
    }
    if let Some((x, count)) = chart.counts.iter().find(|(x, _)| !x.is_finite()) {
        return Err(refuse(format!("{count} examples stand at {x}")));
    }
    let at = chart.mark.as_ref().map(|mark| match mark.at {
        Position::Point(point) => point,
        Position::Vertical(x) => [x, 0.0],
    });
    match at {
        Some(at) if !at.iter().all(|value| value.is_finite()) => {
            Err(refuse(format!("the mark stands at {at:?}")))
        }
        _ => Ok(()),
    }
}

fn axis(axis: &Axis) -> Result<(), String> {
    let [low, high] = axis.range;
    // The span counts too: two huge finite bounds can be infinitely far apart.
    let increasing = low < high && (high - low).is_finite();
    if !increasing || (axis.scale == Scale::Log && low <= 0.0) {
        return Err(format!("`{}` cannot run from {low} to {high}", axis.label));
    }
    Ok(())
}

fn not_finite(shape: &Shape) -> Option<Vec<f64>> {
    let bad = |values: &[f64]| !values.iter().all(|value| value.is_finite());
    match shape {
        Shape::Line(points) | Shape::Dashed(points) | Shape::Area(points) | Shape::Dots(points) => {
            points.iter().find(|point| bad(*point)).map(|point| point.to_vec())
        }
        Shape::Spans(spans) => spans.iter().find(|span| bad(*span)).map(|span| span.to_vec()),
    }
}
