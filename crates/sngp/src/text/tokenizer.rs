//! Text to token ids.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use tokenizers::{Encoding, Tokenizer, TruncationParams};

use crate::{Error, Result};

/// A Hugging Face `tokenizer.json` that cuts sentences at a number of tokens.
///
/// Special tokens are added and counted. Any text has tokens: an empty one those at its ends,
/// unknown characters the unknown token.
#[derive(Clone, Debug)]
pub struct TextTokenizer {
    tokenizer: Arc<Tokenizer>,
    json: Arc<[u8]>,
    prompt: Arc<str>,
    max_tokens: usize,
    vocabulary: usize,
}

impl TextTokenizer {
    /// Reads `tokenizer.json`'s bytes; `path` is what messages call them.
    pub fn from_bytes(path: &Path, json: &[u8], max_tokens: usize) -> Result<Self> {
        let refused = |error: tokenizers::Error| {
            Error::corrupt(path, format!("not a tokenizer of this kind: {error}"))
        };
        // The parser of tokenizers takes some damaged files for granted and panics.
        let parsed = catch_unwind(|| Tokenizer::from_bytes(json));
        let panicked = |()| Error::corrupt(path, "not a tokenizer of this kind");
        let mut tokenizer = parsed.map_err(|_| panicked(()))?.map_err(refused)?;
        let special = tokenizer
            .get_post_processor()
            .map_or(0, |processor| tokenizers::PostProcessor::added_tokens(processor, false));
        if max_tokens <= special {
            let rule = format!("it must be more than the {special} special tokens");
            return Err(Error::config("max_tokens", max_tokens, rule));
        }
        tokenizer.with_padding(None);
        let truncation = TruncationParams { max_length: max_tokens, ..Default::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(refused)?;
        let ids = tokenizer.get_vocab(true).into_values();
        let largest = ids.max().map_or(0, |largest| largest as usize + 1);
        let mut read = Self {
            tokenizer: Arc::new(tokenizer),
            json: json.into(),
            prompt: "".into(),
            max_tokens,
            vocabulary: largest,
        };
        // What is put at the ends of a text may be tokens that the vocabulary does not have.
        if let Some(ends) = read.encodings(&[""], true).map_err(|_| panicked(()))?.first() {
            let ids = ends.get_ids().iter().map(|id| *id as usize + 1);
            read.vocabulary = ids.fold(largest, usize::max);
        }
        Ok(read)
    }

    /// The same for an encoder whose texts all begin with a prompt. It is no part of what is asked,
    /// so that a text is as empty or unknown with it as without it.
    pub fn with_prompt(self, prompt: &str) -> Result<Self> {
        if prompt.is_empty() {
            return Ok(Self { prompt: prompt.into(), ..self });
        }
        let ends = self.encode(&[""])?[0].len();
        let prompted = Self { prompt: prompt.into(), ..self };
        let tokens = prompted.encode(&[""])?[0].len();
        if tokens > ends && tokens >= prompted.max_tokens {
            let rule = format!("the prompt alone has {tokens} tokens");
            return Err(Error::config("max_tokens", prompted.max_tokens, rule));
        }
        Ok(prompted)
    }

    /// What every text begins with.
    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    /// Token ids of every text.
    pub fn encode<T: AsRef<str>>(&self, texts: &[T]) -> Result<Vec<Vec<u32>>> {
        let encodings = match self.prompt.is_empty() {
            true => self.encodings(texts, true)?,
            false => {
                let prompt = |text: &T| format!("{}{}", self.prompt, text.as_ref());
                self.encodings(&texts.iter().map(prompt).collect::<Vec<String>>(), true)?
            }
        };
        let ids: Vec<Vec<u32>> = encodings.iter().map(|e| e.get_ids().to_vec()).collect();
        match ids.iter().position(Vec::is_empty) {
            None => Ok(ids),
            Some(row) => {
                let text = texts[row].as_ref();
                Err(Error::Data(format!("the tokenizer finds no token in `{text}`")))
            }
        }
    }

    /// Which texts have nothing but unknown tokens, special ones and marks of spaces aside.
    pub fn all_unknown<T: AsRef<str>>(&self, texts: &[T]) -> Result<Vec<bool>> {
        let names = ["[UNK]", "<unk>", "<UNK>"];
        let Some(unknown) = names.iter().find_map(|name| self.tokenizer.token_to_id(name)) else {
            return Ok(vec![false; texts.len()]);
        };
        let encodings = self.encodings(texts, false)?;
        let space = self.tokenizer.token_to_id("\u{2581}");
        let nothing = |id: &u32| *id == unknown || Some(*id) == space;
        Ok(encodings.iter().map(|e| e.get_ids().iter().all(nothing)).collect())
    }

    /// The tokens of texts. A panic inside of a tokenizer that contradicts itself is an error.
    fn encodings<T: AsRef<str>>(&self, texts: &[T], special: bool) -> Result<Vec<Encoding>> {
        let given: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        let tokenizer = AssertUnwindSafe(&self.tokenizer);
        let encoded = catch_unwind(|| tokenizer.encode_batch_fast(given, special));
        let refused = |reason: &str| Error::Data(format!("a text cannot be tokenized: {reason}"));
        let encoded = encoded.map_err(|_| refused("the tokenizer contradicts itself"))?;
        encoded.map_err(|error| refused(&error.to_string()))
    }

    /// How many rows a table of all its ids needs, added tokens included.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// Where sentences are cut.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// The `tokenizer.json` it was read from.
    pub fn json(&self) -> &[u8] {
        &self.json
    }
}
