//! The threshold: the slider and what it does to every figure.

use super::number::{count, percent};
use super::operating_points::{operating_points, round_stops};
use super::tiles::{Judged, tiles};
use super::{figure, headline};
use crate::escape;
use crate::evidence::Evidence;
use crate::evidence::curve::{OodSweep, Point, Sweep};
use crate::evidence::plot::{self, Sorted};
use serde_json::json;

/// Empty without test examples.
pub(super) fn threshold(evidence: &Evidence, sorted: &Sorted) -> String {
    let Some(sweep) = &sorted.sweep else {
        return String::new();
    };
    let judged = evidence
        .regression
        .as_ref()
        .map_or(Judged::Classes, |found| Judged::Numbers { intervals: found.has_intervals() });
    let plots: String = plot::thresholds(evidence, sorted).iter().map(figure).collect();
    let score = match evidence.score.as_str() {
        "" => "the uncertainty".into(),
        score => format!("<em>{}</em>", escape::markup(score)),
    };
    let own = match (evidence.threshold, &evidence.basis) {
        (Some(_), Some(basis)) => {
            format!(
                " The model's own threshold: <bdi>{}</bdi>.",
                escape::markup(basis.trim_end_matches('.'))
            )
        }
        (Some(_), None) => " The model brings its own threshold.".into(),
        (None, _) => {
            " The model has no threshold of its own; this begins where at least 95\u{202f}% of \
                      the test examples are answered."
                .into()
        }
    };
    format!(
        "<p class=\"note\">It answers when {score} is at most the threshold, and rejects the input \
         (abstains) otherwise.{own}{}</p>\n<div>\n{}<div class=\"plots\">\n{plots}</div>\n\
         </div>\n{}",
        never(sweep),
        controls(sweep, judged),
        operating_points(sweep, judged)
    )
}

/// What no threshold accepts.
fn never(sweep: &Sweep) -> String {
    let [test, ood] = sweep.never;
    let ood = match sweep.ood {
        0 => String::new(),
        all => format!(" and {} of {} OOD examples", count(ood), count(all)),
    };
    match sweep.never {
        [0, 0] => String::new(),
        _ => format!(
            " Whatever the threshold, {} of {} test examples{ood} are rejected: the guard or the \
             distance rule finds them far from the training data, or there is something odd about \
             the input.",
            count(test),
            count(sweep.test.count)
        ),
    }
}

fn controls(sweep: &Sweep, judged: Judged) -> String {
    let at = sweep.starting();
    let last = sweep.points.len() - 1;
    let fixed = if last == 0 { " disabled" } else { "" };
    // Ties can make a round coverage impossible; the buttons say what they really give.
    let buttons: String = round_stops(sweep)
        .into_iter()
        .map(|stop| {
            let coverage = percent(sweep.coverage(sweep.points[stop]));
            format!(
                "<button type=\"button\" data-stop=\"{stop}\">{}</button>\n",
                escape::markup(&coverage)
            )
        })
        .collect();
    let own = match sweep.own {
        true => format!("<button type=\"button\" data-stop=\"{}\">its own</button>\n", sweep.start),
        false => String::new(),
    };
    format!(
        "<div class=\"panel\">\n<dl class=\"tiles\">\n{}</dl>\n\
         <div class=\"slider\" hidden>\n\
         <label for=\"slider\"><span>stricter</span> <span>threshold <output id=\"at\" \
         for=\"slider\">{}</output></span> <span>more lenient</span></label>\n\
         <input id=\"slider\" type=\"range\" min=\"0\" max=\"{last}\" step=\"1\" \
         value=\"{}\"{fixed}>\n<div class=\"stops\"><span>answer</span>\n{buttons}{own}</div>\n\
         </div>\n</div>\n<p id=\"thousand\">{}</p>\n",
        tiles(sweep, judged),
        at.threshold,
        sweep.start,
        escape::markup(&headline::per_thousand(sweep, judged != Judged::Classes))
    )
}

/// The slider's stops for the script, one list a column.
pub(super) fn data(sweep: &Sweep, numbers: bool) -> String {
    let column = |of: fn(&Point) -> usize| sweep.points.iter().map(of).collect::<Vec<_>>();
    let mut data = json!({
        "threshold": sweep.points.iter().map(|at| at.threshold).collect::<Vec<_>>(),
        "test": column(|at| at.test.count),
        "testWrong": column(|at| at.test.wrong),
        "shift": column(|at| at.shift.count),
        "shiftWrong": column(|at| at.shift.wrong),
        "ood": column(|at| at.ood),
        "all": { "test": sweep.test.count, "shift": sweep.shift.count, "ood": sweep.ood },
    });
    if numbers {
        data["loss"] = sweep.points.iter().map(|at| at.loss).collect();
    }
    // A set alone is the column of all of them.
    if sweep.ood_sets.len() > 1 {
        let set = |set: &OodSweep| json!({ "rows": set.rows, "accepted": set.accepted });
        data["oodSets"] = sweep.ood_sets.iter().map(set).collect();
    }
    let json = escape::json(&data.to_string());
    format!("<script type=\"application/json\" id=\"data\">{json}</script>\n")
}
