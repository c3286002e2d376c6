//! The classes, the weakest first.

use super::number::count;
use super::table::{self, Cell};
use crate::evidence::{ClassRow, Confusion, Evidence};

const COLUMNS: [&str; 7] =
    ["class", "examples", "F1", "recall", "precision", "mean probability", "rejected"];

/// The column the table comes sorted by.
const SORTED: &str = "F1";

/// Empty when there are none.
pub(super) fn classes(evidence: &Evidence) -> String {
    if evidence.classes.is_empty() {
        return String::new();
    }
    // Where nothing can be rejected the last column says nothing.
    let decides =
        evidence.threshold.is_some() || evidence.classes.iter().any(|class| class.abstained > 0.0);
    let shown = if decides { COLUMNS.len() } else { COLUMNS.len() - 1 };
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
         </table></div>\n{}",
        confusions(&evidence.confusions)
    )
}

/// The pairs of classes that are confused most often; empty where nothing is.
fn confusions(pairs: &[Confusion]) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let row = |pair: &Confusion| {
        let cells = vec![
            Cell::text(&pair.truth),
            Cell::text(&pair.predicted),
            Cell::number(pair.count as f64, &count(pair.count)),
            Cell::number(pair.accepted as f64, &count(pair.accepted)),
        ];
        ("", cells)
    };
    let body = table::rows(pairs.iter().map(row));
    format!(
        "<h3>Most confused pairs</h3>\n<p class=\"note\">Which class is taken for which, and how \
         many of these mistakes the model's decision accepts.</p>\n\
         <div class=\"scroll\"><table>\n<thead><tr><th>truth</th><th>predicted</th>\
         <th class=\"num\">examples</th><th class=\"num\">accepted</th></tr></thead>\n\
         <tbody>\n{body}</tbody></table></div>\n"
    )
}
