//! `sngp precision` and `sngp merge`: one posterior from many machines.

use anyhow::{Result, bail};
use serde_json::json;
use sngp::posterior::{load_precisions, save_precisions};
use sngp_pipeline::Pipeline;
use sngp_pipeline::input::Place;

use crate::args::{Merge, PrecisionArgs};
use crate::context::Context;
use crate::output::{self, outln};

pub fn accumulate(args: &PrecisionArgs, context: &Context) -> Result<()> {
    let place = Place::parse(&args.data);
    let same = |path: &std::path::Path| std::fs::canonicalize(path).ok();
    if same(&place.path).is_some() && same(&place.path) == same(&args.out) {
        bail!("{} is the data itself; choose another file with --out", args.out.display());
    }
    let pipeline = Pipeline::load(&args.model, &context.device)?;
    let part = pipeline.accumulate_file(&place, &context.interrupter)?;
    context.check_interrupted()?;
    save_precisions(&args.out, &part.precisions)?;
    let report = || -> Result<()> {
        if context.json {
            return output::json(json!({ "file": args.out, "rows": part.rows() }));
        }
        outln!("{} rows accumulated. Written: {}", part.rows(), args.out.display());
        Ok(())
    };
    output::done(report())
}

pub fn merge(args: &Merge, context: &Context) -> Result<()> {
    output::claim_model_folder(&args.out, args.force)?;
    let mut pipeline = Pipeline::load(&args.model, &context.device)?;
    let parts = args.parts.iter().map(load_precisions).collect::<sngp::Result<Vec<_>>>()?;
    let rows = pipeline.merge(&parts)?;
    context.check_interrupted()?;
    pipeline.save(&args.out)?;
    let report = || -> Result<()> {
        if context.json {
            return output::json(json!({
                "model": args.out, "parts": parts.len(), "rows": rows,
                "decision": pipeline.decision(), "uncalibrated": pipeline.card().uncalibrated,
            }));
        }
        outln!("{} parts, {rows} rows. Written: {}", parts.len(), args.out.display());
        outln!("{}", super::decided(&pipeline));
        Ok(())
    };
    output::done(report())
}
