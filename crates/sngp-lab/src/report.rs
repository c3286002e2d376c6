//! One shape of result for every benchmark.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use sngp::metrics::MeanStderr;
use sngp::{Error, Result};

/// The mean of one metric of one method over seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The experiment, e.g. the data set.
    pub experiment: String,
    /// The method.
    pub method: String,
    /// What it was measured on.
    pub split: String,
    /// The metric.
    pub metric: String,
    /// Mean over seeds.
    pub mean: f64,
    /// Its standard error; zero for one seed.
    pub stderr: f64,
    /// How many seeds.
    pub seeds: usize,
}

impl Row {
    fn is(&self, method: &str, split: &str, metric: &str) -> bool {
        self.method == method && self.split == split && self.metric == metric
    }
}

/// A benchmark's result: rows and where they come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of this shape; 0 in files from before it was said.
    #[serde(default)]
    pub schema: u32,
    /// The rows.
    pub rows: Vec<Row>,
    /// The command that made them.
    pub command: String,
    /// The commit it was built from.
    pub commit: String,
    /// The processor it ran on.
    pub cpu: String,
}

/// Single measurements, to be averaged over seeds.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    /// In the order of first appearance.
    keys: Vec<[String; 4]>,
    values: BTreeMap<[String; 4], Vec<f64>>,
}

impl Measurements {
    /// Adds one seed's value.
    pub fn add(&mut self, experiment: &str, method: &str, split: &str, metric: &str, value: f64) {
        let key = [experiment, method, split, metric].map(str::to_string);
        if !self.values.contains_key(&key) {
            self.keys.push(key.clone());
        }
        self.values.entry(key).or_default().push(value);
    }

    /// Means and standard errors.
    pub fn rows(&self) -> Result<Vec<Row>> {
        let row = |key: &[String; 4]| {
            let summary = MeanStderr::of(&self.values[key])?;
            let [experiment, method, split, metric] = key.clone();
            Ok(Row {
                experiment,
                method,
                split,
                metric,
                mean: summary.mean,
                stderr: summary.stderr,
                seeds: summary.n,
            })
        };
        self.keys.iter().map(row).collect()
    }
}

impl Report {
    /// The report as indented JSON.
    pub fn json(&self) -> Result<String> {
        serde_json::to_string_pretty(self)
            .map(|text| text + "\n")
            .map_err(|error| Error::Data(error.to_string()))
    }

    /// The rows as CSV.
    pub fn csv(&self) -> Result<String> {
        let fail = |error: &dyn std::fmt::Display| Error::Data(error.to_string());
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in &self.rows {
            writer.serialize(row).map_err(|error| fail(&error))?;
        }
        let bytes = writer.into_inner().map_err(|error| fail(&error))?;
        String::from_utf8(bytes).map_err(|error| fail(&error))
    }

    /// One Markdown table an experiment: a row a method, a column a metric.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for experiment in unique(self.rows.iter().map(|row| row.experiment.as_str())) {
            let rows: Vec<&Row> =
                self.rows.iter().filter(|row| row.experiment == experiment).collect();
            let columns = unique(rows.iter().map(|row| (row.split.as_str(), row.metric.as_str())));
            let _ = writeln!(text, "### {experiment}\n");
            let names: Vec<String> =
                columns.iter().map(|(split, metric)| format!("{split} {metric}")).collect();
            let _ = writeln!(text, "| method | {} |", names.join(" | "));
            let _ = writeln!(text, "|---|{}", "---|".repeat(columns.len()));
            for method in unique(rows.iter().map(|row| row.method.as_str())) {
                let cell = |(split, metric): &(&str, &str)| {
                    let found = rows.iter().find(|row| row.is(method, split, metric));
                    shown(found.copied(), 3)
                };
                let cells: Vec<String> = columns.iter().map(cell).collect();
                let _ = writeln!(text, "| `{method}` | {} |", cells.join(" | "));
            }
            text.push('\n');
        }
        let _ = writeln!(
            text,
            "Command: `{}`; commit {}; CPU: {}.",
            self.command, self.commit, self.cpu
        );
        text
    }
}

impl Report {
    /// The methods in the order of their first rows.
    pub fn methods(&self) -> Vec<&str> {
        unique(self.rows.iter().map(|row| row.method.as_str()))
    }

    /// What was measured on, in the order of first appearance.
    pub fn splits(&self) -> impl Iterator<Item = &str> {
        unique(self.rows.iter().map(|row| row.split.as_str())).into_iter()
    }

    /// The row of a method, a split and a metric.
    pub fn find(&self, method: &str, split: &str, metric: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.is(method, split, metric))
    }

    /// The same as text.
    pub fn cell(&self, method: &str, split: &str, metric: &str) -> String {
        shown(self.find(method, split, metric), 4)
    }

    /// How many seeds a method's rows are the mean of.
    pub fn seeds(&self, method: &str) -> usize {
        self.rows.iter().find(|row| row.method == method).map_or(0, |row| row.seeds)
    }
}

/// A mean with its standard error, where there is one.
fn shown(row: Option<&Row>, digits: usize) -> String {
    match row {
        Some(row) if row.seeds > 1 => format!("{:.digits$} ± {:.digits$}", row.mean, row.stderr),
        Some(row) => format!("{:.digits$}", row.mean),
        None => "–".to_string(),
    }
}

fn unique<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.fold(Vec::new(), |mut seen, item| {
        if !seen.contains(&item) {
            seen.push(item);
        }
        seen
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_averaged_and_shown_with_their_error() {
        let mut measurements = Measurements::default();
        measurements.add("moons", "sngp", "test", "accuracy", 0.9);
        measurements.add("moons", "sngp", "test", "accuracy", 1.0);
        measurements.add("moons", "duq", "ood", "auroc", 0.5);
        let report = Report {
            schema: 1,
            rows: measurements.rows().unwrap(),
            command: "sngp bench 2d".to_string(),
            commit: "abc".to_string(),
            cpu: "a CPU".to_string(),
        };
        assert_eq!(report.rows[0].seeds, 2);
        assert!((report.rows[0].stderr - 0.05).abs() < 1e-12);
        let text = report.markdown();
        assert!(text.contains("| `sngp` | 0.950 ± 0.050 | – |"), "{text}");
        assert!(text.contains("| `duq` | – | 0.500 |"), "{text}");
        let back: Report = serde_json::from_str(&report.json().unwrap()).unwrap();
        assert_eq!(back, report);
    }
}
