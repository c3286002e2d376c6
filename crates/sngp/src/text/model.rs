//! A fitted encoder with its tokenizer.

use std::path::Path;

use burn::tensor::Device;

use super::pretrained::{PROMPT, TOKENIZER, check_vocabulary};
use super::sentences::Sentences;
use super::tokenizer::TextTokenizer;
use crate::backbone::{InputShape, Shipped};
use crate::model::{AnyModel, Model, ModelInputs};
use crate::predict::Prediction;
use crate::{Error, Result};

/// A model that takes text: its folder holds encoder, tokenizer, head and posterior.
#[derive(Clone, Debug)]
pub struct TextModel {
    model: Model<Shipped>,
    tokenizer: TextTokenizer,
}

impl TextModel {
    /// Puts a fitted model and its encoder's tokenizer together.
    pub fn new(model: Model<Shipped>, tokenizer: TextTokenizer) -> Result<Self> {
        let TextShape { max_tokens, vocabulary, .. } = TextShape::of(&model)?;
        check_vocabulary(Path::new(TOKENIZER), &tokenizer, vocabulary)?;
        if tokenizer.max_tokens() != max_tokens {
            let rule = format!("the model was made for sentences cut at {max_tokens}");
            let cut = tokenizer.max_tokens();
            return Err(Error::config("the tokenizer's max_tokens", cut, rule));
        }
        let mut model = model.with_attachment(TOKENIZER, tokenizer.json().to_vec())?;
        if !tokenizer.prompt().is_empty() {
            model = model.with_attachment(PROMPT, tokenizer.prompt().as_bytes().to_vec())?;
        }
        Ok(Self { model, tokenizer })
    }

    /// Loads and verifies a model folder.
    pub fn load(folder: impl AsRef<Path>, device: &Device) -> Result<Self> {
        let folder = folder.as_ref();
        let model = Model::<Shipped>::load(folder, device)?;
        let tokenizer = TextTokenizer::of_model(&model)
            .map_err(|error| Error::corrupt(folder, error.to_string()))?;
        Ok(Self { model, tokenizer })
    }

    /// Saves the model with its tokenizer.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<()> {
        self.model.save(folder)
    }

    /// Predicts every text.
    pub fn predict<T: AsRef<str>>(&self, texts: &[T]) -> Result<Prediction> {
        self.model.predict_any(ModelInputs::Sentences(&self.sentences(texts)?))
    }

    /// Texts as the model's inputs.
    pub fn sentences<T: AsRef<str>>(&self, texts: &[T]) -> Result<Sentences> {
        self.tokenizer.sentences(&self.model, texts)
    }

    /// The same tokenizer with the model changed, e.g. with a decision rule.
    pub fn change(
        self,
        change: impl FnOnce(Model<Shipped>) -> Result<Model<Shipped>>,
    ) -> Result<Self> {
        Ok(Self { model: change(self.model)?, tokenizer: self.tokenizer })
    }

    /// The model without its tokenizer.
    pub fn model(&self) -> &Model<Shipped> {
        &self.model
    }

    /// Both apart.
    pub fn into_parts(self) -> (Model<Shipped>, TextTokenizer) {
        (self.model, self.tokenizer)
    }
}

/// What a model wants its sentences to be like.
struct TextShape {
    max_tokens: usize,
    vocabulary: usize,
    token_width: usize,
}

impl TextShape {
    fn of(model: &dyn AnyModel) -> Result<Self> {
        match model.input() {
            InputShape::Sentences { max_tokens, vocabulary, token_width } => {
                Ok(Self { max_tokens, vocabulary, token_width })
            }
            _ => Err(Error::Unsupported("the model takes no sentences".to_string())),
        }
    }
}

impl TextTokenizer {
    /// The tokenizer saved with a model that takes sentences; it cuts them as the model wants.
    pub fn of_model(model: &dyn AnyModel) -> Result<Self> {
        let TextShape { max_tokens, vocabulary, .. } = TextShape::of(model)?;
        let json = model.attachment(TOKENIZER).ok_or_else(|| {
            Error::Data(format!("it has no {TOKENIZER}: it takes tokens, not text"))
        })?;
        let tokenizer = Self::from_bytes(Path::new(TOKENIZER), json, max_tokens)?;
        check_vocabulary(Path::new(TOKENIZER), &tokenizer, vocabulary)?;
        match model.attachment(PROMPT) {
            None => Ok(tokenizer),
            Some(bytes) => {
                let prompt = std::str::from_utf8(bytes);
                tokenizer.with_prompt(prompt.map_err(|e| Error::Data(format!("{PROMPT}: {e}")))?)
            }
        }
    }

    /// Texts as inputs of the model it belongs to.
    pub fn sentences<T: AsRef<str>>(&self, model: &dyn AnyModel, texts: &[T]) -> Result<Sentences> {
        Sentences::new(self, texts, TextShape::of(model)?.token_width)
    }
}
