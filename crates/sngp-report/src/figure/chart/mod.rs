//! Curves, areas and dots over two axes, with a legend and one movable mark.

mod check;
mod draw;
mod layout;
mod legend;
mod scale;
mod series;
mod tone;

pub use scale::{Axis, Scale};
pub use tone::Tone;

use std::borrow::Cow;

use super::canvas::Canvas;
use super::{Figure, Result};
use layout::Layout;

/// One plot.
///
/// ```
/// use sngp_report::figure::{Axis, Chart, Figure, Scale, Series, Shape, Tone};
///
/// let axis = |label: &str| Axis { label: label.into(), range: [0.0, 1.0], scale: Scale::Percent };
/// let chart = Chart {
///     id: "roc".into(),
///     x: axis("test examples rejected (%)"),
///     y: axis("OOD examples rejected (%)"),
///     series: vec![Series {
///         label: "chance".into(),
///         tone: Tone::Grey,
///         shape: Shape::Dashed(vec![[0.0, 0.0], [1.0, 1.0]]),
///     }],
///     mark: None,
///     counts: Vec::new(),
/// };
/// assert!(chart.svg()?.contains("chance"));
/// # Ok::<(), sngp_report::figure::FigureError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Keeps the names inside the SVG apart where several charts stand in one page.
    pub id: Cow<'static, str>,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, the first at the back.
    pub series: Vec<Series>,
    /// A place worth pointing at.
    pub mark: Option<Mark>,
    /// Positions along x and how many examples stand there: bars in a strip below the plot.
    pub counts: Vec<(f64, usize)>,
}

/// Some points that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its entry in the legend; an empty label has none.
    pub label: String,
    /// Its colour.
    pub tone: Tone,
    /// Its form.
    pub shape: Shape,
}

/// How a series is drawn. Points are `[x, y]` in the units of the axes; what lies outside them is
/// cut off.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A line through the points.
    Line(Vec<[f64; 2]>),
    /// The same, dashed.
    Dashed(Vec<[f64; 2]>),
    /// A line, and a light colour from it down to the lower edge.
    Area(Vec<[f64; 2]>),
    /// Dots.
    Dots(Vec<[f64; 2]>),
    /// Upright strokes as `[x, low, high]`.
    Spans(Vec<[f64; 3]>),
}

/// A place on a chart.
///
/// In the SVG it is a group of class `mark` which tells, as `data-` attributes, how to turn values
/// into places; a script can move it.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Its entry in the legend.
    pub label: String,
    /// Where it is.
    pub at: Position,
}

/// Where a [`Mark`] is; outside the axes it sits on their nearer end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Position {
    /// A dot.
    Point([f64; 2]),
    /// An upright line.
    Vertical(f64),
}

impl Chart {
    /// Width and height of every chart.
    pub const SIZE: [f64; 2] = layout::SIZE;

    /// The drawing without the root element and the white paper, to be put into a page that
    /// brings its own `<svg viewBox="0 0 width height">` of [`SIZE`](Self::SIZE). Its colours are
    /// `currentColor` inside groups with a class a [`Tone`], so the page may choose them anew.
    ///
    /// # Errors
    /// As [`svg`](Figure::svg).
    pub fn body(&self) -> Result<String> {
        Ok(self.canvas()?.into_body())
    }

    fn canvas(&self) -> Result<Canvas> {
        check::chart(self)?;
        let [width, height] = Self::SIZE;
        let mut canvas = Canvas::new(width, height);
        draw::chart(&mut canvas, self, &Layout::of(self));
        Ok(canvas)
    }
}

impl Figure for Chart {
    fn svg(&self) -> Result<String> {
        Ok(self.canvas()?.finish())
    }
}

#[cfg(test)]
mod tests;
