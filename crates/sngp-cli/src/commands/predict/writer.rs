//! Predictions as CSV, or as one JSON object a line.

use std::io::{BufWriter, Write};

use anyhow::Result;
use serde_json::Value;
use sngp::model::{AnyModel, Decision};
use sngp::predict::{Prediction, Predictive};
use sngp::score::Score;

/// One cell: its column and its value.
type Cell = (&'static str, Value);

pub struct Predictions<'a, W: Write> {
    labels: &'a [String],
    decision: Option<&'a Decision>,
    score: Score,
    sink: Sink<W>,
}

enum Sink<W: Write> {
    Json(BufWriter<W>),
    Csv { writer: Box<csv::Writer<W>>, started: bool },
}

impl<'a, W: Write> Predictions<'a, W> {
    pub fn new(model: &'a dyn AnyModel, json: bool, out: W) -> Self {
        let decision = model.decision();
        let default = || model.config().score();
        Self {
            labels: model.labels(),
            decision,
            score: decision.map_or_else(default, |decision| decision.score.clone()),
            sink: match json {
                true => Sink::Json(BufWriter::new(out)),
                false => {
                    Sink::Csv { writer: Box::new(csv::Writer::from_writer(out)), started: false }
                }
            },
        }
    }

    /// Writes a line for every row, and lets the reader see them.
    pub fn write(&mut self, prediction: &Prediction) -> Result<()> {
        match &prediction.predictive {
            Predictive::Classes(probabilities) => {
                let uncertainty = self.score.evaluate(prediction)?;
                for (row, label) in prediction.labels()?.into_iter().enumerate() {
                    let mut cells: Vec<Cell> = vec![
                        ("label", self.labels[label].as_str().into()),
                        ("probability", probabilities[[row, label]].into()),
                        ("uncertainty", uncertainty[row].into()),
                    ];
                    cells.extend(self.decision.map(|decision| {
                        let accepted = decision.accepts(uncertainty[row]);
                        ("decision", if accepted { "accept" } else { "abstain" }.into())
                    }));
                    self.sink.line(cells)?;
                }
            }
            Predictive::Normal { mean, variance } => {
                for (&mean, &variance) in mean.iter().zip(variance) {
                    self.sink.line(vec![("mean", mean.into()), ("variance", variance.into())])?;
                }
            }
            Predictive::Rate(rates) => {
                for &rate in rates {
                    self.sink.line(vec![("rate", rate.into())])?;
                }
            }
        }
        self.sink.flush()
    }
}

impl<W: Write> Sink<W> {
    fn line(&mut self, cells: Vec<Cell>) -> Result<()> {
        match self {
            Self::Json(out) => {
                let object: serde_json::Map<_, _> =
                    cells.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
                writeln!(out, "{}", Value::from(object))?;
            }
            Self::Csv { writer, started } => {
                if !std::mem::replace(started, true) {
                    writer.write_record(cells.iter().map(|(name, _)| name))?;
                }
                writer.write_record(cells.iter().map(|(_, value)| match value {
                    Value::String(text) => text.clone(),
                    number => {
                        number.as_f64().map_or_else(String::new, |number| format!("{number:.6}"))
                    }
                }))?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Self::Json(out) => Ok(out.flush()?),
            Self::Csv { writer, .. } => Ok(writer.flush()?),
        }
    }
}
