//! What the dots mean, in as many centred lines as it takes.

use super::SurfaceFigure;
use crate::figure::colour::{self, Rgb};
use crate::figure::text;

/// The placed legend.
pub(super) struct Legend {
    pub entries: Vec<Entry>,
    /// Where the last line ends.
    pub bottom: f64,
}

/// A dot and its meaning.
pub(super) struct Entry {
    /// Centre of the dot.
    pub dot: [f64; 2],
    pub colour: Rgb,
    pub text: String,
    width: f64,
}

impl Legend {
    /// Centred below `[middle, top]`, no wider than `width` unless a single entry is.
    pub fn below(figure: &SurfaceFigure, font: f64, [middle, top]: [f64; 2], width: f64) -> Self {
        let space = font * 1.4;
        let length =
            |line: &[Entry]| line.iter().map(|entry| entry.width + space).sum::<f64>() - space;

        let mut lines: Vec<Vec<Entry>> = Vec::new();
        for entry in entries(figure, font) {
            match lines.last_mut() {
                Some(line) if length(line) + space + entry.width <= width => line.push(entry),
                _ => lines.push(vec![entry]),
            }
        }

        let mut bottom = if lines.is_empty() { top } else { top + font * 0.5 };
        for line in &mut lines {
            bottom += font * 1.5;
            let mut x = middle - length(line) / 2.0;
            for entry in line {
                entry.dot = [x + font * 0.35, bottom - font * 0.35];
                x += entry.width + space;
            }
        }
        Self { entries: lines.into_iter().flatten().collect(), bottom }
    }
}

/// Only what some panel has; not placed yet.
fn entries(figure: &SurfaceFigure, font: f64) -> Vec<Entry> {
    let panels = || figure.rows.iter().flat_map(|row| &row.panels);
    let entry = |colour, text: String| {
        let width = font + text::width(&text, font);
        Entry { dot: [0.0, 0.0], colour, text, width }
    };
    let has_points = |class: &usize| {
        panels().any(|panel| panel.classes.get(*class).is_some_and(|points| !points.0.is_empty()))
    };
    let classes = panels().map(|panel| panel.classes.len()).max().unwrap_or(0);
    let mut entries: Vec<Entry> = (0..classes)
        .filter(has_points)
        .map(|class| entry(colour::class(class), format!("class {class}")))
        .collect();
    if panels().any(|panel| !panel.ood.0.is_empty()) {
        entries.push(entry(colour::OUT_OF_DISTRIBUTION, "out-of-distribution".into()));
    }
    entries
}
