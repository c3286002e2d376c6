//! What to make of the examples.

use std::path::PathBuf;
use std::time::Duration;

use burn::tensor::Device;
use sngp::method::{Method, Output, Sngp};
use sngp::text::PretrainedEncoder;
use sngp::train::{Interrupter, Observer, Silent};
use sngp::{Error, Result};
use sngp_encoder::Source;

use super::network::is_direct;
use super::tune::Trial;
use crate::input::Kind;

/// Epochs where nothing else is said: of an encoder, and of anything else.
const EPOCHS: [usize; 2] = [4, 40];

/// What is predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// A class, with its probability.
    #[default]
    Classes,
    /// A number, with an interval.
    Numbers,
}

/// How a pipeline is fitted. The defaults are what most data want.
#[derive(Clone)]
pub struct Options<'a> {
    /// What inputs are made of; guessed when absent.
    pub kind: Option<Kind>,
    /// The column with the labels, which is no input.
    pub label: String,
    /// Columns that are not to be used.
    pub ignore: Vec<String>,
    /// What is predicted.
    pub target: Target,
    /// Whether there may be hardly more rows than classes; that is a wrong column otherwise.
    pub many_classes: bool,
    /// The method.
    pub method: Method,
    /// Random features.
    pub features: usize,
    /// The length scale; from the distances between rows when absent.
    pub length_scale: Option<f64>,
    /// The strength of the prior on the output weights, for classes; chosen or 0.02 when absent.
    pub l2: Option<f64>,
    /// Epochs of methods that train a network; 4 for an encoder, otherwise 40, when absent.
    pub epochs: Option<usize>,
    /// Whether several length scales and priors are tried; small tables and vectors are treated so
    /// when absent.
    pub tune: Option<bool>,
    /// How long to look for the settings of vectors; nothing is tried in no time. What is best so
    /// far is taken when it is over.
    pub budget: Duration,
    /// A pretrained encoder of texts or images: `FILE.onnx[:TENSOR]`, a folder of published weights, or
    /// a name on the Hugging Face hub.
    pub encoder: Option<PathBuf>,
    /// Whether the encoder is trained too.
    pub fine_tune: bool,
    /// Whether an encoder that is a classifier keeps its own answers: its logits stay the mean, and
    /// the variance is that of a Gaussian process on its features.
    pub keep_classifier: bool,
    /// Where texts are cut for an encoder.
    pub max_tokens: usize,
    /// What every text begins with for an encoder, e.g. `query: `; as the encoder's files say when
    /// absent.
    pub prompt: Option<String>,
    /// Height and width that images are resized to.
    pub image_size: usize,
    /// Whether probabilities go to uniform away from the data (Eq. 4 of the paper).
    pub minimax: bool,
    /// Determines everything random.
    pub seed: u64,
    /// The device.
    pub device: Device,
    /// Stops it from outside.
    pub interrupter: Interrupter,
    /// Makes the observer of each network.
    pub observe: &'a (dyn Fn(usize) -> Box<dyn Observer> + Sync),
    /// Hears of every setting that is tried.
    pub tried: &'a (dyn Fn(&Trial) + Sync),
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            kind: None,
            label: "label".to_string(),
            ignore: Vec::new(),
            target: Target::Classes,
            many_classes: false,
            method: Sngp {}.into(),
            features: 1024,
            length_scale: None,
            l2: None,
            epochs: None,
            tune: None,
            budget: Duration::from_secs(60),
            encoder: None,
            fine_tune: false,
            keep_classifier: false,
            max_tokens: 64,
            prompt: None,
            image_size: 32,
            minimax: false,
            seed: 0,
            device: Device::flex(),
            interrupter: Interrupter::new(),
            observe: &|_| Box::new(Silent),
            tried: &|_| {},
        }
    }
}

impl Options<'_> {
    /// Refuses options that no model can be fitted with.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(scale) = self.length_scale.filter(|scale| !(scale.is_finite() && *scale > 0.0))
        {
            return Err(Error::config("the length scale", scale, "it must be positive"));
        }
        if let Some(l2) = self.l2.filter(|l2| !(l2.is_finite() && *l2 >= 0.0)) {
            return Err(Error::config("l2", l2, "it must be finite and not negative"));
        }
        if self.features == 0 {
            return Err(Error::config("features", 0, "it must be at least 1"));
        }
        if self.minimax && self.regression() {
            return Err(crate::predictive::no_classes());
        }
        if self.keep_classifier {
            if self.encoder.as_deref().and_then(Source::parse).is_none() {
                let message = "a classifier that keeps its answers is an ONNX file, a folder with one, or \
                               one with published weights of images";
                return Err(Error::Unsupported(message.to_string()));
            }
            if self.regression() || !self.takes_logits() {
                return Err(Error::Unsupported(format!(
                    "the answers of a classifier can be kept by classes of one Gaussian process, not by {}",
                    if self.regression() { "numbers".to_string() } else { self.method.to_string() }
                )));
            }
        }
        crate::limits::check_sizes(self.epochs(), self.features, 1)
    }

    /// The encoder, where it is one that stays as it is: an ONNX file, or weights of images.
    pub(super) fn frozen_encoder(&self) -> Result<Option<Source>> {
        let source = self.encoder.as_deref().and_then(Source::parse);
        if source.is_some() && self.fine_tune {
            let known = PretrainedEncoder::kinds().collect::<Vec<_>>().join(", ");
            return Err(Error::Unsupported(format!(
                "this encoder stays as it is; one that is trained too takes texts and is a folder \
                 with the weights of {known}"
            )));
        }
        Ok(source)
    }

    /// Whether the output layer can take logits that were found elsewhere as they are: then nothing
    /// else is learned from the training rows.
    pub(super) fn takes_logits(&self) -> bool {
        let process = self.method.recipe().output == Output::GaussianProcess;
        process && is_direct(self, false) && !self.regression()
    }

    pub(super) fn epochs(&self) -> usize {
        self.epochs.unwrap_or(EPOCHS[usize::from(!self.fine_tune)])
    }

    pub(super) fn regression(&self) -> bool {
        self.target == Target::Numbers
    }
}
