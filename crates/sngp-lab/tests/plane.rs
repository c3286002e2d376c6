//! The two-dimensional benchmark: its data sets, and what SNGP has to show on them.

use burn::tensor::Device;
use sngp::method::{Deterministic, Method, Sngp};
use sngp::score::Variance;
use sngp::train::Silent;
use sngp_lab::dataset::{PlaneDataset, X_RANGE, Y_RANGE};
use sngp_lab::experiment::{PLANE, PlaneExperiment};
use sngp_lab::plane::{PlaneRun, Reference, RunOptions, run};

#[test]
fn every_data_set_is_reproducible_balanced_and_far_from_its_unseen_cluster() {
    for dataset in PlaneDataset::all() {
        let plane = dataset.draw(4);
        assert_eq!(plane, dataset.draw(4), "{dataset}");
        assert_ne!(plane, dataset.draw(5), "{dataset}");
        assert!(!dataset.summary().is_empty());
        assert_eq!(dataset.name().parse::<PlaneDataset>().unwrap(), dataset);
        for points in [&plane.train, &plane.test] {
            assert_eq!(points.labels.iter().filter(|label| **label == 0).count(), 500);
            for row in points.inputs.outer_iter() {
                assert!((X_RANGE[0]..X_RANGE[1]).contains(&f64::from(row[0])), "{dataset}");
                assert!((Y_RANGE[0]..Y_RANGE[1]).contains(&f64::from(row[1])), "{dataset}");
            }
        }
        let nearest = plane.ood.outer_iter().flat_map(|ood| {
            plane
                .train
                .inputs
                .outer_iter()
                .map(move |row| ((row[0] - ood[0]).powi(2) + (row[1] - ood[1]).powi(2)).sqrt())
        });
        assert!(nearest.fold(f32::INFINITY, f32::min) > 0.3, "{dataset}");
    }
}

fn fit(method: &Method, dataset: &PlaneDataset) -> PlaneRun {
    let experiment = PlaneExperiment::parse(PLANE).unwrap();
    let plane = dataset.draw(0);
    let reference = Reference::of(&plane, &experiment.model.exact_gp).unwrap();
    let options = RunOptions {
        device: &Device::flex(),
        interrupter: Default::default(),
        observe: &|_| Box::new(Silent),
        checkpoints: None,
    };
    run(&experiment, method, &plane, &reference, 0, options).unwrap()
}

fn value(run: &PlaneRun, split: &str, metric: &str) -> f64 {
    let found = run.measurements.iter().find(|(s, m, _)| *s == split && m == metric);
    found.map(|(_, _, value)| *value).unwrap()
}

#[test]
fn sngp_knows_where_its_data_is_and_a_deterministic_network_does_not() {
    for dataset in PlaneDataset::all() {
        let sngp = fit(&Sngp {}.into(), &dataset);
        assert_eq!(sngp.model.config().score(), Variance {}.into(), "what is drawn");
        assert!(value(&sngp, "test", "accuracy") >= 0.99, "{dataset}");
        assert!(value(&sngp, "ood", "auroc") >= 0.99, "{dataset}");
        assert!(value(&sngp, "test", "mean_variance") <= 0.1, "{dataset}");
        assert!(value(&sngp, "ood", "mean_variance") >= 0.85, "{dataset}");
        let agreement = value(&sngp, "grid", "exact_gp_rank_correlation");
        assert!(agreement >= 0.85, "{dataset}: {agreement}");
        assert!(value(&sngp, "grid", "exact_gp_difference") <= 0.1, "{dataset}");

        let deterministic = fit(&Deterministic {}.into(), &dataset);
        assert!(value(&deterministic, "test", "accuracy") >= 0.99, "{dataset}");
        let other = value(&deterministic, "grid", "exact_gp_rank_correlation");
        assert!(agreement - other > 0.5, "{dataset}: {agreement} against {other}");
    }
}
