//! Resuming after a stop, a kill or damage, and refusing what is not the same training.

use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::common::{
    Vectors, assert_same_bytes, assert_sentence, blobs, contents, device, labelled_blobs, refused,
    tiny_backbone, tiny_config, two_classes,
};
use sngp::Error;
use sngp::backbone::ResFfn;
use sngp::data::{Labelled, Table, Targets};
use sngp::method::{DeepEnsemble, Duq, Method, Sngp};
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};
use sngp::posterior::Accumulation;
use sngp::train::{
    Checkpoints, Decay, EarlyStopping, EpochSummary, Interrupter, Observer, Optimizer, Schedule,
};

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
pub(crate) struct Run {
    config: ModelConfig,
    data: Vectors,
    validation: Option<Vectors>,
}

impl Run {
    pub(crate) fn new(config: ModelConfig) -> Self {
        Self { config, data: two_classes(), validation: None }
    }

    pub(crate) fn options(&self, checkpoints: Option<&Path>) -> FitOptions<'_, ResFfn> {
        FitOptions {
            validation: self.validation.as_ref(),
            checkpoints: checkpoints.map(Checkpoints::new),
            ..FitOptions::new(&device())
        }
    }

    pub(crate) fn fit(&self, options: FitOptions<'_, ResFfn>) -> sngp::Result<Model<ResFfn>> {
        Estimator::new(self.config.clone(), tiny_backbone()).fit(&self.data, options)
    }

    /// Runs until the end of an epoch and no further.
    pub(crate) fn interrupted(&self, epoch: usize, checkpoints: &Path) {
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
    pub(crate) fn resumed(&self, checkpoints: &Path) -> (Model<ResFfn>, usize) {
        let diary = Diary::default();
        let observe = |_| -> Box<dyn Observer> { Box::new(diary.clone()) };
        let options = FitOptions { observe: &observe, ..self.options(Some(checkpoints)) };
        let model = self.fit(options).unwrap();
        let first = *diary.first.lock().unwrap();
        (model, first)
    }

    /// Interrupted at several epochs and resumed, it ends where it would have anyway.
    pub(crate) fn assert_resumes(&self, what: &str) {
        self.assert_resumes_after(what, self.config.training.epochs);
    }

    /// The same for a training whose last epoch is `last`.
    pub(crate) fn assert_resumes_after(&self, what: &str, last: usize) {
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
