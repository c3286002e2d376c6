//! Lines, areas, dots and strokes.

use super::layout::Layout;
use super::legend::Symbol;
use super::{Chart, Series, Shape, Tone};
use crate::figure::canvas::{Canvas, number};
use crate::figure::colour::hex;
use std::fmt::Write;

/// Draws `draw` in a tone: it uses `currentColor`.
pub(super) fn toned(canvas: &mut Canvas, tone: Tone, draw: impl FnOnce(&mut Canvas)) {
    canvas.group(&[("class", tone.class()), ("color", &hex(tone.colour()))], draw);
}

pub(super) fn series(canvas: &mut Canvas, chart: &Chart, layout: &Layout, series: &Series) {
    let place = |points: &[[f64; 2]]| -> Vec<[f64; 2]> {
        points.iter().map(|point| layout.place(chart, *point)).collect()
    };
    toned(canvas, series.tone, |canvas| match &series.shape {
        Shape::Line(points) => line(canvas, &place(points), 1.8, None),
        Shape::Dashed(points) => line(canvas, &place(points), 1.5, Some("5 4")),
        Shape::Area(points) => area(canvas, &place(points), layout),
        Shape::Dots(points) => {
            let radius = if points.len() > 60 { 2.0 } else { 3.4 };
            place(points).into_iter().for_each(|at| dot(canvas, at, radius));
        }
        Shape::Spans(spans) => {
            for &[x, low, high] in spans {
                let ends = place(&[[x, low], [x, high]]);
                line(canvas, &ends, if spans.len() > 60 { 0.7 } else { 1.2 }, None);
            }
        }
    });
}

/// The little picture of a series in the legend, its left end at `[x, y]`.
pub(super) fn symbol(canvas: &mut Canvas, symbol: Symbol, [x, y]: [f64; 2], width: f64) {
    let ends = [[x, y], [x + width, y]];
    let middle = x + width / 2.0;
    match symbol {
        Symbol::Line => line(canvas, &ends, 2.0, None),
        Symbol::Dashed => line(canvas, &ends, 1.5, Some("5 3")),
        Symbol::Dot => dot(canvas, [middle, y], 3.6),
        Symbol::Span => line(canvas, &[[middle, y - 5.0], [middle, y + 5.0]], 1.6, None),
        Symbol::Area => {
            let (low, high) = (y + 4.0, y - 4.0);
            let corners = [[x, low], [x, high], [x + width, high], [x + width, low]];
            fill(canvas, &corners);
            line(canvas, &corners[1..3], 1.8, None);
        }
    }
}

pub(super) fn line(canvas: &mut Canvas, points: &[[f64; 2]], width: f64, dash: Option<&str>) {
    if points.is_empty() {
        return;
    }
    let dash = dash.map_or(String::new(), |dash| format!(r#" stroke-dasharray="{dash}""#));
    canvas.element(format_args!(
        r#"<path d="{}" fill="none" stroke="currentColor" stroke-width="{}" stroke-linejoin="round"{dash}/>"#,
        path(points),
        number(width)
    ));
}

pub(super) fn dot(canvas: &mut Canvas, at: [f64; 2], radius: f64) {
    let ([x, y], radius) = (at.map(number), number(radius));
    canvas.element(format_args!(r#"<circle cx="{x}" cy="{y}" r="{radius}" fill="currentColor"/>"#));
}

fn area(canvas: &mut Canvas, points: &[[f64; 2]], layout: &Layout) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return;
    };
    let floor = layout.area.y + layout.area.height;
    let corners = [&[[first[0], floor]], points, &[[last[0], floor]]].concat();
    fill(canvas, &corners);
    line(canvas, points, 1.8, None);
}

fn fill(canvas: &mut Canvas, corners: &[[f64; 2]]) {
    canvas.element(format_args!(
        r#"<path d="{}Z" fill="currentColor" fill-opacity="0.18"/>"#,
        path(corners)
    ));
}

fn path(points: &[[f64; 2]]) -> String {
    let mut path = String::new();
    for (index, point) in points.iter().enumerate() {
        let [x, y] = point.map(number);
        // Writing into a string cannot fail.
        let _ = write!(path, "{}{x} {y}", if index == 0 { 'M' } else { 'L' });
    }
    path
}
