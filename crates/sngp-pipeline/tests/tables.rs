//! Tables as they come: columns that say nothing, copies, constants, functions of few columns.

mod common;

use common::normal;
use sngp_pipeline::input::Dataset;
use sngp_pipeline::{Fitted, Options, Outcome, Pipeline, Target, Task};
use sngp_records::Cell;

const NAMES: [&str; 9] = ["a", "b", "c", "copy", "near", "same", "huge", "noise", "y"];

/// `y = sin(2 a) + b c / 2` with a little noise, beside columns that make a kernel singular: a copy, a
/// column that is a copy up to rounding, a constant, and one of enormous numbers.
fn awkward(seed: u64, rows: usize, label: impl Fn(f64) -> Cell) -> Dataset {
    let drawn = normal(seed, rows, 5);
    let row = |i: usize| {
        let [a, b, c, noise, error] = [0, 1, 2, 3, 4].map(|j| f64::from(drawn[[i, j]]));
        let y = (2.0 * a).sin() + 0.5 * b * c + 0.05 * error;
        let mut cells: Vec<Cell> =
            [a, b, c, a, a * (1.0 + 1e-9), 3.0, 1e12 * b, noise].map(Cell::Number).to_vec();
        cells.push(label(y));
        cells
    };
    let names = NAMES.map(str::to_string).to_vec();
    let cells = (0..rows).map(row).collect();
    Dataset::of_cells(names, cells).unwrap().with_label_column("y").unwrap()
}

fn fit(data: &Dataset, target: Target) -> Fitted {
    let options = Options { label: "y".to_string(), target, features: 256, ..Default::default() };
    Pipeline::fit(data, None, &options).unwrap()
}

#[test]
fn constant_and_collinear_columns_stop_no_training() {
    let fitted = fit(&awkward(1, 400, Cell::Number), Target::Numbers);
    let remark = "column `same`: not used: all its values are the same";
    assert!(fitted.remarks.iter().any(|said| said == remark), "{:?}", fitted.remarks);
    let test = awkward(2, 400, Cell::Number);
    let answers = fitted.pipeline.answer(&test).unwrap();
    let truth = test.labels.as_ref().unwrap().iter().map(|label| label.parse::<f64>().unwrap());
    let (mut square, mut inside) = (0.0, 0);
    for (answer, truth) in answers.iter().zip(truth) {
        let Some(Outcome::Number { value, low: Some(low), high: Some(high) }) = answer.outcome
        else {
            panic!("{answer:?}")
        };
        square += (value - truth).powi(2) / 400.0;
        inside += usize::from((low..=high).contains(&truth));
    }
    // The deviation of `y` is 0.9; one length scale for all columns leaves 0.4 of it.
    assert!(square.sqrt() < 0.15, "{}", square.sqrt());
    assert!((340..=390).contains(&inside), "{inside} of 400");

    let class = |y: f64| Cell::Text(if y > 0.0 { "above" } else { "below" }.to_string());
    let fitted = fit(&awkward(3, 400, class), Target::Classes);
    let test = awkward(4, 400, class);
    let answers = fitted.pipeline.answer(&test).unwrap();
    let right = answers.iter().zip(test.labels.as_ref().unwrap());
    let right = right.filter(|(answer, truth)| match &answer.outcome {
        Some(Outcome::Class { label, .. }) => label == *truth,
        _ => false,
    });
    assert!(right.count() > 340);
}

/// A tenth is held out, of a size whose conformal quantile is 90 % exactly, and promises alone.
#[test]
fn intervals_of_a_small_table_are_neither_short_nor_long() {
    let (mut inside, mut all) = (0, 0);
    for seed in 0..8 {
        let pipeline = fit(&awkward(10 + seed, 240, Cell::Number), Target::Numbers).pipeline;
        assert_eq!(pipeline.card().held_out.rows, 29);
        let Task::Regression { coverage, .. } = pipeline.card().task else { panic!() };
        assert_eq!(coverage, 0.9);
        let test = awkward(40 + seed, 500, Cell::Number);
        for (answer, truth) in
            pipeline.answer(&test).unwrap().iter().zip(test.labels.as_ref().unwrap())
        {
            let Some(Outcome::Number { low: Some(low), high: Some(high), .. }) = answer.outcome
            else {
                panic!("{answer:?}")
            };
            inside += usize::from((low..=high).contains(&truth.parse::<f64>().unwrap()));
            all += 1;
        }
    }
    let share = inside as f64 / f64::from(all);
    // What 29 errors promise varies by 5.4 %, and the mean of 8 such promises by 1.9 %.
    assert!((0.85..0.95).contains(&share), "{share}");
}
