//! DUQ's output layer: one centroid a class, compared through an RBF kernel.

use burn::module::{Module, Param};
use burn::tensor::{Device, Int, Tensor, TensorData};
use ndarray::{ArrayView2, ArrayView3};
use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use super::features::frozen;
use crate::seed::{Purpose, stream};
use crate::{Error, Result};

/// Configuration of [`RbfCentroids`] and of the penalty it is trained with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RbfCentroidsConfig {
    /// Rows `n` of each class's embedding matrix.
    pub embedding: usize,
    /// Width of the kernel.
    pub sigma: f64,
    /// What share of the old centroid an update keeps.
    pub gamma: f64,
    /// Weight of the two-sided gradient penalty.
    pub gradient_penalty: f64,
    /// Step `e` of the central difference that measures the gradient's norm.
    pub penalty_step: f64,
}

impl Default for RbfCentroidsConfig {
    fn default() -> Self {
        Self { embedding: 64, sigma: 0.3, gamma: 0.999, gradient_penalty: 0.5, penalty_step: 1e-2 }
    }
}

/// `K_c(h) = exp(-||V_c h - e_c||^2 / (2 n sigma^2))`.
///
/// The centroids `e_c = m_c / N_c` are exponential averages of `V_c h` over the examples of
/// class `c`; they follow the data instead of being trained.
#[derive(Module, Debug)]
pub struct RbfCentroids {
    /// `V` as `[inputs, classes * n]`, so that every class is one matrix product.
    embedding: Param<Tensor<2>>,
    /// `m`, `[classes, n]`.
    sums: Param<Tensor<2>>,
    /// `N`, `[classes]`.
    counts: Param<Tensor<1>>,
    sigma: f64,
    gamma: f64,
}

impl RbfCentroidsConfig {
    /// Draws the layer.
    pub fn init(
        &self,
        inputs: usize,
        classes: usize,
        seed: u64,
        device: &Device,
    ) -> Result<RbfCentroids> {
        for (what, value) in [("sigma", self.sigma), ("the penalty's step", self.penalty_step)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::config(what, value, "it must be positive and finite"));
            }
        }
        if !(self.gradient_penalty.is_finite() && self.gradient_penalty >= 0.0) {
            let rule = "it must be finite and not negative";
            return Err(Error::config("gradient_penalty", self.gradient_penalty, rule));
        }
        if !(0.0..1.0).contains(&self.gamma) {
            return Err(Error::config("gamma", self.gamma, "it must be in [0, 1)"));
        }
        if self.embedding == 0 {
            return Err(Error::config("DUQ's embedding", 0, "it must be at least 1"));
        }
        let n = self.embedding;
        let mut rng = stream(seed, Purpose::Features, 2);
        let mut normal = |count: usize, scale: f64| -> Vec<f32> {
            (0..count).map(|_| (scale * rng.sample::<f64, _>(StandardNormal)) as f32).collect()
        };
        let embedding = normal(inputs * classes * n, (2.0 / inputs as f64).sqrt());
        // DUQ's start: small random sums of a dozen pseudo-examples a class.
        let counts = vec![13.0f32; classes];
        let sums: Vec<f32> = normal(classes * n, 0.05).iter().map(|v| v * 13.0).collect();
        Ok(RbfCentroids {
            embedding: Param::from_data(TensorData::new(embedding, [inputs, classes * n]), device),
            sums: frozen(Tensor::from_data(TensorData::new(sums, [classes, n]), device)),
            counts: frozen(Tensor::from_data(TensorData::from(counts.as_slice()), device)),
            sigma: self.sigma,
            gamma: self.gamma,
        })
    }
}

/// Class sums and counts of one batch: what the centroids learn from it.
pub(crate) struct CentroidUpdate {
    sums: Tensor<2>,
    counts: Tensor<1>,
}

impl RbfCentroids {
    /// A layer from given matrices `V [classes, n, inputs]` and centroids `[classes, n]`.
    pub fn from_weights(
        embedding: ArrayView3<'_, f32>,
        centroids: ArrayView2<'_, f32>,
        sigma: f64,
        gamma: f64,
        device: &Device,
    ) -> Result<Self> {
        let (classes, n, inputs) = embedding.dim();
        if centroids.dim() != (classes, n) {
            return Err(Error::shape(
                "DUQ's centroids",
                format!("{classes} x {n}"),
                format!("{} x {}", centroids.nrows(), centroids.ncols()),
            ));
        }
        let v: Vec<f32> = (0..inputs)
            .flat_map(|i| (0..classes * n).map(move |cn| (i, cn)))
            .map(|(i, cn)| embedding[[cn / n, cn % n, i]])
            .collect();
        let sums = centroids.iter().copied().collect::<Vec<_>>();
        Ok(Self {
            embedding: Param::from_data(TensorData::new(v, [inputs, classes * n]), device),
            sums: frozen(Tensor::from_data(TensorData::new(sums, [classes, n]), device)),
            counts: frozen(Tensor::ones([classes], device)),
            sigma,
            gamma,
        })
    }

    /// `ln K_c`, `[rows, classes]`. Its softmax is `K_c / sum K`, its exponential the kernel.
    ///
    /// # Shapes
    /// - hidden: `[rows, inputs]`
    pub fn log_kernel(&self, hidden: Tensor<2>) -> Tensor<2> {
        let [classes, n] = self.sums.dims();
        let embedded = self.embed(hidden);
        let [rows, _, _] = embedded.dims();
        let distance = (embedded - self.centroids().unsqueeze()).square().sum_dim(2);
        distance.reshape([rows, classes]) * (-1.0 / (2.0 * n as f64 * self.sigma * self.sigma))
    }

    /// `K_c`, `[rows, classes]`.
    pub fn kernel(&self, hidden: Tensor<2>) -> Tensor<2> {
        self.log_kernel(hidden).exp()
    }

    /// The dimension of its inputs.
    pub fn inputs(&self) -> usize {
        self.embedding.dims()[0]
    }

    /// The centroids `e_c`, `[classes, n]`.
    pub fn centroids(&self) -> Tensor<2> {
        self.sums.val() / self.counts.val().unsqueeze_dim(1)
    }

    /// The layer after the centroids have taken in a batch of hidden vectors and their classes.
    pub fn update(self, hidden: Tensor<2>, labels: Tensor<1, Int>) -> Self {
        let update = self.summarize(hidden, labels);
        self.apply(update)
    }

    fn embed(&self, hidden: Tensor<2>) -> Tensor<3> {
        let [classes, n] = self.sums.dims();
        let [rows, _] = hidden.dims();
        hidden.matmul(self.embedding.val()).reshape([rows, classes, n])
    }

    /// The batch's class sums of `V_c h` and class counts.
    pub(crate) fn summarize(&self, hidden: Tensor<2>, labels: Tensor<1, Int>) -> CentroidUpdate {
        let [classes, _] = self.sums.dims();
        let one_hot = labels.one_hot::<2>(classes).float();
        let embedded = self.embed(hidden);
        let sums = (embedded * one_hot.clone().unsqueeze_dim(2)).sum_dim(0).squeeze_dim::<2>(0);
        CentroidUpdate { sums, counts: one_hot.sum_dim(0).squeeze_dim::<1>(0) }
    }

    /// `N <- gamma N + (1 - gamma) n`, `m <- gamma m + (1 - gamma) sum V h`.
    pub(crate) fn apply(mut self, update: CentroidUpdate) -> Self {
        let (keep, take) = (self.gamma, 1.0 - self.gamma);
        self.sums = self.sums.map(|old| (old * keep + update.sums * take).detach());
        self.counts = self.counts.map(|old| (old * keep + update.counts * take).detach());
        self
    }
}

impl CentroidUpdate {
    /// Rides along with the gradients, under the ids of the state it will change, so that
    /// gradient accumulation and several devices add it up like everything else.
    pub(crate) fn attach(self, layer: &RbfCentroids, grads: &mut burn::optim::GradientsParams) {
        grads.register(layer.sums.id, self.sums.inner());
        grads.register(layer.counts.id, self.counts.inner());
    }

    /// Takes an attached update out again, before the optimiser sees it.
    pub(crate) fn detach(
        layer: &RbfCentroids,
        grads: &mut burn::optim::GradientsParams,
    ) -> Option<Self> {
        let sums = grads.remove::<2>(layer.sums.id)?;
        let counts = grads.remove::<1>(layer.counts.id)?;
        if layer.sums.val().is_autodiff() {
            return Some(Self { sums: sums.autodiff(), counts: counts.autodiff() });
        }
        Some(Self { sums, counts })
    }
}
