//! `sngp calibrate`: when a model abstains.

use anyhow::{Result, bail};
use serde_json::json;
use sngp_pipeline::Pipeline;
use sngp_pipeline::calibrate::Goal;
use sngp_pipeline::input::{Dataset, Place};
use sngp_records::files::lock_folder;

use crate::args::Calibrate;
use crate::context::Context;
use crate::output::{self, outln};

pub fn run(args: &Calibrate, context: &Context) -> Result<()> {
    let goal = match (args.max_error, args.max_abstain, args.threshold) {
        (Some(share), ..) => Some(Goal::MaxError { share, confidence: args.confidence }),
        (None, Some(share), _) => Some(Goal::MaxAbstain { share }),
        (None, None, Some(value)) => Some(Goal::Threshold { value }),
        (None, None, None) if args.tune_factor => None,
        (None, None, None) => bail!(
            "say what is accepted: --max-error SHARE, --max-abstain SHARE or --threshold VALUE \
             (or --tune-factor)"
        ),
    };
    let _lock = lock_folder(&args.model).map_err(sngp::Error::io(&args.model))?;
    let mut pipeline = Pipeline::load(&args.model, &context.device)?;
    let label = args.label.clone().unwrap_or_else(|| pipeline.card().label.clone());
    let needs_labels = args.max_error.is_some() || args.tune_factor;
    let data = Dataset::read(&Place::parse(&args.data), Some(&label), needs_labels)?;
    if args.tune_factor {
        let factor = pipeline.tune_factor(&data)?;
        context.progress.say(&format!("mean-field factor {factor}"));
    }
    let mut remarks = Vec::new();
    if let Some(goal) = &goal {
        let calibrated = pipeline.calibrate(&data, goal, args.score.clone())?;
        calibrated.remarks.iter().for_each(|remark| context.progress.say(remark));
        remarks = calibrated.remarks;
    }
    context.check_interrupted()?;
    pipeline.save(&args.model)?;
    output::done(report(&pipeline, &remarks, context))
}

fn report(pipeline: &Pipeline, remarks: &[String], context: &Context) -> Result<()> {
    if context.json {
        let factor = pipeline.model().config().integration.mean_field_factor();
        let decision = pipeline.decision();
        return output::json(json!({
            "decision": decision, "mean_field_factor": factor, "remarks": remarks,
        }));
    }
    outln!("{}", super::decided(pipeline));
    Ok(())
}
