//! The columns that `sngp predict` writes: one schema for every model.

use anyhow::{Result, bail};
use sngp_pipeline::{Answer, Outcome, Pipeline, Task};
use sngp_records::Cell;

/// The answer's columns, for classes and for numbers.
const CLASSES: [&str; 5] = ["predicted", "probability", "uncertainty", "decision", "reason"];
const NUMBERS: [&str; 6] = ["predicted", "low", "high", "uncertainty", "decision", "reason"];

pub struct Schema {
    numbers: bool,
    /// Classes whose probabilities have columns of their own.
    probabilities: Vec<String>,
    top_k: usize,
    labels: Vec<String>,
    /// Whether it is said of every row if it is flagged.
    flagged: bool,
}

impl Schema {
    pub fn of(
        pipeline: &Pipeline,
        probabilities: bool,
        top_k: Option<usize>,
        flagged: bool,
    ) -> Result<Self> {
        let numbers = matches!(pipeline.card().task, Task::Regression { .. });
        if numbers && (probabilities || top_k.is_some()) {
            bail!("the model predicts numbers: it has no classes to give probabilities of");
        }
        let labels = pipeline.labels().to_vec();
        let top_k = top_k.unwrap_or(0).min(labels.len());
        let probabilities = if probabilities { labels.clone() } else { Vec::new() };
        Ok(Self { numbers, probabilities, top_k, labels, flagged })
    }

    pub fn needs_probabilities(&self) -> bool {
        !self.probabilities.is_empty() || self.top_k > 0
    }

    /// The columns of the input and those of the answer. Those of the answer always have their names: who
    /// looks for `decision` must not find what another model said. A column of the input that is called
    /// like one of them gets another name.
    pub fn beside(&self, names: &[String]) -> Vec<String> {
        let own = self.own();
        let mut columns: Vec<String> = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let mut name = name.clone();
            while own.contains(&name) || (name != names[index] && names.contains(&name)) {
                name.push('_');
            }
            columns.push(name);
        }
        [columns, own].concat()
    }

    /// The columns of the answer.
    fn own(&self) -> Vec<String> {
        let own = if self.numbers { &NUMBERS[..] } else { &CLASSES[..] };
        let own = own.iter().map(|name| name.to_string());
        let tops =
            (1..=self.top_k).flat_map(|k| [format!("top_{k}"), format!("top_{k}_probability")]);
        let all = self.probabilities.iter().map(|label| format!("probability of {label}"));
        let flagged = self.flagged.then(|| "flagged".to_string());
        own.chain(flagged).chain(tops).chain(all).collect()
    }

    pub fn cells(&self, answer: &Answer) -> Vec<Cell> {
        let number = |value: Option<f64>| value.map_or(Cell::Missing, Cell::Number);
        let mut cells = match &answer.outcome {
            Some(Outcome::Class { label, probability, .. }) => {
                vec![Cell::Text(label.clone()), Cell::Number(*probability)]
            }
            Some(Outcome::Number { value, low, high }) => {
                vec![Cell::Number(*value), number(*low), number(*high)]
            }
            None => vec![Cell::Missing; if self.numbers { 3 } else { 2 }],
        };
        cells.push(number(answer.uncertainty));
        cells.push(Cell::Text(answer.decision().to_string()));
        cells.push(answer.reason().map_or(Cell::Missing, Cell::Text));
        if self.flagged {
            cells.push(answer.flagged.map_or(Cell::Missing, Cell::Bool));
        }
        let all = match &answer.outcome {
            Some(Outcome::Class { probabilities: Some(all), .. }) => Some(all),
            _ => None,
        };
        let mut order: Vec<usize> = (0..self.labels.len()).collect();
        if let Some(all) = all {
            order.sort_by(|&a, &b| all[b].total_cmp(&all[a]));
        }
        for &class in order.iter().take(self.top_k) {
            cells.push(all.map_or(Cell::Missing, |_| Cell::Text(self.labels[class].clone())));
            cells.push(number(all.map(|all| all[class])));
        }
        cells.extend((0..self.probabilities.len()).map(|class| number(all.map(|all| all[class]))));
        cells
    }
}
