//! A backbone with a head: what is trained.

use std::sync::Mutex;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Int, Tensor};
use sha2::{Digest, Sha256};

use crate::backbone::Backbone;
use crate::nn::{Head, HeadConfig, HeadOutput};
use crate::posterior::FeatureMapHash;
use crate::seed::{Purpose, derive};
use crate::spectral::{SpectralConfig, SpectralNormalization};
use crate::{Pass, Result};

/// Burn's initializers draw from one generator a device; whoever seeds it has to be alone until
/// every parameter is drawn.
static INITIALIZATION: Mutex<()> = Mutex::new(());

/// A backbone, its head, and what training keeps beside them.
#[derive(Module, Debug)]
pub struct Network<B: Backbone> {
    /// The hidden mapping.
    pub backbone: B,
    /// The output layer.
    pub head: Head,
    /// The state of spectral normalization, for methods that use it.
    pub spectral: Option<SpectralNormalization>,
    /// The learned log noise variance, for likelihoods that have one.
    pub log_noise: Option<Param<Tensor<1>>>,
}

/// What a network is built from.
#[derive(Clone, Debug)]
pub struct NetworkPlan<'a, B: Backbone> {
    /// The backbone's configuration.
    pub backbone: &'a B::Config,
    /// The head's configuration.
    pub head: HeadConfig,
    /// Bounds, if the backbone is spectrally normalized.
    pub spectral: Option<SpectralConfig>,
    /// The number of logits.
    pub outputs: usize,
    /// The start of the learned log noise variance, if there is one.
    pub log_noise: Option<f64>,
    /// The backbone to start from instead of a drawn one.
    pub pretrained: Option<&'a B>,
    /// The output layer to start from instead of a drawn one.
    pub pretrained_head: Option<&'a Head>,
    /// Determines every drawn weight.
    pub seed: u64,
}

impl<B: Backbone> NetworkPlan<'_, B> {
    /// Draws the network on a device.
    pub fn build(&self, device: &Device) -> Result<Network<B>> {
        let Network { backbone, head, log_noise, .. } = {
            let _alone = INITIALIZATION.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            device.seed(derive(self.seed, Purpose::Weights, 0));
            let network = self.blank(device)?;
            // Burn draws a parameter when it is first read: read them all before others may.
            network.visit(&mut ReadAll);
            network
        };
        let mut backbone = backbone;
        let start = |config| SpectralNormalization::start(config, &mut backbone, self.seed);
        let spectral = self.spectral.as_ref().map(start).transpose()?;
        Ok(Network { backbone, head, spectral, log_noise })
    }

    /// The network before its weights are drawn and normalized, to be filled with others.
    pub(crate) fn blank(&self, device: &Device) -> Result<Network<B>> {
        let backbone = match self.pretrained {
            Some(pretrained) => pretrained.clone().to_device(device),
            None => B::build(self.backbone, device)?,
        };
        let head = match self.pretrained_head {
            Some(head) => head.clone().to_device(device),
            None => self.head.init(B::width(self.backbone), self.outputs, self.seed, device)?,
        };
        let log_noise =
            self.log_noise.map(|start| Param::from_tensor(Tensor::<1>::full([1], start, device)));
        Ok(Network { backbone, head, spectral: None, log_noise })
    }
}

impl<B: Backbone> Network<B> {
    /// Logits and, for a Gaussian-process head, features.
    pub fn forward(&self, batch: B::Batch, pass: &mut Pass) -> HeadOutput {
        self.head.forward(self.backbone.forward(batch, pass))
    }

    /// The learned log noise variance as a number.
    pub fn log_noise_value(&self) -> Option<f64> {
        self.log_noise.as_ref().map(|noise| crate::host::vector(noise.val())[0])
    }

    /// The hash of everything that determines the features: the backbone's name, configuration
    /// and weights, and those of the feature map.
    pub fn feature_map_hash(&self, config: &B::Config) -> FeatureMapHash {
        let mut hasher = Hasher(Sha256::new());
        hasher.0.update(B::name(config));
        hasher.0.update(serde_json::to_vec(config).unwrap_or_default());
        self.backbone.visit(&mut hasher);
        if let Head::GaussianProcess(gp) = &self.head {
            gp.features().visit(&mut hasher);
            hasher.0.update(gp.features().length_scale().to_le_bytes());
            if gp.features().linear() > 0.0 {
                hasher.0.update(gp.features().linear().to_le_bytes());
            }
        }
        FeatureMapHash(hasher.0.finalize().into())
    }
}

/// A hash of every weight of a module and of which of them are trained.
pub(crate) fn weights_digest(module: &impl Module) -> [u8; 32] {
    let mut hasher = Hasher(Sha256::new());
    module.visit(&mut hasher);
    let mut trained = Trained(Vec::new());
    // Away from autodiff no parameter says that it will be trained.
    module.clone().train().visit(&mut trained);
    hasher.0.update(trained.0);
    hasher.0.finalize().into()
}

struct Trained(Vec<u8>);

impl ModuleVisitor for Trained {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.push(u8::from(param.is_require_grad()));
    }
}

struct ReadAll;

impl ModuleVisitor for ReadAll {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        param.val();
    }
}

struct Hasher(Sha256);

impl ModuleVisitor for Hasher {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let data = param.val().into_data();
        for size in param.dims() {
            self.0.update((size as u64).to_le_bytes());
        }
        self.0.update(data.as_bytes());
    }

    fn visit_int<const D: usize>(&mut self, param: &Param<Tensor<D, Int>>) {
        self.0.update(param.val().into_data().as_bytes());
    }
}
