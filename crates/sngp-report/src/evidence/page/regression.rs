//! Predicted intervals: the scatter, and whether wider ones mean larger errors.

use super::figure;
use super::number::{count, value};
use super::table::{self, Cell};
use crate::evidence::Evidence;
use crate::evidence::curve::{Group, by_width};
use crate::evidence::plot;

/// Empty for classification.
pub(super) fn intervals(evidence: &Evidence) -> String {
    let (Some(found), Some(plot)) = (&evidence.regression, plot::regression(evidence)) else {
        return String::new();
    };
    if !found.has_intervals() {
        return format!("<div class=\"plots\">\n{}</div>\n", figure(&plot));
    }
    let row = |group: Group| {
        let cells = vec![
            Cell::number(group.width, &value(group.width)),
            Cell::number(group.error, &value(group.error)),
            Cell::share(group.coverage),
            Cell::number(group.rows as f64, &count(group.rows)),
        ];
        ("", cells)
    };
    let body = table::rows(by_width(&found.rows).into_iter().map(row));
    format!(
        "<div class=\"plots\">\n{}<div>\n<h3>Does it know when it errs?</h3>\n\
         <p class=\"note\">The examples in groups by the width of their interval: where intervals \
         are wider, errors should be larger, and every group should contain the truth about \
         equally often.</p>\n\
         <div class=\"scroll\"><table>\n<thead><tr><th class=\"num\">mean width</th>\
         <th class=\"num\">mean error</th><th class=\"num\">truth within</th>\
         <th class=\"num\">examples</th></tr></thead>\n<tbody>\n{body}</tbody></table></div>\n\
         </div>\n</div>\n",
        figure(&plot)
    )
}
