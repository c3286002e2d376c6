//! Examples to look at.

use super::number::{count, percent, value};
use crate::escape;
use crate::evidence::{Content, Evidence, Example, Truth};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Characters of a text, and of a cell, that are shown.
const TEXT: usize = 600;
const CELL: usize = 120;
/// Cells that are shown.
const CELLS: usize = 40;
/// Images up to this many pixels wide are enlarged without smoothing.
const TINY: u32 = 64;

/// Empty when there is nothing to look at.
pub(super) fn examples(evidence: &Evidence) -> String {
    let regression = evidence.regression.is_some();
    let uncertain = list(
        "Most uncertain",
        "What it would reject first. Are these hard for a person, too?",
        &evidence.uncertain,
        regression,
    );
    let wrong = list(
        "Most confidently wrong",
        "What a threshold on this score rejects last. Is the label itself right?",
        &evidence.wrong,
        regression,
    );
    let accepted = list(
        "Accepted OOD examples",
        "Out-of-distribution examples that the model's decision accepts, the most certain first. \
         Are they out-of-distribution at all?",
        &evidence.accepted_ood,
        regression,
    );
    uncertain + &wrong + &accepted
}

fn list(title: &str, note: &str, examples: &[Example], regression: bool) -> String {
    if examples.is_empty() {
        return String::new();
    }
    let cards: String = examples.iter().map(|example| card(example, regression)).collect();
    format!("<h3>{title}</h3>\n<p class=\"note\">{note}</p>\n<ol class=\"cards\">\n{cards}</ol>\n")
}

fn card(example: &Example, regression: bool) -> String {
    let verdict = match &example.truth {
        Truth::Ood(_) => "<span class=\"verdict ood\">OOD</span>",
        // A regression is never exactly right.
        Truth::Label(_) if regression => "",
        Truth::Label(truth) if *truth == example.predicted => {
            "<span class=\"verdict right\">right</span>"
        }
        Truth::Label(_) => "<span class=\"verdict wrong\">wrong</span>",
    };
    let fact = |name: &str, text: &str| {
        format!("<dt>{name}</dt><dd><bdi>{}</bdi></dd>", escape::markup(&shortened(text, CELL)))
    };
    let mut facts = fact("predicted", &example.predicted);
    facts += &match &example.truth {
        Truth::Label(truth) => fact("truth", truth),
        Truth::Ood(set) => fact("OOD set", set),
    };
    if !regression {
        facts += &fact("probability", &percent(example.probability));
    }
    facts += &fact("uncertainty", &value(example.uncertainty));
    format!(
        "<li>\n{}\n<dl class=\"pairs\">{facts}</dl>\n<p class=\"of\">row {}{verdict}</p>\n</li>\n",
        content(&example.content, example.row),
        count(example.row)
    )
}

fn content(content: &Content, row: usize) -> String {
    match content {
        Content::Text(text) => {
            format!("<blockquote>{}</blockquote>", escape::markup(&shortened(text, TEXT)))
        }
        Content::Cells(cells) => {
            let pair = |(name, text): &(String, String)| {
                let [name, text] = [name, text].map(|t| escape::markup(&shortened(t, CELL)));
                format!("<dt><bdi>{name}</bdi></dt><dd><bdi>{text}</bdi></dd>")
            };
            let pairs: String = cells.iter().take(CELLS).map(pair).collect();
            let more = match cells.len().saturating_sub(CELLS) {
                0 => String::new(),
                more => format!("<p class=\"of\">and {} more</p>", count(more)),
            };
            format!("<dl class=\"pairs cells\">{pairs}</dl>{more}")
        }
        Content::Png(png) => {
            let class =
                if width(png).is_some_and(|width| width <= TINY) { " class=\"tiny\"" } else { "" };
            format!(
                "<img{class} alt=\"the image in row {row}\" src=\"data:image/png;base64,{}\">",
                STANDARD.encode(png)
            )
        }
    }
}

/// At most `limit` characters, and a sign that there were more.
fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

/// The width a PNG file states in its header.
fn width(png: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(png.get(16..20)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_contents_are_cut() {
        let text = content(&Content::Text("é".repeat(50_000)), 1);
        assert!(text.len() < 1_400 && text.contains('…'));
        let cells = vec![("name".into(), "x".repeat(9_000)); 300];
        let cells = content(&Content::Cells(cells), 1);
        assert!(cells.len() < 12_000 && cells.contains("and 260 more"));
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(shortened("🦀🦀🦀", 2), "🦀🦀 …");
        assert_eq!(shortened("🦀🦀", 2), "🦀🦀");
    }

    #[test]
    fn what_is_no_png_is_still_harmless() {
        assert_eq!(width(b"short"), None);
        let image = content(&Content::Png(b"\"><script>".to_vec()), 1);
        assert!(!image.contains("<script"));
    }
}
