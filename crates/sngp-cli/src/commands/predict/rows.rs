//! Rows of numbers.

use std::io;

use anyhow::{Context as _, Result, bail};
use ndarray::ArrayView2;
use sngp::model::load_any;

use super::writer::Predictions;
use super::{BATCH, open};
use crate::args::Predict;
use crate::context::Context;

pub fn run(args: &Predict, context: &Context) -> Result<()> {
    let model = load_any(&args.model, &context.device)?;
    let (name, source) = open(&args.data)?;
    let mut writer = Predictions::new(&*model, context.json, io::stdout().lock());
    let mut predict = |values: &[f32], rows, columns| {
        let rows = ArrayView2::from_shape((rows, columns), values)?;
        writer.write(&model.predict_rows(rows)?)
    };
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
            predict(&values, rows, columns)?;
            (values, rows) = (Vec::new(), 0);
        }
    }
    if rows > 0 {
        predict(&values, rows, columns)?;
    }
    Ok(())
}
