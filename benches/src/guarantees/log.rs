//! What is measured is kept, a line each: it takes longer than one likes to wait at a time.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use anyhow::Result;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Results of this start and of earlier ones.
pub struct Log {
    known: HashMap<String, Value>,
    file: File,
}

#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    found: Value,
}

impl Log {
    pub fn open(path: &Path) -> Result<Self> {
        let text = if path.exists() { std::fs::read_to_string(path)? } else { String::new() };
        let mut known = HashMap::new();
        for line in text.lines() {
            let Line { key, found } = serde_json::from_str(line)?;
            known.insert(key, found);
        }
        Ok(Self { known, file: OpenOptions::new().create(true).append(true).open(path)? })
    }

    /// Whether something is known by this key.
    pub fn knows(&self, key: &str) -> bool {
        self.known.contains_key(key)
    }

    /// What is known by this key, or else what the work finds.
    pub fn remember<T: Serialize + DeserializeOwned>(
        &mut self,
        key: String,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if let Some(found) = self.known.get(&key) {
            return Ok(serde_json::from_value(found.clone())?);
        }
        let found = work()?;
        let line = Line { key, found: serde_json::to_value(&found)? };
        writeln!(self.file, "{}", serde_json::to_string(&line)?)?;
        Ok(found)
    }
}
