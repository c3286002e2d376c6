//! `sngp predict`: rows of numbers in, predictions out, in the same order.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use ndarray::ArrayView2;
use serde_json::Value;
use sngp::model::{AnyModel, load_any};
use sngp::predict::Predictive;
use sngp::score::Score;

use crate::args::Predict;
use crate::context::Context;

/// Rows predicted together; memory does not grow with the file.
const BATCH: usize = 512;

pub fn run(args: &Predict, context: &Context) -> Result<()> {
    let model = load_any(&args.model, &context.device)?;
    let (name, source): (_, Box<dyn Read>) = if args.data == Path::new("-") {
        ("standard input".to_string(), Box::new(io::stdin().lock()))
    } else {
        let name = args.data.display().to_string();
        let file = File::open(&args.data).with_context(|| format!("{name} cannot be read"))?;
        (name, Box::new(file))
    };
    let mut writer = Predictions::new(&*model, context.json, io::stdout().lock());
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(source);
    let (mut values, mut columns, mut rows) = (Vec::new(), 0, 0);
    for (index, record) in reader.records().enumerate() {
        let record = record.with_context(|| name.clone())?;
        let numbers: std::result::Result<Vec<f32>, _> = record.iter().map(str::parse).collect();
        let numbers = match numbers {
            Ok(numbers) if numbers.iter().all(|number| number.is_finite()) => numbers,
            // A first row without any number is a header.
            Err(_) if index == 0 && record.iter().all(|cell| cell.parse::<f32>().is_err()) => {
                continue;
            }
            _ => bail!(
                "{name}, row {}: `{}` is not a row of finite numbers",
                index + 1,
                record.iter().collect::<Vec<_>>().join(",")
            ),
        };
        columns = numbers.len();
        values.extend(numbers);
        rows += 1;
        if rows == BATCH {
            writer.write(&values, rows, columns)?;
            (values, rows) = (Vec::new(), 0);
        }
    }
    if rows > 0 {
        writer.write(&values, rows, columns)?;
    }
    Ok(())
}

/// Writes predictions as CSV, or as one JSON object a line.
struct Predictions<'a, W: Write> {
    model: &'a dyn AnyModel,
    score: Score,
    json: bool,
    out: BufWriter<W>,
    started: bool,
}

impl<'a, W: Write> Predictions<'a, W> {
    fn new(model: &'a dyn AnyModel, json: bool, out: W) -> Self {
        let score = model.config().method.recipe().score;
        Self { model, score, json, out: BufWriter::new(out), started: false }
    }

    fn write(&mut self, values: &[f32], rows: usize, columns: usize) -> Result<()> {
        let rows = ArrayView2::from_shape((rows, columns), values)?;
        let prediction = self.model.predict_rows(rows)?;
        match &prediction.predictive {
            Predictive::Classes(probabilities) => {
                let uncertainty = self.score.evaluate(&prediction)?;
                for (row, label) in prediction.labels()?.into_iter().enumerate() {
                    self.line([
                        ("label", Value::from(self.model.labels()[label].as_str())),
                        ("probability", Value::from(probabilities[[row, label]])),
                        ("uncertainty", Value::from(uncertainty[row])),
                    ])?;
                }
            }
            Predictive::Normal { mean, variance } => {
                for (&mean, &variance) in mean.iter().zip(variance) {
                    self.line([("mean", mean.into()), ("variance", variance.into())])?;
                }
            }
            Predictive::Rate(rates) => {
                for &rate in rates {
                    self.line([("rate", rate.into())])?;
                }
            }
        }
        Ok(self.out.flush()?)
    }

    fn line<const N: usize>(&mut self, cells: [(&str, Value); N]) -> Result<()> {
        if self.json {
            let object: serde_json::Map<_, _> =
                cells.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
            return Ok(writeln!(self.out, "{}", Value::from(object))?);
        }
        let mut writer = csv::Writer::from_writer(&mut self.out);
        if !std::mem::replace(&mut self.started, true) {
            writer.write_record(cells.iter().map(|(name, _)| name))?;
        }
        writer.write_record(cells.iter().map(|(_, value)| match value {
            Value::String(text) => text.clone(),
            number => number.as_f64().map_or_else(String::new, |number| format!("{number:.6}")),
        }))?;
        Ok(writer.flush()?)
    }
}
