//! The commands, one file each: read, call, write.

pub mod bench;
pub mod bench_2d;
pub mod bench_cifar;
pub mod bench_clinc;
pub mod calibrate;
pub mod data;
pub mod demo;
pub mod evaluate;
pub mod export;
pub mod inspect;
pub mod list;
pub mod predict;
#[cfg(feature = "serve")]
pub mod serve;
pub mod shards;
pub mod shell;
pub mod train;
pub mod tune;
pub mod update;

use sngp::model::Decision;
use sngp::score::{MaxProbability, Score};
use sngp_pipeline::Pipeline;

/// When a model abstains, in words.
pub fn decided(pipeline: &Pipeline) -> String {
    if pipeline.card().uncalibrated {
        return "it answers nothing: the model has changed since its threshold was chosen; \
                `sngp calibrate` chooses another"
            .to_string();
    }
    let guard = match pipeline.guard() {
        Some(_) => "; it abstains from inputs unlike the training data in any case",
        None => "",
    };
    let mixed = match pipeline.card().minimax {
        Some(_) => "; probabilities go to uniform away from the held-out examples",
        None => "",
    };
    match pipeline.decision() {
        // What is compared is the model's own probability, not the one that is said.
        Some(decision)
            if !mixed.is_empty()
                && decision.by_class.is_empty()
                && decision.score == by_probability() =>
        {
            format!(
                "it answers when the model's own probability is at least {:.4}: {}{guard}{mixed}",
                1.0 - decision.threshold,
                decision.basis
            )
        }
        Some(decision) => format!("{}: {}{guard}{mixed}", rule(decision), decision.basis),
        None if guard.is_empty() => "it never abstains by itself".to_string(),
        None => {
            "it abstains from inputs unlike the training data, and from nothing else".to_string()
        }
    }
}

/// A rule, in words of probability where it is one.
pub fn rule(Decision { score, threshold, by_class, .. }: &Decision) -> String {
    if !by_class.is_empty() {
        return format!("it answers when {score} is at most the threshold of its class");
    }
    if *score == by_probability() {
        return format!("it answers when the probability is at least {:.4}", 1.0 - threshold);
    }
    format!("it answers when {score} is at most {threshold:.6}")
}

fn by_probability() -> Score {
    MaxProbability {}.into()
}
