//! What the evidence comes to, in a sentence or two of plain text.

use super::number::{count, percent};
use crate::evidence::RegressionEvidence;
use crate::evidence::curve::{Sweep, mean_absolute_error};

/// The headline of a classifier.
pub(super) fn classification(sweep: &Sweep) -> String {
    let at = sweep.starting();
    let all = percent(sweep.test.risk().unwrap_or(0.0));
    if sweep.points.len() == 1 && !sweep.own {
        return format!(
            "Its score is the same for every test example, so no threshold can tell its mistakes \
             from its right answers; it is wrong on {all} of the test examples."
        );
    }
    let coverage = percent(sweep.coverage(at));
    let Some(risk) = at.test.risk() else {
        return format!(
            "At its own threshold it turns every test example away; answering all of them it is \
             wrong on {all}."
        );
    };
    let risk = percent(risk);
    let mut text = if sweep.own {
        format!(
            "At its own threshold it answers {coverage} of the test examples and is wrong on \
             {risk} of those"
        )
    } else {
        format!(
            "Accepting the {coverage} of test examples it is surest of, it is wrong on {risk} of \
             them"
        )
    };
    if at.test.count < sweep.test.count {
        text += &format!(", against {all} when it answers everything");
    }
    if let Some(caught) = sweep.caught(at) {
        text += &format!(
            "; {} of the out-of-domain examples are turned away at the same threshold",
            percent(caught)
        );
    }
    text.push('.');
    if let (true, Some(risk)) = (sweep.shift.count > 0, at.shift.risk()) {
        let answered = percent(at.shift.count as f64 / sweep.shift.count as f64);
        let risk = percent(risk);
        text += &format!(" Of the shifted examples it answers {answered}, {risk} of them wrongly.");
    }
    text
}

/// The figures of a threshold as counts out of a thousand, which people judge more soundly than
/// shares of shares.
pub(super) fn per_thousand(sweep: &Sweep) -> String {
    let at = sweep.starting();
    let thousand =
        |part: usize| (1000.0 * part as f64 / sweep.test.count.max(1) as f64).round() as usize;
    let answered = thousand(at.test.count);
    format!(
        "Of 1,000 inputs like the test set it answers {}, {} of them wrongly, and turns {} away.",
        count(answered),
        count(thousand(at.test.wrong)),
        count(1000 - answered)
    )
}

/// The headline of a regression.
pub(super) fn regression(evidence: &RegressionEvidence) -> String {
    let total = evidence.rows.len();
    let hits = evidence.rows.iter().filter(|row| row.hit()).count();
    format!(
        "Its {} intervals contain the truth for {} of {} test examples; its mean is off by {} on \
         average.",
        percent(evidence.coverage),
        percent(hits as f64 / total.max(1) as f64),
        count(total),
        super::number::value(mean_absolute_error(&evidence.rows))
    )
}
