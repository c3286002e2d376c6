//! Measured text: labels that wrap or shrink instead of running into their neighbours.

use super::render;
use crate::escape;

/// Distance between baselines, in font sizes.
const LINE_HEIGHT: f64 = 1.2;

/// Some lines of text in one size.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Block {
    /// The lines, top to bottom; none for an empty text.
    pub lines: Vec<String>,
    /// Font size.
    pub size: f64,
}

impl Block {
    /// `text` within `width`: broken after `_`, `-`, `/`, `+` or a space where it is too long, and
    /// set smaller only where a single word is still too long.
    pub fn fit(text: &str, size: f64, width: f64) -> Self {
        let lines = wrap(text.trim(), size, width);
        let widest = lines.iter().map(|line| self::width(line, size)).fold(0.0, f64::max);
        let size = if widest > width { size * width / widest } else { size };
        Self { lines, size }
    }

    /// Several blocks that stand side by side, all in the size of the smallest.
    pub fn fit_all<'a>(
        texts: impl IntoIterator<Item = &'a str>,
        size: f64,
        width: f64,
    ) -> Vec<Self> {
        let mut blocks: Vec<Self> =
            texts.into_iter().map(|text| Self::fit(text, size, width)).collect();
        let smallest = blocks.iter().map(|block| block.size).fold(size, f64::min);
        blocks.iter_mut().for_each(|block| block.size = smallest);
        blocks
    }

    /// Distance between baselines.
    pub fn leading(&self) -> f64 {
        self.size * LINE_HEIGHT
    }

    /// Height of all lines; zero when there are none.
    pub fn height(&self) -> f64 {
        self.leading() * self.lines.len() as f64
    }
}

/// Width of one line, as the renderer will set it.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg"><text font-family="{}" font-size="{size}">{}</text></svg>"#,
        render::FONT_FAMILY,
        escape::markup(text),
    );
    // The document is ours and well-formed; nothing to draw (only spaces) has no width.
    render::parse(&svg).map_or(0.0, |tree| f64::from(tree.root().abs_bounding_box().width()))
}

/// Greedy line breaking.
fn wrap(text: &str, size: f64, limit: f64) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new()];
    // A label has no lines of its own: where it breaks is decided here.
    let text = text.replace(['\n', '\r', '\t'], " ");
    for word in text.split_inclusive(['_', '-', '/', '+', ' ']) {
        let line = lines.last_mut().expect("starts with one line");
        let longer = format!("{line}{word}");
        if line.is_empty() || width(longer.trim_end(), size) <= limit {
            *line = longer;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.iter().map(|line| line.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_grows_with_the_text_and_the_size() {
        assert!(width("sngp_ensemble", 12.0) > 1.5 * width("sngp", 12.0));
        assert!((width("sngp", 24.0) / width("sngp", 12.0) - 2.0).abs() < 0.01);
        assert_eq!(width("", 12.0), 0.0);
    }

    #[test]
    fn short_text_stays_on_one_line() {
        let block = Block::fit("a < b", 12.0, 100.0);
        assert_eq!(block, Block { lines: vec!["a < b".into()], size: 12.0 });
        assert_eq!(Block::fit(" ", 12.0, 100.0).height(), 0.0);
    }

    #[test]
    fn long_text_is_broken_after_a_separator() {
        let block = Block::fit("spectral_normalized process", 12.0, 80.0);
        assert_eq!(block.lines, ["spectral_", "normalized", "process"]);
        assert_eq!(block.size, 12.0);
    }

    #[test]
    fn a_single_long_word_shrinks_its_neighbours_too() {
        let blocks = Block::fit_all(["incomprehensibilities", "dnn"], 12.0, 60.0);
        assert!(blocks[0].size < 12.0 && blocks[0].size == blocks[1].size);
        assert!(width(&blocks[0].lines[0], blocks[0].size) < 60.5);
    }
}
