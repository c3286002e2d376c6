//! `sngp calibrate`: when a model abstains.

use anyhow::{Result, bail};
use serde_json::json;
use sngp::model::Decision;
use sngp::predict::Integration;
use sngp::score::{MaxProbability, Score};
use sngp_lab::own::{Dataset, OwnModel, Place, Task, calibrate, held_out, outcomes};

use super::evaluate::load;
use crate::args::Calibrate;
use crate::context::Context;

pub fn run(args: &Calibrate, context: &Context) -> Result<()> {
    if args.max_error.is_none() && args.max_abstain.is_none() && !args.tune_factor {
        bail!("say what is accepted: --max-error SHARE or --max-abstain SHARE (or --tune-factor)");
    }
    let mut model = load(&args.model, context)?;
    if let (Task::Regression { .. }, Some(_)) = (&model.card.task, args.max_error) {
        bail!("--max-error is for classes; a number has an interval, and --max-abstain");
    }
    let label = args.label.as_deref().unwrap_or(&model.card.label);
    let need_labels = args.max_error.is_some() || args.tune_factor;
    let data = Dataset::read(&Place::parse(&args.data), Some(label), need_labels)?;
    if args.tune_factor {
        tune(&mut model, &data, context)?;
    }
    let own = model.any().config().score();
    let decision = match (args.max_error, args.max_abstain) {
        (Some(max_error), _) => {
            let score = args.score.clone().unwrap_or_else(|| Score::from(MaxProbability {}));
            let outcomes = outcomes(&model, &data, &score)?;
            Some(Decision::with_error_at_most(max_error, args.confidence, score, &outcomes)?)
        }
        (None, Some(share)) => {
            let score = args.score.clone().unwrap_or(own);
            let uncertainty = score.evaluate(&held_out(&model, &data)?)?;
            Some(Decision::turning_away_at_most(share, score, &uncertainty)?)
        }
        (None, None) => None,
    };
    if let Some(decision) = &decision {
        model.set_decision(decision.clone())?;
    }
    model.save(&args.model)?;
    if context.json {
        let factor = model.any().config().integration.mean_field_factor();
        println!("{}", json!({ "decision": decision, "mean_field_factor": factor }));
    } else if let Some(Decision { score, threshold, basis }) = decision {
        println!("it abstains when {score} is above {threshold:.6}: {basis}");
    }
    Ok(())
}

fn tune(model: &mut OwnModel, data: &Dataset, context: &Context) -> Result<()> {
    let prediction = held_out(model, data)?;
    if prediction.variance.is_none() {
        bail!("{} has no variance to weigh", model.any().config().method);
    }
    let labels = sngp_lab::own::classes(model, data)?;
    let found = calibrate(&prediction, &labels, false)?;
    model.set_integration(Integration::MeanField { factor: found.factor })?;
    context.progress.say(&format!("mean-field factor {}", found.factor));
    Ok(())
}
