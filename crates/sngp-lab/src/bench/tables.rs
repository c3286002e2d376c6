//! The parts of a benchmark's page.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::detection::{DEFAULT, by_score, failure_with};
use crate::published::Figures;
use crate::report::Report;

/// A column of ours: split, metric and heading.
pub type Column<'a> = (&'a str, &'a str, &'a str);

/// Our figures, and the paper's beside them. `theirs` are its columns with their headings.
pub fn beside_the_paper(
    report: &Report,
    ours: &[Column<'_>],
    paper: &BTreeMap<&str, Figures>,
    theirs: &[(&str, &str)],
) -> String {
    let mut text = String::new();
    let headings: Vec<String> = ours
        .iter()
        .map(|(_, _, heading)| heading.to_string())
        .chain(theirs.iter().map(|(_, heading)| format!("paper: {heading}")))
        .collect();
    let _ = writeln!(text, "| method | seeds | {} |", headings.join(" | "));
    let _ = writeln!(text, "|---|---|{}", "---|".repeat(headings.len()));
    for method in report.methods() {
        let measured = ours.iter().map(|(split, metric, _)| report.cell(method, split, metric));
        let published = theirs.iter().map(|(column, _)| {
            let figure = paper.get(method).and_then(|figures| figures.get(column)).copied();
            // The paper has its accuracies in percent.
            let percent = column.ends_with("acc");
            let figure = figure.map(|figure| if percent { figure / 100.0 } else { figure });
            figure.map_or_else(|| "–".to_string(), |figure| format!("{figure:.3}"))
        });
        let cells: Vec<String> = measured.chain(published).collect();
        let _ = writeln!(text, "| `{method}` | {} | {} |", report.seeds(method), cells.join(" | "));
    }
    text.push('\n');
    text
}

/// AUROC and AUPR by every score; the one a method is measured by in bold.
pub fn by_every_score(report: &Report, of: &str, heading: &str) -> String {
    scores_beside(report, of, heading, ("aupr", "AUPR"))
}

/// How failures, wrong answers and OOD inputs alike, are detected by every score.
pub fn failures_by_every_score(report: &Report, ood: &str) -> String {
    let heading = format!("Failure (wrong or {ood})");
    scores_beside(report, &failure_with(ood), &heading, ("aurc", "AURC"))
}

/// AUROC and another metric, with its title, by every score.
fn scores_beside(
    report: &Report,
    of: &str,
    heading: &str,
    (metric, title): (&str, &str),
) -> String {
    let prefix = by_score(of);
    let scores: Vec<&str> =
        report.splits().filter_map(|split| split.strip_prefix(prefix.as_str())).collect();
    if scores.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "{heading} AUROC / {title} by every score; the one the method is measured by in bold.\n\n"
    );
    let _ = writeln!(text, "| method | {} |", scores.join(" | "));
    let _ = writeln!(text, "|---|{}", "---|".repeat(scores.len()));
    for method in report.methods() {
        let cell = |score: &&str| {
            let split = format!("{prefix}{score}");
            let mean = |metric| report.find(method, &split, metric).map(|row| row.mean);
            match (mean("auroc"), mean(metric)) {
                (Some(auroc), Some(other)) if mean(DEFAULT).is_some() => {
                    format!("**{auroc:.4} / {other:.4}**")
                }
                (Some(auroc), Some(other)) => format!("{auroc:.4} / {other:.4}"),
                _ => "–".to_string(),
            }
        };
        let cells: Vec<String> = scores.iter().map(cell).collect();
        let _ = writeln!(text, "| `{method}` | {} |", cells.join(" | "));
    }
    text.push('\n');
    text
}

/// What was chosen on held-out data, and where the figures come from.
pub fn ending(report: &Report) -> String {
    let mut text = String::new();
    for method in report.methods() {
        let mean = |(metric, name): (&str, &str)| {
            let row = report.find(method, "tuned", metric)?;
            Some(format!("{name} {:.3}", row.mean))
        };
        let chosen = [("mean_field_factor", "mean-field factor"), ("ridge", "ridge")];
        let chosen: Vec<String> = chosen.into_iter().filter_map(mean).collect();
        if !chosen.is_empty() {
            let chosen = chosen.join(", ");
            let _ = writeln!(text, "`{method}`: {chosen}, chosen on held-out examples.  ");
        }
    }
    let Report { command, commit, cpu, .. } = report;
    let _ = writeln!(text, "\nCommand: `{command}`; commit {commit}; CPU: {cpu}.");
    text
}
