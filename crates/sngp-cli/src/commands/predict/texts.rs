//! Sentences: given with `--text`, or one a line.

use std::io::{self, BufRead, BufReader, Write};

use anyhow::{Context as _, Result};
use sngp::text::TextModel;

use super::writer::Predictions;
use super::{BATCH, open};
use crate::args::Predict;
use crate::context::Context;

pub fn run(args: &Predict, context: &Context) -> Result<()> {
    let model = TextModel::load(&args.model, &context.device)?;
    let mut writer = Predictions::new(model.model(), context.json, io::stdout().lock());
    if !args.text.is_empty() {
        return writer.write(&model.predict(&args.text)?);
    }
    let (name, source) = open(&args.data)?;
    let mut sentences = Vec::new();
    for (index, line) in BufReader::new(source).split(b'\n').enumerate() {
        let mut line = line.with_context(|| name.clone())?;
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        let line = String::from_utf8(line)
            .with_context(|| format!("{name}, line {}: not valid UTF-8", index + 1))?;
        sentences.push(line);
        if sentences.len() == BATCH {
            predict(&model, &mut sentences, &mut writer)?;
        }
    }
    predict(&model, &mut sentences, &mut writer)
}

fn predict<W: Write>(
    model: &TextModel,
    sentences: &mut Vec<String>,
    writer: &mut Predictions<'_, W>,
) -> Result<()> {
    if !sentences.is_empty() {
        writer.write(&model.predict(sentences)?)?;
        sentences.clear();
    }
    Ok(())
}
