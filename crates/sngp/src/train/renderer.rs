//! Burn's renderer interface, reduced to our [`Observer`].

use burn::train::Interrupter;
use burn::train::logger::{EvaluationProgressLogger, TrainingProgressLogger};
use burn::train::metric::MetricDefinition;
use burn::train::metric::store::Split;
use burn::train::renderer::{
    EvaluationName, MetricState, MetricsRenderer, MetricsRendererEvaluation,
    MetricsRendererTraining,
};

use super::observer::{EpochSummary, Observer};

/// Passes epochs on to an observer and stops a training whose loss is no number any more.
pub(super) struct ObservedRenderer {
    observer: Box<dyn Observer>,
    /// The caller's handle, watched at every step.
    outer: Interrupter,
    /// This training's own.
    interrupter: Interrupter,
    epochs: usize,
    /// Examples of the epoch, while it trains.
    examples: Option<usize>,
    loss: f64,
    validation_loss: Option<f64>,
}

impl ObservedRenderer {
    pub fn new(observer: Box<dyn Observer>, outer: Interrupter, interrupter: Interrupter) -> Self {
        Self {
            observer,
            outer,
            interrupter,
            epochs: 0,
            examples: None,
            loss: 0.0,
            validation_loss: None,
        }
    }

    /// Passes a stop of the caller on.
    fn watch(&self) {
        if self.outer.should_stop() && !self.interrupter.should_stop() {
            self.interrupter.stop(self.outer.get_message().as_deref());
        }
    }
}

fn number(state: &MetricState) -> Option<f64> {
    match state {
        MetricState::Numeric(_, Some(entry)) => Some(entry.current()),
        _ => None,
    }
}

impl MetricsRendererTraining for ObservedRenderer {
    fn update_train(&mut self, state: MetricState) {
        self.watch();
        let Some(loss) = number(&state) else { return };
        self.loss = loss;
        if !loss.is_finite() {
            self.interrupter.stop(Some(super::fit::DIVERGED));
        }
    }

    fn update_valid(&mut self, state: MetricState) {
        // Without validation data the mean over nothing is no number.
        self.validation_loss = number(&state).filter(|loss| !loss.is_nan());
    }
}

impl TrainingProgressLogger for ObservedRenderer {
    fn start(&mut self, epochs: usize, first: usize, _: Option<usize>, _: Option<&str>) {
        self.epochs = epochs;
        self.observer.start(first, epochs);
    }

    fn update_epoch(&mut self, epoch: usize) {
        self.observer.epoch(EpochSummary {
            epoch,
            epochs: self.epochs,
            loss: self.loss,
            validation_loss: self.validation_loss,
        });
        // What the observer stopped takes effect before the next epoch.
        self.watch();
    }

    fn end(&mut self) {
        self.observer.finish();
    }

    fn start_split(&mut self, split: &str, examples: usize) {
        self.examples = (split == <&str>::from(Split::Train)).then_some(examples);
    }

    fn update_split(&mut self, done: usize) {
        if let Some(examples) = self.examples {
            self.observer.examples(done, examples);
        }
    }

    fn end_split(&mut self) {
        self.examples = None;
    }

    fn log_event_training(&mut self, _: String) {}
}

impl MetricsRendererEvaluation for ObservedRenderer {
    fn update_test(&mut self, _: EvaluationName, _: MetricState) {}
}

impl EvaluationProgressLogger for ObservedRenderer {
    fn start_global_progress(&mut self, _: usize) {}
    fn start_test(&mut self, _: &str, _: usize) {}
    fn update_test_progress(&mut self, _: usize) {}
    fn end_test(&mut self) {}
    fn end_global_progress(&mut self) {}
    fn log_event_evaluation(&mut self, _: String) {}
}

impl MetricsRenderer for ObservedRenderer {
    fn manual_close(&mut self) {}
    fn register_metric(&mut self, _: MetricDefinition) {}
}
