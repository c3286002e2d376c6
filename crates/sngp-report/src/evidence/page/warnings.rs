//! What a reader has to know before believing the figures.

use crate::escape;
use crate::evidence::Evidence;

/// Empty when there is nothing to warn of.
pub(super) fn warnings(evidence: &Evidence) -> String {
    if evidence.warnings.is_empty() {
        return String::new();
    }
    let item = |text: &String| format!("<li><bdi>{}</bdi></li>\n", escape::markup(text));
    let items: String = evidence.warnings.iter().map(item).collect();
    format!("<aside class=\"warnings\" aria-label=\"Warnings\">\n<ul>\n{items}</ul>\n</aside>\n")
}
