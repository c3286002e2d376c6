//! Data against everything that can be in it: an error that names the cause, never a panic and
//! never a wrong model.

use crate::common::{assert_sentence, device, fit, refused, tiny_config, two_classes};
use ndarray::{Array2, array};
use sngp::Error;
use sngp::backbone::ResFfn;
use sngp::data::{Labelled, Table, Targets};
use sngp::method::{Deterministic, ExactGp, Method, Sngp};
use sngp::model::{Estimator, FitOptions, Model};

#[test]
fn inputs_of_another_width_are_refused() {
    let wide = Table::new(Array2::<f32>::ones((3, 5)).view()).unwrap();
    for method in crate::common::small_methods() {
        let model = fit(&tiny_config(method.clone()), &two_classes());
        let error = refused(method.name(), model.predict(&wide));
        assert!(matches!(error, Error::Shape { .. }), "{method}: {error}");
        assert_sentence(&error, "expected 2, found 5");
        let data =
            Labelled::new(wide.clone(), Targets::classes(vec![0, 1, 0], 2).unwrap()).unwrap();
        let error = refused(method.name(), crate::common::try_fit(&tiny_config(method), &data));
        assert_sentence(&error, "expected 2, found 5");
    }
}

#[test]
fn bad_data_is_refused() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let error = Table::new(array![[0.0, 1.0], [2.0, value]].view()).unwrap_err();
        assert_sentence(&error, "row 1, column 1");
    }
    for shape in [(0, 3), (3, 0), (0, 0)] {
        let error = Table::new(Array2::<f32>::zeros(shape).view()).unwrap_err();
        assert_sentence(&error, "empty");
    }
    assert_sentence(&Targets::classes(vec![0, 1, 2], 2).unwrap_err(), "row 2: label 2");
    assert_sentence(&Targets::classes(vec![1, 1, 1], 2).unwrap_err(), "one class");
    assert!(Targets::classes(vec![], 2).is_err());
    assert!(Targets::classes(vec![0], 0).is_err());
    assert_sentence(&Targets::values(vec![0.0, f32::NAN]).unwrap_err(), "row 1");
    let table = || Table::new(Array2::<f32>::zeros((3, 2)).view()).unwrap();
    let targets = Targets::classes(vec![0, 1], 2).unwrap();
    let error = refused("mismatched rows", Labelled::new(table(), targets));
    assert_sentence(&error, "expected 3, found 2");
    let error = refused("no values", Labelled::new(table(), Targets::values(vec![]).unwrap()));
    assert_sentence(&error, "expected 3, found 0");
}

#[test]
fn targets_of_the_wrong_kind_are_refused() {
    use sngp::likelihood::Likelihood;
    let table = Table::new(Array2::<f32>::zeros((4, 2)).view()).unwrap();
    let numbers =
        Labelled::new(table, Targets::values(vec![0.5, -1.0, 2.0, 3.0]).unwrap()).unwrap();
    for likelihood in Likelihood::all() {
        let mut config = tiny_config(Sngp {});
        config.likelihood = likelihood.clone();
        let data = match likelihood {
            Likelihood::Gaussian(_) => two_classes(),
            _ => numbers.clone(),
        };
        let error = refused(likelihood.name(), crate::common::try_fit(&config, &data));
        assert!(matches!(error, Error::Data(_)), "{likelihood}: {error}");
        assert!(error.to_string().split_whitespace().count() > 4, "{error}");
    }
    // DUQ and the exact GP classify and say so.
    for method in [Method::from(sngp::method::Duq {}), ExactGp {}.into()] {
        let mut config = tiny_config(method.clone());
        config.likelihood = "gaussian".parse().unwrap();
        let error = refused(method.name(), crate::common::try_fit(&config, &numbers));
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
        assert_sentence(&error, method.name());
    }
}

#[test]
fn class_names_are_kept_and_counted() {
    let options = |labels: &[&str]| FitOptions {
        labels: Some(labels.iter().map(|label| label.to_string()).collect()),
        ..FitOptions::new(&device())
    };
    let estimator =
        Estimator::<ResFfn>::new(tiny_config(Deterministic {}), crate::common::tiny_backbone());
    let data = two_classes();
    let model = estimator.fit(&data, options(&["cat", "dog"])).unwrap();
    let root = tempfile::tempdir().unwrap();
    model.save(root.path().join("model")).unwrap();
    let loaded = Model::<ResFfn>::load(root.path().join("model"), &device()).unwrap();
    assert_eq!(loaded.labels(), ["cat", "dog"]);
    let error = refused("one name", estimator.fit(&data, options(&["cat"])));
    assert_sentence(&error, "expected 2, found 1");
}

#[test]
fn an_output_beyond_f32_is_an_error_and_not_a_nan() {
    let far = Table::new(array![[3e38f32, -3e38]].view()).unwrap();
    for method in crate::common::small_methods() {
        let model = fit(&tiny_config(method.clone()), &two_classes());
        match model.predict(&far) {
            Ok(prediction) => {
                crate::common::assert_distribution(method.name(), &prediction);
                if let Some(variance) = prediction.variance {
                    assert!(variance.iter().all(|v| v.is_finite()), "{method}");
                }
            }
            Err(error) => assert_sentence(&error, "finite"),
        }
    }
}
