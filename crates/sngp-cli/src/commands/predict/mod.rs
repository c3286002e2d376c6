//! `sngp predict`: rows of numbers or sentences in, predictions out, in the same order.

mod own;
mod rows;
mod texts;
mod writer;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use sngp::backbone::{Backbone, Bert};
use sngp::model::backbone_name;
use sngp_lab::own::OwnModel;

use crate::args::Predict;
use crate::context::Context;

/// Rows predicted together; memory does not grow with the file.
const BATCH: usize = 512;

pub fn run(args: &Predict, context: &Context) -> Result<()> {
    if OwnModel::is_one(&args.model) {
        return own::run(args, context);
    }
    let backbone = backbone_name(&args.model)?;
    match backbone == Bert::NAME {
        true => texts::run(args, context),
        false if args.text.is_empty() => rows::run(args, context),
        false => bail!(
            "{} takes rows of numbers with --data, not text: its backbone is {backbone}",
            args.model.display()
        ),
    }
}

/// A source and its name in messages; `-` is standard input.
fn open(path: &Path) -> Result<(String, Box<dyn Read>)> {
    if path == Path::new("-") {
        return Ok(("standard input".to_string(), Box::new(io::stdin().lock())));
    }
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("{name} cannot be read"))?;
    Ok((name, Box::new(file)))
}
