//! A file of examples, of whatever kind.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use ndarray::ArrayView2;
use sngp::{Error, Result};
use sngp_records::image::Picture;
use sngp_records::{Arrays, Cell, Matrix, Records, is_address};

use super::preparation::folder_of;

/// Rows read at a time.
const CHUNK: usize = 8192;
/// Names that arrays of vectors usually have.
const VECTOR_NAMES: [&str; 8] =
    ["x", "X", "vectors", "embeddings", "embedding", "features", "data", "train_x"];

/// Examples as they are in a file or in memory, not yet what a model takes.
pub struct Dataset {
    /// Where they come from, for messages.
    pub file: String,
    /// The folder that paths in it are relative to.
    pub folder: PathBuf,
    /// The examples.
    pub body: Body,
    /// The label of every row, as text, where the file has them.
    pub labels: Option<Vec<String>>,
    /// Rows that were left out because they have no label.
    pub unlabelled: usize,
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
    /// Images in memory.
    Pictures {
        /// What they are called.
        name: String,
        /// An image a row.
        pictures: Vec<Picture>,
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
    /// use sngp_pipeline::input::Place;
    ///
    /// let place = Place::parse("clinc.npz:test_x:test_y");
    /// assert_eq!(place.path, std::path::Path::new("clinc.npz"));
    /// assert_eq!(place.labels.as_deref(), Some("test_y"));
    /// assert_eq!(Place::parse("rows.csv").vectors, None);
    /// let place = Place::parse("s3://bucket/clinc.npz:test_x");
    /// assert_eq!(place.path, std::path::Path::new("s3://bucket/clinc.npz"));
    /// assert_eq!(place.vectors.as_deref(), Some("test_x"));
    /// ```
    pub fn parse(text: &str) -> Self {
        let whole = Self { path: PathBuf::from(text), vectors: None, labels: None };
        // The colon of an address ends no path.
        let scheme = if is_address(text) { text.find("://").map_or(0, |at| at + 3) } else { 0 };
        let (path, names) = match text[scheme..].split_once(':') {
            Some((path, names)) => (&text[..scheme + path.len()], names),
            None => (text, ""),
        };
        let path = PathBuf::from(path);
        let mut parts = names.split(':');
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
    /// Vectors of any model, one a row.
    ///
    /// ```
    /// use ndarray::array;
    /// use sngp_pipeline::input::Dataset;
    ///
    /// let set = Dataset::of_vectors(array![[0.0, 1.0], [1.0, 0.0]].view())?.with_labels(["a", "b"])?;
    /// assert_eq!(set.rows(), 2);
    /// assert!(Dataset::of_texts(["one"]).with_labels([1, 2]).is_err());
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn of_vectors(vectors: ArrayView2<'_, f32>) -> Result<Self> {
        let values = vectors.iter().copied().collect();
        let matrix = Matrix::from_memory(vectors.nrows(), vectors.ncols(), values)?;
        let matrix = Arc::new(matrix);
        Ok(Self::of_memory(Body::Vectors { name: "vectors".to_string(), matrix }))
    }

    /// Texts.
    pub fn of_texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        let rows = texts.into_iter().map(|text| vec![Cell::Text(text.into())]).collect();
        Self::of_memory(Body::Rows { names: vec!["text".to_string()], rows })
    }

    /// A table of named columns.
    pub fn of_cells(names: Vec<String>, rows: Vec<Vec<Cell>>) -> Result<Self> {
        if let Some(row) = rows.iter().position(|row| row.len() != names.len()) {
            let what = format!("cells of row {}", row + 1);
            return Err(Error::shape(what, names.len(), rows[row].len()));
        }
        Ok(Self::of_memory(Body::Rows { names, rows }))
    }

    /// A table as Arrow record batches.
    pub fn of_batches(batches: impl RecordBatchReader + Send + 'static) -> Result<Self> {
        let mut records = Records::from_batches(batches)?;
        let names = records.columns().to_vec();
        let mut rows = Vec::new();
        while let Some(cells) = records.next_cells(CHUNK)? {
            rows.extend(cells);
        }
        Self::of_cells(names, rows)
    }

    /// Images.
    pub fn of_pictures(pictures: Vec<Picture>) -> Self {
        Self::of_memory(Body::Pictures { name: "image".to_string(), pictures })
    }

    fn of_memory(body: Body) -> Self {
        let file = "the data".to_string();
        Self { file, folder: PathBuf::new(), body, labels: None, unlabelled: 0 }
    }

    /// The same with a label for every row: a class, or a number to be predicted.
    pub fn with_labels<T: ToString>(mut self, labels: impl IntoIterator<Item = T>) -> Result<Self> {
        let labels: Vec<String> = labels.into_iter().map(|label| label.to_string()).collect();
        if labels.len() != self.rows() {
            let what = format!("labels of {}", self.file);
            return Err(Error::shape(what, self.rows(), labels.len()));
        }
        self.labels = Some(labels);
        Ok(self)
    }

    /// The same with the labels of one of its columns. Rows without one are left out and counted.
    pub fn with_label_column(mut self, column: &str) -> Result<Self> {
        let Body::Rows { names, rows } = &mut self.body else {
            let message = format!("{}: it has no columns, so no column `{column}`", self.file);
            return Err(Error::Data(message));
        };
        let place = names.iter().position(|name| name == column).ok_or_else(|| {
            let known = names.join(", ");
            Error::Data(format!("{}: no column `{column}`; there are {known}", self.file))
        })?;
        let before = rows.len();
        rows.retain(|row| row[place] != Cell::Missing);
        self.unlabelled = before - rows.len();
        let label = |row: &Vec<Cell>| row[place].to_field().trim().to_string();
        self.labels = Some(rows.iter().map(label).collect());
        Ok(self)
    }

    /// Reads a file. `label` names the column or array of labels; for an `.npy` file it is another
    /// file with them. With `need_labels` a file without is an error.
    pub fn read(place: &Place, label: Option<&str>, need_labels: bool) -> Result<Self> {
        let path = &place.path;
        let file = path.display().to_string();
        if path.is_dir() {
            return Self::of_folder(path, file);
        }
        let label = place.labels.as_deref().or(label);
        if is_arrays(path) {
            let (body, labels) = read_arrays(place, label, need_labels)?;
            let set = Self { file, ..Self::of_memory(body) };
            return match labels {
                Some(labels) => set.with_labels(labels),
                None => Ok(set),
            };
        }
        let mut records = Records::open(path)?;
        let names = records.columns().to_vec();
        let mut rows: Vec<Vec<Cell>> = Vec::new();
        while let Some(cells) = records.next_cells(CHUNK)? {
            rows.extend(cells);
        }
        let set = Self { file, folder: folder_of(path), ..Self::of_cells(names, rows)? };
        let Body::Rows { names, .. } = &set.body else { return Ok(set) };
        match label {
            Some(label) if need_labels || names.iter().any(|name| name == label) => {
                set.with_label_column(label)
            }
            _ => Ok(set),
        }
    }

    /// A folder with a sub-folder of images a class, as a table of paths and classes.
    fn of_folder(path: &Path, file: String) -> Result<Self> {
        let files = super::images::list(path)?;
        let names = vec!["path".to_string(), "label".to_string()];
        let rows = files.into_iter().map(|(path, label)| vec![Cell::Text(path), Cell::Text(label)]);
        let set = Self::of_cells(names, rows.collect())?;
        Self { file, folder: path.to_path_buf(), ..set }.with_label_column("label")
    }

    /// The number of examples.
    pub fn rows(&self) -> usize {
        match &self.body {
            Body::Rows { rows, .. } => rows.len(),
            Body::Vectors { matrix, .. } => matrix.rows(),
            Body::Pictures { pictures, .. } => pictures.len(),
        }
    }

    /// The labels of a set that has to have some.
    pub fn labels(&self) -> Result<&[String]> {
        self.labels.as_deref().ok_or_else(|| Error::Data(format!("{} has no labels", self.file)))
    }

    /// The label and text of a column, for showing an example.
    pub fn cell(&self, row: usize, column: &str) -> Option<&Cell> {
        let Body::Rows { names, rows } = &self.body else { return None };
        let place = names.iter().position(|name| name == column)?;
        rows.get(row)?.get(place)
    }
}

type Parts = (Body, Option<Vec<String>>);

fn read_arrays(place: &Place, label: Option<&str>, need_labels: bool) -> Result<Parts> {
    let path = &place.path;
    let arrays = Arrays::open(path)?;
    let name = vectors_name(&arrays, place, label)?;
    let matrix = arrays.view2(&name)?;
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
        Err(_) => Ok(arrays.strings(name)?),
    }
}

/// Labels in a file of their own: an array, or one a line.
fn label_file(path: &Path) -> Result<Vec<String>> {
    if is_arrays(path) {
        let arrays = Arrays::open(path)?;
        let [name] = arrays.names() else {
            let message = format!("{}: it holds more than the labels", path.display());
            return Err(Error::Data(message));
        };
        return array_labels(&arrays, name);
    }
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    Ok(text.lines().map(|line| line.trim().to_string()).collect())
}
