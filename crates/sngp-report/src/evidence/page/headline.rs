//! What the evidence comes to, in a sentence or two of plain text.

use super::number::{count, percent, value};
use crate::evidence::RegressionEvidence;
use crate::evidence::curve::{Point, Sweep, mean_absolute_error};

/// The headline of a classifier.
pub(super) fn classification(sweep: &Sweep) -> String {
    let at = sweep.starting();
    let all = percent(sweep.test.risk().unwrap_or(0.0));
    let Some(risk) = at.test.risk() else {
        return format!(
            "It rejects every test example; answering all of them it would be wrong on {all}."
        );
    };
    if sweep.points.len() == 1 && !sweep.own && sweep.never == [0, 0] {
        return format!(
            "Its score is the same for every test example, so no threshold can separate its \
             mistakes from its right answers; it is wrong on {all} of the test examples."
        );
    }
    let (coverage, risk) = (percent(sweep.coverage(at)), percent(risk));
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
    text += &rejected_ood(sweep, at);
    text.push('.');
    if let (true, Some(risk)) = (sweep.shift.count > 0, at.shift.risk()) {
        let answered = percent(at.shift.count as f64 / sweep.shift.count as f64);
        let risk = percent(risk);
        text += &format!(" Of the shifted examples it answers {answered}, {risk} of them wrongly.");
    }
    text
}

/// What becomes of OOD examples at the same threshold; empty without any.
fn rejected_ood(sweep: &Sweep, at: Point) -> String {
    sweep.rejected_ood(at).map_or(String::new(), |rejected| {
        format!(
            "; {} of the out-of-distribution (OOD) examples are rejected by the same decision",
            percent(rejected)
        )
    })
}

/// The figures of a threshold as counts out of a thousand, which people judge more soundly than
/// shares of shares. The answers of a regression are not wrong, but off.
pub(super) fn per_thousand(sweep: &Sweep, numbers: bool) -> String {
    let at = sweep.starting();
    let thousand =
        |part: usize| (1000.0 * part as f64 / sweep.test.count.max(1) as f64).round() as usize;
    let answered = thousand(at.test.count);
    let wrong = match numbers {
        true => String::new(),
        false => format!(", {} of them wrongly,", count(thousand(at.test.wrong))),
    };
    format!(
        "Of 1,000 inputs like the test set it answers {}{wrong} and rejects {}.",
        count(answered),
        count(1000 - answered)
    )
}

/// The headline of a regression.
pub(super) fn regression(evidence: &RegressionEvidence, sweep: Option<&Sweep>) -> String {
    let total = evidence.rows.len();
    let error = value(mean_absolute_error(&evidence.rows));
    let mut text = match evidence.has_intervals() {
        true => {
            let hits = evidence.rows.iter().filter(|row| row.hit()).count();
            format!(
                "Its {} intervals contain the truth for {} of {} test examples; its mean is off \
                 by {error} on average.",
                percent(evidence.coverage),
                percent(hits as f64 / total.max(1) as f64),
                count(total)
            )
        }
        false => {
            format!("Its mean is off by {error} on average of {} test examples.", count(total))
        }
    };
    let Some(sweep) = sweep.filter(|sweep| sweep.own || sweep.ood > 0 || sweep.never[0] > 0) else {
        return text;
    };
    let at = sweep.starting();
    let coverage = percent(sweep.coverage(at));
    let rejected = rejected_ood(sweep, at);
    text += &match at.loss {
        Some(loss) => format!(
            " It answers {coverage} of them, with a root mean squared error of {} against {} on \
             all{rejected}.",
            value(loss.sqrt()),
            value(sweep.loss.sqrt())
        ),
        None => format!(" It rejects every test example{rejected}."),
    };
    text
}
