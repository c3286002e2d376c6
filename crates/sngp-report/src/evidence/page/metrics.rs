//! The metrics with their intervals.

use super::number::value;
use crate::escape;
use crate::evidence::{Evidence, MetricRow, Set};

/// Empty when there are none. Scores that the model does not decide by are folded away.
pub(super) fn metrics(evidence: &Evidence) -> String {
    let compared = |row: &&MetricRow| row.by.as_ref().is_some_and(|by| *by != evidence.score);
    let (compared, own): (Vec<&MetricRow>, Vec<&MetricRow>) =
        evidence.metrics.iter().partition(compared);
    if own.is_empty() && compared.is_empty() {
        return String::new();
    }
    let compared = match compared.is_empty() {
        true => String::new(),
        false => format!(
            "<details>\n<summary>By other scores and detectors, to compare with</summary>\n{}\
             </details>\n",
            table(&compared)
        ),
    };
    format!(
        "<p class=\"note\">Each figure with its bootstrap interval: how far it might move with \
         other examples of the same kind.</p>\n{}{compared}",
        table(&own)
    )
}

fn title(set: Set) -> &'static str {
    match set {
        Set::Test => "Test examples",
        Set::Shift => "Shifted examples",
        Set::Misclassification => "Misclassification detection: wrong test answers against right",
        Set::Ood => "OOD detection: out-of-distribution examples against test examples",
        Set::Union => "Calibration over test and OOD examples, which have no right class",
        Set::Failure => "Failure detection: wrong or OOD against right, over test and OOD examples",
    }
}

fn table(rows: &[&MetricRow]) -> String {
    let group = |set: Set| {
        let own: String = rows.iter().filter(|one| one.set == set).map(|one| row(one)).collect();
        match own.is_empty() {
            true => String::new(),
            false => format!(
                "<tbody>\n<tr><th colspan=\"4\" scope=\"rowgroup\">{}</th></tr>\n{own}</tbody>\n",
                title(set)
            ),
        }
    };
    let groups: String = Set::ALL.into_iter().map(group).collect();
    format!(
        "<div class=\"scroll\"><table class=\"metrics\">\n<thead><tr><th>metric</th>\
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
    let ood = row.ood.as_ref().map_or(String::new(), |name| format!(", {name}"));
    format!(
        "<tr><td><bdi>{}</bdi></td><td class=\"num strong\">{}</td><td class=\"num of\">{interval}</td>\
         <td>{}{better}</td></tr>\n",
        escape::markup(&format!("{}{ood}", row.name)),
        value(row.value),
        escape::markup(&row.summary)
    )
}
