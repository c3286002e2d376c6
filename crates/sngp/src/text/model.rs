//! A fitted encoder with its tokenizer.

use std::path::Path;

use burn::tensor::Device;

use super::pretrained::{TOKENIZER, check_vocabulary};
use super::sentences::Sentences;
use super::tokenizer::TextTokenizer;
use crate::backbone::Bert;
use crate::model::Model;
use crate::predict::Prediction;
use crate::{Error, Result};

/// A model that takes text: its folder holds encoder, tokenizer, head and posterior.
#[derive(Clone, Debug)]
pub struct TextModel {
    model: Model<Bert>,
    tokenizer: TextTokenizer,
}

impl TextModel {
    /// Puts a fitted model and its encoder's tokenizer together.
    pub fn new(model: Model<Bert>, tokenizer: TextTokenizer) -> Result<Self> {
        check_vocabulary(Path::new(TOKENIZER), &tokenizer, &model.backbone().encoder)?;
        let (cut, trained) = (tokenizer.max_tokens(), model.backbone().max_tokens);
        if cut != trained {
            let rule = format!("the model was made for sentences cut at {trained}");
            return Err(Error::config("the tokenizer's max_tokens", cut, rule));
        }
        let model = model.with_attachment(TOKENIZER, tokenizer.json().to_vec())?;
        Ok(Self { model, tokenizer })
    }

    /// Loads and verifies a model folder.
    pub fn load(folder: impl AsRef<Path>, device: &Device) -> Result<Self> {
        let folder = folder.as_ref();
        let model = Model::<Bert>::load(folder, device)?;
        let path = folder.join(TOKENIZER);
        let json = model.attachment(TOKENIZER).ok_or_else(|| {
            Error::corrupt(folder, format!("it has no {TOKENIZER}: it takes tokens, not text"))
        })?;
        let tokenizer = TextTokenizer::from_bytes(&path, json, model.backbone().max_tokens)?;
        check_vocabulary(&path, &tokenizer, &model.backbone().encoder)?;
        Ok(Self { model, tokenizer })
    }

    /// Saves the model with its tokenizer.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<()> {
        self.model.save(folder)
    }

    /// Predicts every text.
    pub fn predict<T: AsRef<str>>(&self, texts: &[T]) -> Result<Prediction> {
        self.model.predict(&self.sentences(texts)?)
    }

    /// Texts as the model's inputs.
    pub fn sentences<T: AsRef<str>>(&self, texts: &[T]) -> Result<Sentences> {
        let width = self.model.backbone().encoder.transformer.width;
        Sentences::new(&self.tokenizer, texts, width)
    }

    /// The same tokenizer with the model changed, e.g. with a decision rule.
    pub fn change(self, change: impl FnOnce(Model<Bert>) -> Result<Model<Bert>>) -> Result<Self> {
        Ok(Self { model: change(self.model)?, tokenizer: self.tokenizer })
    }

    /// The model without its tokenizer.
    pub fn model(&self) -> &Model<Bert> {
        &self.model
    }
}
