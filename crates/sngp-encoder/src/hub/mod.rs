//! Encoders by their names on the Hugging Face hub, in the cache that Python's tools share.
//!
//! `ORGANISATION/NAME[@REVISION]` is looked up under `HF_ENDPOINT` with `HF_TOKEN`, and kept under
//! `HF_HUB_CACHE` or `HF_HOME`. With `HF_HUB_OFFLINE` only what is kept is used.

mod cache;
mod download;

use std::env;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use sngp::text::PretrainedEncoder;
use sngp::{Error, Result};

use self::cache::Cache;
use self::download::Client;
use crate::image_kinds;
use crate::receive::Failure;

const HUB: &str = "https://huggingface.co";
/// Small files that belong to an encoder, where a repository has them.
const SMALL: [&str; 9] = [
    "config.json",
    "tokenizer.json",
    "modules.json",
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "preprocessor_config.json",
    "processor_config.json",
    "labels.txt",
    "sentence_bert_config.json",
];
/// Weights of architectures that are read as they are published, and of any other.
const OWN: &str = "model.safetensors";
const GRAPHS: [&str; 2] = ["onnx/model.onnx", "model.onnx"];

/// A repository and the revision of it that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// `ORGANISATION/NAME`.
    pub repository: String,
    /// A branch, tag or commit.
    pub revision: String,
}

impl Name {
    /// Reads `ORGANISATION/NAME[@REVISION]`; none where it is no such name.
    ///
    /// ```
    /// use sngp_encoder::hub::Name;
    ///
    /// let name = Name::parse("sentence-transformers/all-MiniLM-L6-v2@refs-pr-1").unwrap();
    /// assert_eq!(name.revision, "refs-pr-1");
    /// assert_eq!(Name::parse("models/all/minilm"), None);
    /// assert_eq!(Name::parse("../minilm"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (repository, revision) = text.split_once('@').unwrap_or((text, "main"));
        let (organisation, name) = repository.split_once('/')?;
        let plain = |part: &str| {
            let signs = |sign: char| sign.is_ascii_alphanumeric() || "._-".contains(sign);
            !part.is_empty() && part.chars().all(signs) && !part.starts_with('.')
        };
        let sound = [organisation, name, revision].into_iter().all(plain);
        let (repository, revision) = (repository.to_string(), revision.to_string());
        sound.then_some(Self { repository, revision })
    }
}

/// Where names are looked up and what was fetched is kept.
#[derive(Clone, Debug)]
pub struct Hub {
    /// The address of the hub.
    pub endpoint: String,
    /// A token, for repositories that want one.
    pub token: Option<String>,
    /// The folder with all repositories.
    pub cache: PathBuf,
    /// Whether nothing is fetched.
    pub offline: bool,
}

impl Hub {
    /// By the variables that Python's tools read: `HF_ENDPOINT`, `HF_TOKEN`, `HF_HUB_CACHE`,
    /// `HF_HOME`, `HF_HUB_OFFLINE`.
    pub fn of_environment() -> Result<Self> {
        let set = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
        let caches = || {
            let caches = set("XDG_CACHE_HOME").map(PathBuf::from);
            let caches = caches.or_else(|| Some(env::home_dir()?.join(".cache")))?;
            Some(caches.join("huggingface"))
        };
        let home = || set("HF_HOME").map(PathBuf::from).or_else(caches).map(|at| at.join("hub"));
        let cache = set("HF_HUB_CACHE").map(PathBuf::from).or_else(home).ok_or_else(|| {
            Error::Unsupported("there is no home folder; set HF_HOME to a folder".to_string())
        })?;
        Ok(Self {
            endpoint: set("HF_ENDPOINT").unwrap_or_else(|| HUB.to_string()),
            token: set("HF_TOKEN"),
            cache,
            offline: set("HF_HUB_OFFLINE").is_some_and(|value| value != "0"),
        })
    }

    /// The folder that a repository is kept in, fetched where it is not yet. What is fetched is
    /// told.
    pub fn folder(&self, name: &Name, tell: &dyn Fn(&str)) -> Result<PathBuf> {
        let cache = Cache::new(&self.cache, &name.repository);
        if self.offline {
            return kept(&cache, name, "nothing is to be fetched");
        }
        match fetched(&Client::new(self), &cache, name, tell) {
            // A hub that is out of reach does not take away what is here.
            Err(Failure::Unreachable(reason)) => kept(&cache, name, &reason),
            Err(Failure::Refused(reason)) => {
                Err(Error::Unsupported(format!("{}: {reason}", name.repository)))
            }
            Err(Failure::Stopped(error)) => Err(error),
            Ok(folder) => Ok(folder),
        }
    }
}

/// An encoder on this machine: a path as it is, a name as the folder it is kept in.
pub fn locate(given: &Path, tell: &dyn Fn(&str)) -> Result<PathBuf> {
    let text = given.to_string_lossy();
    let name = Name::parse(&text).filter(|_| !given.exists() && !text.contains(".onnx"));
    match name {
        Some(name) => Hub::of_environment()?.folder(&name, tell),
        None => Ok(given.to_path_buf()),
    }
}

fn kept(cache: &Cache, name: &Name, reason: &str) -> Result<PathBuf> {
    let whole = |folder: &PathBuf| has_weights(|file| folder.join(file).is_file());
    cache.snapshot(&name.revision).filter(whole).ok_or_else(|| {
        let Name { repository, revision } = name;
        Error::Unsupported(format!(
            "{repository} cannot be fetched ({reason}) and is not kept in {}; download config.json, \
             tokenizer.json or preprocessor_config.json, and {OWN} or {}, of revision {revision} into \
             a folder, and give that folder",
            cache.folder().display(),
            GRAPHS[0]
        ))
    })
}

fn has_weights(has: impl Fn(&str) -> bool) -> bool {
    has(OWN) || GRAPHS.iter().any(|file| has(file))
}

fn fetched(
    client: &Client,
    cache: &Cache,
    name: &Name,
    tell: &dyn Fn(&str),
) -> Result<PathBuf, Failure> {
    let Name { repository, revision } = name;
    let about = client.json(&format!("api/models/{repository}/revision/{revision}"))?;
    let commit = about["sha"].as_str().filter(|sha| is_hexadecimal(sha));
    let commit = commit.ok_or_else(|| Failure::Refused("the hub names no commit".to_string()))?;
    let files: Vec<&str> = about["siblings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|file| file["rfilename"].as_str())
        .collect();
    let get = |file: &str| {
        let place = cache.file(commit, file);
        if !place.is_file() {
            tell(&format!("fetching {file} of {repository}"));
            client.download(cache, repository, commit, file)?;
        }
        Ok(place)
    };
    for file in SMALL.iter().filter(|file| files.contains(file)) {
        get(file)?;
    }
    let config = cache.file(commit, SMALL[0]);
    let config: Json = std::fs::read(config)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let own =
        config["model_type"].as_str().is_some_and(|kind| own_kinds().any(|known| known == kind));
    let graph = GRAPHS.iter().copied().find(|file| files.contains(file));
    let weights = match files.contains(&OWN) && own {
        true => OWN,
        false => graph.ok_or_else(|| {
            let known = own_kinds().collect::<Vec<_>>().join(", ");
            Failure::Refused(format!(
                "it has no ONNX file, and is none of {known} in {OWN}; a repository with {} is needed",
                GRAPHS[0]
            ))
        })?,
    };
    get(weights)?;
    cache.point(revision, commit).map_err(|error| Failure::Refused(error.to_string()))?;
    Ok(cache.file(commit, ""))
}

/// What is read from its weights: encoders of texts and of images.
fn own_kinds() -> impl Iterator<Item = &'static str> {
    PretrainedEncoder::kinds().chain(image_kinds())
}

fn is_hexadecimal(text: &str) -> bool {
    (8..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
