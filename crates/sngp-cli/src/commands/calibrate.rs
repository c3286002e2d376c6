//! `sngp calibrate`: when a model abstains.

use anyhow::{Result, bail};
use serde_json::json;
use sngp_pipeline::Pipeline;
use sngp_pipeline::calibrate::{Calibrated, ClassCoverage, Goal};
use sngp_pipeline::input::{Dataset, Place};
use sngp_records::files::lock_folder;

use crate::args::{Calibrate, PredictiveName};
use crate::context::Context;
use crate::output::{self, outln};

/// Classes that are named.
const SHOWN: usize = 5;

pub fn run(args: &Calibrate, context: &Context) -> Result<()> {
    let goal = match (args.max_error, args.max_abstain, args.threshold) {
        (Some(share), ..) if args.on_average => Some(Goal::MeanError { share }),
        (Some(share), ..) => Some(Goal::MaxError { share, confidence: args.confidence }),
        (None, Some(share), _) => Some(Goal::MaxAbstain { share }),
        (None, None, Some(value)) => Some(Goal::Threshold { value }),
        (None, None, None) if args.tune_factor || args.predictive.is_some() => None,
        (None, None, None) => bail!(
            "say what is accepted: --max-error SHARE, --max-abstain SHARE or --threshold VALUE \
             (or --tune-factor, or --predictive NAME)"
        ),
    };
    let goal = goal.map(|goal| if args.per_class { Goal::PerClass(Box::new(goal)) } else { goal });
    let _lock = lock_folder(&args.model).map_err(sngp::Error::io(&args.model))?;
    let mut pipeline = Pipeline::load(&args.model, &context.device)?;
    let label = args.label.clone().unwrap_or_else(|| pipeline.card().label.clone());
    let minimax = args.predictive == Some(PredictiveName::Minimax);
    let needs_labels = args.max_error.is_some() || args.tune_factor || minimax;
    let data = Dataset::read(&Place::parse(&args.data), Some(&label), needs_labels)?;
    if args.tune_factor {
        let factor = pipeline.tune_factor(&data)?;
        context.progress.say(&format!("mean-field factor {factor}"));
    }
    let mut calibrated = Calibrated::default();
    if let Some(goal) = &goal {
        calibrated = pipeline.calibrate(&data, goal, args.score.clone())?;
        calibrated.remarks.iter().for_each(|remark| context.progress.say(remark));
    }
    match args.predictive {
        Some(PredictiveName::Minimax) => {
            let mixed = pipeline.use_minimax(&data)?;
            if goal.is_none() {
                mixed.remarks.iter().for_each(|remark| context.progress.say(remark));
            }
        }
        Some(PredictiveName::Plain) => pipeline.use_own_probabilities(),
        None => {}
    }
    context.check_interrupted()?;
    pipeline.save(&args.model)?;
    output::done(report(&pipeline, &calibrated, context))
}

fn report(pipeline: &Pipeline, calibrated: &Calibrated, context: &Context) -> Result<()> {
    if context.json {
        let factor = pipeline.model().config().integration.mean_field_factor();
        let decision = pipeline.decision();
        return output::json(json!({
            "decision": decision, "mean_field_factor": factor, "rows": calibrated.rows,
            "minimax": pipeline.card().minimax,
            "classes": calibrated.classes, "remarks": calibrated.remarks,
        }));
    }
    outln!("{}", super::decided(pipeline));
    hardest(&calibrated.classes)
}

/// The classes of which least is accepted, with the threshold that would accept as much of them as
/// of all.
fn hardest(classes: &[ClassCoverage]) -> Result<()> {
    let accepted: usize = classes.iter().map(|class| class.accepted).sum();
    let rows: usize = classes.iter().map(|class| class.rows).sum();
    let common = accepted as f64 / rows.max(1) as f64;
    let mut below: Vec<&ClassCoverage> =
        classes.iter().filter(|class| class.coverage < common).collect();
    below.sort_by(|a, b| a.coverage.total_cmp(&b.coverage));
    if below.is_empty() {
        return Ok(());
    }
    outln!("it answers {:.1} % of these rows; least of", 100.0 * common);
    for ClassCoverage { label, rows, accepted, coverage, threshold, .. } in
        below.into_iter().take(SHOWN)
    {
        let needed = match threshold {
            Some(threshold) => format!("a threshold of {threshold:.6} would answer as many"),
            None => "most are unlike the training data".to_string(),
        };
        outln!("  {label:20} {accepted} of {rows} ({:.1} %); {needed}", 100.0 * coverage);
    }
    Ok(())
}
