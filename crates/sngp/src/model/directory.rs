//! The model folder: written whole or not at all, verified when read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sngp_records::files::replace_folder;

use super::compose::Attachments;
use super::config::ModelConfig;
use super::decision::Decision;
use super::fitted::{Fitted, Member, Model};
use super::manifest::{MANIFEST, Manifest};
use super::tensors::{PrecisionInfo, Tensors};
use crate::backbone::Backbone;
use crate::exact_gp::{ExactGpClassifier, ExactGpState};
use crate::files::to_json;
use crate::network::NetworkPlan;
use crate::nn::{FeatureKind, HeadConfig};
use crate::posterior::Posterior;
use crate::spectral::SpectralNormalization;
use crate::{Error, Result};

const CONFIG: &str = "config.json";
const TENSORS: &str = "model.safetensors";
const LABELS: &str = "labels.json";

/// `config.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedConfig<C> {
    backbone: String,
    backbone_config: C,
    outputs: usize,
    model: ModelConfig,
    posteriors: Vec<SavedPosterior>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedPosterior {
    member: usize,
    ridge: f64,
    #[serde(flatten)]
    precision: PrecisionInfo,
}

/// The backbone's name in a model folder, read before its type is known.
#[derive(Debug, Deserialize)]
struct BackboneName {
    backbone: String,
}

/// Which backbone a saved model has, to load it as that. Its weights are not read.
pub fn backbone_name(folder: impl AsRef<Path>) -> Result<String> {
    let folder = folder.as_ref();
    let bytes = Manifest::read_one(folder, CONFIG)?;
    let named: Result<BackboneName, _> = serde_json::from_slice(&bytes);
    match named {
        Ok(named) => Ok(named.backbone),
        Err(error) => Err(Error::corrupt(folder.join(CONFIG), error.to_string())),
    }
}

impl<B: Backbone> Model<B> {
    /// Saves the model as a folder. It is written under a temporary name and put in its place in
    /// one step, so that a crash leaves the old model or the new one; a model that was there is
    /// replaced, anything else is left alone.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        if folder.exists() {
            check_replaceable(folder)?;
        }
        if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(Error::io(parent))?;
        }
        let files = self.files()?;
        replace_folder(folder, |part| -> Result<(), Failed> {
            for (name, bytes) in &files {
                crate::files::write_whole(&part.join(name), bytes)?;
            }
            Ok(crate::files::write_json(&part.join(MANIFEST), &Manifest::of(&files))?)
        })
        .map_err(|failed| match failed {
            Failed::Write(error) => error,
            Failed::Replace(cause) => Error::io(folder)(cause),
        })
    }

    /// Loads and verifies a model folder.
    pub fn load(folder: impl AsRef<Path>, device: &Device) -> Result<Self> {
        let folder = folder.as_ref();
        let mut files = Manifest::read(folder)?;
        let raw: SavedConfig<Value> = parse(folder, &files, CONFIG)?;
        let backbone_config = B::read_config(&raw.backbone, raw.backbone_config)
            .map_err(|error| Error::corrupt(folder.join(CONFIG), error.to_string()))?;
        let saved = SavedConfig {
            backbone: raw.backbone,
            backbone_config,
            outputs: raw.outputs,
            model: raw.model,
            posteriors: raw.posteriors,
            decision: raw.decision,
        };
        let labels: Vec<String> = parse(folder, &files, LABELS)?;
        let classes = saved.model.likelihood.classes(saved.outputs);
        if labels.len() != classes {
            let reason = format!("it names {} classes, the model has {classes}", labels.len());
            return Err(Error::corrupt(folder.join(LABELS), reason));
        }
        let path = folder.join(TENSORS);
        let bytes = files.get(TENSORS).ok_or_else(|| missing(folder, TENSORS))?;
        let mut tensors = Tensors::from_bytes(&path, bytes)?;
        let damaged = |error: Error| Error::corrupt(&path, error.to_string());
        let fitted = saved.restore::<B>(&mut tensors, device).map_err(damaged)?;
        tensors.finish().map_err(damaged)?;
        files.retain(|name, _| !is_reserved(name));
        Ok(Self {
            decision: saved.decision,
            attachments: files,
            config: saved.model,
            backbone: saved.backbone_config,
            labels,
            outputs: saved.outputs,
            device: device.clone(),
            fitted,
        })
    }

    /// The parameters of its networks, and the factors they predict their variance with.
    pub(super) fn member_tensors(&self) -> Tensors {
        let mut tensors = Tensors::default();
        let Fitted::Networks(members) = &self.fitted else { return tensors };
        for (index, member) in members.iter().enumerate() {
            tensors.put_module(&format!("members.{index}"), &member.network);
            if let Some(posterior) = &member.posterior {
                let factors = posterior.factors().clone();
                tensors.put_tensor(&posterior_names(index).factors, factors);
            }
        }
        tensors
    }

    /// Every file but the manifest.
    fn files(&self) -> Result<Attachments> {
        let mut tensors = self.member_tensors();
        let mut posteriors = Vec::new();
        match &self.fitted {
            Fitted::Exact(gp) => put_exact(&mut tensors, gp),
            Fitted::Networks(members) => {
                for (index, member) in members.iter().enumerate() {
                    if let Some(posterior) = &member.posterior {
                        let name = posterior_names(index);
                        tensors.put_precision(&name.precision, posterior.precision());
                        posteriors.push(SavedPosterior {
                            member: index,
                            ridge: posterior.ridge(),
                            precision: PrecisionInfo::of(posterior.precision()),
                        });
                    }
                }
            }
        }
        let config = SavedConfig {
            backbone: B::name(&self.backbone).to_string(),
            backbone_config: self.backbone.clone(),
            outputs: self.outputs,
            model: self.config.clone(),
            posteriors,
            decision: self.decision.clone(),
        };
        let config = to_json(&config)?;
        // JSON has no infinities: a folder with one would never be read again.
        serde_json::from_slice::<SavedConfig<Value>>(&config).map_err(|error| {
            Error::Data(format!("a number of the model is not finite, so it is not saved: {error}"))
        })?;
        let own =
            [(CONFIG, config), (TENSORS, tensors.to_bytes()?), (LABELS, to_json(&self.labels)?)];
        let own = own.into_iter().map(|(name, bytes)| (name.to_string(), bytes));
        Ok(self.attachments.clone().into_iter().chain(own).collect())
    }
}

/// Why a folder could not be replaced.
enum Failed {
    Write(Error),
    Replace(std::io::Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Write(error)
    }
}

impl From<std::io::Error> for Failed {
    fn from(cause: std::io::Error) -> Self {
        Self::Replace(cause)
    }
}

impl<C: Serialize> SavedConfig<C> {
    fn restore<B: Backbone<Config = C>>(
        &self,
        tensors: &mut Tensors,
        device: &Device,
    ) -> Result<Fitted<B>> {
        // Validation data is not saved, so an option that asks for some is no contradiction here.
        self.model.check(true)?;
        super::plausible::check(
            &self.backbone_config,
            self.outputs,
            &self.model,
            tensors.extent(),
        )?;
        let width = B::width(&self.backbone_config);
        super::plausible::check_drawn(width, self.outputs, &self.model, tensors.extent())?;
        let recipe = self.model.method.recipe();
        let Some(mut head) = self.model.head() else {
            return Ok(Fitted::Exact(Box::new(take_exact(tensors, &self.model)?)));
        };
        if let HeadConfig::GaussianProcess(gp) = &mut head {
            // The weights come from the file: no need to make orthogonal ones to be replaced.
            gp.features.kind = FeatureKind::Gaussian;
        }
        let curvature = self.model.likelihood.curvature(self.model.posterior.curvature)?;
        let wanted = match &head {
            HeadConfig::GaussianProcess(gp) => {
                Some((curvature.matrices(self.outputs), gp.features.dimension(width)))
            }
            _ => None,
        };
        let plan = NetworkPlan::<B> {
            backbone: &self.backbone_config,
            head,
            // Its state is read from the file: nothing is warmed up for a model that is trained.
            spectral: None,
            outputs: self.outputs,
            log_noise: self.model.likelihood.initial_log_noise(),
            pretrained: None,
            pretrained_head: None,
            seed: self.model.seed,
        };
        let member = |index: usize| -> Result<Member<B>> {
            let path = format!("members.{index}");
            let mut network = tensors.take_module(&path, plan.blank(device)?)?;
            let spectral = format!("{path}.spectral");
            // A backbone that was not trained has no such state.
            if recipe.spectral && tensors.contains_below(&spectral) {
                let state =
                    SpectralNormalization::blank(&self.model.spectral, &mut network.backbone);
                network.spectral = Some(tensors.take_module(&spectral, state)?);
            }
            let saved = self.posteriors.iter().find(|posterior| posterior.member == index);
            if saved.is_some() != wanted.is_some() {
                let message =
                    format!("member {index}: {} and its posterior do not fit", self.model.method);
                return Err(Error::Data(message));
            }
            let posterior = saved.map(|saved| {
                let name = posterior_names(index);
                let precision = tensors.take_precision(&name.precision, &saved.precision)?;
                let found = (precision.matrices(), precision.dimension());
                if Some(found) != wanted {
                    let (wanted, found) = (format!("{wanted:?}"), format!("{:?}", Some(found)));
                    return Err(Error::shape(
                        "matrices and features of the posterior",
                        wanted,
                        found,
                    ));
                }
                if precision.hash() != network.feature_map_hash(&self.backbone_config) {
                    let message = "the posterior was accumulated with another feature map";
                    return Err(Error::Data(message.to_string()));
                }
                if !(saved.ridge.is_finite() && saved.ridge > 0.0) {
                    return Err(Error::config("the ridge", saved.ridge, "it must be positive"));
                }
                let (shape, values) = tensors.take_f32(&name.factors)?;
                let expected =
                    vec![precision.matrices(), precision.dimension(), precision.dimension()];
                if shape != expected {
                    let (expected, shape) = (format!("{expected:?}"), format!("{shape:?}"));
                    return Err(Error::shape(name.factors, expected, shape));
                }
                let factors = Tensor::<3>::from_data(TensorData::new(values, shape), device);
                Ok(Posterior::restore(precision, saved.ridge, factors))
            });
            Ok(Member { network: network.valid(), posterior: posterior.transpose()? })
        };
        Ok(Fitted::Networks((0..recipe.members).map(member).collect::<Result<_>>()?))
    }
}

struct PosteriorNames {
    precision: String,
    factors: String,
}

fn posterior_names(member: usize) -> PosteriorNames {
    PosteriorNames {
        precision: format!("members.{member}.posterior.precision"),
        factors: format!("members.{member}.posterior.factors"),
    }
}

fn put_exact(tensors: &mut Tensors, gp: &ExactGpClassifier) {
    let state = gp.state();
    let mut put = |name: &str, values: &Array2<f64>| {
        let flat: Vec<f64> = values.iter().copied().collect();
        tensors.put_f64(name, values.shape().to_vec(), &flat);
    };
    put("exact_gp.inputs", &state.inputs);
    put("exact_gp.mode", &state.mode);
    let labels = state.labels.iter().map(|&label| label as f64).collect::<Vec<_>>();
    tensors.put_f64("exact_gp.labels", vec![labels.len()], &labels);
    tensors.put_f64("exact_gp.classes", vec![1], &[state.classes as f64]);
}

fn take_exact(tensors: &mut Tensors, config: &ModelConfig) -> Result<ExactGpClassifier> {
    let mut matrix = |name: &str| -> Result<Array2<f64>> {
        let (shape, values) = tensors.take_f64(name)?;
        let [rows, columns] = shape[..] else {
            return Err(Error::shape(format!("axes of `{name}`"), 2, shape.len()));
        };
        Array2::from_shape_vec((rows, columns), values).map_err(|e| Error::Data(e.to_string()))
    };
    let (inputs, mode) = (matrix("exact_gp.inputs")?, matrix("exact_gp.mode")?);
    let (_, labels) = tensors.take_f64("exact_gp.labels")?;
    if let Some(label) = labels.iter().find(|label| !(**label >= 0.0 && label.fract() == 0.0)) {
        return Err(Error::Data(format!("tensor `exact_gp.labels`: {label} is not a class")));
    }
    let (_, classes) = tensors.take_f64("exact_gp.classes")?;
    ExactGpClassifier::from_state(ExactGpState {
        length_scale: config.exact_gp.length_scale,
        classes: classes.first().map_or(0, |&classes| classes as usize),
        inputs,
        labels: labels.into_iter().map(|label| label as usize).collect(),
        mode,
    })
}

fn parse<T: serde::de::DeserializeOwned>(
    folder: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    name: &str,
) -> Result<T> {
    let bytes = files.get(name).ok_or_else(|| missing(folder, name))?;
    serde_json::from_slice(bytes).map_err(|e| Error::corrupt(folder.join(name), e.to_string()))
}

/// Whether a file of this name is part of every model folder.
pub(super) fn is_reserved(name: &str) -> bool {
    [CONFIG, TENSORS, LABELS, MANIFEST].contains(&name)
}

fn missing(folder: &Path, name: &str) -> Error {
    Error::corrupt(folder, format!("the manifest lists no {name}"))
}

/// A folder may be replaced when it is empty, or a model of ours with nothing else in it.
pub fn check_replaceable(folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(Error::io(folder))?;
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    if names.is_empty() {
        return Ok(());
    }
    if !Manifest::is_ours(folder) {
        return Err(Error::NotOurs(folder.to_path_buf()));
    }
    let listed = Manifest::names(folder)?;
    let ours = |name: &str| is_reserved(name) || listed.iter().any(|listed| listed == name);
    match names.iter().find(|name| !name.to_str().is_some_and(ours)) {
        None => Ok(()),
        Some(name) => {
            let reason = format!(
                "it is a model, but {} in it is not; move that away or save elsewhere",
                name.to_string_lossy()
            );
            Err(Error::corrupt(folder, reason))
        }
    }
}
