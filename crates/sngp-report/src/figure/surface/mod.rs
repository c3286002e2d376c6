//! Uncertainty over the plane, like Figure 1 of the SNGP paper (Liu et al., 2020): a row per data
//! set, a column per method, the training points and the out-of-distribution points on top.

mod check;
mod draw;
mod layout;
mod legend;

use super::{Figure, Result};
use serde::{Deserialize, Serialize};

/// A regular grid whose first and last nodes lie on the bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// Leftmost and rightmost x.
    pub x: [f64; 2],
    /// Lowest and highest y.
    pub y: [f64; 2],
    /// Nodes along x, at least two.
    pub columns: usize,
    /// Nodes along y, at least two.
    pub rows: usize,
}

impl Grid {
    /// The nodes in the order of [`Surface::values`]: row by row, the lowest y first.
    ///
    /// ```
    /// use sngp_report::figure::Grid;
    ///
    /// let grid = Grid { x: [0.0, 1.0], y: [5.0, 7.0], columns: 2, rows: 2 };
    /// assert_eq!(grid.points(), [[0.0, 5.0], [1.0, 5.0], [0.0, 7.0], [1.0, 7.0]]);
    /// ```
    pub fn points(&self) -> Vec<[f64; 2]> {
        let node = |[low, high]: [f64; 2], index: usize, count: usize| {
            // A single node has no spacing; it stands on the lower bound.
            low + (high - low) * index as f64 / count.saturating_sub(1).max(1) as f64
        };
        (0..self.rows)
            .flat_map(|row| (0..self.columns).map(move |column| (column, row)))
            .map(|(column, row)| [node(self.x, column, self.columns), node(self.y, row, self.rows)])
            .collect()
    }
}

/// Points of the plane.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Points(pub Vec<[f64; 2]>);

/// One panel: a method's uncertainty and the points it was trained on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Surface {
    /// The method.
    pub title: String,
    /// Where the values were taken. The panel shows exactly this part of the plane; points
    /// outside it are not drawn.
    pub grid: Grid,
    /// One value a node, in the order of [`Grid::points`].
    pub values: Vec<f64>,
    /// Training points, class by class.
    pub classes: Vec<Points>,
    /// Points from outside the training domain.
    pub ood: Points,
}

/// A row of panels, usually one data set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SurfaceRow {
    /// The data set; written at the left, from bottom to top.
    pub label: String,
    /// One panel a method.
    pub panels: Vec<Surface>,
}

/// Rows of surfaces with one colour bar and one legend.
///
/// Titles stand above the first row, and above a later row only where they change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SurfaceFigure {
    /// A heading over everything.
    pub title: Option<String>,
    /// The panels, top to bottom.
    pub rows: Vec<SurfaceRow>,
    /// What the colours mean.
    pub colour_bar_label: String,
    /// Values of the darkest and the brightest colour; values outside take the colour of the
    /// nearer end.
    pub range: [f64; 2],
}

impl Default for SurfaceFigure {
    /// No rows yet; uncertainty from 0 to 1.
    fn default() -> Self {
        Self {
            title: None,
            rows: Vec::new(),
            colour_bar_label: "uncertainty".into(),
            range: [0.0, 1.0],
        }
    }
}

impl Figure for SurfaceFigure {
    fn svg(&self) -> Result<String> {
        check::figure(self)?;
        draw::figure(self)
    }
}

#[cfg(test)]
mod tests;
