//! A file of examples, of whatever kind.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sngp::{Error, Result};

use crate::records::{Arrays, Cell, Matrix, Records};

/// Rows read at a time.
const CHUNK: usize = 8192;
/// Names that arrays of vectors usually have.
const VECTOR_NAMES: [&str; 8] =
    ["x", "X", "vectors", "embeddings", "embedding", "features", "data", "train_x"];

/// Examples of a file, not yet what a model takes.
pub struct Dataset {
    /// Where they come from, for messages.
    pub file: String,
    /// The folder that paths in it are relative to.
    pub folder: PathBuf,
    /// The examples.
    pub body: Body,
    /// The label of every row, as text, where the file has them.
    pub labels: Option<Vec<String>>,
}

/// The examples.
pub enum Body {
    /// Rows of cells.
    Rows {
        /// The columns.
        names: Vec<String>,
        /// The rows.
        rows: Vec<Vec<Cell>>,
    },
    /// An array of vectors.
    Vectors {
        /// The array's name.
        name: String,
        /// A vector a row.
        matrix: Arc<Matrix>,
    },
}

/// Where vectors and labels are in a file: `FILE`, or `FILE:VECTORS:LABELS` for files of arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file or folder.
    pub path: PathBuf,
    /// The array of vectors.
    pub vectors: Option<String>,
    /// The array of labels.
    pub labels: Option<String>,
}

impl Place {
    /// Reads `FILE[:VECTORS[:LABELS]]`; a file that has the whole name is meant first.
    ///
    /// ```
    /// use sngp_lab::own::Place;
    ///
    /// let place = Place::parse("clinc.npz:test_x:test_y");
    /// assert_eq!(place.path, std::path::Path::new("clinc.npz"));
    /// assert_eq!(place.labels.as_deref(), Some("test_y"));
    /// assert_eq!(Place::parse("rows.csv").vectors, None);
    /// ```
    pub fn parse(text: &str) -> Self {
        let whole = Self { path: PathBuf::from(text), vectors: None, labels: None };
        let mut parts = text.split(':');
        let path = PathBuf::from(parts.next().unwrap_or_default());
        if whole.path.exists() || !is_arrays(&path) {
            return whole;
        }
        let mut part = || parts.next().filter(|part| !part.is_empty()).map(str::to_string);
        Self { path, vectors: part(), labels: part() }
    }
}

/// Whether a file holds arrays, by its name.
pub fn is_arrays(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    ["npy", "npz", "safetensors"].contains(&extension.as_str())
}

impl Dataset {
    /// Reads a file. `label` names the column or array of labels; for an `.npy` file it is another
    /// file with them. With `need_labels` a file without is an error.
    pub fn read(place: &Place, label: Option<&str>, need_labels: bool) -> Result<Self> {
        let path = &place.path;
        let file = path.display().to_string();
        if path.is_dir() {
            return Self::of_folder(path, file);
        }
        let folder = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let label = place.labels.as_deref().or(label);
        let (body, labels) = match is_arrays(path) {
            true => read_arrays(place, label, need_labels)?,
            false => read_rows(path, label, need_labels)?,
        };
        let set = Self { file, folder, body, labels };
        if let Some(labels) = set.labels.as_ref().filter(|labels| labels.len() != set.rows()) {
            let what = format!("labels of {}", set.file);
            return Err(Error::shape(what, set.rows(), labels.len()));
        }
        Ok(set)
    }

    /// A folder with a sub-folder of images a class, as a table of paths and classes.
    fn of_folder(path: &Path, file: String) -> Result<Self> {
        let files = super::images::list(path)?;
        let names = vec!["path".to_string(), "label".to_string()];
        let (rows, labels) = files
            .into_iter()
            .map(|(path, label)| (vec![Cell::Text(path), Cell::Text(label.clone())], label))
            .unzip();
        let body = Body::Rows { names, rows };
        Ok(Self { file, folder: path.to_path_buf(), body, labels: Some(labels) })
    }

    /// The number of examples.
    pub fn rows(&self) -> usize {
        match &self.body {
            Body::Rows { rows, .. } => rows.len(),
            Body::Vectors { matrix, .. } => matrix.rows(),
        }
    }
}

pub(super) fn data(error: crate::records::RecordsError) -> Error {
    Error::Data(error.to_string())
}

type Parts = (Body, Option<Vec<String>>);

fn read_rows(path: &Path, label: Option<&str>, need_labels: bool) -> Result<Parts> {
    let mut records = Records::open(path).map_err(data)?;
    let names = records.columns().to_vec();
    let place = label.and_then(|label| names.iter().position(|name| name == label));
    if let (Some(label), None, true) = (label, place, need_labels) {
        let known = names.join(", ");
        let message = format!("{}: no column `{label}`; there are {known}", path.display());
        return Err(Error::Data(message));
    }
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    while let Some(cells) = records.next_cells(CHUNK).map_err(data)? {
        rows.extend(cells);
    }
    let labels = place.map(|place| label_cells(path, &rows, place, &names[place])).transpose()?;
    Ok((Body::Rows { names, rows }, labels))
}

/// Labels are compared as text; a row without one cannot be learned from.
fn label_cells(path: &Path, rows: &[Vec<Cell>], place: usize, name: &str) -> Result<Vec<String>> {
    let label = |(row, cells): (usize, &Vec<Cell>)| match &cells[place] {
        Cell::Missing => Err(Error::Data(format!(
            "{}, row {}: no label in column `{name}`",
            path.display(),
            row + 1
        ))),
        cell => Ok(cell.to_field().trim().to_string()),
    };
    rows.iter().enumerate().map(label).collect()
}

fn read_arrays(place: &Place, label: Option<&str>, need_labels: bool) -> Result<Parts> {
    let path = &place.path;
    let arrays = Arrays::open(path).map_err(data)?;
    let name = vectors_name(&arrays, place, label)?;
    let matrix = arrays.view2(&name).map_err(data)?;
    matrix.check_finite().map_err(data)?;
    let labels = match label {
        Some(label) if arrays.names().iter().any(|name| name == label) => {
            Some(array_labels(&arrays, label)?)
        }
        Some(label) if Path::new(label).is_file() => Some(label_file(Path::new(label))?),
        Some(label) if need_labels => {
            let known = arrays.names().join(", ");
            return Err(Error::Data(format!(
                "{}: no array `{label}` and no such file; there are {known}. \
                 FILE:VECTORS:LABELS names both arrays",
                path.display()
            )));
        }
        _ => None,
    };
    Ok((Body::Vectors { name, matrix: Arc::new(matrix) }, labels))
}

/// The array of vectors: the named one, the only matrix, or one with a usual name.
fn vectors_name(arrays: &Arrays, place: &Place, label: Option<&str>) -> Result<String> {
    if let Some(name) = &place.vectors {
        return Ok(name.clone());
    }
    let candidates: Vec<&String> = arrays
        .names()
        .iter()
        .filter(|name| Some(name.as_str()) != label)
        .filter(|name| arrays.info(name).is_ok_and(|info| info.shape.len() == 2))
        .collect();
    if let [only] = candidates[..] {
        return Ok(only.clone());
    }
    let usual = VECTOR_NAMES.iter().find(|usual| candidates.iter().any(|name| name == *usual));
    usual.map(|name| name.to_string()).ok_or_else(|| {
        let known = arrays.names().join(", ");
        let path = place.path.display();
        Error::Data(format!(
            "{path}: which array holds the vectors? {path}:NAME says it; there are {known}"
        ))
    })
}

/// Whole numbers or strings.
fn array_labels(arrays: &Arrays, name: &str) -> Result<Vec<String>> {
    match arrays.ints(name) {
        Ok(numbers) => Ok(numbers.iter().map(i64::to_string).collect()),
        Err(_) => arrays.strings(name).map_err(data),
    }
}

/// Labels in a file of their own: an array, or one a line.
fn label_file(path: &Path) -> Result<Vec<String>> {
    if is_arrays(path) {
        let arrays = Arrays::open(path).map_err(data)?;
        let [name] = arrays.names() else {
            let message = format!("{}: it holds more than the labels", path.display());
            return Err(Error::Data(message));
        };
        return array_labels(&arrays, name);
    }
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    Ok(text.lines().map(|line| line.trim().to_string()).collect())
}
