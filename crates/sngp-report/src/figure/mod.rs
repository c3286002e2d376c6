//! The toolkit's figures: drawn once as SVG, rasterised to PNG from that same SVG.
//!
//! A figure is plain data plus one [`Figure::svg`] method; [`Figure::save`] then writes both files.
//! The font travels inside the binary, so a fresh machine needs no system font and no library.
//!
//! A curve, a histogram or a scatter plot is a [`Chart`]. To add another kind of figure, write one
//! file next to `surface`, implement [`Figure`] for its data and re-export it below. The small
//! helpers are there to be shared:
//!
//! | file | what it gives |
//! | --- | --- |
//! | `canvas` | rectangles, lines, dots, images, gradients and text as SVG |
//! | `text` | measured widths; labels that wrap or shrink instead of overlapping |
//! | `axis` | round tick positions and their labels |
//! | `colour` | the colour map of surfaces, the colours of classes |
//! | `bitmap` | a grid of values as one smooth embedded image |
//! | [`Panels`] | several charts in one image |
//! | [`render`] | SVG to PNG |
//! | `save` | names of a figure's files |
//!
//! ```
//! use sngp_report::figure::{Figure, Grid, Points, Surface, SurfaceFigure, SurfaceRow};
//!
//! let grid = Grid { x: [-1.0, 1.0], y: [-1.0, 1.0], columns: 20, rows: 20 };
//! let panel = Surface {
//!     title: "sngp".into(),
//!     values: grid.points().iter().map(|[x, y]| (x * x + y * y) / 2.0).collect(),
//!     grid,
//!     classes: vec![Points(vec![[-0.2, 0.0]]), Points(vec![[0.2, 0.0]])],
//!     ood: Points(vec![[0.9, 0.9]]),
//! };
//! let figure = SurfaceFigure {
//!     rows: vec![SurfaceRow { label: "two points".into(), panels: vec![panel] }],
//!     ..SurfaceFigure::default()
//! };
//! assert!(figure.svg()?.contains("two points"));
//! # Ok::<(), sngp_report::figure::FigureError>(())
//! ```

mod axis;
mod bitmap;
mod canvas;
mod chart;
mod colour;
mod error;
mod panels;
pub mod render;
mod save;
mod surface;
mod text;

pub use chart::{Axis, Chart, Mark, Position, Scale, Series, Shape, Tone};
pub use error::{FigureError, Result};
pub use panels::{Panel, Panels};
pub use surface::{Grid, Points, Surface, SurfaceFigure, SurfaceRow};

use std::path::Path;

use sngp::files::write_whole;

/// Something that can be drawn; implement [`svg`](Figure::svg), the rest follows.
pub trait Figure {
    /// The whole figure as one self-contained SVG document.
    ///
    /// # Errors
    /// When the data cannot be drawn honestly: nothing to show, sizes that disagree, or values
    /// that are not finite.
    fn svg(&self) -> Result<String>;

    /// Writes `stem.svg` and `stem.png`; either file appears whole or not at all.
    ///
    /// Both are made before the first is written, so a figure that cannot be drawn leaves the
    /// files of an earlier run as they were.
    ///
    /// # Errors
    /// Those of [`svg`](Figure::svg) and [`render::png`], and [`FigureError::File`] with the path.
    fn save(&self, stem: &Path) -> Result<()> {
        let svg = self.svg()?;
        let png = render::png(&svg, render::SCALE)?;
        write_whole(&save::with_suffix(stem, ".svg"), svg.as_bytes())?;
        Ok(write_whole(&save::with_suffix(stem, ".png"), &png)?)
    }
}
