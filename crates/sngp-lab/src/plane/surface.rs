//! Surfaces over the plane.

use ndarray::Array2;
use sngp::data::Table;

use crate::dataset::{Plane, X_RANGE, Y_RANGE};
use sngp_report::figure::{Grid, Points, Surface, SurfaceFigure, SurfaceRow};

/// The grid that surfaces are computed on.
pub const GRID: Grid = Grid { x: X_RANGE, y: Y_RANGE, columns: 100, rows: 100 };

/// The grid's nodes as inputs.
pub fn grid_table() -> sngp::Result<Table> {
    let points: Vec<[f64; 2]> = GRID.points().into_iter().collect();
    Table::new(Array2::from_shape_fn((points.len(), 2), |(i, j)| points[i][j] as f32).view())
}

/// A figure of surfaces: a row a data set, a column a method.
pub fn surface_figure(rows: Vec<(String, Vec<Surface>)>, label: &str) -> SurfaceFigure {
    SurfaceFigure {
        rows: rows.into_iter().map(|(label, panels)| SurfaceRow { label, panels }).collect(),
        colour_bar_label: label.to_string(),
        ..Default::default()
    }
}

/// A panel with the data it was made from.
pub(super) fn panel(title: &str, plane: &Plane, values: Vec<f64>) -> Surface {
    let of_class = |class: usize| {
        let rows = plane.train.labels.iter().enumerate().filter(|(_, label)| **label == class);
        Points(rows.map(|(row, _)| point(&plane.train.inputs, row)).collect())
    };
    Surface {
        title: title.to_string(),
        grid: GRID,
        values,
        classes: vec![of_class(0), of_class(1)],
        ood: Points((0..plane.ood.nrows()).map(|row| point(&plane.ood, row)).collect()),
    }
}

fn point(inputs: &Array2<f32>, row: usize) -> [f64; 2] {
    [f64::from(inputs[[row, 0]]), f64::from(inputs[[row, 1]])]
}
