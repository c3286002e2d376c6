//! One line an event, for people or for machines.

use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

/// How lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// `key=value`.
    #[default]
    Text,
    /// A JSON object.
    Json,
    /// Nothing of requests; events only.
    Quiet,
}

/// Where lines go: standard error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log {
    format: LogFormat,
}

impl Log {
    /// Writes in a format.
    pub fn new(format: LogFormat) -> Self {
        Self { format }
    }

    /// Something that happened to the server.
    pub fn event(&self, what: &str, about: &[(&str, &str)]) {
        let about = about.iter().map(|(key, value)| (*key, Value::from(*value)));
        self.line(what, about);
    }

    /// A request that was answered.
    pub fn request(&self, about: [(&str, Value); 6]) {
        if self.format != LogFormat::Quiet {
            self.line("request", about.into_iter());
        }
    }

    fn line<'a>(&self, what: &str, about: impl Iterator<Item = (&'a str, Value)>) {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let mut line = match self.format {
            LogFormat::Json => {
                let mut object = Map::new();
                object.insert("time".to_string(), time.into());
                object.insert("event".to_string(), what.into());
                object.extend(about.map(|(key, value)| (key.to_string(), value)));
                Value::Object(object).to_string()
            }
            // A value that somebody sent is written as JSON: it cannot break the line.
            _ => about.fold(format!("{time:.3} {what}"), |line, (key, value)| {
                format!("{line} {key}={value}")
            }),
        };
        line.push('\n');
        // Who has closed our standard error does not want to know.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}
