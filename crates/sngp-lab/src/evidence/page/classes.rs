//! The classes, the weakest first.

use super::number::count;
use super::table::{self, Cell};
use crate::evidence::{ClassRow, Evidence};

const COLUMNS: [&str; 7] =
    ["class", "examples", "F1", "recall", "precision", "mean probability", "turned away"];

/// The column the table comes sorted by.
const SORTED: &str = "F1";

/// Empty when there are none.
pub(super) fn classes(evidence: &Evidence) -> String {
    if evidence.classes.is_empty() {
        return String::new();
    }
    // Without a threshold nothing is turned away, and the last column says nothing.
    let shown = if evidence.threshold.is_some() { COLUMNS.len() } else { COLUMNS.len() - 1 };
    let mut sorted: Vec<&ClassRow> = evidence.classes.iter().collect();
    sorted.sort_by(|a, b| a.f1.total_cmp(&b.f1).then_with(|| a.label.cmp(&b.label)));
    let body = table::rows(sorted.into_iter().map(|class| {
        let mut cells = vec![
            Cell::text(&class.label),
            Cell::number(class.rows as f64, &count(class.rows)),
            Cell::bar(class.f1),
            Cell::share(class.recall),
            Cell::share(class.precision),
            Cell::share(class.mean_probability),
            Cell::share(class.abstained),
        ];
        cells.truncate(shown);
        ("", cells)
    }));
    let head: String = COLUMNS[..shown]
        .iter()
        .map(|name| {
            let class = if *name == COLUMNS[0] { "" } else { " class=\"num\"" };
            let order = if *name == SORTED { " aria-sort=\"ascending\"" } else { "" };
            format!("<th{class}{order}><button type=\"button\">{name}</button></th>")
        })
        .collect();
    format!(
        "<p class=\"note\">The weakest classes first; click a heading to sort by it. A class whose \
         mean probability is far above its recall is one it is wrongly sure of.</p>\n\
         <div class=\"scroll tall\" tabindex=\"0\" role=\"region\" aria-label=\"Classes\">\
         <table class=\"sortable\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\
         </table></div>\n"
    )
}
