//! The table beside the paper's.

use std::collections::BTreeMap;

use super::experiment::DataConfig;
use crate::bench::MISTAKES;
use crate::bench::tables::{beside_the_paper, by_every_score, ending, failures_by_every_score};
use crate::published;
use crate::report::Report;

/// A benchmark's page: our figures, beside the paper's where they are of the same sentences, then
/// every score.
pub fn document(title: &str, data: &DataConfig, report: &Report) -> String {
    let mut text = format!("# {title}\n\n");
    text.push_str(
        "Mean over seeds, ± standard error where there is more than one. `test`: sentences of the \
         known classes. `combined`: with the sentences out of scope, for which every confident \
         answer counts as wrong (ECE) and the uniform one as right (NLL, which is then at least \
         `share * ln K`). Detection is by the score in bold below, latency the median of one sentence \
         at a time, from text to prediction.",
    );
    if let DataConfig::Clinc { .. } = data {
        text.push_str(
            " The paper's figures (BERT-base, ten seeds, its own hardware) are on the right; its \
             NLL is close to our combined one by size, but the paper does not say what it is \
             of.\n\n",
        );
        text += &beside_the_paper(report, &COLUMNS, &published::clinc(), &PAPER);
    } else {
        text.push_str("\n\n");
        text += &beside_the_paper(report, &COLUMNS, &BTreeMap::new(), &[]);
    }
    text += &by_every_score(report, "oos", "OOS");
    text += &by_every_score(report, MISTAKES, "mistakes among the test sentences");
    text += &failures_by_every_score(report, "oos");
    text += &ending(report);
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
