//! Rows of a request, in the form that the pipeline takes.

mod items;
mod tensors;
mod unique_keys;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use sngp_pipeline::input::{Body, Dataset};
use sngp_pipeline::{Answer, Field, FieldKind, Signature};
use sngp_records::image::Picture;
use sngp_records::{Cell, Matrix};

use crate::error::{Result, ServeError};

pub use items::Items;

/// Bytes of text that make about one token.
const BYTES_A_TOKEN: usize = 4;

/// Rows that were read, not yet answered.
#[derive(Clone, Debug)]
pub enum Rows {
    /// Cells, in the order of the model's inputs.
    Cells(Vec<Vec<Cell>>),
    /// Vectors, one after the other.
    Vectors {
        /// Numbers of each.
        width: usize,
        /// The numbers.
        values: Vec<f32>,
    },
    /// Images, or why one is none.
    Pictures(Vec<std::result::Result<Arc<Picture>, String>>),
}

impl Rows {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Cells(rows) => rows.len(),
            Self::Vectors { width, values } => values.len() / width,
            Self::Pictures(pictures) => pictures.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how many tokens each row is; 1 for what is no text.
    pub(crate) fn tokens(&self) -> Vec<usize> {
        match self {
            Self::Cells(rows) => {
                let tokens = |row: &Vec<Cell>| match &row[..] {
                    [Cell::Text(text)] => 2 + text.len() / BYTES_A_TOKEN,
                    _ => 1,
                };
                rows.iter().map(tokens).collect()
            }
            _ => vec![1; self.len()],
        }
    }

    /// Some of the rows.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        match self {
            Self::Cells(rows) => Self::Cells(rows[range].to_vec()),
            Self::Vectors { width, values } => {
                let values = values[range.start * width..range.end * width].to_vec();
                Self::Vectors { width: *width, values }
            }
            Self::Pictures(pictures) => Self::Pictures(pictures[range].to_vec()),
        }
    }

    /// Some of the rows, by number.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Cells(all) => Self::Cells(rows.iter().map(|&row| all[row].clone()).collect()),
            Self::Vectors { width, values } => {
                let vector = |&row: &usize| &values[row * width..(row + 1) * width];
                let values = rows.iter().flat_map(vector).copied().collect();
                Self::Vectors { width: *width, values }
            }
            Self::Pictures(all) => Self::Pictures(rows.iter().map(|&r| all[r].clone()).collect()),
        }
    }

    /// Appends rows of the same model.
    pub(crate) fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::Cells(rows), Self::Cells(more)) => rows.extend(more),
            (Self::Vectors { values, .. }, Self::Vectors { values: more, .. }) => {
                values.extend(more);
            }
            (Self::Pictures(pictures), Self::Pictures(more)) => pictures.extend(more),
            _ => unreachable!("rows of one model are of one form"),
        }
    }

    /// The rows as the pipeline takes them, and the answers to those that it cannot be asked.
    pub(crate) fn into_dataset(self, names: &[String]) -> Result<(Dataset, Vec<Option<Answer>>)> {
        let count = self.len();
        let (body, refused) = match self {
            Self::Cells(rows) => (Body::Rows { names: names.to_vec(), rows }, vec![None; count]),
            Self::Vectors { width, values } => {
                let matrix = Matrix::from_memory(count, width, values)
                    .map_err(|error| ServeError::Invalid(error.to_string()))?;
                let name = names.first().cloned().unwrap_or_default();
                (Body::Vectors { name, matrix: Arc::new(matrix) }, vec![None; count])
            }
            Self::Pictures(all) => {
                let name = names.first().cloned().unwrap_or_default();
                let (mut pictures, mut refused) = (Vec::new(), Vec::with_capacity(count));
                for picture in all {
                    let reason = picture.as_ref().err();
                    refused.push(reason.map(|reason| Answer::invalid(&name, reason.clone())));
                    pictures.extend(picture.ok().map(Arc::unwrap_or_clone));
                }
                (Body::Pictures { name, pictures }, refused)
            }
        };
        let (file, folder) = ("the request".to_string(), PathBuf::new());
        Ok((Dataset { file, folder, body, labels: None, unlabelled: 0 }, refused))
    }
}

/// How requests become rows: by the inputs of a model's signature.
#[derive(Clone, Debug)]
pub struct Intake {
    inputs: Vec<Field>,
    names: Vec<String>,
}

impl Intake {
    /// For a model.
    pub fn new(signature: &Signature) -> Self {
        let names = signature.inputs.iter().map(|field| field.name.clone()).collect();
        Self { inputs: signature.inputs.clone(), names }
    }

    /// The names of the inputs.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    fn only(&self) -> Option<&Field> {
        match &self.inputs[..] {
            [field] => Some(field),
            _ => None,
        }
    }

    /// The width of vectors, where the model takes such.
    fn width(&self) -> Option<usize> {
        let field = self.only().filter(|field| field.kind == FieldKind::Vector)?;
        field.shape.last().and_then(|width| usize::try_from(*width).ok())
    }

    fn takes_images(&self) -> bool {
        self.only().is_some_and(|field| field.kind == FieldKind::Image)
    }

    fn takes_text(&self) -> bool {
        self.only().is_some_and(|field| field.kind == FieldKind::Text)
    }

    /// What it takes, for messages.
    fn describe(&self) -> String {
        const SHOWN: usize = 12;
        let names: Vec<&str> = self.names.iter().map(String::as_str).take(SHOWN).collect();
        let more = self.names.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("the model takes {}{more}", names.join(", "))
    }
}

/// The image that bytes of a file are, or why they are none.
fn picture(bytes: &[u8]) -> std::result::Result<Arc<Picture>, String> {
    Picture::from_bytes(bytes).map(Arc::new).map_err(|error| error.to_string())
}

/// A cell of a number.
fn number_cell(number: f64) -> Cell {
    if number.is_nan() { Cell::Missing } else { Cell::Number(number) }
}
