//! A head on vectors of any model, as good as `sngp train` makes it.
//!
//! Run it with `cargo run --release --example embeddings -p sngp-pipeline`.

use ndarray::Array2;
use sngp_pipeline::input::Dataset;
use sngp_pipeline::{Options, Pipeline};

/// In place of vectors from an encoder of yours: three classes around three directions.
fn embeddings(start: usize, rows: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, 24), |(row, column)| {
        let (index, class) = (start + row, (start + row) % 3);
        let centre = (((class * 31 + column * 17) % 13) as f32 - 6.0) / 6.0;
        centre + 0.2 * ((index * 7 + column * 3) as f32).sin()
    })
}

fn main() -> sngp::Result<()> {
    let (vectors, labels) = (embeddings(0, 600), (0..600).map(|i| ["cat", "dog", "owl"][i % 3]));
    let labels: Vec<&str> = labels.collect();

    let mut pipeline = Pipeline::fit_vectors(vectors.view(), &labels, &Options::default())?;
    let known = pipeline.answer(&Dataset::of_vectors(embeddings(600, 90).view())?)?;
    let noise = Array2::from_shape_fn((90, 24), |(i, j)| ((i * 131 + j * 71) as f32 * 0.37).sin());
    let unknown = pipeline.answer(&Dataset::of_vectors(noise.view())?)?;
    pipeline.save(std::env::temp_dir().join("sngp-embeddings-model"))?;

    let accepted = |answers: &[sngp_pipeline::Answer]| {
        answers.iter().filter(|answer| answer.is_accepted()).count()
    };
    println!("of 90 vectors like the training ones, {} are answered", accepted(&known));
    println!("of 90 vectors of noise, {}; {:?}", accepted(&unknown), unknown[0].reason());
    assert!(accepted(&known) > 75 && accepted(&unknown) == 0);
    Ok(())
}
