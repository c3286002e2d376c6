//! From raw rows to what a model takes.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use ndarray::{Array2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sngp::Error;
use sngp_records::Cell;
use sngp_records::image::Picture;

use super::columns::{BadCell, TablePreparation, shown};
use super::dataset::{Body, Dataset};
use super::encoded::{EncodedPreparation, EncodedRows};
use super::images::ImagePreparation;
use super::ngrams::NgramPreparation;
use super::terms::is_blank;
use super::texts::TextPreparation;
use crate::answer::Reason;

/// How raw rows become inputs of a model; saved with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Preparation {
    /// Columns of numbers and categories.
    Table(TablePreparation),
    /// Text by hashed n-grams: models from before there was the next one.
    Ngrams(NgramPreparation),
    /// Text by its terms and what they were learned to tell.
    Texts(TextPreparation),
    /// Text by an encoder inside the model.
    Sentences {
        /// The column with the text.
        text: String,
    },
    /// Vectors of another model.
    Vectors {
        /// The column or array they are in.
        vectors: String,
        /// Their length.
        width: usize,
    },
    /// Columns of numbers as they are, in their order.
    Numbers {
        /// The columns.
        columns: Vec<String>,
    },
    /// Images.
    Images(ImagePreparation),
    /// Text or images by a frozen encoder before the model.
    Encoded(EncodedPreparation),
}

/// What a model takes, for some rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Prepared {
    /// A vector a row.
    Vectors(Array2<f32>),
    /// A sentence a row.
    Texts(Vec<String>),
    /// An encoder's vector a row.
    Encoded(EncodedRows),
}

impl Prepared {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Vectors(vectors) => vectors.nrows(),
            Self::Texts(texts) => texts.len(),
            Self::Encoded(encoded) => encoded.hashes.len(),
        }
    }

    /// The vectors, where they are vectors.
    pub fn vectors(&self) -> Option<&Array2<f32>> {
        match self {
            Self::Vectors(vectors) => Some(vectors),
            Self::Encoded(encoded) => Some(&encoded.vectors),
            Self::Texts(_) => None,
        }
    }

    /// Some of them.
    pub fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Vectors(vectors) => Self::Vectors(vectors.select(Axis(0), rows)),
            Self::Texts(texts) => Self::Texts(rows.iter().map(|&row| texts[row].clone()).collect()),
            Self::Encoded(encoded) => Self::Encoded(encoded.select(rows)),
        }
    }
}

/// Rows after preparation: what the model takes for the usable ones, and the state of each.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedRows {
    /// What the model takes, one for every usable row.
    pub inputs: Prepared,
    /// Every row, usable or not.
    pub states: Vec<RowState>,
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum RowState {
    /// The model can take it.
    Usable {
        /// What training rows never had, and why it is not to be answered.
        oddity: Option<Reason>,
    },
    /// It cannot.
    Bad(BadCell),
}

impl PreparedRows {
    /// The inputs, where every row is usable; otherwise the first bad one by its number.
    pub fn all(self) -> Result<Prepared, (usize, BadCell)> {
        let bad = self.states.into_iter().enumerate().find_map(|(row, state)| match state {
            RowState::Bad(bad) => Some((row, bad)),
            RowState::Usable { .. } => None,
        });
        bad.map_or(Ok(self.inputs), Err)
    }
}

/// A preparation with its columns found in a table.
pub struct Located<'a> {
    preparation: &'a Preparation,
    places: Vec<usize>,
    /// The folder that paths of images are relative to.
    folder: PathBuf,
}

impl Preparation {
    /// In plain words.
    pub fn describe(&self) -> String {
        match self {
            Self::Table(table) => {
                let (columns, width) = (table.columns.len(), table.width());
                format!("a table: {columns} columns, {width} numbers a row")
            }
            Self::Ngrams(ngrams) => {
                let (column, places) = (&ngrams.text, ngrams.width());
                format!("text in `{column}`, as word and letter n-grams hashed to {places} places")
            }
            Self::Texts(texts) => texts.describe(),
            Self::Sentences { text } => format!("text in `{text}`, through an encoder"),
            Self::Vectors { vectors, width } => {
                format!("vectors in `{vectors}`, {width} numbers each")
            }
            Self::Numbers { columns } => format!("{} columns of numbers", columns.len()),
            Self::Images(images) => images.describe(),
            Self::Encoded(encoded) => encoded.describe(),
        }
    }

    /// The columns it needs.
    pub fn columns(&self) -> Vec<&str> {
        match self {
            Self::Table(table) => table.columns.iter().map(|c| c.name.as_str()).collect(),
            Self::Ngrams(ngrams) => vec![&ngrams.text],
            Self::Texts(texts) => vec![&texts.text],
            Self::Sentences { text } => vec![text],
            Self::Vectors { vectors, .. } => vec![vectors],
            Self::Numbers { columns } => columns.iter().map(String::as_str).collect(),
            Self::Images(images) => vec![&images.column],
            Self::Encoded(encoded) => vec![&encoded.column],
        }
    }

    /// The length of a prepared vector; none where the model takes sentences.
    pub fn width(&self) -> Option<usize> {
        match self {
            Self::Table(table) => Some(table.width()),
            Self::Ngrams(ngrams) => Some(ngrams.width()),
            Self::Texts(texts) => Some(texts.width()),
            Self::Sentences { .. } => None,
            Self::Vectors { width, .. } => Some(*width),
            Self::Numbers { columns } => Some(columns.len()),
            Self::Images(images) => Some(images.width()),
            Self::Encoded(encoded) => Some(encoded.width),
        }
    }

    /// Refuses what no preparation is saved with.
    pub(crate) fn check(&self) -> Result<(), String> {
        const MOST_PIXELS: usize = 4096;
        match self {
            Self::Table(table) => table.check(),
            Self::Images(ImagePreparation { size, mean, scale, .. }) => {
                let sound = mean.iter().chain(scale).all(|value| value.is_finite())
                    && scale.iter().all(|scale| *scale > 0.0)
                    && (1..=MOST_PIXELS).contains(size);
                if sound { Ok(()) } else { Err("the images' units are not sound".to_string()) }
            }
            Self::Ngrams(ngrams) if ngrams.weights.iter().any(|weight| !weight.is_finite()) => {
                Err("a weight of the n-grams is not a number".to_string())
            }
            Self::Ngrams(ngrams) if ngrams.weights.is_empty() => {
                Err("there are no n-grams".to_string())
            }
            _ => Ok(()),
        }
    }

    /// Whether it gives the vectors of some model, whose meaning is in their geometry.
    pub(crate) fn gives_embeddings(&self) -> bool {
        matches!(self, Self::Vectors { .. } | Self::Encoded(_))
    }

    /// Whether it takes text.
    pub fn takes_text(&self) -> bool {
        match self {
            Self::Ngrams(_) | Self::Texts(_) | Self::Sentences { .. } => true,
            Self::Encoded(encoded) => encoded.takes_text(),
            _ => false,
        }
    }

    /// Finds its columns among those of a table in `folder`.
    pub fn locate(&self, names: &[String], folder: PathBuf) -> Result<Located<'_>, BadCell> {
        let place = |&column: &&str| {
            names.iter().position(|name| name == column).ok_or_else(|| BadCell {
                column: column.to_string(),
                reason: format!("the model needs this column; there are {}", names.join(", ")),
            })
        };
        let places: Result<Vec<usize>, BadCell> = self.columns().iter().map(place).collect();
        let places = match (self, places) {
            // Numbers in their order go by it where a file calls them otherwise.
            (Self::Numbers { columns }, Err(_)) if columns.len() == names.len() => {
                (0..columns.len()).collect()
            }
            (_, places) => places?,
        };
        Ok(Located { preparation: self, places, folder })
    }

    /// Prepares some rows of a set.
    pub fn prepare(&self, set: &Dataset, wanted: &[usize]) -> sngp::Result<PreparedRows> {
        match &set.body {
            Body::Rows { names, rows } => {
                let located =
                    self.locate(names, set.folder.clone()).map_err(|bad| in_file(set, &bad))?;
                let cells: Vec<&[Cell]> = wanted.iter().map(|&row| rows[row].as_slice()).collect();
                Ok(located.prepare(&cells))
            }
            Body::Vectors { name, matrix } => {
                let width = match self {
                    Self::Vectors { width, .. } => *width,
                    Self::Numbers { columns } => columns.len(),
                    _ => return Err(self.refused(set)),
                };
                if matrix.columns() != width {
                    let what = format!("columns of `{name}` in {}", set.file);
                    return Err(Error::shape(what, width, matrix.columns()));
                }
                let mut values = Vec::with_capacity(wanted.len() * width);
                let mut one = Vec::with_capacity(width);
                let states = wanted.iter().map(|&row| {
                    matrix.read_rows(row, 1, &mut one);
                    match finite(name, &one) {
                        Ok(()) => {
                            values.extend_from_slice(&one);
                            RowState::Usable { oddity: None }
                        }
                        Err(bad) => RowState::Bad(bad),
                    }
                });
                let states: Vec<RowState> = states.collect();
                let inputs = Prepared::Vectors(stacked(values, width));
                Ok(PreparedRows { inputs, states })
            }
            Body::Pictures { pictures, .. } => {
                if let Self::Encoded(encoded) = self {
                    let read = |place: usize| Ok(pictures[wanted[place]].clone());
                    return Ok(encoded.pictures(wanted.len(), read));
                }
                let Self::Images(images) = self else { return Err(self.refused(set)) };
                let vectors: Vec<Vec<f32>> =
                    wanted.par_iter().map(|&row| images.encode(&pictures[row])).collect();
                let inputs = Prepared::Vectors(stacked(vectors.concat(), images.width()));
                let states = vec![RowState::Usable { oddity: None }; wanted.len()];
                Ok(PreparedRows { inputs, states })
            }
        }
    }

    fn refused(&self, set: &Dataset) -> Error {
        Error::Unsupported(format!("{}: the model takes {}", set.file, self.describe()))
    }

    /// The same, where a row that cannot be used is an error.
    pub fn prepare_all(&self, set: &Dataset, wanted: &[usize]) -> sngp::Result<Prepared> {
        self.prepare(set, wanted)?.all().map_err(|(index, BadCell { column, reason })| {
            let row = wanted[index] + 1;
            Error::Data(format!("{}, row {row}, column `{column}`: {reason}", set.file))
        })
    }
}

/// A fault of a whole column.
pub(crate) fn in_file(set: &Dataset, bad: &BadCell) -> Error {
    Error::Data(format!("{}, column `{}`: {}", set.file, bad.column, bad.reason))
}

pub(super) type Encoded<T> = Result<(T, Option<Reason>), BadCell>;

impl Located<'_> {
    /// Prepares rows of cells.
    pub fn prepare(&self, rows: &[&[Cell]]) -> PreparedRows {
        if let Preparation::Encoded(encoded) = self.preparation {
            if encoded.takes_text() {
                return encoded.texts(rows.iter().map(|row| self.text(row)).collect());
            }
            let reader = ImagePreparation::reader(&encoded.column, 1);
            return encoded.pictures(rows.len(), |place| self.picture(&reader, rows[place]));
        }
        if self.preparation.takes_text() {
            let (texts, states) = apart(rows.iter().map(|row| self.text(row)).collect());
            let inputs = match self.preparation {
                Preparation::Ngrams(ngrams) => {
                    let vectors: Vec<Vec<f32>> =
                        texts.par_iter().map(|text| ngrams.encode(text)).collect();
                    Prepared::Vectors(stacked(vectors.concat(), ngrams.width()))
                }
                Preparation::Texts(learned) => {
                    let vectors: Vec<Vec<f32>> =
                        texts.par_iter().map(|text| learned.encode(text)).collect();
                    Prepared::Vectors(stacked(vectors.concat(), learned.width()))
                }
                _ => Prepared::Texts(texts),
            };
            return PreparedRows { inputs, states };
        }
        let (vectors, states) = apart(rows.par_iter().map(|row| self.vector(row)).collect());
        let inputs = Prepared::Vectors(stacked(vectors.concat(), self.width()));
        PreparedRows { inputs, states }
    }

    fn width(&self) -> usize {
        self.preparation.width().unwrap_or_default()
    }

    fn vector(&self, row: &[Cell]) -> Encoded<Vec<f32>> {
        match self.preparation {
            Preparation::Table(table) => table.encode(&self.places, row),
            Preparation::Images(images) => {
                let picture = self.picture(images, row)?;
                Ok((images.encode(&picture), None))
            }
            Preparation::Numbers { columns } => {
                let cells = self.places.iter().map(|&place| &row[place]);
                let numbers = cells.zip(columns).map(|(cell, column)| number(column, cell));
                Ok((numbers.collect::<Result<_, _>>()?, None))
            }
            _ => Ok((self.list(&row[self.places[0]])?, None)),
        }
    }

    fn picture(&self, images: &ImagePreparation, row: &[Cell]) -> Result<Picture, BadCell> {
        images.read(&row[self.places[0]], &self.folder)
    }

    fn list(&self, cell: &Cell) -> Result<Vec<f32>, BadCell> {
        let (column, width) = (self.preparation.columns()[0].to_string(), self.width());
        match cell {
            Cell::List(values) if values.len() != width => {
                let reason = format!("{} numbers where the model takes {width}", values.len());
                Err(BadCell { column, reason })
            }
            Cell::List(values) => finite(&column, values).map(|()| values.clone()),
            Cell::Missing => Err(BadCell { column, reason: "no vector".to_string() }),
            other => Err(BadCell {
                column,
                reason: format!("`{}` is not a list of numbers", shown(other)),
            }),
        }
    }

    /// A missing text is an empty one: it can be read, and is not answered.
    fn text(&self, row: &[Cell]) -> Encoded<String> {
        let text = match &row[self.places[0]] {
            Cell::Missing => Cow::Borrowed(""),
            Cell::List(_) => {
                let column = self.preparation.columns()[0].to_string();
                let reason = "a list where a text should be".to_string();
                return Err(BadCell { column, reason });
            }
            other => other.to_field(),
        };
        let oddity = match self.preparation {
            Preparation::Ngrams(ngrams) => ngrams.oddity(&text),
            Preparation::Texts(texts) => texts.oddity(&text),
            _ => is_blank(&text).then_some(Reason::EmptyInput),
        };
        Ok((text.into_owned(), oddity))
    }
}

fn finite(column: &str, values: &[f32]) -> Result<(), BadCell> {
    match values.iter().find(|value| !value.is_finite()) {
        None => Ok(()),
        Some(value) => {
            let reason = format!("{value} is not a finite number");
            Err(BadCell { column: column.to_string(), reason })
        }
    }
}

fn number(column: &str, cell: &Cell) -> Result<f32, BadCell> {
    let value = match cell {
        Cell::Number(value) => Some(*value as f32),
        Cell::Text(text) => text.trim().parse::<f32>().ok(),
        _ => None,
    };
    value.filter(|value| value.is_finite()).ok_or_else(|| BadCell {
        column: column.to_string(),
        reason: format!("`{}` is not a finite number", shown(cell)),
    })
}

fn apart<T>(rows: Vec<Encoded<T>>) -> (Vec<T>, Vec<RowState>) {
    let mut good = Vec::with_capacity(rows.len());
    let states = rows.into_iter().map(|row| match row {
        Ok((value, oddity)) => {
            good.push(value);
            RowState::Usable { oddity }
        }
        Err(bad) => RowState::Bad(bad),
    });
    let states = states.collect();
    (good, states)
}

pub(super) fn stacked(values: Vec<f32>, width: usize) -> Array2<f32> {
    let rows = values.len().checked_div(width).unwrap_or(0);
    Array2::from_shape_vec((rows, width), values).expect("every vector has the preparation's width")
}

/// A path relative to which images are looked up.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    path.parent().map_or_else(PathBuf::new, Path::to_path_buf)
}
