//! What is chosen for vectors, and by which rows.

use std::time::Duration;

use ndarray::{Array2, s};
use rand::RngExt;
use rand_distr::StandardNormal;
use sngp::seed::{Purpose, stream};
use sngp_pipeline::input::Dataset;
use sngp_pipeline::{Fitted, Options, Outcome, Pipeline};

/// Two classes told apart by a small column; the large ones are noise, one column is constant.
fn unlike_columns(rows: usize) -> (Array2<f32>, Vec<usize>) {
    let mut rng = stream(3, Purpose::MonteCarlo, 0);
    let labels: Vec<usize> = (0..rows).map(|row| row / 3 % 2).collect();
    let vectors = Array2::from_shape_fn((rows, 6), |(row, column)| {
        let noise = rng.sample::<f32, _>(StandardNormal);
        match column {
            0 => 1e-3 * (4.0 * labels[row] as f32 + noise),
            1 => 7.0,
            _ => 500.0 + 300.0 * noise,
        }
    });
    (vectors, labels)
}

fn set(vectors: &Array2<f32>, labels: &[usize]) -> Dataset {
    Dataset::of_vectors(vectors.view()).unwrap().with_labels(labels.iter()).unwrap()
}

fn options() -> Options<'static> {
    Options { features: 128, ..Default::default() }
}

fn fitted(vectors: &Array2<f32>, labels: &[usize], options: &Options<'_>) -> Fitted {
    Pipeline::fit(&set(vectors, labels), None, options).unwrap()
}

fn chosen(fitted: &Fitted) -> Option<String> {
    let remark = fitted.remarks.iter().find(|remark| remark.starts_with("chosen by"));
    remark.map(|remark| remark.split("tried: ").nth(1).unwrap().to_string())
}

fn accuracy(pipeline: &Pipeline, vectors: &Array2<f32>, labels: &[usize]) -> f64 {
    let answers = pipeline.answer(&Dataset::of_vectors(vectors.view()).unwrap()).unwrap();
    let right = answers.iter().zip(labels).filter(|(answer, truth)| {
        matches!(&answer.outcome, Some(Outcome::Class { label, .. }) if *label == truth.to_string())
    });
    right.count() as f64 / labels.len() as f64
}

#[test]
fn columns_in_units_of_their_own_are_found() {
    let (vectors, labels) = unlike_columns(600);
    let (train, test) = (vectors.slice(s![..400, ..]).to_owned(), vectors.slice(s![400.., ..]));
    let found = fitted(&train, &labels[..400], &options());
    assert!(chosen(&found).unwrap().starts_with("units columns"), "{:?}", found.remarks);
    let right = accuracy(&found.pipeline, &test.to_owned(), &labels[400..]);
    assert!(right > 0.93, "{right}");
    let usual = fitted(&train, &labels[..400], &Options { budget: Duration::ZERO, ..options() });
    assert!(chosen(&usual).is_none() && usual.search_seconds == 0.0);
    let right = accuracy(&usual.pipeline, &test.to_owned(), &labels[400..]);
    assert!(right < 0.7, "directions do not see it: {right}");
}

#[test]
fn a_constant_that_changes_is_not_accepted() {
    let (vectors, labels) = unlike_columns(400);
    let found = fitted(&vectors, &labels, &options());
    let mut changed = vectors.slice(s![..50, ..]).to_owned();
    changed.column_mut(1).fill(7e4);
    let answers = found.pipeline.answer(&Dataset::of_vectors(changed.view()).unwrap()).unwrap();
    assert!(answers.iter().all(|answer| !answer.is_accepted()));
}

#[test]
fn rows_held_out_for_the_threshold_choose_nothing() {
    let (vectors, labels) = unlike_columns(500);
    let train = vectors.slice(s![..400, ..]).to_owned();
    let held_out = vectors.slice(s![400.., ..]).to_owned();
    let with = |labels_of_held_out: &[usize]| {
        let data = set(&train, &labels[..400]);
        let validation = set(&held_out, labels_of_held_out);
        chosen(&Pipeline::fit(&data, Some(&validation), &options()).unwrap()).unwrap()
    };
    let turned: Vec<usize> = labels[400..].iter().map(|label| 1 - label).collect();
    assert_eq!(with(&labels[400..]), with(&turned));
}

#[test]
fn what_is_given_is_not_looked_for() {
    let (vectors, labels) = unlike_columns(200);
    let given = Options { length_scale: Some(2.5), l2: Some(0.7), ..options() };
    let fit = fitted(&vectors, &labels, &given);
    assert!(chosen(&fit).is_none());
    let config = fit.pipeline.model().config();
    assert_eq!(config.gaussian_process.features.length_scale, 2.5);
    assert_eq!(config.gaussian_process.l2, 0.7);
    let fit = fitted(&vectors, &labels, &Options { l2: Some(0.7), ..options() });
    assert!(chosen(&fit).unwrap().ends_with("l2 0.7"));
}

#[test]
fn copies_of_rows_are_looked_at_once() {
    let (vectors, labels) = unlike_columns(150);
    let twice: Vec<usize> = (0..300).map(|row| row / 2).collect();
    let labels: Vec<usize> = twice.iter().map(|&row| labels[row]).collect();
    let fit = fitted(&vectors.select(ndarray::Axis(0), &twice), &labels, &options());
    let remark = fit.remarks.iter().find(|remark| remark.starts_with("chosen by")).unwrap();
    let looked: usize =
        remark.split(" of ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(looked <= 150, "{remark}");
}

#[test]
fn a_saved_model_answers_the_same() {
    let (vectors, labels) = unlike_columns(300);
    let mut fit = fitted(&vectors, &labels, &options());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    fit.pipeline.save(&path).unwrap();
    let again = Pipeline::load(&path, &burn::tensor::Device::flex()).unwrap();
    let rows = Dataset::of_vectors(vectors.view()).unwrap();
    assert_eq!(fit.pipeline.answer(&rows).unwrap(), again.answer(&rows).unwrap());
}
