//! The out-of-distribution sets side by side.

use super::number::{count, percent_column, value};
use super::table::{self, Cell};
use crate::evidence::curve::{OodSweep, Sweep};
use crate::evidence::{Evidence, Set};

/// Empty without OOD examples. The rejected shares follow the slider.
pub(super) fn sets(evidence: &Evidence, sweep: Option<&Sweep>) -> String {
    let Some(sweep) = sweep.filter(|sweep| sweep.ood > 0) else {
        return String::new();
    };
    let every = OodSweep {
        name: "all together".into(),
        rows: sweep.ood,
        accepted: sweep.points.iter().map(|point| point.ood).collect(),
    };
    let several = sweep.ood_sets.len() > 1;
    let mut sets: Vec<(Option<&str>, &OodSweep)> =
        sweep.ood_sets.iter().map(|set| (several.then_some(set.name.as_str()), set)).collect();
    if several {
        sets.push((None, &every));
    }
    let row = |(index, (name, set)): (usize, (Option<&str>, &OodSweep))| {
        let rejected = (set.rows - set.accepted[sweep.start]) as f64 / set.rows.max(1) as f64;
        let shown = if set.name.is_empty() { "out-of-distribution" } else { &set.name };
        let mut cells = vec![
            Cell::text(shown),
            Cell::number(set.rows as f64, &count(set.rows)),
            Cell::number(rejected, &percent_column(rejected)).with_id(&format!("ood-{index}")),
        ];
        cells.extend(METRICS.map(|metric| detection(evidence, name, metric)));
        ("", cells)
    };
    let body = table::rows(sets.into_iter().enumerate().map(row));
    let together = match several {
        true => " The plots are of all sets together.",
        false => "",
    };
    format!(
        "<p class=\"note\">What should be rejected, set by set: the share that is rejected at the \
         threshold above, and how well the score alone separates the set from the test examples.\
         {together}</p>\n\
         <div class=\"scroll\"><table>\n<thead><tr><th>OOD set</th><th class=\"num\">examples</th>\
         <th class=\"num\">rejected</th><th class=\"num\">AUROC</th><th class=\"num\">AUPR</th>\
         <th class=\"num\">FPR at 95\u{202f}% TPR</th></tr></thead>\n<tbody>\n{body}</tbody>\
         </table></div>\n"
    )
}

/// Detection metrics that the table shows.
const METRICS: [&str; 3] = ["auroc", "aupr", "fpr_at_95_tpr"];

/// A metric by the model's own score, on a set or on all together.
fn detection(evidence: &Evidence, set: Option<&str>, metric: &str) -> Cell {
    let name = format!("{metric} by {}", evidence.score);
    let found = evidence
        .metrics
        .iter()
        .find(|row| row.set == Set::Ood && row.ood.as_deref() == set && row.name == name);
    found.map_or_else(|| Cell::text("–"), |row| Cell::number(row.value, &value(row.value)))
}
