//! From raw rows to what a model takes.

use std::path::PathBuf;

use ndarray::Array2;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::columns::{BadCell, TableRecipe, shown};
use super::images::ImageRecipe;
use super::ngrams::NgramRecipe;
use crate::records::Cell;

/// How raw rows become inputs of a model; saved with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Recipe {
    /// Columns of numbers and categories.
    Table(TableRecipe),
    /// Text by hashed n-grams.
    Ngrams(NgramRecipe),
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
    /// Image files.
    Images(ImageRecipe),
}

/// What a model takes, for some rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Prepared {
    /// A vector a row.
    Vectors(Array2<f32>),
    /// A sentence a row.
    Texts(Vec<String>),
}

impl Prepared {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Vectors(vectors) => vectors.nrows(),
            Self::Texts(texts) => texts.len(),
        }
    }
}

/// A recipe with its columns found in a file.
pub struct Located<'a> {
    recipe: &'a Recipe,
    places: Vec<usize>,
    /// The folder that paths of images are relative to.
    folder: PathBuf,
}

impl Recipe {
    /// In plain words.
    pub fn describe(&self) -> String {
        match self {
            Self::Table(table) => {
                let (columns, width) = (table.columns.len(), table.width());
                format!("a table: {columns} columns, {width} numbers a row")
            }
            Self::Ngrams(ngrams) => {
                let (column, places) = (&ngrams.text, ngrams.width());
                format!(
                    "text in `{column}`, as words and pieces of words hashed to {places} places"
                )
            }
            Self::Sentences { text } => format!("text in `{text}`, through an encoder"),
            Self::Vectors { vectors, width } => {
                format!("vectors in `{vectors}`, {width} numbers each")
            }
            Self::Images(images) => images.describe(),
        }
    }

    /// The columns it needs.
    pub fn columns(&self) -> Vec<&str> {
        match self {
            Self::Table(table) => table.columns.iter().map(|c| c.name.as_str()).collect(),
            Self::Ngrams(ngrams) => vec![&ngrams.text],
            Self::Sentences { text } => vec![text],
            Self::Vectors { vectors, .. } => vec![vectors],
            Self::Images(images) => vec![&images.column],
        }
    }

    /// Finds its columns among those of a file in `folder`.
    pub fn locate(&self, names: &[String], folder: PathBuf) -> Result<Located<'_>, BadCell> {
        let place = |&column: &&str| {
            names.iter().position(|name| name == column).ok_or_else(|| BadCell {
                column: column.to_string(),
                reason: format!("the model needs this column; there are {}", names.join(", ")),
            })
        };
        let places = self.columns().iter().map(place).collect::<Result<_, _>>()?;
        Ok(Located { recipe: self, places, folder })
    }
}

impl Located<'_> {
    /// What the model takes for the good rows, and for every row what is wrong with it, if
    /// anything is.
    pub fn prepare(&self, rows: &[&[Cell]]) -> (Prepared, Vec<Option<BadCell>>) {
        if let Recipe::Sentences { .. } | Recipe::Ngrams(_) = self.recipe {
            let texts: Vec<Result<String, BadCell>> =
                rows.iter().map(|row| self.text(row)).collect();
            let (texts, bad) = apart(texts);
            return match self.recipe {
                Recipe::Ngrams(ngrams) => {
                    let vectors: Vec<Vec<f32>> =
                        texts.par_iter().map(|text| ngrams.encode(text)).collect();
                    (Prepared::Vectors(stacked(&vectors, ngrams.width())), bad)
                }
                _ => (Prepared::Texts(texts), bad),
            };
        }
        let vectors: Vec<Result<Vec<f32>, BadCell>> =
            rows.par_iter().map(|row| self.vector(row)).collect();
        let (vectors, bad) = apart(vectors);
        (Prepared::Vectors(stacked(&vectors, self.width())), bad)
    }

    fn width(&self) -> usize {
        match self.recipe {
            Recipe::Table(table) => table.width(),
            Recipe::Vectors { width, .. } => *width,
            Recipe::Images(images) => images.width(),
            Recipe::Ngrams(_) | Recipe::Sentences { .. } => 0,
        }
    }

    fn vector(&self, row: &[Cell]) -> Result<Vec<f32>, BadCell> {
        match self.recipe {
            Recipe::Table(table) => table.encode(&self.places, row),
            Recipe::Images(images) => images.encode(&row[self.places[0]], &self.folder),
            _ => self.list(&row[self.places[0]]),
        }
    }

    fn list(&self, cell: &Cell) -> Result<Vec<f32>, BadCell> {
        let (column, width) = (self.recipe.columns()[0].to_string(), self.width());
        match cell {
            Cell::List(values) if values.len() != width => {
                let reason = format!("{} numbers where the model takes {width}", values.len());
                Err(BadCell { column, reason })
            }
            Cell::List(values) => match values.iter().find(|value| !value.is_finite()) {
                Some(value) => {
                    Err(BadCell { column, reason: format!("{value} is not a finite number") })
                }
                None => Ok(values.clone()),
            },
            Cell::Missing => Err(BadCell { column, reason: "no vector".to_string() }),
            other => Err(BadCell {
                column,
                reason: format!("`{}` is not a list of numbers", shown(other)),
            }),
        }
    }

    /// A missing text is an empty one.
    fn text(&self, row: &[Cell]) -> Result<String, BadCell> {
        match &row[self.places[0]] {
            Cell::Missing => Ok(String::new()),
            Cell::List(_) => {
                let column = self.recipe.columns()[0].to_string();
                Err(BadCell { column, reason: "a list where a text should be".to_string() })
            }
            other => Ok(other.to_field().into_owned()),
        }
    }
}

fn apart<T>(rows: Vec<Result<T, BadCell>>) -> (Vec<T>, Vec<Option<BadCell>>) {
    let mut good = Vec::with_capacity(rows.len());
    let bad = rows.into_iter().map(|row| match row {
        Ok(value) => {
            good.push(value);
            None
        }
        Err(bad) => Some(bad),
    });
    let bad = bad.collect();
    (good, bad)
}

fn stacked(rows: &[Vec<f32>], width: usize) -> Array2<f32> {
    Array2::from_shape_vec((rows.len(), width), rows.concat())
        .expect("every vector has the recipe's width")
}
