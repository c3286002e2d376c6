//! The threshold: the slider, what it does to every figure, and the round thresholds as a table.

use super::escape;
use super::number::{count, percent, percent_or_dash, value};
use super::table::{self, Cell};
use super::{figure, headline};
use crate::evidence::Evidence;
use crate::evidence::curve::{Accepted, Point, ROUND, Sweep};
use crate::evidence::plot::{self, Sorted};
use serde_json::json;

/// Empty without test examples.
pub(super) fn threshold(evidence: &Evidence, sorted: &Sorted) -> String {
    let Some(sweep) = &sorted.sweep else {
        return String::new();
    };
    let plots: String = plot::thresholds(evidence, sorted).iter().map(figure).collect();
    let score = match evidence.score.as_str() {
        "" => "the uncertainty".into(),
        score => format!("<em>{}</em>", escape::html(score)),
    };
    let own = match (evidence.threshold, &evidence.basis) {
        (Some(_), Some(basis)) => {
            format!(
                " The model's own threshold: <bdi>{}</bdi>.",
                escape::html(basis.trim_end_matches('.'))
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
        "<p class=\"note\">It answers when {score} is at most the threshold, and turns \
         the input away otherwise.{own}</p>\n<div>\n{}<div class=\"plots\">\n{plots}</div>\n\
         </div>\n{}",
        controls(sweep),
        operating_points(sweep)
    )
}

fn controls(sweep: &Sweep) -> String {
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
                escape::html(&coverage)
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
        tiles(sweep, at),
        at.threshold,
        sweep.start,
        escape::html(&headline::per_thousand(sweep))
    )
}

/// The stops of round coverages, ascending, each once.
fn round_stops(sweep: &Sweep) -> Vec<usize> {
    let mut stops = ROUND.map(|share| sweep.covering(share)).to_vec();
    stops.dedup();
    stops
}

/// The figures at the start; the script writes those of every other threshold in their place.
fn tiles(sweep: &Sweep, at: Point) -> String {
    let tile = |id: &str, name: &str, figure: String, below: String| {
        let (figure, below) = (escape::html(&figure), escape::html(&below));
        format!(
            "<div class=\"{id}\"><dt>{name}</dt><dd id=\"{id}\">{figure}</dd>\
             <dd id=\"{id}-of\" class=\"of\">{below}</dd></div>\n"
        )
    };
    let of = |part: usize, whole: usize| format!("{} of {}", count(part), count(whole));
    let share = |part: usize, whole: usize| percent(part as f64 / whole.max(1) as f64);
    let mut tiles = tile(
        "answered",
        "answered",
        share(at.test.count, sweep.test.count),
        of(at.test.count, sweep.test.count),
    );
    tiles +=
        &tile("risk", "wrong among answered", percent_or_dash(at.test.risk()), interval(at.test));
    tiles += &tile(
        "accuracy",
        "right among answered",
        percent_or_dash(at.test.risk().map(|risk| 1.0 - risk)),
        of(at.test.count - at.test.wrong, at.test.count),
    );
    if let Some(caught) = sweep.caught(at) {
        let below = of(sweep.ood - at.ood, sweep.ood);
        tiles += &tile("caught", "out-of-domain caught", percent(caught), below);
    }
    if sweep.shift.count > 0 {
        let answered = share(at.shift.count, sweep.shift.count);
        let below = format!("{} of them wrong", percent_or_dash(at.shift.risk()));
        tiles += &tile("shifted", "shifted answered", answered, below);
    }
    tiles
}

fn interval(accepted: Accepted) -> String {
    accepted.interval().map_or("nothing answered".into(), |[low, high]| {
        format!("likely {} to {}", percent(low), percent(high))
    })
}

/// A few thresholds side by side, for paper and for readers without scripts.
fn operating_points(sweep: &Sweep) -> String {
    let mut stops = round_stops(sweep);
    if let (true, Err(place)) = (sweep.own, stops.binary_search(&sweep.start)) {
        stops.insert(place, sweep.start);
    }
    let (ood, shift) = (sweep.ood > 0, sweep.shift.count > 0);
    let body = table::rows(stops.into_iter().map(|stop| {
        let at = sweep.points[stop];
        let mut cells = vec![
            Cell::number(at.threshold, &value(at.threshold)),
            Cell::share(sweep.coverage(at)),
            Cell::number(at.test.count as f64, &risk(at.test)),
        ];
        cells.extend(sweep.caught(at).map(Cell::share));
        if shift {
            cells.push(Cell::share(at.shift.count as f64 / sweep.shift.count as f64));
            cells.push(Cell::number(at.shift.count as f64, &risk(at.shift)));
        }
        (if sweep.own && stop == sweep.start { "own" } else { "" }, cells)
    }));
    let head = |shown: bool, names: &[&str]| -> String {
        let cell = |name: &&str| format!("<th class=\"num\">{name}</th>");
        if shown { names.iter().map(cell).collect() } else { String::new() }
    };
    let own = if sweep.own { " The bold row is the model's own threshold." } else { "" };
    format!(
        "<h3>Thresholds side by side</h3>\n<p class=\"note\">What a threshold buys and costs, with 95\u{202f}% \
         intervals of the error.{own}</p>\n\
         <div class=\"scroll\"><table>\n<thead><tr>{}{}{}</tr></thead>\n<tbody>\n{body}</tbody>\
         </table></div>\n",
        head(true, &["threshold", "answered", "wrong among answered"]),
        head(ood, &["out-of-domain turned away"]),
        head(shift, &["shifted answered", "wrong among those"])
    )
}

fn risk(accepted: Accepted) -> String {
    match (accepted.risk(), accepted.interval()) {
        (Some(risk), Some([low, high])) => {
            format!("{} ({} to {})", percent(risk), percent(low), percent(high))
        }
        _ => "–".into(),
    }
}

/// The slider's stops for the script, one list a column.
pub(super) fn data(sweep: &Sweep) -> String {
    let column = |of: fn(&Point) -> usize| sweep.points.iter().map(of).collect::<Vec<_>>();
    let data = json!({
        "threshold": sweep.points.iter().map(|at| at.threshold).collect::<Vec<_>>(),
        "test": column(|at| at.test.count),
        "testWrong": column(|at| at.test.wrong),
        "shift": column(|at| at.shift.count),
        "shiftWrong": column(|at| at.shift.wrong),
        "ood": column(|at| at.ood),
        "all": { "test": sweep.test.count, "shift": sweep.shift.count, "ood": sweep.ood },
    });
    let json = escape::json(&data.to_string());
    format!("<script type=\"application/json\" id=\"data\">{json}</script>\n")
}
