//! Tokenized sentences as inputs of an encoder.

use burn::tensor::Device;
use sha2::{Digest, Sha256};

use super::batch::TokenBatch;
use super::tokenizer::TextTokenizer;
use crate::data::Inputs;
use crate::{Error, Result};

/// Tokenized sentences on the host; a batch is padded to its longest.
#[derive(Clone, Debug, PartialEq)]
pub struct Sentences {
    ids: Vec<Vec<u32>>,
    width: usize,
}

impl Sentences {
    /// Tokenizes texts for an encoder whose tokens have `width` components.
    pub fn new<T: AsRef<str>>(
        tokenizer: &TextTokenizer,
        texts: &[T],
        width: usize,
    ) -> Result<Self> {
        if texts.is_empty() {
            return Err(Error::Data("there are no sentences".to_string()));
        }
        Ok(Self { ids: tokenizer.encode(texts)?, width })
    }

    /// The token ids of one sentence.
    pub fn ids(&self, row: usize) -> &[u32] {
        &self.ids[row]
    }
}

impl Inputs<TokenBatch> for Sentences {
    fn rows(&self) -> usize {
        self.ids.len()
    }

    fn batch(&self, rows: &[usize], device: &Device) -> TokenBatch {
        let sentences: Vec<&[u32]> = rows.iter().map(|&row| self.ids[row].as_slice()).collect();
        TokenBatch::new(&sentences, self.width, device)
    }

    fn digest(&self) -> Option<[u8; 32]> {
        let mut hasher = Sha256::new();
        for ids in &self.ids {
            hasher.update((ids.len() as u64).to_le_bytes());
            ids.iter().for_each(|id| hasher.update(id.to_le_bytes()));
        }
        Some(hasher.finalize().into())
    }

    fn length(&self, row: usize) -> usize {
        self.ids[row].len()
    }
}
