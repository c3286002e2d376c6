//! The commands, one file each: read, call, write.

pub mod bench;
pub mod bench_2d;
pub mod bench_cifar;
pub mod bench_clinc;
pub mod calibrate;
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
    match pipeline.decision() {
        Some(decision) => format!("{}: {}{guard}", rule(decision), decision.basis),
        None if guard.is_empty() => "it never abstains by itself".to_string(),
        None => {
            "it abstains from inputs unlike the training data, and from nothing else".to_string()
        }
    }
}

/// A rule, in words of probability where it is one.
pub fn rule(Decision { score, threshold, .. }: &Decision) -> String {
    if *score == Score::from(MaxProbability {}) {
        return format!("it answers when the probability is at least {:.4}", 1.0 - threshold);
    }
    format!("it answers when {score} is at most {threshold:.6}")
}
