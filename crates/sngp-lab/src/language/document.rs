//! The table beside the paper's.

use std::fmt::Write;

use super::evaluate::DEFAULT;
use crate::published;
use crate::report::{Report, Row};

/// A benchmark's page: our figures beside the paper's, then every score.
pub fn document(title: &str, report: &Report) -> String {
    let mut text = format!("# {title}\n\n");
    text.push_str(
        "Mean over seeds, ± standard error where there is more than one. `test`: sentences of the \
         known classes. `combined`: with the sentences out of scope, for which every confident \
         answer counts as wrong (ECE) and the uniform one as right (NLL, which is then at least \
         `share * ln K`). Detection is by the score in bold below, latency the median of one sentence \
         at a time, from text to prediction. The paper's figures (BERT-base, ten seeds, \
         its own hardware) are on the right; its NLL is close to our combined one by size, but \
         the paper does not say what it is of.\n\n",
    );
    main_table(&mut text, report);
    score_table(&mut text, report);
    let tuned = |metric| move |row: &&Row| row.split == "tuned" && row.metric == metric;
    for row in report.rows.iter().filter(tuned("mean_field_factor")) {
        let ridge = report.rows.iter().filter(tuned("ridge")).find(|r| r.method == row.method);
        let ridge = ridge.map_or(f64::NAN, |row| row.mean);
        let _ = writeln!(
            text,
            "`{}`: mean-field factor {:.3}, ridge {ridge:.3}, chosen on the validation split.  ",
            row.method, row.mean
        );
    }
    let _ = writeln!(
        text,
        "\nCommand: `{}`; commit {}; CPU: {}.",
        report.command, report.commit, report.cpu
    );
    text
}

const COLUMNS: [(&str, &str, &str); 9] = [
    ("test", "accuracy", "accuracy"),
    ("test", "ece", "ECE"),
    ("test", "nll", "NLL"),
    ("combined", "ece", "combined ECE"),
    ("combined", "nll", "combined NLL"),
    ("oos", "auroc", "OOS AUROC"),
    ("oos", "aupr", "OOS AUPR"),
    ("oos", "fpr_at_95_tpr", "FPR at 95 % TPR"),
    ("one sentence", "latency_ms", "latency, ms"),
];

const PAPER: [(&str, &str); 6] = [
    ("acc", "accuracy"),
    ("ece", "ECE"),
    ("nll", "NLL"),
    ("ood_auroc", "AUROC"),
    ("ood_aupr", "AUPR"),
    ("latency_ms", "latency, ms"),
];

fn main_table(text: &mut String, report: &Report) {
    let paper = published::clinc();
    let ours = COLUMNS.map(|(_, _, name)| name).join(" | ");
    let theirs = PAPER.map(|(_, name)| format!("paper: {name}")).join(" | ");
    let _ = writeln!(text, "| method | seeds | {ours} | {theirs} |");
    let _ = writeln!(text, "|---|---|{}", "---|".repeat(COLUMNS.len() + PAPER.len()));
    for method in report.methods() {
        let cells = COLUMNS.map(|(split, metric, _)| report.cell(method, split, metric));
        let figures = paper.get(method);
        let published = PAPER.map(|(column, _)| {
            let figure = figures.and_then(|figures| figures.get(column)).copied();
            // The paper has its accuracies in percent.
            let figure =
                if column == "acc" { figure.map(|percent| percent / 100.0) } else { figure };
            figure.map_or_else(|| "–".to_string(), |figure| format!("{figure:.3}"))
        });
        let _ = writeln!(
            text,
            "| `{method}` | {} | {} | {} |",
            report.seeds(method),
            cells.join(" | "),
            published.join(" | ")
        );
    }
    text.push('\n');
}

fn score_table(text: &mut String, report: &Report) {
    let prefix = "oos by ";
    let scores: Vec<&str> =
        report.splits().filter_map(|split| split.strip_prefix(prefix)).collect();
    text.push_str(
        "OOS AUROC / AUPR by every score; the one the method is measured by in bold.\n\n",
    );
    let _ = writeln!(text, "| method | {} |", scores.join(" | "));
    let _ = writeln!(text, "|---|{}", "---|".repeat(scores.len()));
    for method in report.methods() {
        let cell = |score: &&str| {
            let split = format!("{prefix}{score}");
            let mean = |metric| report.find(method, &split, metric).map(|row| row.mean);
            match (mean("auroc"), mean("aupr")) {
                (Some(auroc), Some(aupr)) if mean(DEFAULT).is_some() => {
                    format!("**{auroc:.4} / {aupr:.4}**")
                }
                (Some(auroc), Some(aupr)) => format!("{auroc:.4} / {aupr:.4}"),
                _ => "–".to_string(),
            }
        };
        let cells: Vec<String> = scores.iter().map(cell).collect();
        let _ = writeln!(text, "| `{method}` | {} |", cells.join(" | "));
    }
    text.push('\n');
}
