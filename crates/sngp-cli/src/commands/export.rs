//! `sngp export`: a model for another runtime.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::json;
use sngp_pipeline::Pipeline;

use crate::args::{Export, ExportFormat};
use crate::context::Context;
use crate::output::{self, outln};

pub fn run(args: &Export, context: &Context) -> Result<()> {
    let out = match &args.out {
        Some(out) => out.clone(),
        None => {
            let name = args.model.file_name().with_context(|| {
                format!("{} has no name to call the file by; give --out", args.model.display())
            })?;
            PathBuf::from(name).with_added_extension("onnx")
        }
    };
    if out.exists() && !args.force {
        bail!("{} is there already; --force replaces it", out.display());
    }
    let pipeline = Pipeline::load(&args.model, &context.device)?;
    let exported = match args.format {
        ExportFormat::Onnx => sngp_onnx::export(&pipeline)
            .with_context(|| format!("{} cannot be exported", args.model.display()))?,
    };
    context.check_interrupted()?;
    sngp::files::write_whole(&out, &exported.bytes)?;
    output::done(report(&pipeline, &exported, &out, context))
}

fn report(
    pipeline: &Pipeline,
    exported: &sngp_onnx::Exported,
    out: &std::path::Path,
    context: &Context,
) -> Result<()> {
    let sngp_onnx::Exported { bytes, inputs, outputs } = exported;
    if context.json {
        return output::json(json!({
            "file": out, "bytes": bytes.len(), "opset": sngp_onnx::OPSET,
            "inputs": inputs, "outputs": outputs,
        }));
    }
    let megabytes = bytes.len() as f64 / 1e6;
    outln!("takes {}", inputs.join(", "));
    outln!("gives {}", outputs.join(", "));
    outln!("{}", super::decided(pipeline));
    outln!("Written: {}, {megabytes:.1} MB, opset {}", out.display(), sngp_onnx::OPSET);
    Ok(())
}
