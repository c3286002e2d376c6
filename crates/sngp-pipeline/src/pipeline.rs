//! A fitted model that takes raw rows.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use ndarray::Array2;
use sngp::backbone::{Backbone, InputShape};
use sngp::detect::{Combination, Detectors};
use sngp::files::to_json;
use sngp::method::Output;
use sngp::model::{AnyModel, Decision, Model, ModelInputs, backbone_name};
use sngp::predict::{Integration, Prediction, Predictive};
use sngp::score::{Combined, Score};
use sngp::text::TextTokenizer;
use sngp::{Error, Result};
use sngp_encoder::{ENCODER, Encoder, TOKENIZER};

use crate::calibration_rows::{CalibrationRows, ROWS};
use crate::card::{CARD, Card, HeldOut, Task, Training};
use crate::detectors::{self, COMBINATION, DETECTORS};
use crate::guard::{GUARD, Guard};
use crate::input::{ImagePreparation, Preparation, Prepared, TEXTS};
use crate::seen::{SEEN, Seen, hashes};

/// Everything between a raw row and an answer: preparation, network, posterior, guard, decision.
pub struct Pipeline {
    pub(crate) card: Card,
    pub(crate) model: Box<dyn AnyModel>,
    pub(crate) tokenizer: Option<TextTokenizer>,
    pub(crate) guard: Option<Guard>,
    pub(crate) detectors: Option<Arc<Detectors>>,
    pub(crate) combination: Option<Arc<Combination>>,
    pub(crate) seen: Option<Seen>,
    pub(crate) calibration: Option<CalibrationRows>,
}

type Load = fn(&Path, &Device) -> Result<Box<dyn AnyModel>>;

/// Loads model folders, those with a backbone of the caller's own among them.
///
/// ```no_run
/// use burn::tensor::Device;
/// use sngp_pipeline::Loader;
/// # type MyNetwork = sngp::backbone::ResFfn;
///
/// let loader = Loader::new().with_backbone::<MyNetwork>();
/// let pipeline = loader.load("my-model", &Device::flex())?;
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Default)]
pub struct Loader {
    own: Vec<(&'static str, Load)>,
}

impl Loader {
    /// Knows the backbones that ship with the library.
    pub fn new() -> Self {
        Self::default()
    }

    /// Knows one more.
    pub fn with_backbone<B: Backbone>(mut self) -> Self {
        self.own.push((B::NAME, |folder, device| Ok(Box::new(Model::<B>::load(folder, device)?))));
        self
    }

    /// Loads and verifies a model folder of any kind.
    pub fn load(&self, folder: impl AsRef<Path>, device: &Device) -> Result<Pipeline> {
        let folder = folder.as_ref();
        sngp::files::recover(folder)?;
        let name = backbone_name(folder)?;
        let model = match self.own.iter().find(|(own, _)| *own == name) {
            Some((_, load)) => load(folder, device)?,
            None => Box::new(sngp::model::load(folder, device)?),
        };
        Pipeline::of_model(model).map_err(|error| Error::corrupt(folder, error.to_string()))
    }
}

impl Pipeline {
    /// Loads and verifies a model folder of any kind: one that was fitted to a table, texts,
    /// vectors or images, or a network of a benchmark.
    pub fn load(folder: impl AsRef<Path>, device: &Device) -> Result<Self> {
        Loader::new().load(folder, device)
    }

    /// The pipeline of a model, by the files attached to it. A model without a card takes what its
    /// backbone takes: numbers in their order, images, or text where it has a tokenizer.
    pub fn of_model(mut model: Box<dyn AnyModel>) -> Result<Self> {
        let mut card = match Card::of(&*model)? {
            Some(card) => card,
            None => plain_card(&*model)?,
        };
        if let Preparation::Encoded(encoded) = &mut card.preparation {
            let Some(bytes) = model.attachment(ENCODER) else {
                return Err(Error::Data(format!("{CARD} needs {ENCODER}, which is not there")));
            };
            encoded.load(bytes, model.attachment(TOKENIZER))?;
            // The encoder keeps its own bytes.
            model.detach(ENCODER);
            model.detach(TOKENIZER);
        }
        let sentences = matches!(card.preparation, Preparation::Sentences { .. });
        let tokenizer = sentences.then(|| TextTokenizer::of_model(&*model)).transpose()?;
        let width = card.preparation.width().unwrap_or_default();
        let fits = match model.input() {
            InputShape::Vectors { width: wanted } => wanted == width,
            InputShape::Images { channels, height, width: columns } => {
                channels * height * columns == width
            }
            InputShape::Sentences { .. } => sentences,
            InputShape::Other => true,
        };
        if !fits {
            let found = card.preparation.describe();
            return Err(Error::Data(format!("its network takes no {found}")));
        }
        let hidden = match &card.preparation {
            Preparation::Sentences { .. } => model.hidden_width(),
            _ => width,
        };
        let own = model.hidden_width();
        let fitted = model.attachment(DETECTORS).map(|bytes| {
            detectors::from_bytes(bytes, detectors::geometry(&card.preparation, &*model)?, own)
        });
        let combination = model.attachment(COMBINATION).map(detectors::combination_from_bytes);
        let combination = combination.transpose()?;
        if card.minimax.is_some() && combination.is_none() {
            return Err(Error::Data(format!("{CARD} needs {COMBINATION}, which is not there")));
        }
        let combination = combination.map(|parts| Arc::new(parts.with_minimax(card.minimax)));
        let guard = model.attachment(GUARD).map(|bytes| Guard::from_bytes(bytes, hidden));
        let seen = model.attachment(SEEN).map(Seen::from_bytes);
        let classes = model.labels().len();
        let rows = model.attachment(ROWS);
        let rows = rows.map(|bytes| CalibrationRows::from_bytes(bytes, width, classes));
        Ok(Self {
            guard: guard.transpose()?,
            detectors: fitted.transpose()?.map(Arc::new),
            combination,
            seen: seen.transpose()?,
            calibration: rows.transpose()?,
            card,
            model,
            tokenizer,
        })
    }

    /// Saves the pipeline as a folder, whole or not at all.
    pub fn save(&mut self, folder: impl AsRef<Path>) -> Result<()> {
        self.model.attach(CARD, to_json(&self.card)?)?;
        if let Preparation::Texts(texts) = &self.card.preparation
            && let Some(map) = &texts.map
        {
            self.model.attach(TEXTS, map.to_bytes()?)?;
        }
        if let Some(guard) = &self.guard {
            self.model.attach(GUARD, guard.to_bytes()?)?;
        }
        match &self.detectors {
            Some(fitted) => self.model.attach(DETECTORS, detectors::to_bytes(fitted)?)?,
            None => self.model.detach(DETECTORS),
        }
        match &self.combination {
            Some(parts) => {
                self.model.attach(COMBINATION, detectors::combination_to_bytes(parts)?)?;
            }
            None => self.model.detach(COMBINATION),
        }
        match self.seen.as_ref().filter(|seen| !seen.is_too_large()) {
            Some(seen) => self.model.attach(SEEN, seen.to_bytes())?,
            None => self.model.detach(SEEN),
        }
        match &self.calibration {
            Some(rows) => self.model.attach(ROWS, rows.to_bytes()?)?,
            None => self.model.detach(ROWS),
        }
        self.attach_encoder()?;
        let saved = self.model.save(folder.as_ref());
        // Once in memory is enough.
        if self.encoder().is_some() {
            self.model.detach(ENCODER);
        }
        saved
    }

    /// The frozen encoder before its network, where there is one.
    pub fn encoder(&self) -> Option<&Encoder> {
        match &self.card.preparation {
            Preparation::Encoded(encoded) => encoded.encoder(),
            _ => None,
        }
    }

    fn attach_encoder(&mut self) -> Result<()> {
        let Some(encoder) = self.encoder() else { return Ok(()) };
        let tokenizer = encoder.tokenizer().map(|tokenizer| tokenizer.json().to_vec());
        let bytes = encoder.bytes().to_vec();
        if let Some(tokenizer) = tokenizer {
            self.model.attach(TOKENIZER, tokenizer)?;
        }
        self.model.attach(ENCODER, bytes)
    }

    /// What it says about itself and its inputs.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// The fitted network.
    pub fn model(&self) -> &dyn AnyModel {
        &*self.model
    }

    /// What inputs are held against before anything is answered.
    pub fn guard(&self) -> Option<&Guard> {
        self.guard.as_ref()
    }

    /// When it abstains, if it has been told.
    pub fn decision(&self) -> Option<&Decision> {
        self.model.decision()
    }

    /// The names of the classes; empty for numbers.
    pub fn labels(&self) -> &[String] {
        self.model.labels()
    }

    /// Takes its expectation over the posterior differently; its decision is chosen anew.
    pub fn set_integration(&mut self, integration: Integration) -> Result<()> {
        self.model.set_integration(integration)?;
        self.settle()
    }

    /// What the network predicts for prepared rows, with what its scores need to be computed.
    pub fn predict(&self, inputs: &Prepared) -> Result<Prediction> {
        let mut prediction = self.with_inputs(inputs, |inputs| self.model.predict_any(inputs))?;
        if let (Predictive::Normal { variance, .. }, Task::Regression { spread, .. }) =
            (&mut prediction.predictive, &self.card.task)
        {
            variance.iter_mut().for_each(|variance| *variance *= spread);
        }
        let (detectors, combination) = (self.detectors.clone(), self.combination.clone());
        Ok(Prediction { detectors, combination, ..prediction })
    }

    /// How many of these rows it has learned from or was tuned on: figures on them are too good. None
    /// where it does not know.
    pub fn known_rows(&self, inputs: &Prepared) -> Option<usize> {
        let seen = self.seen.as_ref()?;
        Some(seen.contains(&hashes(inputs)).into_iter().filter(|known| *known).count())
    }

    /// What was fitted to the hidden vectors of its training examples.
    pub fn detectors(&self) -> Option<&Detectors> {
        self.detectors.as_deref()
    }

    /// What its scores are like on held-out examples.
    pub fn combination(&self) -> Option<&Combination> {
        self.combination.as_deref()
    }

    /// The score it decides by where nobody chose another: the one of its configuration, or, with a
    /// random-feature Gaussian process, the combination of several, where it knows what those are
    /// usually like. Methods to compare with keep their own.
    pub fn default_score(&self) -> Score {
        let config = self.model.config();
        let process = config.method.recipe().output == Output::GaussianProcess;
        match (&config.score, &self.combination) {
            (None, Some(_)) if process => Combined {}.into(),
            _ => config.score(),
        }
    }

    /// The hidden vectors of prepared rows.
    pub fn hidden(&self, inputs: &Prepared) -> Result<Array2<f32>> {
        self.with_inputs(inputs, |inputs| self.model.hidden(inputs))
    }

    pub(crate) fn with_inputs<T>(
        &self,
        inputs: &Prepared,
        work: impl FnOnce(ModelInputs<'_>) -> Result<T>,
    ) -> Result<T> {
        match (inputs, &self.tokenizer) {
            (Prepared::Vectors(vectors), None) => work(ModelInputs::Vectors(vectors.view())),
            (Prepared::Encoded(rows), None) => work(ModelInputs::Vectors(rows.vectors.view())),
            (Prepared::Texts(texts), Some(tokenizer)) => {
                work(ModelInputs::Sentences(&tokenizer.sentences(&*self.model, texts)?))
            }
            _ => Err(Error::Unsupported("the model takes another kind of input".to_string())),
        }
    }
}

/// The card of a model that came without one.
fn plain_card(model: &dyn AnyModel) -> Result<Card> {
    let preparation = match model.input() {
        InputShape::Vectors { width } => {
            Preparation::Numbers { columns: (1..=width).map(|i| format!("x{i}")).collect() }
        }
        InputShape::Images { channels: 3, height, width } if height == width => {
            Preparation::Images(ImagePreparation::reader("path", height))
        }
        InputShape::Sentences { .. } => Preparation::Sentences { text: "text".to_string() },
        InputShape::Images { .. } | InputShape::Other => {
            let message = "no raw row can be made into what its network takes";
            return Err(Error::Unsupported(message.to_string()));
        }
    };
    let task = match model.config().likelihood.classes(1) {
        0 => Task::Regression { mean: 0.0, scale: 1.0, interval: 0.0, coverage: 0.0, spread: 1.0 },
        _ => Task::Classification { least_evidence: f64::MIN },
    };
    Ok(Card {
        preparation,
        label: "label".to_string(),
        task,
        training: Training { file: String::new(), rows: 0, fit: String::new() },
        held_out: HeldOut::default(),
        aim: None,
        uncalibrated: false,
        reference: Vec::new(),
        minimax: None,
        fresh_p_values: false,
    })
}
