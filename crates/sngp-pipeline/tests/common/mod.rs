//! Small problems of every kind, made in memory.
#![allow(dead_code, reason = "every test file uses some of it")]

use std::path::{Path, PathBuf};

use ndarray::Array2;
use rand::RngExt;
use rand_distr::StandardNormal;
use sngp::seed::{Purpose, stream};
use sngp_pipeline::input::{Dataset, Kind};
use sngp_pipeline::{Fitted, Options, Pipeline, Target};
use sngp_records::Cell;
use sngp_records::image::Picture;

pub const CLASSES: [&str; 3] = ["ash", "birch", "cedar"];

/// A kind of data with what it takes to fit it.
pub struct Problem {
    pub name: &'static str,
    pub data: Dataset,
    pub kind: Option<Kind>,
    pub target: Target,
    pub encoder: Option<PathBuf>,
}

impl Problem {
    pub fn options(&self, method: &str) -> Options<'static> {
        Options {
            kind: self.kind.clone(),
            label: "kind".to_string(),
            target: self.target,
            method: method.parse().unwrap(),
            features: 128,
            epochs: Some(3),
            encoder: self.encoder.clone(),
            image_size: 8,
            ..Default::default()
        }
    }

    pub fn fit(&self, method: &str) -> Fitted {
        Pipeline::fit(&self.data, None, &self.options(method))
            .unwrap_or_else(|error| panic!("{} {method}: {error}", self.name))
    }
}

pub fn normal(seed: u64, rows: usize, columns: usize) -> Array2<f32> {
    let mut rng = stream(seed, Purpose::MonteCarlo, 7);
    Array2::from_shape_simple_fn((rows, columns), || rng.sample::<f32, _>(StandardNormal))
}

/// Three classes around three points, three numbers, a category and a column with gaps.
pub fn table(seed: u64, rows: usize) -> Dataset {
    let noise = normal(seed, rows, 4);
    let names = ["size", "weight", "age", "colour", "gaps", "kind"].map(str::to_string).to_vec();
    let row = |i: usize| {
        let class = i % 3;
        let number =
            |j: usize| Cell::Number(f64::from(noise[[i, j]] + 3.0 * ((class + j) % 3) as f32));
        let gaps = if i % 10 == 3 { Cell::Missing } else { number(3) };
        let colour = Cell::Text(["red", "blue"][(i / 3) % 2].to_string());
        let kind = Cell::Text(CLASSES[class].to_string());
        vec![number(0), number(1), number(2), colour, gaps, kind]
    };
    let cells = (0..rows).map(row).collect();
    Dataset::of_cells(names, cells).unwrap().with_label_column("kind").unwrap()
}

/// `y = 10 sin(a) + b` with a little noise.
pub fn numbers(seed: u64, rows: usize) -> Dataset {
    let noise = normal(seed, rows, 3);
    let names = ["a", "b", "kind"].map(str::to_string).to_vec();
    let row = |i: usize| {
        let (a, b) = (f64::from(noise[[i, 0]]), f64::from(noise[[i, 1]]));
        let y = 10.0 * a.sin() + b + 0.1 * f64::from(noise[[i, 2]]);
        [a, b, y].map(Cell::Number).to_vec()
    };
    let cells = (0..rows).map(row).collect();
    Dataset::of_cells(names, cells).unwrap().with_label_column("kind").unwrap()
}

pub fn sentence(i: usize) -> String {
    let number = 3 + i % 50;
    match (i % 3, (i / 3) % 3) {
        (0, 0) => format!("send {number} euros to my landlord please"),
        (0, 1) => format!("transfer {number} dollars to the savings account"),
        (0, _) => format!("pay the bill of {number} from my account"),
        (1, 0) => format!("will it rain in the next {number} days"),
        (1, 1) => format!("what is the weather like in town {number}"),
        (1, _) => format!("how hot will it be in {number} hours"),
        (_, 0) => format!("wake me up at {number} minutes past seven"),
        (_, 1) => format!("set an alarm for {number} in the morning"),
        (_, _) => format!("remind me of the meeting in {number} minutes"),
    }
}

pub fn texts(rows: usize) -> Dataset {
    let labels = (0..rows).map(|i| CLASSES[i % 3]);
    Dataset::of_texts((0..rows).map(sentence)).with_labels(labels).unwrap()
}

pub fn vectors(seed: u64, rows: usize) -> Array2<f32> {
    let (centres, noise) = (normal(1000, 3, 16), normal(seed, rows, 16));
    Array2::from_shape_fn((rows, 16), |(i, j)| 2.0 * centres[[i % 3, j]] + 0.5 * noise[[i, j]])
}

pub fn picture(seed: u64, class: usize) -> Picture {
    let noise = normal(seed, 100, 3);
    let pixel = |(i, j): (usize, usize)| {
        let stripe = if (i / [1, 3][class]) % 2 == 0 { 60.0 } else { 180.0 };
        (stripe + 12.0 * noise[[i, j]]).clamp(0.0, 255.0) as u8
    };
    let pixels = (0..100).flat_map(|i| (0..3).map(move |j| (i, j))).map(pixel).collect();
    Picture::from_rgb(10, 10, pixels).unwrap()
}

pub fn tiny_encoder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sngp/tests/golden/encoders/tiny-bert")
}

/// A problem of every kind.
pub fn problems() -> Vec<Problem> {
    let plain = |name, data, target| Problem { name, data, kind: None, target, encoder: None };
    let text = || Some(Kind::Text("text".to_string()));
    let labelled = |set: Dataset| {
        let labels: Vec<&str> = (0..set.rows()).map(|i| CLASSES[i % 3]).collect();
        set.with_labels(labels).unwrap()
    };
    let pictures = (0..60).map(|i| picture(i as u64, i % 2)).collect();
    let pictures =
        Dataset::of_pictures(pictures).with_labels((0..60).map(|i| CLASSES[i % 2])).unwrap();
    vec![
        plain("table", table(1, 240), Target::Classes),
        plain("regression", numbers(2, 240), Target::Numbers),
        plain(
            "vectors",
            labelled(Dataset::of_vectors(vectors(3, 240).view()).unwrap()),
            Target::Classes,
        ),
        Problem { kind: text(), ..plain("texts", texts(180), Target::Classes) },
        Problem {
            kind: text(),
            encoder: Some(tiny_encoder()),
            ..plain("sentences", texts(180), Target::Classes)
        },
        plain("images", pictures, Target::Classes),
    ]
}
