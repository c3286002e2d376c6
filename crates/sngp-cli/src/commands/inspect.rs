//! `sngp inspect`: what a model says about itself.

use std::fmt::Write as _;

use anyhow::Result;
use sngp::method::Output;
use sngp::model::{Condition, Inspection, MemberInspection};
use sngp::train::TrainingConfig;
use sngp_pipeline::guard::View;
use sngp_pipeline::input::Preparation;
use sngp_pipeline::{Card, Pipeline, Task, Training};

use crate::args::Inspect;
use crate::context::Context;
use crate::output;

/// Norms may exceed their bound a little while training goes on; beyond this it is worth saying.
const SLACK: f64 = 1.05;

/// Adds a line to the account.
macro_rules! line {
    ($text:expr, $($part:tt)*) => {{
        let _ = writeln!($text, $($part)*);
    }};
}

pub fn run(args: &Inspect, context: &Context) -> Result<()> {
    let pipeline = Pipeline::load(&args.model, &context.device)?;
    let mut inspection = pipeline.model().inspect()?;
    if pipeline.combination().is_some() {
        inspection.config.score = Some(pipeline.default_score());
    }
    let card = Some(pipeline.card()).filter(|card| card.training.rows > 0);
    if context.json {
        let mut all = serde_json::to_value(&inspection)?;
        if let Some(object) = all.as_object_mut() {
            object.insert("signature".to_string(), serde_json::to_value(pipeline.signature())?);
            object.insert("card".to_string(), serde_json::to_value(card)?);
            let limits = pipeline.guard().map(|guard| guard.limits());
            object.insert("guard".to_string(), serde_json::to_value(limits)?);
        }
        return output::json(all);
    }
    let mut text = String::new();
    if let Some(card) = card {
        plain_words(&mut text, card, &pipeline, &inspection);
    }
    overview(&mut text, &inspection, card);
    guard(&mut text, &pipeline);
    for (index, member) in inspection.members.iter().enumerate() {
        if inspection.members.len() > 1 {
            line!(text, "\nmember {}", index + 1);
        }
        spectral(&mut text, member);
        posterior(&mut text, member);
    }
    output::print(&text)
}

/// For its owner: what it is, what it was made from, when it abstains, where it is weak.
fn plain_words(text: &mut String, card: &Card, pipeline: &Pipeline, inspection: &Inspection) {
    let task = match card.task {
        Task::Classification { .. } => format!("tells {} classes apart", inspection.labels.len()),
        Task::Regression { coverage, .. } if coverage > 0.0 => {
            format!("predicts a number, with an interval for {:.0} % of cases", 100.0 * coverage)
        }
        Task::Regression { .. } => "predicts a number".to_string(),
    };
    line!(text, "This model {task}, from {}.", card.preparation.describe());
    let Training { file, rows, fit } = &card.training;
    line!(text, "It learned from {rows} rows of {file} ({fit}).");
    let metrics: Vec<String> =
        card.held_out.metrics.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
    line!(text, "On {} rows it had not seen: {}.", card.held_out.rows, metrics.join(", "));
    let decided = super::decided(pipeline);
    let mut letters = decided.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    line!(text, "{first}{}.", letters.as_str());
    let health = inspection.members.first().and_then(|member| member.posterior.as_ref());
    match health.map(|health| &health.hint) {
        Some(None) => line!(text, "Its variance is healthy: it tells near from far."),
        Some(Some(hint)) => line!(text, "Its variance needs care: {hint}."),
        None if inspection.config.method.recipe().output == Output::ExactGaussianProcess => {
            line!(text, "Its variance is exact: it grows with the distance from the training rows.")
        }
        None => match card.task {
            Task::Classification { .. } => {
                line!(
                    text,
                    "It has no variance; what it is uncertain by are its probabilities alone."
                )
            }
            Task::Regression { .. } => line!(text, "It has no variance to be uncertain by."),
        },
    }
    let weak: Vec<String> = card
        .held_out
        .weakest
        .iter()
        .filter(|(_, share)| *share < 1.0)
        .take(5)
        .map(|(name, share)| format!("{name} ({:.0} % recognized)", 100.0 * share))
        .collect();
    if !weak.is_empty() {
        line!(text, "It is weakest at {}.", weak.join(", "));
    }
    if let Preparation::Table(table) = &card.preparation {
        for ignored in &table.ignored {
            line!(text, "Column `{}` is not used: {}.", ignored.name, ignored.reason);
        }
    }
    line!(text, "");
}

fn overview(text: &mut String, inspection: &Inspection, card: Option<&Card>) {
    let config = &inspection.config;
    line!(text, "method        {} ({})", config.method, config.method.summary());
    line!(text, "likelihood    {}", config.likelihood);
    line!(text, "backbone      {} {}", inspection.backbone, inspection.backbone_config);
    if !inspection.labels.is_empty() {
        line!(text, "classes       {}: {}", inspection.labels.len(), shortened(&inspection.labels));
    }
    match inspection.score() {
        Some(score) => line!(text, "score         {score}"),
        None => line!(text, "score         none: it predicts numbers without a variance"),
    }
    match &inspection.decision {
        Some(decision) => {
            line!(text, "decision      {}: {}", super::rule(decision), decision.basis);
            if let Some(Condition { score, threshold, basis }) = &decision.distance {
                line!(text, "and           {score} is at most {threshold:.6}: {basis}");
            }
        }
        None => line!(text, "decision      none"),
    }
    line!(text, "seed          {}", config.seed);
    if let Some(member) = inspection.members.first() {
        line!(text, "parameters    {} in each of {}", member.parameters, inspection.members.len());
        match card {
            Some(card) => line!(text, "training      {}", card.training.fit),
            None => training(text, &config.training),
        }
    }
    if inspection.has_posterior() {
        let features = &config.gaussian_process.features;
        line!(
            text,
            "features      {} {:?}, length scale {}, layer norm {}, projection {:?}",
            features.count,
            features.kind,
            features.length_scale,
            features.layer_norm,
            features.projection
        );
        line!(text, "accumulation  {:?}", config.posterior.accumulation);
        line!(text, "integration   {:?}", config.integration);
    }
    if inspection.members.is_empty() {
        line!(text, "exact GP      length scale {}", config.exact_gp.length_scale);
    }
}

fn training(text: &mut String, training: &TrainingConfig) {
    let head = match training.head_learning_rate {
        Some(rate) => format!(" ({rate} for the output layer)"),
        None => String::new(),
    };
    line!(
        text,
        "training      {} epochs of batches of {}, {:?}, learning rate {}{head}",
        training.epochs,
        training.batch_size,
        training.optimizer,
        training.learning_rate
    );
}

/// What inputs are held against before anything is answered.
fn guard(text: &mut String, pipeline: &Pipeline) {
    let Some(guard) = pipeline.guard() else { return };
    let (excess, distance) = guard.limits();
    let looks_at = match guard.view() {
        View::Numbers { places } => format!("{} numbers", places.len()),
        View::Direction => "length and direction of vectors".to_string(),
        View::Picture { .. } => "brightness, contrast and detail of pictures".to_string(),
    };
    let near = match guard.view() {
        View::Picture { .. } => String::new(),
        _ => {
            format!(", and a mean squared distance of at most {distance:.3} from the nearest class")
        }
    };
    line!(text, "guard         {looks_at}; at most {excess:.3} of a range outside of it{near}");
}

fn shortened(labels: &[String]) -> String {
    match labels.len() {
        0..=12 => labels.join(", "),
        more => format!("{}, .. ({} more)", labels[..12].join(", "), more - 12),
    }
}

/// Names that differ in their numbers only, as one with how many there are.
fn folded(names: &[String]) -> Vec<String> {
    let pattern = |name: &str| {
        let parts =
            name.split('.').map(|part| if part.parse::<usize>().is_ok() { "*" } else { part });
        parts.collect::<Vec<_>>().join(".")
    };
    let mut groups: Vec<(String, usize)> = Vec::new();
    for name in names {
        let pattern = pattern(name);
        match groups.iter_mut().find(|(known, _)| *known == pattern) {
            Some((_, count)) => *count += 1,
            None => groups.push((pattern, 1)),
        }
    }
    let shown = |(pattern, count): (String, usize)| match pattern.contains('*') {
        true => format!("{pattern} ({count})"),
        false => pattern,
    };
    groups.into_iter().map(shown).collect()
}

fn spectral(text: &mut String, member: &MemberInspection) {
    let report = &member.spectral;
    if report.layers.is_empty() && report.uncovered.is_empty() {
        // The output layer is directly on the inputs.
        return;
    }
    line!(
        text,
        "\nspectral norms ({})",
        match member.normalized {
            true => "normalized while training",
            false => "not normalized; bounds shown for comparison",
        }
    );
    for layer in &report.layers {
        let verdict = if layer.holds(SLACK) { "holds" } else { "exceeded" };
        line!(text, "  {:24} {:8.4}  bound {:6.3}  {verdict}", layer.name, layer.norm, layer.bound);
    }
    if member.normalized {
        let (all, bounded) = (report.layers.len(), report.layers.iter());
        let bounded = bounded.filter(|layer| layer.is_bounded(SLACK)).count();
        line!(text, "  {:24} {bounded} of {all}", "at their bound");
        // A quarter: one layer of many, often the first, is bounded by chance.
        if bounded * 4 < all {
            line!(
                text,
                "  hint: the bound changes little, the network would be almost the same without; \
                 `sngp tune --bounds` looks for a smaller one that keeps accuracy"
            );
        }
    }
    if !report.uncovered.is_empty() {
        line!(text, "  not covered by a bound: {}", folded(&report.uncovered).join(", "));
    }
    match report.lipschitz {
        Some(constants) if constants.lower > 0.0 => line!(
            text,
            "  certified: {:.3e} ||x - x'|| <= ||h(x) - h(x')|| <= {:.3e} ||x - x'||",
            constants.lower,
            constants.upper
        ),
        Some(constants) => line!(
            text,
            "  certified: ||h(x) - h(x')|| <= {:.3e} ||x - x'||; no lower constant, because a \
             residual layer's norm is 1 or more",
            constants.upper
        ),
        None => line!(text, "  no Lipschitz constants: the backbone does not declare its stages"),
    }
}

fn posterior(text: &mut String, member: &MemberInspection) {
    let Some(health) = &member.posterior else { return };
    line!(text, "\nposterior");
    line!(text, "  rows accumulated         {} ({:?} curvature)", health.rows, health.curvature);
    line!(text, "  ridge                    {}", health.ridge);
    line!(text, "  condition number         {:.1}", health.condition_number);
    line!(
        text,
        "  variance of a unit feature from {:.4} to {:.4}",
        health.smallest_variance,
        health.largest_variance
    );
    line!(
        text,
        "  directions settled       {} of {}",
        health.settled_directions,
        health.directions
    );
    match &health.hint {
        Some(hint) => line!(text, "  hint: {hint}"),
        None => line!(text, "  healthy: near and far are told apart"),
    }
}
