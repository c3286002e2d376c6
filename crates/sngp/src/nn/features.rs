//! Frozen random Fourier features.

use burn::module::{Module, Param};
use burn::nn::{LayerNorm, LayerNormConfig};
use burn::tensor::{Device, Tensor, TensorData};
use ndarray::{Array2, ArrayView2};
use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};
use sngp_kernels::Prepared;

use super::dense::matrix;
use crate::seed::{Purpose, Rng, stream};
use crate::{Error, Result};

/// How the rows of the frozen weight are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeatureKind {
    /// Independent Gaussian directions.
    Gaussian,
    /// Orthogonal blocks with chi-distributed norms: lower kernel error at the same size.
    Orthogonal,
}

/// Configuration of [`RandomFeatures`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomFeaturesConfig {
    /// Number of features `D`.
    pub count: usize,
    /// How they are drawn.
    pub kind: FeatureKind,
    /// Length scale `l` of the kernel `exp(-||h - h'||^2 / (2 l))`.
    pub length_scale: f64,
    /// Whether the input goes through a layer normalization first.
    pub layer_norm: bool,
    /// Dimension of a frozen Gaussian projection of the (normalized) input, if any.
    pub projection: Option<usize>,
    /// Factor on the (normalized, projected) input itself as further features; 0 for none. With it
    /// the kernel is `exp(-||h - h'||^2 / (2 l)) + linear^2 h . h'`: what a line explains is left
    /// to the line.
    #[serde(skip_serializing_if = "is_zero")]
    pub linear: f64,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl Default for RandomFeaturesConfig {
    fn default() -> Self {
        Self {
            count: 1024,
            kind: FeatureKind::Orthogonal,
            length_scale: 1.0,
            layer_norm: false,
            projection: None,
            linear: 0.0,
        }
    }
}

/// `phi(h) = sqrt(2 / D) cos(W h' / sqrt(l) + b)`, so that `phi . phi ~ 1`.
///
/// `W` and `b` are frozen; `h'` is `h` after the optional layer normalization and then the
/// optional frozen projection. The length scale applies in every combination.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp::nn::RandomFeaturesConfig;
///
/// let device = Device::flex();
/// let features = RandomFeaturesConfig::default().init(2, 7, &device)?;
/// let phi = features.forward(Tensor::zeros([1, 2], &device));
/// let norm = phi.square().sum().into_scalar::<f32>();
/// assert!((norm - 1.0).abs() < 0.1);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct RandomFeatures {
    norm: Option<LayerNorm>,
    projection: Option<Param<Tensor<2>>>,
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
    length_scale: f64,
    linear: f64,
    #[module(skip)]
    prepared: Prepared,
}

impl RandomFeaturesConfig {
    /// The size of a feature vector of inputs of a dimension: the random features, and the inputs
    /// themselves where they are features too.
    pub fn dimension(&self, inputs: usize) -> usize {
        match self.linear {
            0.0 => self.count,
            _ => self.count.saturating_add(self.projection.unwrap_or(inputs)),
        }
    }

    /// Draws the frozen weights for inputs of dimension `inputs`.
    pub fn init(&self, inputs: usize, seed: u64, device: &Device) -> Result<RandomFeatures> {
        self.check()?;
        let mut rng = stream(seed, Purpose::Features, 0);
        let projection = self.projection.map(|dimension| {
            // Scaled so that the projection keeps squared distances in expectation.
            let scale = 1.0 / (dimension as f64).sqrt();
            gaussian(inputs, dimension, &mut rng).mapv(|v| (v * scale) as f32)
        });
        let inner = self.projection.unwrap_or(inputs);
        let weight = match self.kind {
            FeatureKind::Gaussian => gaussian(inner, self.count, &mut rng),
            FeatureKind::Orthogonal => orthogonal(inner, self.count, &mut rng),
        };
        let bias: Vec<f32> =
            (0..self.count).map(|_| rng.random_range(0.0..std::f32::consts::TAU)).collect();
        let features = RandomFeatures::from_weights(
            weight.mapv(|v| v as f32).view(),
            &bias,
            self.length_scale,
            device,
        )?;
        Ok(RandomFeatures {
            norm: self.layer_norm.then(|| LayerNormConfig::new(inputs).init(device)),
            projection: projection.map(|p| frozen(matrix(p.view(), device))),
            linear: self.linear,
            ..features
        })
    }

    fn check(&self) -> Result<()> {
        check_length_scale(self.length_scale)?;
        if self.count == 0 {
            return Err(Error::config("the number of random features", 0, "it must be at least 1"));
        }
        if !(self.linear.is_finite() && self.linear >= 0.0) {
            let rule = "it must be finite and not negative";
            return Err(Error::config("the linear term", self.linear, rule));
        }
        if self.projection == Some(0) {
            return Err(Error::config("the projection's dimension", 0, "it must be at least 1"));
        }
        Ok(())
    }
}

impl RandomFeatures {
    /// Features from given weights `[inputs, D]` and phases `[D]`.
    pub fn from_weights(
        weight: ArrayView2<'_, f32>,
        bias: &[f32],
        length_scale: f64,
        device: &Device,
    ) -> Result<Self> {
        check_length_scale(length_scale)?;
        if weight.ncols() != bias.len() {
            return Err(Error::shape("phases of the random features", weight.ncols(), bias.len()));
        }
        Ok(Self {
            norm: None,
            projection: None,
            weight: frozen(matrix(weight, device)),
            bias: frozen(Tensor::from_data(TensorData::from(bias), device)),
            length_scale,
            linear: 0.0,
            prepared: Prepared::default(),
        })
    }

    /// The same features behind a layer normalization.
    pub fn with_layer_norm(mut self, norm: LayerNorm) -> Self {
        self.norm = Some(norm);
        self
    }

    /// The same features behind a frozen projection `[inputs, W's inputs]`.
    pub fn with_projection(mut self, projection: ArrayView2<'_, f32>) -> Result<Self> {
        let [inner, _] = self.weight.dims();
        if projection.ncols() != inner {
            return Err(Error::shape("columns of the projection", inner, projection.ncols()));
        }
        self.projection = Some(frozen(matrix(projection, &self.weight.val().device())));
        Ok(self)
    }

    /// The features of `input`.
    ///
    /// # Shapes
    /// - input: `[rows, inputs]`
    /// - output: `[rows, D]`, or `[rows, D + inputs]` with a linear term
    pub fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let input = match &self.norm {
            Some(norm) => norm.forward(input),
            None => input,
        };
        let input = match &self.projection {
            Some(projection) => input.matmul(projection.val()),
            None => input,
        };
        let linear = (self.linear > 0.0).then(|| input.clone() * self.linear);
        let input = match self.length_scale {
            1.0 => input,
            length_scale => input / length_scale.sqrt(),
        };
        let scale = (2.0 / self.bias.dims()[0] as f64).sqrt();
        let (weight, bias) = (self.weight.val(), self.bias.val());
        let random = sngp_kernels::random_features(input, weight, bias, scale, &self.prepared);
        match linear {
            Some(linear) => Tensor::cat(vec![random, linear], 1),
            None => random,
        }
    }

    /// The size of a feature vector: the random features, and the inputs where they are features.
    pub fn count(&self) -> usize {
        let linear = if self.linear > 0.0 { self.weight.dims()[0] } else { 0 };
        self.bias.dims()[0] + linear
    }

    /// The dimension of its inputs, before any projection.
    pub fn inputs(&self) -> usize {
        self.projection.as_ref().map_or(self.weight.dims()[0], |projection| projection.dims()[0])
    }

    /// The device the frozen weights are on.
    pub(crate) fn forward_device(&self) -> Device {
        self.weight.val().device()
    }

    /// The factor on the inputs as features; 0 where they are none.
    pub fn linear(&self) -> f64 {
        self.linear
    }

    /// The kernel's length scale.
    pub fn length_scale(&self) -> f64 {
        self.length_scale
    }
}

/// A parameter that is saved with the module but never trained.
pub(crate) fn frozen<const D: usize>(tensor: Tensor<D>) -> Param<Tensor<D>> {
    Param::from_tensor(tensor).set_require_grad(false)
}

pub(crate) fn check_length_scale(length_scale: f64) -> Result<()> {
    if length_scale.is_finite() && length_scale > 0.0 {
        return Ok(());
    }
    Err(Error::config("the length scale", length_scale, "it must be positive and finite"))
}

fn gaussian(rows: usize, columns: usize, rng: &mut Rng) -> Array2<f64> {
    Array2::from_shape_simple_fn((rows, columns), || rng.sample(StandardNormal))
}

/// Orthogonal random features (Yu et al., 2016): every block of `inputs` columns is the Q of a
/// fresh Gaussian matrix, its columns stretched to the norms Gaussian ones would have. A block
/// that is reused would make features of different blocks dependent, which is worse than
/// plain Gaussian ones.
fn orthogonal(inputs: usize, count: usize, rng: &mut Rng) -> Array2<f64> {
    let mut weight = Array2::zeros((inputs, count));
    for start in (0..count).step_by(inputs) {
        let block = gaussian(inputs, inputs, rng);
        let norms = gaussian(inputs, inputs, rng);
        let q = faer::Mat::from_fn(inputs, inputs, |i, j| block[[i, j]]).qr().compute_Q();
        for column in start..(start + inputs).min(count) {
            let norm = norms.column(column - start).dot(&norms.column(column - start)).sqrt();
            for row in 0..inputs {
                weight[[row, column]] = q[(row, column - start)] * norm;
            }
        }
    }
    weight
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Squared error of the kernel estimate `mean_k cos(w_k . d)` at one length scale's distance,
    /// over many draws. (The phases add an error of their own, the same for both kinds.)
    fn kernel_error(draw: impl Fn(usize, usize, &mut Rng) -> Array2<f64>) -> f64 {
        let (inputs, count) = (16, 128);
        let distance = ndarray::Array1::from_elem(inputs, 1.0 / (inputs as f64).sqrt());
        let error = |seed| {
            let weight = draw(inputs, count, &mut stream(seed, Purpose::Features, 0));
            let estimate = distance.dot(&weight).mapv(f64::cos).sum() / count as f64;
            (estimate - (-0.5f64).exp()).powi(2)
        };
        (0..200).map(error).sum::<f64>() / 200.0
    }

    #[test]
    fn orthogonal_features_approximate_the_kernel_better() {
        let (plain, orthogonal) = (kernel_error(gaussian), kernel_error(orthogonal));
        // (1 - k^2)^2 / (2 D) is the known error of plain features.
        let known = (1.0 - (-1.0f64).exp()).powi(2) / 256.0;
        assert!((0.7..1.4).contains(&(plain / known)), "{plain} against {known}");
        assert!(orthogonal < 0.5 * plain, "{orthogonal} against {plain}");
    }

    #[test]
    fn every_block_of_orthogonal_features_is_orthogonal_and_drawn_afresh() {
        let weight = orthogonal(8, 20, &mut stream(3, Purpose::Features, 0));
        let gram = weight.t().dot(&weight);
        for (i, j) in (0..20).flat_map(|i| (0..i).map(move |j| (i, j))) {
            if i / 8 == j / 8 {
                assert!(gram[[i, j]].abs() < 1e-10, "{i} {j}");
            } else {
                assert!(gram[[i, j]].abs() > 1e-6, "{i} {j}");
            }
        }
    }

    #[test]
    fn the_length_scale_counts_behind_a_layer_norm() {
        let device = Device::flex();
        let input = Tensor::<2>::from_floats([[1.0, -2.0, 0.5]], &device);
        let phi = |length_scale| {
            let config = RandomFeaturesConfig {
                length_scale,
                layer_norm: true,
                count: 8,
                ..Default::default()
            };
            let features = config.init(3, 5, &device).unwrap();
            features.forward(input.clone()).into_data().try_to_vec::<f32>().unwrap()
        };
        assert_ne!(phi(1.0), phi(2.0));
    }

    #[test]
    fn bad_length_scales_are_refused() {
        for length_scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let config = RandomFeaturesConfig { length_scale, ..Default::default() };
            assert!(config.init(2, 0, &Device::flex()).is_err());
        }
    }
}
