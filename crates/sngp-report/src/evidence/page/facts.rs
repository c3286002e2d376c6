//! Where the figures come from.

use crate::escape;
use crate::evidence::Evidence;

/// Empty when nothing is known.
pub(super) fn facts(evidence: &Evidence) -> String {
    if evidence.facts.is_empty() {
        return String::new();
    }
    let rows: String = evidence
        .facts
        .iter()
        .map(|(name, text)| {
            let [name, text] = [name, text].map(|part| escape::markup(part));
            format!("<dt>{name}</dt><dd><bdi>{text}</bdi></dd>\n")
        })
        .collect();
    format!("<dl class=\"pairs facts\">\n{rows}</dl>\n")
}
