//! Nothing is accepted that looks like nothing the model was trained on: every kind, every method
//! that can be fitted to it, calibrated and not.

mod common;

use common::{Problem, normal, problems, vectors};
use ndarray::Array2;
use sngp::method::Method;
use sngp_pipeline::calibrate::Goal;
use sngp_pipeline::input::{Body, Dataset};
use sngp_pipeline::{Pipeline, Target};
use sngp_records::Cell;
use sngp_records::image::Picture;

/// Rows far from the training data of a problem, by what is odd about them.
fn far_rows(problem: &Problem) -> Vec<(String, Dataset)> {
    let mut all: Vec<(String, Dataset)> = Vec::new();
    match (problem.name, &problem.data.body) {
        ("table" | "regression", Body::Rows { names, rows }) => {
            let numbers: Vec<usize> =
                (0..names.len()).filter(|&c| matches!(rows[0][c], Cell::Number(_))).collect();
            let mut add = |what: String, change: &dyn Fn(&mut Vec<Cell>)| {
                let mut odd = rows[..12].to_vec();
                odd.iter_mut().for_each(change);
                all.push((what, Dataset::of_cells(names.clone(), odd).unwrap()));
            };
            for power in [15.0, 100.0, 1e6, 1e20, 1e30, -1e6, 1e39, 1e300] {
                add(format!("one column {power}"), &|row| row[numbers[0]] = Cell::Number(power));
                add(format!("all columns {power}"), &|row| {
                    numbers.iter().for_each(|&c| row[c] = Cell::Number(power));
                });
            }
            add("nothing at all".into(), &|row| row.fill(Cell::Missing));
            add("one missing".into(), &|row| row[0] = Cell::Missing);
            if let Some(colour) = names.iter().position(|name| name == "colour") {
                add("unseen".into(), &|row| row[colour] = Cell::Text("violet".into()));
            }
        }
        ("vectors", _) => {
            let mut add = |what: &str, rows: Array2<f32>| {
                all.push((what.to_string(), Dataset::of_vectors(rows.view()).unwrap()));
            };
            add("random", 2.0 * normal(50, 20, 16));
            add("ten times as long", 10.0 * vectors(51, 20));
            add("a hundredth as long", 0.01 * vectors(51, 20));
            add("nothing", Array2::zeros((3, 16)));
            add("the other way round", -1.0 * vectors(51, 20));
            for power in [1e6, 1e20, 1e30, f32::MAX] {
                add("huge", Array2::from_elem((3, 16), power));
            }
        }
        ("texts" | "sentences", _) => {
            let texts = ["", " ", "NA", "?!", "...", "🙂🙂", "\u{200b}", "- - -"];
            let mut rows: Vec<Vec<Cell>> =
                texts.iter().map(|text| vec![Cell::from_field(text)]).collect();
            if problem.name == "texts" {
                let noise = ["xkqjz wvpl", "zzzzqqq vvvxx", "brrgh fnord klptz", "Ωψξ λδφ"];
                rows.extend(noise.map(|text| vec![Cell::Text(text.to_string())]));
            }
            all.push(("texts".into(), Dataset::of_cells(vec!["text".into()], rows).unwrap()));
        }
        ("images", _) => {
            for colour in [[0; 3], [128; 3], [255; 3], [255, 0, 0], [0, 0, 255]] {
                let pixels = colour.iter().copied().cycle().take(300).collect();
                let picture = Picture::from_rgb(10, 10, pixels).unwrap();
                all.push((format!("{colour:?}"), Dataset::of_pictures(vec![picture])));
            }
        }
        (name, _) => panic!("{name}"),
    }
    all
}

fn nothing_is_accepted(problem: &Problem, method: &str, pipeline: &Pipeline, when: &str) {
    for (what, rows) in far_rows(problem) {
        let answers = pipeline.answer(&rows).unwrap();
        assert_eq!(answers.len(), rows.rows());
        for (row, answer) in answers.iter().enumerate() {
            let name = problem.name;
            assert!(!answer.is_accepted(), "{name} {method} {when}: {what}, row {row}: {answer:?}");
        }
    }
}

fn fresh(problem: &Problem) -> Option<Dataset> {
    match problem.name {
        "table" => Some(common::table(77, 300)),
        "vectors" => {
            let labels: Vec<&str> = (0..300).map(|i| common::CLASSES[i % 3]).collect();
            let set = Dataset::of_vectors(vectors(78, 300).view()).unwrap();
            Some(set.with_labels(labels).unwrap())
        }
        _ => None,
    }
}

fn walk(wanted: &[&str]) {
    for problem in problems().iter().filter(|problem| wanted.contains(&problem.name)) {
        for method in Method::all() {
            let (name, numbers) = (method.name(), problem.target == Target::Numbers);
            if numbers && ["duq", "exact_gp"].contains(&name) {
                continue; // They classify.
            }
            if ["sentences", "images"].contains(&problem.name) && name == "exact_gp" {
                continue; // It takes plain vectors.
            }
            let mut pipeline = problem.fit(name).pipeline;
            nothing_is_accepted(problem, name, &pipeline, "as fitted");
            if let Some(fresh) = fresh(problem) {
                for goal in [
                    Goal::MaxError { share: 0.4, confidence: 0.9 },
                    Goal::MaxAbstain { share: 0.2 },
                    Goal::Threshold { value: f64::MAX },
                ] {
                    pipeline.calibrate(&fresh, &goal, None).unwrap();
                    nothing_is_accepted(problem, name, &pipeline, &format!("{goal:?}"));
                }
            }
        }
    }
}

#[test]
fn tables() {
    walk(&["table"]);
}

#[test]
fn numbers() {
    walk(&["regression"]);
}

#[test]
fn vectors_of_any_model() {
    walk(&["vectors"]);
}

#[test]
fn texts() {
    walk(&["texts", "sentences"]);
}

#[test]
fn images() {
    walk(&["images"]);
}

/// The guard is no wall: rows like those of the training are answered.
#[test]
fn rows_like_the_training_are_answered() {
    for problem in problems().iter().filter(|p| ["table", "vectors"].contains(&p.name)) {
        for method in ["sngp", "deterministic", "duq"] {
            let answers = problem.fit(method).pipeline.answer(&fresh(problem).unwrap()).unwrap();
            let accepted = answers.iter().filter(|answer| answer.is_accepted()).count();
            assert!(accepted >= 255, "{} {method}: {accepted} of 300", problem.name);
        }
    }
}
