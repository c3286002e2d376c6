//! The figures of a threshold at a glance. The script writes those of every other threshold in
//! their place.

use super::number::{count, percent, percent_or_dash, value};
use crate::escape;
use crate::evidence::curve::{Accepted, Sweep};

/// What the answers are judged by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// Right or wrong classes.
    Classes,
    /// Squared errors, and whether intervals hold the truth where the model promises any.
    Numbers { intervals: bool },
}

/// The figures at the start.
pub(super) fn tiles(sweep: &Sweep, judged: Judged) -> String {
    let at = sweep.starting();
    let share = |part: usize, whole: usize| percent(part as f64 / whole.max(1) as f64);
    let right = percent_or_dash(at.test.risk().map(|risk| 1.0 - risk));
    let right_of = of(at.test.count - at.test.wrong, at.test.count);
    let mut tiles = tile(
        "answered",
        "answered (coverage)",
        &share(at.test.count, sweep.test.count),
        &of(at.test.count, sweep.test.count),
    );
    match judged {
        Judged::Classes => {
            let risk = percent_or_dash(at.test.risk());
            tiles += &tile("risk", "wrong among answered", &risk, &interval(at.test));
            tiles += &tile("accuracy", "right among answered", &right, &right_of);
        }
        Judged::Numbers { intervals } => {
            let error = at.loss.map_or("–".into(), |loss| value(loss.sqrt()));
            let all = format!("{} on all examples", value(sweep.loss.sqrt()));
            tiles += &tile("rmse", "RMSE of answered", &error, &all);
            if intervals {
                tiles += &tile("accuracy", "truth within the interval", &right, &right_of);
            }
        }
    }
    if let Some(rejected) = sweep.rejected_ood(at) {
        let below = of(sweep.ood - at.ood, sweep.ood);
        tiles += &tile("rejected", "OOD rejected", &percent(rejected), &below);
    }
    if sweep.shift.count > 0 {
        let answered = share(at.shift.count, sweep.shift.count);
        let below = match judged {
            Judged::Classes => format!("{} of them wrong", percent_or_dash(at.shift.risk())),
            Judged::Numbers { .. } => of(at.shift.count, sweep.shift.count),
        };
        tiles += &tile("shifted", "shifted answered", &answered, &below);
    }
    tiles
}

fn tile(id: &str, name: &str, figure: &str, below: &str) -> String {
    let (figure, below) = (escape::markup(figure), escape::markup(below));
    format!(
        "<div class=\"{id}\"><dt>{name}</dt><dd id=\"{id}\">{figure}</dd>\
         <dd id=\"{id}-of\" class=\"of\">{below}</dd></div>\n"
    )
}

fn of(part: usize, whole: usize) -> String {
    format!("{} of {}", count(part), count(whole))
}

fn interval(accepted: Accepted) -> String {
    accepted.interval().map_or("nothing answered".into(), |[low, high]| {
        format!("likely {} to {}", percent(low), percent(high))
    })
}
