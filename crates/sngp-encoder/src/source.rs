//! Where an encoder is, and what lies beside it.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use sngp::text::SentenceRecipe;
use sngp::{Error, Result};

use crate::file::File;
use crate::pixels::Pixels;
use crate::processor;
use crate::published::{self, WEIGHTS};

/// How images are prepared.
pub(crate) const PROCESSOR: &str = "preprocessor_config.json";
const PROCESSORS: &str = "processor_config.json";
/// Where people keep the file, in a folder.
const FILES: [&str; 2] = ["model.onnx", "onnx/model.onnx"];
/// What names a classifier's classes, one a line, where no `config.json` does.
const LABELS: &str = "labels.txt";

/// An ONNX file or a network's published weights, and the tensor of it that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// The tensor that describes the input; guessed when absent.
    pub tensor: Option<String>,
}

impl Source {
    /// Reads `FILE.onnx[:TENSOR]`, a folder with such a file and no `model.safetensors`, or one with the
    /// weights of a network of images ([`image_kinds`](crate::image_kinds)); none where it is
    /// something else. A file that has the whole name is meant first.
    ///
    /// ```
    /// use sngp_encoder::Source;
    ///
    /// let source = Source::parse("resnet50.onnx:flatten_473".as_ref()).unwrap();
    /// assert_eq!(source.path, std::path::Path::new("resnet50.onnx"));
    /// assert_eq!(source.tensor.as_deref(), Some("flatten_473"));
    /// assert_eq!(Source::parse("models/all-MiniLM-L6-v2".as_ref()), None);
    /// ```
    pub fn parse(given: &Path) -> Option<Self> {
        let text = given.to_string_lossy();
        if published::is_here(given) {
            return Some(Self { path: given.join(WEIGHTS), tensor: None });
        }
        if given.is_dir() {
            let own = given.join(WEIGHTS).is_file();
            let file = FILES.iter().map(|name| given.join(name)).find(|path| path.is_file());
            return file.filter(|_| !own).map(|path| Self { path, tensor: None });
        }
        if text.to_lowercase().ends_with(".onnx") || given.is_file() {
            return Some(Self { path: given.to_path_buf(), tensor: None });
        }
        let place = text.to_lowercase().find(".onnx:")? + ".onnx".len();
        let (path, tensor) = (text.get(..place)?, text.get(place + 1..)?);
        Some(Self { path: PathBuf::from(path), tensor: Some(tensor.to_string()) })
    }

    /// The network's graph.
    pub(crate) fn file(&self) -> Result<File> {
        match self.path.file_name().is_some_and(|name| name == WEIGHTS) {
            true => published::read(self),
            false => File::read(&self.path),
        }
    }

    /// A file beside the network's, or in the folder above it.
    pub fn beside(&self, name: &str) -> Option<PathBuf> {
        let folder = self.path.parent()?;
        let above = folder.parent().filter(|_| folder.file_name().is_some_and(|f| f == "onnx"));
        let places = [Some(folder), above].into_iter().flatten();
        places.map(|place| place.join(name)).find(|path| path.is_file())
    }

    /// A JSON file beside it.
    pub fn json(&self, name: &str) -> Result<Option<Json>> {
        let Some(path) = self.beside(name) else { return Ok(None) };
        let bytes = fs::read(&path).map_err(Error::io(&path))?;
        let json = serde_json::from_slice(&bytes);
        json.map(Some).map_err(|error| Error::corrupt(&path, error.to_string()))
    }

    /// The names of a classifier's classes, in its order: by `id2label` in `config.json`, by the lines of
    /// `labels.txt`, or else their numbers from 0 on.
    pub fn class_names(&self, classes: usize) -> Result<Vec<String>> {
        let config = self.json("config.json")?.unwrap_or_default();
        let names = if let Some(named) = config["id2label"].as_object() {
            let name = |id: usize| named.get(&id.to_string()).and_then(Json::as_str);
            let names: Option<Vec<String>> =
                (0..named.len()).map(|id| name(id).map(str::to_string)).collect();
            names.ok_or_else(|| self.unfit("config.json", "id2label has not every number"))?
        } else if let Some(path) = self.beside(LABELS) {
            let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
            text.lines().map(|line| line.trim().to_string()).collect()
        } else {
            numbers(classes)
        };
        let file = if config["id2label"].is_object() { "config.json" } else { LABELS };
        if names.len() != classes {
            let reason = format!("it names {} classes, and the network has {classes}", names.len());
            return Err(self.unfit(file, &reason));
        }
        let mut known = HashSet::new();
        if let Some(twice) = names.iter().find(|name| !known.insert(*name)) {
            return Err(self.unfit(file, &format!("two classes are called `{twice}`")));
        }
        // Names that nobody has given.
        let unnamed = names.iter().enumerate().all(|(id, name)| *name == format!("LABEL_{id}"));
        Ok(if unnamed { numbers(classes) } else { names })
    }

    /// Whether one class is right, not each by itself, nor numbers.
    pub(crate) fn has_one_right_class(&self) -> Result<bool> {
        let config = self.json("config.json")?.unwrap_or_default();
        Ok(matches!(config["problem_type"].as_str(), None | Some("single_label_classification")))
    }

    /// How images are prepared, where a file beside it says so; `own` is the size that the network
    /// says itself.
    pub(crate) fn prepared(&self, own: Option<[usize; 2]>) -> Result<Option<Pixels>> {
        let (name, config) = match self.json(PROCESSOR)? {
            Some(config) => (PROCESSOR, config),
            // Newer versions keep it with what prepares texts.
            None => match self.json(PROCESSORS)?.map(|mut both| both["image_processor"].take()) {
                Some(config) if config.is_object() => (PROCESSORS, config),
                _ => return Ok(None),
            },
        };
        processor::read(&config, own).map(Some).map_err(|reason| self.unfit(name, &reason))
    }

    fn unfit(&self, name: &str, reason: &str) -> Error {
        Error::corrupt(self.beside(name).unwrap_or_else(|| name.into()), reason)
    }

    /// How sentence encoders say that vectors of tokens become one, by what lies beside it.
    pub fn recipe(&self) -> Result<SentenceRecipe> {
        SentenceRecipe::read(|name| self.beside(name))
    }
}

/// Classes by their numbers.
fn numbers(classes: usize) -> Vec<String> {
    (0..classes).map(|class| class.to_string()).collect()
}
