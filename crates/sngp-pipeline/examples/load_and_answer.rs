//! Any model folder, and an answer to every row.
//!
//! Run it with `cargo run --release --example load_and_answer -p sngp-pipeline -- MODEL ROWS.csv`;
//! without arguments it takes a small model and rows from this package's tests.

use std::path::Path;

use burn::tensor::Device;
use sngp_pipeline::input::{Dataset, Place};
use sngp_pipeline::{Outcome, Pipeline};

fn main() -> sngp::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/folders");
    let own = |part: &str| tests.join(part).display().to_string();
    let model = arguments.next().unwrap_or_else(|| own("models/table"));
    let rows = arguments.next().unwrap_or_else(|| own("rows/table-new.csv"));

    let pipeline = Pipeline::load(&model, &Device::flex())?;
    for input in pipeline.signature().inputs {
        println!("takes {}: {}", input.name, input.meaning);
    }
    let rows = Dataset::read(&Place::parse(&rows), None, false)?;
    for (row, answer) in pipeline.answer(&rows)?.iter().enumerate() {
        let outcome = match &answer.outcome {
            Some(Outcome::Class { label, probability, .. }) => {
                format!("{label} ({probability:.3})")
            }
            Some(Outcome::Number { value, .. }) => format!("{value:.3}"),
            None => "nothing".to_string(),
        };
        let reason = answer.reason().map_or_else(String::new, |reason| format!(": {reason}"));
        println!("row {}: {outcome}, {}{reason}", row + 1, answer.decision());
    }
    Ok(())
}
