//! What the lines mean, in as many rows above the plot as it takes.

use super::{Chart, Position, Shape, Tone};
use crate::figure::text;

/// Width of the little drawing before each text.
pub(super) const SYMBOL: f64 = 16.0;
/// Font size.
pub(super) const FONT: f64 = 11.0;
/// Distance between rows.
const LEADING: f64 = 17.0;

/// A legend from its upper left corner on.
pub(super) struct Legend {
    pub entries: Vec<Entry>,
    pub height: f64,
}

/// One symbol and its text.
pub(super) struct Entry {
    /// The left end of the symbol, on the middle of the text's line.
    pub at: [f64; 2],
    pub symbol: Symbol,
    pub tone: Tone,
    pub text: String,
}

/// A small picture of a series.
#[derive(Clone, Copy)]
pub(super) enum Symbol {
    Line,
    Dashed,
    Area,
    Dot,
    Span,
}

impl Legend {
    /// The labelled series and the mark, no row wider than `width` unless a single entry is.
    pub fn of(chart: &Chart, width: f64) -> Self {
        let series = chart.series.iter().map(|series| {
            let symbol = match series.shape {
                Shape::Line(_) => Symbol::Line,
                Shape::Dashed(_) => Symbol::Dashed,
                Shape::Area(_) => Symbol::Area,
                Shape::Dots(_) => Symbol::Dot,
                Shape::Spans(_) => Symbol::Span,
            };
            (symbol, series.tone, &series.label)
        });
        let mark = chart.mark.iter().map(|mark| {
            let symbol = match mark.at {
                Position::Point(_) => Symbol::Dot,
                Position::Vertical(_) => Symbol::Span,
            };
            (symbol, Tone::Ink, &mark.label)
        });

        let (mut entries, mut x, mut row) = (Vec::new(), 0.0, 0);
        for (symbol, tone, text) in series.chain(mark).filter(|(_, _, text)| !text.is_empty()) {
            let length = SYMBOL + 5.0 + text::width(text, FONT);
            if x > 0.0 && x + length > width {
                (x, row) = (0.0, row + 1);
            }
            let at = [x, (f64::from(row) + 0.5) * LEADING];
            entries.push(Entry { at, symbol, tone, text: text.clone() });
            x += length + 14.0;
        }
        let height = if entries.is_empty() { 0.0 } else { f64::from(row + 1) * LEADING };
        Self { entries, height }
    }
}
