//! `sngp update`: a variance that knows more, or less.

use anyhow::Result;
use serde_json::json;
use sngp_pipeline::Pipeline;
use sngp_pipeline::input::Place;
use sngp_records::files::lock_folder;

use crate::args::Update;
use crate::context::Context;
use crate::output::{self, outln};

pub fn run(args: &Update, context: &Context) -> Result<()> {
    let out = args.out.as_ref().unwrap_or(&args.model);
    if args.out.is_some() {
        output::claim_model_folder(out, args.force)?;
    }
    let _lock = lock_folder(&args.model).map_err(sngp::Error::io(&args.model))?;
    let mut pipeline = Pipeline::load(&args.model, &context.device)?;
    let before = pipeline.posterior_rows();
    let part = pipeline.accumulate_file(&Place::parse(&args.data), &context.interrupter)?;
    match args.forget {
        true => pipeline.forget(&part)?,
        false => pipeline.update(&part, args.decay)?,
    }
    context.check_interrupted()?;
    pipeline.save(out)?;
    let after = pipeline.posterior_rows();
    let report = || -> Result<()> {
        if context.json {
            return output::json(json!({
                "model": out, "rows_before": before, "rows": after,
                "decision": pipeline.decision(), "uncalibrated": pipeline.card().uncalibrated,
            }));
        }
        let what = if args.forget { "forgotten" } else { "added" };
        outln!(
            "{} rows {what}; the posterior now has {} (before: {}). Written: {}",
            part.rows(),
            after.unwrap_or(0),
            before.unwrap_or(0),
            out.display()
        );
        outln!("{}", super::decided(&pipeline));
        Ok(())
    };
    output::done(report())
}
