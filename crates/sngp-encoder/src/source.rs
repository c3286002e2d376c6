//! Where an encoder is, and what lies beside it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use sngp::{Error, Result};

use crate::features::{Pooling, Reduction};

/// Where people keep the file, in a folder.
const FILES: [&str; 2] = ["model.onnx", "onnx/model.onnx"];

/// An ONNX file, and the tensor of it that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// The tensor that describes the input; guessed when absent.
    pub tensor: Option<String>,
}

impl Source {
    /// Reads `FILE.onnx[:TENSOR]`, or a folder with such a file and no `model.safetensors`; none
    /// where it is something else. A file that has the whole name is meant first.
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
        if given.is_dir() {
            let own = given.join("model.safetensors").is_file();
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

    /// A file beside the ONNX file, or in the folder above it.
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

    /// How sentence encoders say that vectors of tokens become one: by `1_Pooling/config.json` and
    /// `modules.json`; by their mean where neither is there.
    pub fn reduction(&self) -> Result<Reduction> {
        let mut reduction = Reduction { pooling: Pooling::Mean, normalized: false };
        if let Some(config) = self.json("1_Pooling/config.json")? {
            let modes = config.as_object().into_iter().flatten();
            let on: Vec<&str> = modes
                .filter(|(name, value)| name.starts_with("pooling_mode") && **value == true)
                .map(|(name, _)| name.as_str())
                .collect();
            reduction.pooling = match on[..] {
                ["pooling_mode_mean_tokens"] | [] => Pooling::Mean,
                ["pooling_mode_cls_token"] => Pooling::First,
                _ => {
                    let modes = on.join(", ");
                    let path = self.beside("1_Pooling/config.json").unwrap_or_default();
                    return Err(Error::corrupt(path, format!("{modes} is not supported")));
                }
            };
        }
        for module in self.json("modules.json")?.iter().filter_map(Json::as_array).flatten() {
            let kind = module["type"].as_str().unwrap_or_default();
            match kind.rsplit('.').next().unwrap_or_default() {
                "Transformer" | "Pooling" => {}
                "Normalize" => reduction.normalized = true,
                other => {
                    let path = self.beside("modules.json").unwrap_or_default();
                    let reason = format!(
                        "the module {other} comes after the transformer, and is not in the graph \
                         unless it was exported with it; name the tensor of the whole"
                    );
                    return Err(Error::corrupt(path, reason));
                }
            }
        }
        Ok(reduction)
    }
}
