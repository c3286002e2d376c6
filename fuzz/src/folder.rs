//! Model folders with something changed and the hashes put right: what a hostile folder is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use burn::tensor::Device;
use ndarray::Array2;
use sha2::{Digest, Sha256};
use sngp_pipeline::input::{Dataset, Preparation};
use sngp_pipeline::{Detail, Options, Pipeline};
use sngp_records::Cell;
use sngp_records::image::Picture;

/// The file that lists the hashes of the others.
pub const MANIFEST: &str = "manifest.json";

/// A model folder in memory.
#[derive(Clone)]
pub struct Folder {
    /// What it is called in messages.
    pub name: String,
    /// Its files by name.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Folder {
    /// Reads one.
    pub fn read(path: &Path) -> Self {
        let entries = fs::read_dir(path).expect("a model folder");
        let file = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.expect("a file");
            let name = entry.file_name().into_string().expect("a plain name");
            (name, fs::read(entry.path()).expect("a file"))
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { name, files: entries.map(file).collect() }
    }

    /// The same with one file replaced, and the manifest's hash of it.
    pub fn with(&self, name: &str, content: &[u8]) -> Self {
        let mut files = self.files.clone();
        files.insert(name.to_string(), content.to_vec());
        if name != MANIFEST {
            let mut manifest: serde_json::Value =
                serde_json::from_slice(&files[MANIFEST]).expect("a manifest");
            let mut hash = String::new();
            for byte in Sha256::digest(content) {
                let _ = write!(hash, "{byte:02x}");
            }
            manifest["files"][name] = hash.into();
            files.insert(MANIFEST.to_string(), manifest.to_string().into_bytes());
        }
        Self { name: self.name.clone(), files }
    }

    /// Writes it to an existing folder.
    pub fn write(&self, path: &Path) {
        for (name, content) in &self.files {
            fs::write(path.join(name), content).expect("a file to write to");
        }
    }

    /// Does with it what commands do: loads, examines, answers, learns.
    pub fn exercise(&self) {
        let place = tempfile::tempdir().expect("a folder to write to");
        self.write(place.path());
        let Ok(mut pipeline) = Pipeline::load(place.path(), &Device::flex()) else { return };
        let _ = pipeline.model().inspect();
        let _ = pipeline.signature();
        let Some(rows) = rows(&pipeline) else { return };
        let _ = pipeline.answer_with(&rows, Detail { probabilities: true, ..Default::default() });
        if let Ok(part) = pipeline.accumulate(&rows) {
            let _ = pipeline.update(&part, Some(0.5));
            let _ = pipeline.answer(&rows);
        }
    }
}

/// A few rows of the kind that a pipeline takes.
fn rows(pipeline: &Pipeline) -> Option<Dataset> {
    let preparation = &pipeline.card().preparation;
    let names: Vec<String> = preparation.columns().iter().map(|name| name.to_string()).collect();
    match preparation {
        Preparation::Vectors { width, .. } => {
            let values = Array2::from_shape_fn((3, *width), |(i, j)| (i + j) as f32 * 0.1);
            Dataset::of_vectors(values.view()).ok()
        }
        Preparation::Images(_) => {
            let picture = |grey| Picture::from_rgb(9, 9, vec![grey; 243]).expect("a picture");
            Some(Dataset::of_pictures(vec![picture(7), picture(200)]))
        }
        _ if preparation.takes_text() => {
            let texts = ["pay the bill of 7 from my account", "", "zzz \u{1f980}"];
            let rows = texts.map(|text| vec![Cell::Text(text.to_string())]).to_vec();
            Dataset::of_cells(names, rows).ok()
        }
        _ => {
            let width = names.len();
            let rows = vec![
                vec![Cell::Number(1.5); width],
                vec![Cell::Text("red".to_string()); width],
                vec![Cell::Missing; width],
                vec![Cell::Number(-1e38); width],
            ];
            Dataset::of_cells(names, rows).ok()
        }
    }
}

/// The folders that are changed: those of the first version, and two of today.
pub fn folders() -> &'static [Folder] {
    static FOLDERS: OnceLock<Vec<Folder>> = OnceLock::new();
    FOLDERS.get_or_init(|| {
        let old = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../crates/sngp-pipeline/tests/folders/models");
        let mut paths: Vec<PathBuf> =
            fs::read_dir(old).expect("model folders").flatten().map(|e| e.path()).collect();
        paths.sort();
        let mut folders: Vec<Folder> = paths.iter().map(|path| Folder::read(path)).collect();
        folders.extend([saved("new-table", &mut table()), saved("new-vectors", &mut vectors())]);
        folders
    })
}

fn saved(name: &str, pipeline: &mut Pipeline) -> Folder {
    let place = tempfile::tempdir().expect("a folder to write to");
    pipeline.save(place.path().join(name)).expect("a model that can be saved");
    Folder::read(&place.path().join(name))
}

fn options() -> Options<'static> {
    Options { label: "kind".to_string(), features: 16, ..Default::default() }
}

/// Two numbers and a category.
fn table() -> Pipeline {
    let row = |i: usize| {
        let number = |j: usize| Cell::Number(((i * (j + 3)) as f64).sin() + (i % 2) as f64 * 3.0);
        let colour = Cell::Text(["red", "blue"][i / 2 % 2].to_string());
        vec![number(0), number(1), colour, Cell::Text(["ash", "birch"][i % 2].to_string())]
    };
    let names = ["size", "weight", "colour", "kind"].map(str::to_string).to_vec();
    let set = Dataset::of_cells(names, (0..80).map(row).collect());
    let set = set.and_then(|set| set.with_label_column("kind")).expect("a table");
    Pipeline::fit(&set, None, &options()).expect("a fit").pipeline
}

fn vectors() -> Pipeline {
    let values = Array2::from_shape_fn((80, 3), |(i, j)| {
        (i % 2) as f32 * 2.0 + 0.2 * ((i * (j + 3)) as f32).sin()
    });
    let labels: Vec<usize> = (0..80).map(|i| i % 2).collect();
    Pipeline::fit_vectors(values.view(), &labels, &options()).expect("a fit")
}
