//! A few thresholds side by side, for paper and for readers without scripts.

use super::number::{percent, value};
use super::table::{self, Cell};
use super::tiles::Judged;
use crate::evidence::curve::{Accepted, Point, ROUND, Sweep};

/// The stops of round coverages, ascending, each once.
pub(super) fn round_stops(sweep: &Sweep) -> Vec<usize> {
    let mut stops = ROUND.map(|share| sweep.covering(share)).to_vec();
    stops.dedup();
    stops
}

/// The table.
pub(super) fn operating_points(sweep: &Sweep, judged: Judged) -> String {
    let mut stops = round_stops(sweep);
    if let (true, Err(place)) = (sweep.own, stops.binary_search(&sweep.start)) {
        stops.insert(place, sweep.start);
    }
    let columns = columns(sweep, judged);
    let body = table::rows(stops.into_iter().map(|stop| {
        let at = sweep.points[stop];
        let class = if sweep.own && stop == sweep.start { "own" } else { "" };
        (class, columns.iter().map(|(_, cell)| cell(sweep, at)).collect())
    }));
    let head: String =
        columns.iter().map(|(name, _)| format!("<th class=\"num\">{name}</th>")).collect();
    let own = if sweep.own { " The bold row is the model's own threshold." } else { "" };
    let intervals = match judged {
        Judged::Classes => ", with 95\u{202f}% intervals of the error",
        Judged::Numbers { .. } => "",
    };
    format!(
        "<h3>Thresholds side by side</h3>\n<p class=\"note\">What a threshold buys and costs\
         {intervals}.{own}</p>\n<div class=\"scroll\"><table>\n<thead><tr>{head}</tr></thead>\n\
         <tbody>\n{body}</tbody></table></div>\n"
    )
}

type Column = (&'static str, fn(&Sweep, Point) -> Cell);

fn columns(sweep: &Sweep, judged: Judged) -> Vec<Column> {
    let mut columns: Vec<Column> = vec![
        ("threshold", |_, at| Cell::number(at.threshold, &value(at.threshold))),
        ("answered", |sweep, at| Cell::share(sweep.coverage(at))),
    ];
    match judged {
        Judged::Classes => columns.push(("wrong among answered", |_, at| risk(at.test))),
        Judged::Numbers { intervals } => {
            columns.push(("RMSE of answered", |_, at| {
                let error = at.loss.map_or(f64::NAN, f64::sqrt);
                Cell::number(error, &value(error))
            }));
            if intervals {
                columns.push(("truth within the interval", |_, at| {
                    Cell::share(1.0 - at.test.risk().unwrap_or(f64::NAN))
                }));
            }
        }
    }
    if sweep.ood > 0 {
        columns.push(("OOD rejected", |sweep, at| {
            Cell::share(sweep.rejected_ood(at).unwrap_or(f64::NAN))
        }));
    }
    if sweep.shift.count > 0 {
        columns.push(("shifted answered", |sweep, at| {
            Cell::share(at.shift.count as f64 / sweep.shift.count as f64)
        }));
        if judged == Judged::Classes {
            columns.push(("wrong among those", |_, at| risk(at.shift)));
        }
    }
    columns
}

fn risk(accepted: Accepted) -> Cell {
    let text = match (accepted.risk(), accepted.interval()) {
        (Some(risk), Some([low, high])) => {
            format!("{} ({} to {})", percent(risk), percent(low), percent(high))
        }
        _ => "–".into(),
    };
    Cell::number(accepted.count as f64, &text)
}
