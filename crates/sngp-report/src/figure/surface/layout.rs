//! Where everything stands. Decided in full before anything is drawn, because the page's size
//! depends on it.

use super::legend::Legend;
use super::{Surface, SurfaceFigure};
use crate::figure::axis::{Tick, ticks};
use crate::figure::canvas::Rect;
use crate::figure::text::{self, Block};

/// Space around the page.
const MARGIN: f64 = 12.0;
/// Space between panels.
const GAP: f64 = 8.0;
/// Ten columns fill about this width; fewer get larger panels, up to [`LARGEST_PANEL`].
const PANELS_WIDTH: f64 = 1090.0;
const LARGEST_PANEL: f64 = 320.0;
const SMALLEST_PANEL: f64 = 64.0;
/// A longer colour bar is no easier to read.
const LONGEST_BAR: f64 = 360.0;

/// The whole page.
pub(super) struct Layout {
    pub width: f64,
    pub height: f64,
    /// Side of the square panels.
    pub panel: f64,
    /// Font size of titles and labels.
    pub font: f64,
    pub heading: Placed,
    pub rows: Vec<Row>,
    pub bar: Bar,
    pub legend: Legend,
}

/// A text block and where its last baseline is centred.
pub(super) struct Placed {
    pub at: [f64; 2],
    pub block: Block,
}

/// One row of panels.
pub(super) struct Row {
    pub label: Placed,
    /// Empty where the row above says the same.
    pub titles: Vec<Placed>,
    /// Upper left corners.
    pub panels: Vec<[f64; 2]>,
}

/// The colour bar.
pub(super) struct Bar {
    pub rect: Rect,
    pub ticks: Vec<Tick>,
    pub tick_font: f64,
    pub label: Placed,
}

impl Layout {
    pub fn of(figure: &SurfaceFigure) -> Self {
        let columns = figure.rows.iter().map(|row| row.panels.len()).max().unwrap_or(0) as f64;
        let panel = (PANELS_WIDTH / columns - GAP).clamp(SMALLEST_PANEL, LARGEST_PANEL).floor();
        let font = (10.0 + panel / 64.0).round();
        let fit = |text: &str, length: f64| Block::fit(text, font, length);

        let labels: Vec<Block> = figure.rows.iter().map(|row| fit(&row.label, panel)).collect();
        let label_width = labels.iter().map(Block::height).fold(0.0, f64::max).ceil();
        let left = MARGIN + label_width + label_width.min(3.0);
        let panels_width = columns * (panel + GAP) - GAP;
        let middle = left + panels_width / 2.0;

        let heading = Block::fit(figure.title.as_deref().unwrap_or(""), font * 1.2, panels_width);
        let mut y = MARGIN + heading.height().ceil();
        let heading = Placed { at: [middle, y - heading.size * 0.3], block: heading };
        y += heading.block.size.min(heading.block.height()) * 0.4;

        let mut rows: Vec<Row> = Vec::new();
        let mut titled: &[Surface] = &[];
        for (row, label) in figure.rows.iter().zip(labels) {
            let mut titles = Vec::new();
            if !repeats(&row.panels, titled) {
                titled = &row.panels;
                titles = Block::fit_all(titled.iter().map(|p| p.title.as_str()), font, panel);
                y = (y + titles.iter().map(Block::height).fold(0.0, f64::max)).ceil();
            }
            let panels: Vec<[f64; 2]> = (0..row.panels.len())
                .map(|column| [left + column as f64 * (panel + GAP), y])
                .collect();
            let title_at = |[x, y]: [f64; 2]| [x + panel / 2.0, y - font * 0.4];
            let titles = panels.iter().zip(titles);
            rows.push(Row {
                label: Placed { at: [left - font * 0.6, y + panel / 2.0], block: label },
                titles: titles
                    .map(|(corner, block)| Placed { at: title_at(*corner), block })
                    .collect(),
                panels,
            });
            y += panel + GAP;
        }

        let (top, bottom) = (rows[0].panels[0][1], y - GAP);
        let (bar, right) = bar(figure, font, left + panels_width, [top, bottom]);
        let legend = Legend::below(figure, font, [middle, bottom], panels_width);
        Self {
            width: (right + MARGIN).ceil(),
            height: (legend.bottom + MARGIN).ceil(),
            panel,
            font,
            heading,
            rows,
            bar,
            legend,
        }
    }
}

/// Whether the titles above already say what these panels are.
fn repeats(panels: &[Surface], above: &[Surface]) -> bool {
    panels.len() <= above.len() && panels.iter().zip(above).all(|(a, b)| a.title == b.title)
}

/// The bar beside the panels, and where its label ends.
fn bar(figure: &SurfaceFigure, font: f64, left: f64, [top, bottom]: [f64; 2]) -> (Bar, f64) {
    let height = (bottom - top).min(LONGEST_BAR);
    let rect = Rect {
        x: left + font,
        y: ((top + bottom - height) / 2.0).floor(),
        width: font.floor(),
        height,
    };
    let tick_font = font * 0.85;
    let ticks = ticks(figure.range, 5);
    let widest = ticks.iter().map(|tick| text::width(&tick.label, tick_font)).fold(0.0, f64::max);
    let block = Block::fit(&figure.colour_bar_label, font, height);
    let right = rect.x + rect.width + 7.0 + widest + 5.0 + block.height();
    let at = [right - block.size * 0.25, rect.y + height / 2.0];
    (Bar { rect, ticks, tick_font, label: Placed { at, block } }, right)
}
