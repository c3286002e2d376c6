//! `sngp inspect`: what a model says about itself.

use anyhow::Result;
use sngp::model::{Decision, Inspection, MemberInspection, load_any};
use sngp::train::TrainingConfig;
use sngp_lab::own::{Card, OwnModel, Recipe, Task, Training};

use crate::args::Inspect;
use crate::context::Context;

/// Norms may exceed their bound a little while training goes on; beyond this it is worth saying.
const SLACK: f64 = 1.05;

pub fn run(args: &Inspect, context: &Context) -> Result<()> {
    let model = load_any(&args.model, &context.device)?;
    let card = OwnModel::is_one(&args.model).then(|| Card::of(&*model)).transpose()?;
    let inspection = model.inspect()?;
    if context.json {
        let mut all = serde_json::to_value(&inspection)?;
        if let (Some(card), Some(object)) = (&card, all.as_object_mut()) {
            object.insert("card".to_string(), serde_json::to_value(card)?);
        }
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    if let Some(card) = &card {
        plain_words(card, &inspection);
    }
    overview(&inspection);
    for (index, member) in inspection.members.iter().enumerate() {
        if inspection.members.len() > 1 {
            println!("\nmember {}", index + 1);
        }
        spectral(member);
        posterior(member);
    }
    Ok(())
}

/// For its owner: what it is, what it was made from, when it abstains, where it is weak.
fn plain_words(card: &Card, inspection: &Inspection) {
    let task = match &card.task {
        Task::Classification { .. } => format!("tells {} classes apart", inspection.labels.len()),
        Task::Regression { coverage, .. } => {
            format!("predicts a number, with an interval for {} % of cases", 100.0 * coverage)
        }
    };
    println!("This model {task}, from {}.", card.recipe.describe());
    let Training { file, rows, fit } = &card.training;
    println!("It learned from {rows} rows of {file} ({fit}).");
    let metrics: Vec<String> =
        card.held_out.metrics.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
    println!("On {} rows it had not seen: {}.", card.held_out.rows, metrics.join(", "));
    match &inspection.decision {
        Some(decision) => println!("It abstains so that {}.", decision.basis),
        None => println!("It never abstains; `sngp calibrate` tells it when to."),
    }
    let health = inspection.members.first().and_then(|member| member.posterior.as_ref());
    match health.map(|health| &health.hint) {
        Some(None) => println!("Its variance is healthy: it tells near from far."),
        Some(Some(hint)) => println!("Its variance needs care: {hint}."),
        None => match card.task {
            Task::Classification { .. } => {
                println!("It has no variance; what it is uncertain by are its probabilities alone.")
            }
            Task::Regression { .. } => println!("It has no variance to be uncertain by."),
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
        println!("It is weakest at {}.", weak.join(", "));
    }
    if let Recipe::Table(table) = &card.recipe {
        for ignored in &table.ignored {
            println!("Column `{}` is not used: {}.", ignored.name, ignored.reason);
        }
    }
    println!();
}

fn overview(inspection: &Inspection) {
    let config = &inspection.config;
    println!("method        {} ({})", config.method, config.method.summary());
    println!("likelihood    {}", config.likelihood);
    println!("backbone      {} {}", inspection.backbone, inspection.backbone_config);
    if !inspection.labels.is_empty() {
        println!("classes       {}: {}", inspection.labels.len(), shortened(&inspection.labels));
    }
    match inspection.score() {
        Some(score) => println!("score         {score}"),
        None => println!("score         none: it predicts numbers without a variance"),
    }
    match &inspection.decision {
        Some(Decision { score, threshold, basis }) => {
            println!("decision      abstains when {score} is above {threshold:.6}: {basis}");
        }
        None => println!("decision      none: it never abstains by itself"),
    }
    println!("seed          {}", config.seed);
    if let Some(member) = inspection.members.first() {
        println!("parameters    {} in each of {}", member.parameters, inspection.members.len());
        training(&config.training);
    }
    if inspection.has_posterior() {
        let features = &config.gaussian_process.features;
        println!(
            "features      {} {:?}, length scale {}, layer norm {}, projection {:?}",
            features.count,
            features.kind,
            features.length_scale,
            features.layer_norm,
            features.projection
        );
        println!("accumulation  {:?}", config.posterior.accumulation);
        println!("integration   {:?}", config.integration);
    }
    if inspection.members.is_empty() {
        println!("exact GP      length scale {}", config.exact_gp.length_scale);
    }
}

fn training(training: &TrainingConfig) {
    print!(
        "training      {} epochs of batches of {}, {:?}, learning rate {}",
        training.epochs, training.batch_size, training.optimizer, training.learning_rate
    );
    match training.head_learning_rate {
        Some(rate) => println!(" ({rate} for the output layer)"),
        None => println!(),
    }
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

fn spectral(member: &MemberInspection) {
    let report = &member.spectral;
    println!(
        "\nspectral norms ({})",
        match member.normalized {
            true => "normalized while training",
            false => "not normalized; bounds shown for comparison",
        }
    );
    for layer in &report.layers {
        let verdict = if layer.holds(SLACK) { "holds" } else { "exceeded" };
        println!("  {:24} {:8.4}  bound {:6.3}  {verdict}", layer.name, layer.norm, layer.bound);
    }
    if member.normalized {
        let (all, bounded) = (report.layers.len(), report.layers.iter());
        let bounded = bounded.filter(|layer| layer.is_bounded(SLACK)).count();
        println!("  {:24} {bounded} of {all}", "at their bound");
        // A quarter: one layer of many, often the first, is bounded by chance.
        if bounded * 4 < all {
            println!(
                "  hint: the bound changes little, the network would be almost the same without; \
                 `sngp tune --bounds` looks for a smaller one that keeps accuracy"
            );
        }
    }
    if !report.uncovered.is_empty() {
        println!("  not covered by a bound: {}", folded(&report.uncovered).join(", "));
    }
    match report.lipschitz {
        Some(constants) if constants.lower > 0.0 => println!(
            "  certified: {:.3e} ||x - x'|| <= ||h(x) - h(x')|| <= {:.3e} ||x - x'||",
            constants.lower, constants.upper
        ),
        Some(constants) => println!(
            "  certified: ||h(x) - h(x')|| <= {:.3e} ||x - x'||; no lower constant, because a \
             residual layer's norm is 1 or more",
            constants.upper
        ),
        None => println!("  no Lipschitz constants: the backbone does not declare its stages"),
    }
}

fn posterior(member: &MemberInspection) {
    let Some(health) = &member.posterior else { return };
    println!("\nposterior");
    println!("  rows accumulated         {} ({:?} curvature)", health.rows, health.curvature);
    println!("  ridge                    {}", health.ridge);
    println!("  condition number         {:.1}", health.condition_number);
    println!(
        "  variance of a unit feature from {:.4} to {:.4}",
        health.smallest_variance, health.largest_variance
    );
    println!("  directions settled       {} of {}", health.settled_directions, health.directions);
    match &health.hint {
        Some(hint) => println!("  hint: {hint}"),
        None => println!("  healthy: near and far are told apart"),
    }
}
