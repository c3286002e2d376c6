//! A model of numbers.

use ndarray::concatenate;
use sngp_pipeline::Target;

use super::*;

#[test]
fn numbers_abstain_and_reject_ood_rows() {
    let inputs = |rows: std::ops::Range<usize>| {
        let start = rows.start;
        Array2::from_shape_fn((rows.len(), 2), |(i, j)| {
            (((start + i) * (j + 1)) as f32 * 0.37).sin()
        })
    };
    let truth = |rows: std::ops::Range<usize>| -> Vec<f64> {
        rows.map(|row| 10.0 + 3.0 * (row as f64 * 0.37).sin() + 0.3 * (row as f64 * 1.7).cos())
            .collect()
    };
    let data = |rows: std::ops::Range<usize>| {
        let set = Dataset::of_vectors(inputs(rows.clone()).view()).unwrap();
        set.with_labels(truth(rows)).unwrap()
    };
    let options = Options { target: Target::Numbers, ..options() };
    let pipeline = Pipeline::fit(&data(0..300), None, &options).unwrap().pipeline;
    let far = inputs(0..20) * 30.0 + 50.0;
    let within = inputs(600..610);
    let mixed = concatenate(ndarray::Axis(0), &[far.view(), within.view()]).unwrap();
    let mixed = Dataset::of_vectors(mixed.view()).unwrap();
    let (test, shift) = (data(300..450), data(450..500));
    let sets =
        Evaluation { ood: ood(&[("mixed", &mixed)]), shift: Some(&shift), ..Evaluation::on(&test) };
    let evidence = evaluate(&pipeline, &sets).unwrap();
    check(&evidence).unwrap();
    let found = evidence.at_threshold();
    assert_eq!(found.test.rows - found.test.answered, rejected(&pipeline, &test));
    assert_eq!(found.ood[0].rejected, rejected(&pipeline, &mixed));
    assert!(found.ood[0].rejected >= 20, "{found:?}");
    let errors = found.test.errors.unwrap();
    let value = |name: &str| metric(&evidence, Set::Test, None, name).value;
    assert!((value("rmse") - errors.rmse_of_all).abs() < 1e-9);
    assert!((value("rmse_of_answered") - errors.rmse_of_answered.unwrap()).abs() < 1e-9);
    let share = 1.0 - found.test.answered as f64 / found.test.rows as f64;
    assert!((value("share_rejected") - share).abs() < 1e-12);
    assert!(metric(&evidence, Set::Ood, None, "auroc by variance").value > 0.6);
    assert!(metric(&evidence, Set::Shift, None, "rmse").value > 0.0);
    let page = html(&evidence);
    assert!(page.contains("RMSE of answered") && page.contains("id=\"risk_coverage\""));

    let mut labels: Vec<String> = truth(300..450).iter().map(f64::to_string).collect();
    labels[4] = "unknown".to_string();
    let odd = Dataset::of_vectors(inputs(300..450).view()).unwrap().with_labels(labels).unwrap();
    let evidence = evaluate(&pipeline, &Evaluation::on(&odd)).unwrap();
    assert_eq!(evidence.regression.unwrap().rows.len(), 149);
    assert!(evidence.warnings[0].contains("`unknown` in row 5"), "{:?}", evidence.warnings);
}
