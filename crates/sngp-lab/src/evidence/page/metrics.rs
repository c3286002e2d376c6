//! The metrics with their intervals.

use super::escape;
use super::number::value;
use crate::evidence::{Evidence, MetricRow, Set};

/// Empty when there are none.
pub(super) fn metrics(evidence: &Evidence) -> String {
    let groups: String = [
        (Set::Test, "Test examples"),
        (Set::Shift, "Shifted examples"),
        (Set::Ood, "Out-of-domain detection"),
    ]
    .into_iter()
    .map(|(set, title)| {
        let rows: String =
            evidence.metrics.iter().filter(|row| row.set == set).map(row).collect();
        match rows.is_empty() {
            true => String::new(),
            false => format!(
                "<tbody>\n<tr><th colspan=\"4\" scope=\"rowgroup\">{title}</th></tr>\n{rows}</tbody>\n"
            ),
        }
    })
    .collect();
    if groups.is_empty() {
        return String::new();
    }
    format!(
        "<p class=\"note\">Each figure with its bootstrap interval: how far it might move with \
         other examples of the same kind.</p>\n\
         <div class=\"scroll\"><table class=\"metrics\">\n<thead><tr><th>metric</th>\
         <th class=\"num\">value</th><th class=\"num\">interval</th><th>what it measures</th></tr>\
         </thead>\n{groups}</table></div>\n"
    )
}

fn row(row: &MetricRow) -> String {
    let interval = match (row.low, row.high) {
        (Some(low), Some(high)) => format!("{} to {}", value(low), value(high)),
        _ => "–".into(),
    };
    let better = match row.higher_is_better {
        Some(true) => "<span class=\"of\"> · higher is better</span>",
        Some(false) => "<span class=\"of\"> · lower is better</span>",
        None => "",
    };
    format!(
        "<tr><td><bdi>{}</bdi></td><td class=\"num strong\">{}</td><td class=\"num of\">{interval}</td>\
         <td>{}{better}</td></tr>\n",
        escape::html(&row.name),
        value(row.value),
        escape::html(&row.summary)
    )
}
