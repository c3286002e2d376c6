//! A progress bar on a terminal, plain lines in a pipe, nothing when quiet.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use sngp::train::{EpochSummary, Observer, Silent};

/// How often a long training reports in a pipe.
const EVERY: Duration = Duration::from_secs(10);

/// How progress is shown.
#[derive(Clone)]
pub enum Progress {
    Bars(MultiProgress),
    Lines,
    Quiet,
}

impl Progress {
    /// What standard error allows.
    pub fn new(quiet: bool) -> Self {
        match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Bars(MultiProgress::new()),
            (false, false) => Self::Lines,
        }
    }

    /// A remark between trainings.
    pub fn say(&self, text: &str) {
        match self {
            Self::Bars(bars) => {
                // Nobody is helped by failing over a remark.
                let _ = bars.println(text);
            }
            Self::Lines => eprintln!("{text}"),
            Self::Quiet => {}
        }
    }

    /// The observer of one training.
    pub fn observer(&self, name: String) -> Box<dyn Observer> {
        match self {
            Self::Bars(bars) => {
                let bar = bars.add(ProgressBar::new(0));
                if let Ok(style) = ProgressStyle::with_template(
                    "{prefix:32} {bar:30} {pos:>4}/{len} epochs {msg} {eta}",
                ) {
                    bar.set_style(style);
                }
                bar.set_prefix(name);
                Box::new(Bar { bar, started: Instant::now(), losses: "first epoch".to_string() })
            }
            Self::Lines => {
                Box::new(Lines { name, started: Instant::now(), last: None, due: EVERY })
            }
            Self::Quiet => Box::new(Silent),
        }
    }
}

struct Bar {
    bar: ProgressBar,
    /// When the epoch started, and the losses of the one before.
    started: Instant,
    losses: String,
}

impl Observer for Bar {
    fn start(&mut self, first_epoch: usize, epochs: usize) {
        self.bar.set_length(epochs as u64);
        self.bar.set_position(first_epoch.saturating_sub(1) as u64);
    }

    fn examples(&mut self, done: usize, of: usize) {
        // Quick epochs need no more than their losses.
        if self.started.elapsed() > EVERY {
            self.bar.set_message(format!("{}, {} %", self.losses, 100 * done / of.max(1)));
        }
    }

    fn epoch(&mut self, summary: EpochSummary) {
        self.started = Instant::now();
        self.losses = losses(&summary);
        self.bar.set_position(summary.epoch as u64);
        self.bar.set_message(self.losses.clone());
    }

    fn finish(&mut self) {
        self.bar.finish_and_clear();
    }
}

struct Lines {
    name: String,
    started: Instant,
    last: Option<EpochSummary>,
    due: Duration,
}

impl Lines {
    fn report(&self, summary: &EpochSummary) {
        eprintln!(
            "{}: epoch {}/{}, {}, {:.1} s",
            self.name,
            summary.epoch,
            summary.epochs,
            losses(summary),
            self.started.elapsed().as_secs_f64()
        );
    }
}

impl Observer for Lines {
    fn start(&mut self, first_epoch: usize, epochs: usize) {
        if first_epoch > 1 {
            eprintln!("{}: going on at epoch {first_epoch} of {epochs}", self.name);
        }
    }

    fn epoch(&mut self, summary: EpochSummary) {
        if self.started.elapsed() >= self.due {
            self.report(&summary);
            self.due = self.started.elapsed() + EVERY;
        }
        self.last = Some(summary);
    }

    fn finish(&mut self) {
        if let Some(summary) = &self.last {
            self.report(summary);
        }
    }
}

fn losses(summary: &EpochSummary) -> String {
    match summary.validation_loss {
        Some(validation) => format!("loss {:.4}, validation {validation:.4}", summary.loss),
        None => format!("loss {:.4}", summary.loss),
    }
}
