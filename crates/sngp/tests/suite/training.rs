//! Training: resuming, refusing, repeating, and what its options do.

use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::common::{
    Vectors, assert_same_bytes, assert_sentence, blobs, contents, device, fit, labelled_blobs,
    largest_difference, parameters, refused, test_points, tiny_backbone, tiny_config, try_fit,
    two_classes,
};
use sngp::backbone::{ResFfn, ResFfnConfig};
use sngp::data::{Labelled, Table, Targets};
use sngp::method::{DeepEnsemble, Deterministic, DnnGp, Duq, Method, Sngp, SngpEnsemble};
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};
use sngp::nn::HeadConfig;
use sngp::posterior::{Accumulation, Curvature};
use sngp::train::{
    Checkpoints, Decay, EarlyStopping, EpochSummary, Interrupter, Observer, Optimizer, Schedule,
};
use sngp::{Error, NetworkPlan};

/// Stops the training when it hears of the end of an epoch, as Ctrl-C would.
struct StopAfter {
    epoch: usize,
    interrupter: Interrupter,
}

impl Observer for StopAfter {
    fn start(&mut self, _: usize, _: usize) {}
    fn epoch(&mut self, summary: EpochSummary) {
        if summary.epoch == self.epoch {
            self.interrupter.stop(Some("the test says so"));
        }
    }
    fn finish(&mut self) {}
}

/// Writes down what it is told.
#[derive(Clone, Default)]
struct Diary {
    epochs: Arc<Mutex<Vec<EpochSummary>>>,
    first: Arc<Mutex<usize>>,
}

impl Observer for Diary {
    fn start(&mut self, first: usize, _: usize) {
        *self.first.lock().unwrap() = first;
    }
    fn epoch(&mut self, summary: EpochSummary) {
        self.epochs.lock().unwrap().push(summary);
    }
    fn finish(&mut self) {}
}

/// A training with its data, to be run in several ways.
struct Run {
    config: ModelConfig,
    data: Vectors,
    validation: Option<Vectors>,
}

impl Run {
    fn new(config: ModelConfig) -> Self {
        Self { config, data: two_classes(), validation: None }
    }

    fn options(&self, checkpoints: Option<&Path>) -> FitOptions<'_, ResFfn> {
        FitOptions {
            validation: self.validation.as_ref(),
            checkpoints: checkpoints.map(Checkpoints::new),
            ..FitOptions::new(&device())
        }
    }

    fn fit(&self, options: FitOptions<'_, ResFfn>) -> sngp::Result<Model<ResFfn>> {
        Estimator::new(self.config.clone(), tiny_backbone()).fit(&self.data, options)
    }

    /// Runs until the end of an epoch and no further.
    fn interrupted(&self, epoch: usize, checkpoints: &Path) {
        let interrupter = Interrupter::new();
        let observe = |_| -> Box<dyn Observer> {
            Box::new(StopAfter { epoch, interrupter: interrupter.clone() })
        };
        let options = FitOptions {
            interrupter: interrupter.clone(),
            observe: &observe,
            ..self.options(Some(checkpoints))
        };
        let error = refused("an interrupted training", self.fit(options));
        assert!(matches!(error, Error::Interrupted { .. }), "{error}");
        assert_sentence(&error, "the test says so");
    }

    /// Runs to the end and tells at which epoch it started.
    fn resumed(&self, checkpoints: &Path) -> (Model<ResFfn>, usize) {
        let diary = Diary::default();
        let observe = |_| -> Box<dyn Observer> { Box::new(diary.clone()) };
        let options = FitOptions { observe: &observe, ..self.options(Some(checkpoints)) };
        let model = self.fit(options).unwrap();
        let first = *diary.first.lock().unwrap();
        (model, first)
    }

    /// Interrupted at several epochs and resumed, it ends where it would have anyway.
    fn assert_resumes(&self, what: &str) {
        self.assert_resumes_after(what, self.config.training.epochs);
    }

    /// The same for a training whose last epoch is `last`.
    fn assert_resumes_after(&self, what: &str, last: usize) {
        let whole = self.fit(self.options(None)).unwrap();
        for stops in [&[1][..], &[3], &[2, 4], &[last]] {
            let folder = tempfile::tempdir().unwrap();
            let checkpoints = folder.path().join("checkpoints");
            for &epoch in stops {
                self.interrupted(epoch, &checkpoints);
            }
            let (resumed, first) = self.resumed(&checkpoints);
            let what = format!("{what}, stopped at {stops:?}");
            assert_same_bytes(&what, &resumed, &whole);
            // Else the whole training would have been run again.
            assert!(stops == [1] || first > 1, "{what}: it started anew");
            // A finished training is not run again either, and gives the same model.
            let (again, _) = self.resumed(&checkpoints);
            assert_same_bytes(&what, &again, &whole);
        }
    }
}

fn six_epochs(method: impl Into<Method>) -> ModelConfig {
    let mut config = tiny_config(method);
    config.training.epochs = 6;
    config.training.schedule = Schedule { warm_up: 0.2, decay: Decay::Cosine };
    config
}

#[test]
fn sngp_resumes_under_every_accumulation() {
    for accumulation in [
        Accumulation::FinalPass,
        Accumulation::FinalEpoch,
        Accumulation::MovingAverage { momentum: 0.9 },
    ] {
        let mut config = six_epochs(Sngp {});
        config.posterior.accumulation = accumulation;
        Run::new(config).assert_resumes(&format!("{accumulation:?}"));
    }
}

#[test]
fn duq_resumes() {
    Run::new(six_epochs(Duq {})).assert_resumes("duq");
}

#[test]
fn momentum_head_rate_clipping_and_accumulation_resume() {
    let mut config = six_epochs(Sngp {});
    config.training.optimizer = Optimizer::Sgd { momentum: 0.9 };
    config.training.head_learning_rate = Some(0.05);
    config.training.clip_norm = Some(0.5);
    config.training.accumulate = 2;
    config.training.weight_decay = 1e-3;
    Run::new(config).assert_resumes("sgd");
}

#[test]
fn an_ensemble_resumes() {
    let mut config = six_epochs(DeepEnsemble { members: 2 });
    config.training.epochs = 4;
    let run = Run::new(config);
    let whole = run.fit(run.options(None)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    run.interrupted(3, folder.path());
    assert_same_bytes("ensemble", &run.resumed(folder.path()).0, &whole);
    let names: Vec<String> = contents(folder.path()).into_keys().collect();
    assert_eq!(names, ["member-0", "member-1", "run.json"]);
}

/// The validation losses of a training's epochs, as its checkpoints have them.
fn history(checkpoints: &Path) -> serde_json::Value {
    let text = std::fs::read(checkpoints.join("history.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn validation_losses_are_remembered_when_a_training_resumes() {
    let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = early_stopping();
    run.resumed(whole.path());
    run.interrupted(2, parts.path());
    run.resumed(parts.path());
    assert_eq!(history(parts.path()), history(whole.path()));
}

/// Validation labels at odds with the training's, so that the validation loss soon rises.
fn early_stopping() -> Run {
    let mut config = six_epochs(Sngp {});
    config.training.epochs = 30;
    config.training.early_stopping = Some(EarlyStopping { patience: 3 });
    config.training.learning_rate = 0.02;
    let (inputs, labels) = blobs(2, 16, 5);
    let wrong =
        labels.iter().enumerate().map(|(i, label)| if i % 3 == 0 { 1 - label } else { *label });
    let targets = Targets::classes(wrong.collect(), 2).unwrap();
    let validation = Labelled::new(Table::new(inputs.view()).unwrap(), targets).unwrap();
    Run { validation: Some(validation), ..Run::new(config) }
}

#[test]
fn early_stopping_stops_and_resumes() {
    let run = early_stopping();
    let diary = Diary::default();
    let observe = |_| -> Box<dyn Observer> { Box::new(diary.clone()) };
    run.fit(FitOptions { observe: &observe, ..run.options(None) }).unwrap();
    let epochs = diary.epochs.lock().unwrap().clone();
    let losses: Vec<f64> = epochs.iter().map(|e| e.validation_loss.unwrap()).collect();
    let best = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap();
    assert!(losses.len() < 30, "it did not stop early: {losses:?}");
    assert_eq!(losses.len(), best + 1 + 3, "the best of {losses:?} is not 3 epochs ago");
    run.assert_resumes_after("early stopping", losses.len());
}

#[test]
fn early_stopping_goes_back_to_the_best_epoch() {
    let run = early_stopping();
    let diary = Diary::default();
    let observe = |_| -> Box<dyn Observer> { Box::new(diary.clone()) };
    let stopped = run.fit(FitOptions { observe: &observe, ..run.options(None) }).unwrap();
    let epochs = diary.epochs.lock().unwrap().clone();
    let best = epochs
        .iter()
        .min_by(|a, b| a.validation_loss.unwrap().total_cmp(&b.validation_loss.unwrap()))
        .unwrap();
    // The loss of the returned model on the validation data is the best epoch's own.
    let validation = run.validation.as_ref().unwrap();
    let Targets::Classes { labels, .. } = &*validation.targets else { panic!() };
    let logits = stopped.predict(&*validation.inputs).unwrap().logits;
    let losses = logits.rows().into_iter().zip(labels).map(|(row, &label)| {
        let most = row.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        most + row.iter().map(|v| (v - most).exp()).sum::<f64>().ln() - row[label]
    });
    let loss = losses.sum::<f64>() / labels.len() as f64;
    let expected = best.validation_loss.unwrap();
    assert!((loss - expected).abs() < 1e-4 * expected, "{loss} is not {expected}");
}

#[test]
fn early_stopping_needs_validation_data_and_a_final_pass() {
    let mut run = early_stopping();
    run.config.posterior.accumulation = Accumulation::FinalEpoch;
    let error = refused("final_epoch", run.fit(run.options(None)));
    assert_sentence(&error, "final_pass");
    run.config.posterior.accumulation = Accumulation::FinalPass;
    run.validation = None;
    let error = refused("no validation data", run.fit(run.options(None)));
    assert_sentence(&error, "validation");
}

#[test]
fn checkpoints_of_another_training_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(tiny_config(Sngp {}));
    run.interrupted(3, folder.path());
    let before = contents(folder.path());

    let mut rate = Run::new(run.config.clone());
    rate.config.training.learning_rate *= 2.0;
    let mut seed = Run::new(run.config.clone());
    seed.config.seed += 1;
    let targets = Run { data: labelled_blobs(2, 31, 1), ..Run::new(run.config.clone()) };
    // The same labels, other inputs.
    let inputs = Run { data: labelled_blobs(2, 32, 4), ..Run::new(run.config.clone()) };
    for (what, other) in
        [("rate", rate), ("seed", seed), ("other targets", targets), ("other inputs", inputs)]
    {
        let error = refused(what, other.fit(other.options(Some(folder.path()))));
        assert_sentence(&error, "another configuration or other data");
        assert_eq!(contents(folder.path()), before, "{what}: the folder was touched");
    }
}

#[test]
fn a_folder_that_is_not_ours_is_refused_and_untouched() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.txt"), "irreplaceable").unwrap();
    let before = contents(folder.path());
    let run = Run::new(tiny_config(Sngp {}));
    let error = refused("a foreign folder", run.fit(run.options(Some(folder.path()))));
    assert!(matches!(error, Error::NotOurs(_)), "{error}");
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn a_damaged_checkpoint_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(six_epochs(Sngp {}));
    let whole = run.fit(run.options(None)).unwrap();
    run.interrupted(5, folder.path());
    std::fs::write(folder.path().join("model-4.bpk"), b"half a fi").unwrap();
    let (resumed, first) = run.resumed(folder.path());
    assert_eq!(first, 4, "it should go on from epoch 3's checkpoint");
    assert_same_bytes("damaged checkpoint", &resumed, &whole);
}

#[test]
fn the_number_of_threads_changes_nothing_but_rounding() {
    for method in [Method::from(Sngp {}), Duq {}.into(), DeepEnsemble { members: 2 }.into()] {
        let [one, two] = [1, 2].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let model = fit(&tiny_config(method.clone()), &two_classes());
                model.predict(&test_points()).unwrap().probabilities().unwrap().to_owned()
            })
        });
        let error = largest_difference(&one, &two);
        assert!(error <= 1e-4, "{method}: {error}");
    }
}

#[test]
fn members_side_by_side_are_the_same_members() {
    for method in [Method::from(DeepEnsemble { members: 3 }), SngpEnsemble { members: 2 }.into()] {
        let run = Run::new(tiny_config(method.clone()));
        let [one, two] = [1, 2]
            .map(|side_by_side| run.fit(FitOptions { side_by_side, ..run.options(None) }).unwrap());
        assert_same_bytes(method.name(), &one, &two);
    }
}

#[test]
fn schedules_rise_and_fall() {
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    let schedule = |decay| Schedule { warm_up: 0.2, decay };
    for decay in [Decay::Constant, Decay::Linear, Decay::Cosine] {
        close(schedule(decay.clone()).factor(1, 100), 0.05);
        close(schedule(decay.clone()).factor(10, 100), 0.5);
        close(schedule(decay).factor(20, 100), 1.0);
    }
    close(schedule(Decay::Constant).factor(100, 100), 1.0);
    close(schedule(Decay::Linear).factor(60, 100), 0.5);
    close(schedule(Decay::Linear).factor(100, 100), 0.0);
    close(schedule(Decay::Cosine).factor(60, 100), 0.5);
    close(
        schedule(Decay::Cosine).factor(40, 100),
        0.5 * (1.0 + (0.25 * std::f64::consts::PI).cos()),
    );
    close(schedule(Decay::Cosine).factor(100, 100), 0.0);
    let step = Decay::Step { milestones: vec![0.5, 0.75], factor: 0.1 };
    let steps = Schedule { warm_up: 0.0, decay: step };
    for (step, factor) in [(1, 1.0), (50, 1.0), (51, 0.1), (75, 0.1), (76, 0.01), (100, 0.01)] {
        close(steps.factor(step, 100), factor);
    }
    close(Schedule::default().factor(1, 1), 1.0);
    for bad in [
        Schedule { warm_up: 1.5, decay: Decay::Constant },
        Schedule { warm_up: f64::NAN, decay: Decay::Constant },
        Schedule { warm_up: 0.0, decay: Decay::Step { milestones: vec![2.0], factor: 0.1 } },
        Schedule { warm_up: 0.0, decay: Decay::Step { milestones: vec![0.5], factor: 0.0 } },
    ] {
        assert!(matches!(bad.check(), Err(Error::Config { .. })), "{bad:?}");
    }
}

/// All parameters of the first network in one row.
fn weights(model: &Model<ResFfn>) -> Vec<f64> {
    let network = model.networks().next().unwrap();
    parameters(network).into_values().flat_map(|(_, v)| v).map(f64::from).collect()
}

fn without_dropout(config: &ModelConfig) -> Model<ResFfn> {
    let backbone = ResFfnConfig { dropout: 0.0, ..tiny_backbone() };
    Estimator::new(config.clone(), backbone)
        .fit(&two_classes(), FitOptions::new(&device()))
        .unwrap()
}

#[test]
fn half_batches_accumulated_are_a_full_batch() {
    for method in [Method::from(Sngp {}), Deterministic {}.into(), Duq {}.into()] {
        let mut full = tiny_config(method.clone());
        full.training.optimizer = Optimizer::Sgd { momentum: 0.0 };
        full.training.learning_rate = 0.05;
        full.training.batch_size = 32;
        let mut halves = full.clone();
        halves.training.batch_size = 16;
        halves.training.accumulate = 2;
        let error = largest_difference(
            &weights(&without_dropout(&full)),
            &weights(&without_dropout(&halves)),
        );
        assert!(error < 1e-4, "{method}: the weights differ by {error}");
    }
}

#[test]
fn clipping_limits_the_step() {
    let mut config = tiny_config(Deterministic {});
    config.training.optimizer = Optimizer::Sgd { momentum: 0.0 };
    config.training.learning_rate = 1.0;
    config.training.batch_size = 64;
    config.training.epochs = 1;
    let backbone = ResFfnConfig { dropout: 0.0, ..tiny_backbone() };
    let plan = NetworkPlan::<ResFfn> {
        backbone: &backbone,
        head: HeadConfig::Dense,
        spectral: None,
        outputs: 2,
        log_noise: None,
        seed: config.seed,
    };
    let start: Vec<f64> = parameters(&plan.build(&device()).unwrap())
        .into_values()
        .flat_map(|(_, values)| values)
        .map(f64::from)
        .collect();
    let step = |clip_norm| {
        let mut config = config.clone();
        config.training.clip_norm = clip_norm;
        let end = weights(&without_dropout(&config));
        start.iter().zip(&end).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    };
    let free = step(None);
    assert!(free > 0.2, "the gradient is too small to clip: {free}");
    assert!((step(Some(0.1)) - 0.1).abs() < 1e-4, "{}", step(Some(0.1)));
    assert!((step(Some(100.0)) - free).abs() < 1e-6, "a limit above the norm changes nothing");
}

#[test]
fn divergence_is_an_error() {
    for method in [Method::from(Sngp {}), Deterministic {}.into(), DnnGp {}.into(), Duq {}.into()] {
        let mut config = tiny_config(method.clone());
        config.training.optimizer = Optimizer::Sgd { momentum: 0.0 };
        config.training.learning_rate = 1e8;
        config.training.epochs = 20;
        let error = refused(method.name(), try_fit(&config, &two_classes()));
        assert!(matches!(error, Error::Training(_)), "{method}: {error}");
        assert_sentence(&error, "learning rate");
    }
}

/// The loss of the only step is still a number; the weights after it are not.
#[test]
fn divergence_in_the_last_step_is_an_error_too() {
    for method in [Method::from(Sngp {}), Deterministic {}.into(), Duq {}.into()] {
        let mut config = tiny_config(method.clone());
        config.training.optimizer = Optimizer::Sgd { momentum: 0.0 };
        config.training.learning_rate = 1e300;
        config.training.batch_size = 64;
        config.training.epochs = 1;
        let error = refused(method.name(), try_fit(&config, &two_classes()));
        assert!(matches!(error, Error::Training(_)), "{method}: {error}");
        assert_sentence(&error, "learning rate");
    }
}

#[test]
fn posteriors_accumulated_in_training_are_usable() {
    let points = test_points();
    let fit_with = |accumulation| {
        let mut config = tiny_config(Sngp {});
        config.training.epochs = 20;
        config.posterior.accumulation = accumulation;
        // Sixty-four sure examples hardly outweigh the ridge under any other curvature.
        config.posterior.curvature = Some(Curvature::Gaussian);
        fit(&config, &two_classes())
    };
    let reference = fit_with(Accumulation::FinalPass);
    let expected = reference.predict(&points).unwrap().variance.unwrap();
    for accumulation in [Accumulation::FinalEpoch, Accumulation::MovingAverage { momentum: 0.9 }] {
        let model = fit_with(accumulation);
        let precision = model.precisions().next().unwrap();
        let averaged = accumulation != Accumulation::FinalEpoch;
        assert_eq!(precision.is_average(), averaged);
        assert_eq!(precision.rows(), if averaged { 20 * 64 } else { 64 });
        let variance = model.predict(&points).unwrap().variance.unwrap();
        assert!(variance.iter().all(|&v| (0.0..1.5).contains(&v)));
        // Dropout and an older network blur it; near and far remain what they are.
        let error = largest_difference(&variance, &expected);
        assert!(error < 0.25, "{accumulation:?}: {error} from the final pass");
        let far = Table::new(ndarray::array![[30.0f32, 30.0]].view()).unwrap();
        let far = model.predict(&far).unwrap().variance.unwrap()[[0, 0]];
        let near = Table::new(ndarray::array![[1.5f32, 0.0]].view()).unwrap();
        let near = model.predict(&near).unwrap().variance.unwrap()[[0, 0]];
        assert!(far > 2.0 * near, "{accumulation:?}: {far} far, {near} near");
    }
}

#[test]
fn options_outside_their_range_are_refused() {
    type Change = fn(&mut ModelConfig);
    let changes: [(&str, Change); 14] = [
        ("epochs", |c| c.training.epochs = 0),
        ("batch_size", |c| c.training.batch_size = 0),
        ("accumulate", |c| c.training.accumulate = 0),
        ("learning_rate", |c| c.training.learning_rate = f64::NAN),
        ("learning_rate", |c| c.training.head_learning_rate = Some(-1.0)),
        ("weight_decay", |c| c.training.weight_decay = -1.0),
        ("clip_norm", |c| c.training.clip_norm = Some(0.0)),
        ("warm_up", |c| c.training.schedule.warm_up = 2.0),
        ("ridge", |c| c.posterior.ridge = 0.0),
        ("momentum", |c| c.posterior.accumulation = Accumulation::MovingAverage { momentum: 1.0 }),
        ("momentum", |c| c.training.optimizer = Optimizer::Sgd { momentum: f64::NAN }),
        ("length scale", |c| c.gaussian_process.features.length_scale = -1.0),
        ("dense_bound", |c| c.spectral.dense_bound = 0.0),
        ("warm_up", |c| c.spectral.warm_up = 3),
    ];
    for (name, change) in changes {
        let mut config = tiny_config(Sngp {});
        change(&mut config);
        let error = refused(name, try_fit(&config, &two_classes()));
        assert!(matches!(error, Error::Config { .. }), "{name}: {error}");
        assert_sentence(&error, name);
    }
}
