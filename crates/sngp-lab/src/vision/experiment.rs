//! Experiments on images as TOML files.

use std::path::PathBuf;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use sngp::augment::Augmentation;
use sngp::backbone::{
    ResNetConfig, ShippedConfig, WhitenedResNetConfig, Whitening, WideResNetConfig,
};
use sngp::data::Inputs;
use sngp::method::Method;
use sngp::model::ModelConfig;
use sngp::weights::{KeyMap, KeyRule};
use sngp::{Error, Result};

use super::shift::ShiftConfig;
use super::source::Source;
use crate::bench::{MISTAKES, TuningConfig, failure_with};
use crate::dataset::image::{ImageInputs, channel_moments};
use crate::experiment::{check_networks, overlaid, read};
use crate::published;

macro_rules! built_in {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../experiments/", $name, ".toml")))),+]
    };
}

/// The experiments that are built into the binary, by name.
pub const BUILT_IN: [(&str, &str); 7] = built_in![
    "cifar10-quick",
    "cifar10-cpu",
    "cifar100-cpu",
    "cifar10-paper",
    "cifar10-resnet20",
    "cifar100-quick",
    "cifar100-paper",
];

/// What else figures are measured on, or are about.
const OTHER_SPLITS: [&str; 6] = ["test", "corrupted", "validation", "tuned", "one image", MISTAKES];

/// An experiment on images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VisionExperiment {
    /// The images.
    pub data: ImageData,
    /// What is done to training images.
    #[serde(default)]
    pub augmentation: Augmentation,
    /// Sets of OOD images, which are of no class. Files from before call them `strangers`.
    #[serde(alias = "strangers")]
    pub ood: Vec<OodConfig>,
    /// The same classes under worse conditions.
    pub shift: Option<ShiftConfig>,
    /// The network.
    pub network: NetworkConfig,
    /// Published weights it starts from.
    pub pretrained: Option<PretrainedConfig>,
    /// What is chosen on held-out data.
    #[serde(default)]
    pub tuning: TuningConfig,
    /// The methods that are compared where none are named; those of the paper by default.
    #[serde(default)]
    pub compare: Vec<String>,
    /// The options of every part; the method is set by the benchmark.
    pub model: ModelConfig,
    /// What single methods have otherwise: a table of the shape of `model` for each of them.
    #[serde(default)]
    pub methods: toml::Table,
}

/// Labelled images, and how many are held out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageData {
    /// Where they come from.
    pub source: Source,
    /// Training images that are held out for choices: the last ones.
    pub validation: usize,
    /// How many of them also count corrupted, in the four ways that CIFAR-10-C keeps for validation
    /// and at every severity, where ridge and mean-field factor are chosen. None of these ways is
    /// measured on.
    #[serde(default)]
    pub corrupted_validation: usize,
    /// How many of the others are trained on, all by default: the first ones.
    pub train: Option<usize>,
}

/// A set of OOD images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OodConfig {
    /// Where they come from; the test part is taken.
    pub source: Source,
}

/// The hidden mapping. The image's size is that of the data, and the channels are normalized by
/// the training images' moments where nothing else is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NetworkConfig {
    /// A wide residual network.
    WideResnet(WideResNetConfig),
    /// The residual network of published CIFAR weights.
    Resnet(ResNetConfig),
    /// The residual network that is trained in minutes, its first layer learnt from the images.
    WhitenedResnet(WhitenedResNetConfig),
}

impl NetworkConfig {
    /// The backbone's configuration with what an experiment leaves to the training images: their
    /// size, how their channels are normalized and their patches whitened where nothing else was
    /// given.
    pub fn complete(&self, inputs: &ImageInputs) -> Result<ShippedConfig> {
        let images = inputs.images();
        let image = [images.channels, images.height, images.width];
        let moments = || channel_moments(images);
        Ok(match self.clone() {
            Self::WideResnet(mut config) => {
                config.image = image;
                config.normalization.get_or_insert_with(moments);
                config.into()
            }
            Self::Resnet(mut config) => {
                config.image = image;
                config.normalization.get_or_insert_with(moments);
                config.into()
            }
            Self::WhitenedResnet(mut config) => {
                config.image = image;
                let units = config.normalization.get_or_insert_with(moments);
                if config.whitening.is_none() {
                    let rows: Vec<usize> = (0..images.len().min(Whitening::IMAGES)).collect();
                    let pixels = inputs.batch(&rows, &Device::flex());
                    config.whitening = Some(Whitening::learn(pixels, Some(units))?);
                }
                config.into()
            }
        })
    }
}

/// Published weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PretrainedConfig {
    /// A safetensors file, relative to the data folder.
    pub file: PathBuf,
    /// What its tensors are called.
    pub keys: PublishedNames,
    /// Rules for names of another kind, applied before those of `keys`.
    #[serde(default)]
    pub rules: Vec<KeyRule>,
    /// What is trained.
    pub train: Trained,
}

/// Names that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublishedNames {
    /// PyTorch's usual ones of CIFAR's ResNets.
    Resnet,
    /// Those of a model folder of ours.
    Own,
}

impl PretrainedConfig {
    /// The mapping of its names.
    pub fn map(&self) -> KeyMap {
        let known = match self.keys {
            PublishedNames::Resnet => KeyMap::resnet(),
            PublishedNames::Own => KeyMap::own(),
        };
        KeyMap { rules: [self.rules.clone(), known.rules].concat() }
    }
}

/// How much of a pretrained network is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trained {
    /// All of it.
    Everything,
    /// A new output layer only. Methods with a dense output keep the published one.
    Output,
}

impl VisionExperiment {
    /// Parses an experiment. Unknown names are refused wherever they stand.
    ///
    /// ```
    /// use sngp_lab::vision::{BUILT_IN, VisionExperiment};
    ///
    /// for (name, text) in BUILT_IN {
    ///     assert!(VisionExperiment::parse(text).is_ok(), "{name}");
    /// }
    /// assert!(VisionExperiment::parse("epochs = 3").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let experiment: Self = read(text)?;
        check_networks(&experiment.model, &experiment.methods, &experiment.tuning)?;
        experiment.methods_compared()?;
        experiment.augmentation.check()?;
        if let Some(pretrained) = &experiment.pretrained {
            pretrained.map().check()?;
        }
        experiment.check_ood()?;
        if experiment.data.validation == 0 {
            let rule = "choices are made on held-out images";
            return Err(Error::config("validation", 0, rule));
        }
        if experiment.data.corrupted_validation > experiment.data.validation {
            let rule = "it cannot be more than are held out";
            let value = experiment.data.corrupted_validation;
            return Err(Error::config("corrupted_validation", value, rule));
        }
        Ok(experiment)
    }

    /// The configuration of a method: what all share, and over it what is its own.
    pub fn model_for(&self, method: &Method) -> Result<ModelConfig> {
        overlaid(&self.model, &self.methods, method)
    }

    /// The methods it compares: those it names, or those of the paper.
    pub fn methods_compared(&self) -> Result<Vec<Method>> {
        if self.compare.is_empty() {
            return Ok(published::methods(&published::images("cifar10")));
        }
        self.compare.iter().map(|name| name.parse()).collect()
    }

    /// Figures are told apart by the name of what they were measured on.
    fn check_ood(&self) -> Result<()> {
        let names: Vec<&str> = self.ood.iter().map(|one| one.source.name()).collect();
        let is_taken = |name: &&&str| {
            let failure = name.starts_with(&failure_with(""));
            OTHER_SPLITS.contains(*name) || name.contains(" by ") || failure
        };
        if let Some(name) = names.iter().find(is_taken) {
            let message = format!("experiment: an OOD set cannot be called `{name}`; rename it");
            return Err(Error::Data(message));
        }
        let twice = |(index, name): &(usize, &&str)| names[..*index].contains(*name);
        match names.iter().enumerate().find(twice) {
            Some((_, name)) => {
                Err(Error::Data(format!("experiment: two OOD sets are called `{name}`")))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_augmentation_that_cannot_be_is_refused_before_anything_is_read() {
        let (_, quick) = BUILT_IN[0];
        let mixed = |width: usize| {
            VisionExperiment::parse(&format!("{quick}\n[augmentation.augmix]\nwidth = {width}\n"))
        };
        assert!(mixed(3).is_ok());
        assert!(mixed(0).unwrap_err().to_string().contains("augmix.width is 0"));
    }

    #[test]
    fn ood_sets_have_names_of_their_own() {
        let (_, quick) = BUILT_IN[0];
        let with = |name: &str| {
            let source = format!("{{ kind = 'folder', path = '{name}', side = 32 }}");
            VisionExperiment::parse(&format!("{quick}\n[[ood]]\nsource = {source}\n"))
        };
        let refused = |name: &str| with(name).unwrap_err().to_string();
        for name in ["mistakes", "test", "svhn by variance"] {
            let error = refused(name);
            assert!(error.contains(&format!("cannot be called `{name}`")), "{error}");
        }
        assert!(refused("svhn").contains("two OOD sets are called `svhn`"));
        assert!(with("zoo").is_ok());
        let old = quick.replace("[[ood]]", "[[strangers]]");
        assert_eq!(VisionExperiment::parse(&old).unwrap(), VisionExperiment::parse(quick).unwrap());
    }
}
