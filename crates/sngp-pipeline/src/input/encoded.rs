//! Texts and images through an encoder that is frozen.

use std::sync::Arc;

use ndarray::{Array2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sngp::Error;
use sngp_encoder::{Encoder, Takes};
use sngp_records::image::Picture;

use super::columns::BadCell;
use super::preparation::{Encoded, Prepared, PreparedRows, RowState};
use crate::answer::Reason;
use crate::seen::mixed;

/// Images whose pixels are in memory at once.
const CHUNK: usize = 256;

/// How texts or images become vectors: by an encoder that is a file of the model's folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncodedPreparation {
    /// The column with the texts, or with the paths of the images.
    pub column: String,
    /// The length of the encoder's vectors.
    pub width: usize,
    /// What the encoder takes.
    pub takes: Takes,
    /// None until the model's folder is loaded.
    #[serde(skip)]
    encoder: Option<Arc<Encoder>>,
}

/// Vectors of an encoder, with hashes of what they were made of: the vectors themselves depend on
/// which rows went through it together, in their last digits.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedRows {
    /// A vector a row.
    pub vectors: Array2<f32>,
    /// The hash of every raw row.
    pub hashes: Vec<u64>,
}

/// A row's vector, its hash, and what is odd about it.
type EncodedRow = (Vec<f32>, u64, Option<Reason>);

/// How an encoder is asked for the vectors of rows.
type Run<T> = dyn Fn(&Encoder, &[T]) -> sngp::Result<Array2<f32>>;

impl EncodedRows {
    /// Some of the rows, by their numbers.
    pub fn select(&self, rows: &[usize]) -> Self {
        let hashes = rows.iter().map(|&row| self.hashes[row]).collect();
        Self { vectors: self.vectors.select(Axis(0), rows), hashes }
    }
}

impl EncodedPreparation {
    /// Of a column, by an encoder.
    pub fn new(column: &str, encoder: Encoder) -> Self {
        let (width, takes) = (encoder.width(), encoder.takes().clone());
        Self { column: column.to_string(), width, takes, encoder: Some(Arc::new(encoder)) }
    }

    /// Takes over the encoder of a model's folder.
    pub(crate) fn load(&mut self, bytes: &[u8], tokenizer: Option<&[u8]>) -> sngp::Result<()> {
        let encoder = Encoder::load(bytes, tokenizer, &self.takes)?;
        if encoder.width() != self.width {
            return Err(Error::shape("the encoder's vectors", self.width, encoder.width()));
        }
        self.encoder = Some(Arc::new(encoder));
        Ok(())
    }

    /// Multiplies the logits that the encoder's vectors begin with.
    pub(crate) fn scale_logits(&mut self, factor: f32) -> sngp::Result<()> {
        let encoder = self.encoder().map(|encoder| encoder.with_logit_factor(factor));
        self.encoder = encoder.transpose()?.map(Arc::new);
        Ok(())
    }

    /// The encoder, where the model's folder is loaded.
    pub fn encoder(&self) -> Option<&Encoder> {
        self.encoder.as_deref()
    }

    /// Whether it takes text.
    pub fn takes_text(&self) -> bool {
        matches!(self.takes, Takes::Texts(_))
    }

    /// In plain words.
    pub fn describe(&self) -> String {
        let (column, width) = (&self.column, self.width);
        let by = match self.encoder().and_then(Encoder::classes) {
            Some(_) => "a frozen classifier that keeps its answers",
            None => "a frozen encoder",
        };
        match &self.takes {
            Takes::Texts(_) => {
                format!("text in `{column}`, through {by}: {width} numbers a row")
            }
            Takes::Images(pixels) => format!(
                "images in `{column}`, resized to {} x {}, through {by}: {width} numbers a row",
                pixels.width, pixels.height
            ),
        }
    }

    /// Texts that could be read or not.
    pub(super) fn texts(&self, rows: Vec<Encoded<String>>) -> PreparedRows {
        let texts: Vec<&str> =
            rows.iter().filter_map(|row| row.as_ref().ok()).map(|(text, _)| &**text).collect();
        let tokenizer = self.encoder().and_then(Encoder::tokenizer);
        // A text that no tokenizer splits is told by its own row below.
        let unknown = tokenizer.and_then(|tokenizer| tokenizer.all_unknown(&texts).ok());
        let mut unknown = unknown.unwrap_or_else(|| vec![false; texts.len()]).into_iter();
        let made = self.vectors(&texts, &|encoder, some| encoder.texts(some));
        let hash = |text: &&str| mixed(text.bytes().map(u64::from));
        let hashes: Vec<u64> = texts.iter().map(hash).collect();
        let mut made = made.into_iter().zip(hashes);
        let found = rows.into_iter().map(|row| {
            let (_, oddity) = row?;
            let odd = unknown.next().unwrap_or(false).then_some(Reason::UnknownWords);
            let (vector, hash) = made.next().ok_or_else(|| self.bad("it was lost"))?;
            Ok((vector?, hash, oddity.or(odd)))
        });
        self.stacked(found.collect())
    }

    /// Images, each of which can be read or not.
    pub(super) fn pictures(
        &self,
        rows: usize,
        read: impl Fn(usize) -> Result<Picture, BadCell> + Sync,
    ) -> PreparedRows {
        let mut found = Vec::with_capacity(rows);
        let all: Vec<usize> = (0..rows).collect();
        for some in all.chunks(CHUNK) {
            let resized = |&row: &usize| {
                let encoder = self.encoder().ok_or_else(|| self.bad(NOT_LOADED))?;
                let bytes = encoder.resized(&read(row)?);
                bytes.map_err(|error| self.bad(&error.to_string()))
            };
            let pixels: Vec<Result<Vec<u8>, BadCell>> = some.par_iter().map(resized).collect();
            let usable: Vec<Vec<u8>> =
                pixels.iter().filter_map(|row| row.as_ref().ok()).cloned().collect();
            let mut made = self.vectors(&usable, &|encoder, some| encoder.pixels(some)).into_iter();
            found.extend(pixels.into_iter().map(|row| {
                let hash = mixed(row?.into_iter().map(u64::from));
                let vector = made.next().ok_or_else(|| self.bad("it was lost"))?;
                Ok((vector?, hash, None))
            }));
        }
        self.stacked(found)
    }

    /// Vectors of rows. Where some of them fail together, each is told for itself.
    fn vectors<T: Clone>(&self, rows: &[T], run: &Run<T>) -> Vec<Result<Vec<f32>, BadCell>> {
        let Some(encoder) = self.encoder() else {
            return rows.iter().map(|_| Err(self.bad(NOT_LOADED))).collect();
        };
        match (run(encoder, rows), rows.len()) {
            (_, 0) => Vec::new(),
            (Ok(made), _) => made.outer_iter().map(|row| self.finite(row.to_vec())).collect(),
            (Err(error), 1) => vec![Err(self.bad(&error.to_string()))],
            (Err(_), count) => {
                let (first, second) = rows.split_at(count / 2);
                let mut all = self.vectors(first, run);
                all.extend(self.vectors(second, run));
                all
            }
        }
    }

    fn finite(&self, vector: Vec<f32>) -> Result<Vec<f32>, BadCell> {
        match vector.iter().all(|value| value.is_finite()) {
            true => Ok(vector),
            false => Err(self.bad("the encoder makes no numbers of it")),
        }
    }

    fn stacked(&self, rows: Vec<Result<EncodedRow, BadCell>>) -> PreparedRows {
        let (mut values, mut hashes) = (Vec::new(), Vec::new());
        let states = rows.into_iter().map(|row| match row {
            Ok((vector, hash, oddity)) => {
                values.extend(vector);
                hashes.push(hash);
                RowState::Usable { oddity }
            }
            Err(bad) => RowState::Bad(bad),
        });
        let states = states.collect();
        let vectors = super::preparation::stacked(values, self.width);
        PreparedRows { inputs: Prepared::Encoded(EncodedRows { vectors, hashes }), states }
    }

    fn bad(&self, reason: &str) -> BadCell {
        BadCell { column: self.column.clone(), reason: reason.to_string() }
    }
}

const NOT_LOADED: &str = "the encoder is not loaded";
