//! Refuses what would otherwise become a hole or a lie in the picture.

use super::{Grid, Points, Surface, SurfaceFigure};
use crate::figure::{FigureError, Result};

/// Checks everything that drawing relies on.
pub(super) fn figure(figure: &SurfaceFigure) -> Result<()> {
    if !increasing(figure.range) {
        let [low, high] = figure.range;
        return Err(FigureError::Range { low, high });
    }
    if figure.rows.is_empty() {
        return Err(FigureError::Empty { what: "the figure".into() });
    }
    for row in &figure.rows {
        if row.panels.is_empty() {
            return Err(FigureError::Empty { what: format!("row `{}`", row.label) });
        }
        for panel in &row.panels {
            surface(panel).map_err(|reason| FigureError::Panel {
                panel: format!("{} / {}", row.label, panel.title),
                reason,
            })?;
        }
    }
    Ok(())
}

fn surface(surface: &Surface) -> Result<(), String> {
    let Grid { x, y, columns, rows } = surface.grid;
    if !increasing(x) || !increasing(y) {
        return Err(format!("bounds {x:?} and {y:?} have to be finite and increasing"));
    }
    if columns < 2 || rows < 2 {
        return Err(format!("a grid of {columns} x {rows} is too small; it needs 2 x 2"));
    }
    if columns.checked_mul(rows) != Some(surface.values.len()) {
        let found = surface.values.len();
        return Err(format!("{found} values do not fill a grid of {columns} x {rows}"));
    }
    if let Some(index) = surface.values.iter().position(|value| !value.is_finite()) {
        let (value, column, row) = (surface.values[index], index % columns, index / columns);
        return Err(format!("the value in column {column}, row {row} is {value}"));
    }
    for (class, class_points) in surface.classes.iter().enumerate() {
        points(class_points).map_err(|point| format!("class {class} has the point {point:?}"))?;
    }
    points(&surface.ood).map_err(|point| format!("out-of-distribution has the point {point:?}"))
}

fn points(points: &Points) -> Result<(), [f64; 2]> {
    let bad = points.0.iter().find(|point| !point.iter().all(|value| value.is_finite()));
    bad.map_or(Ok(()), |point| Err(*point))
}

fn increasing([low, high]: [f64; 2]) -> bool {
    // The span counts too: two huge finite bounds can be infinitely far apart.
    low < high && (high - low).is_finite()
}
