//! Several charts in one image.

use super::canvas::{Anchor, Canvas, number};
use super::{Chart, Figure, FigureError, Result};

const COLUMNS: usize = 3;
const TITLE: f64 = 22.0;

/// One of several charts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panel {
    /// What stands above it.
    pub title: String,
    /// A [`Chart::body`]; charts of one image need different names.
    pub body: String,
}

/// Charts side by side, three a row.
///
/// ```
/// use sngp_report::figure::{Axis, Chart, Figure, Panel, Panels, Scale, Series, Shape, Tone};
///
/// let axis = |label: &str| Axis { label: label.into(), range: [0.0, 1.0], scale: Scale::Percent };
/// let line = Shape::Line(vec![[0.0, 0.2], [1.0, 0.9]]);
/// let series = vec![Series { label: "test".into(), tone: Tone::Blue, shape: line }];
/// let panel = |title: &'static str| {
///     let (x, y) = (axis("confidence"), axis("right"));
///     let (mark, counts, series) = (None, Vec::new(), series.clone());
///     let chart = Chart { id: title.into(), x, y, series, mark, counts };
///     chart.body().map(|body| Panel { title: title.into(), body })
/// };
/// let figure = Panels { panels: vec![panel("duq")?, panel("sngp")?] };
/// assert!(figure.svg()?.contains("sngp"));
/// # Ok::<(), sngp_report::figure::FigureError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Panels {
    /// The charts, row by row.
    pub panels: Vec<Panel>,
}

impl Figure for Panels {
    fn svg(&self) -> Result<String> {
        if self.panels.is_empty() {
            return Err(FigureError::Empty { what: "the figure".to_string() });
        }
        let [width, height] = Chart::SIZE;
        let columns = self.panels.len().min(COLUMNS);
        let rows = self.panels.len().div_ceil(columns);
        let mut canvas = Canvas::new(columns as f64 * width, rows as f64 * (height + TITLE));
        for (index, panel) in self.panels.iter().enumerate() {
            let x = (index % columns) as f64 * width;
            let y = (index / columns) as f64 * (height + TITLE);
            canvas.text([x + width / 2.0, y + 16.0], &panel.title, 14.0, Anchor::Middle);
            let place = format!("translate({} {})", number(x), number(y + TITLE));
            canvas.group(&[("transform", &place)], |canvas| {
                canvas.element(format_args!("{}", panel.body));
            });
        }
        Ok(canvas.finish())
    }
}
