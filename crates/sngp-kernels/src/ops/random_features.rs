//! Random Fourier features: product, phase, cosine and scale in one pass.

use std::sync::{Arc, OnceLock};

use burn::tensor::Tensor;
use burn_flex::FlexTensor;

use crate::array::{Array, tensor, uninitialized};
use crate::device::takes;
use crate::gemm::{Left, Packed, Plain, Right, multiply};
use crate::op::{Kernel, apply_3};
use crate::prepared::Prepared;
use crate::trigonometry::scaled_cosine;

/// Random Fourier features `scale * cos(input weight + bias)`.
///
/// `prepared` belongs to the layer: it keeps the packed weight, which is frozen.
///
/// # Shapes
/// - input: `[rows, inputs]`, weight: `[inputs, features]`, bias: `[features]`
/// - output: `[rows, features]`
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp_kernels::{Prepared, random_features};
///
/// let device = Device::flex();
/// let phi = random_features(
///     Tensor::from_floats([[0.0]], &device),
///     Tensor::from_floats([[1.0]], &device),
///     Tensor::from_floats([0.0], &device),
///     2.0,
///     &Prepared::default(),
/// );
/// assert_eq!(phi.into_scalar::<f32>(), 2.0);
/// ```
pub fn random_features(
    input: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    scale: f64,
    prepared: &Prepared,
) -> Tensor<2> {
    // The kernel differentiates with respect to the input only: the weights are frozen.
    let frozen = !weight.is_tracked() && !bias.is_tracked();
    // Sizes that do not fit get Burn's own message.
    let fits = input.dims()[1] == weight.dims()[0] && weight.dims()[1] == bias.dims()[0];
    if !(frozen && fits && takes(&input) && takes(&weight) && takes(&bias)) {
        return random_features_reference(input, weight, bias, scale);
    }
    let kernel = RandomFeatures { scale: scale as f32, prepared: prepared.clone() };
    apply_3(kernel, input, weight, bias)
}

/// The same in Burn's own ops, for every other device.
pub fn random_features_reference(
    input: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    scale: f64,
) -> Tensor<2> {
    (input.matmul(weight) + bias.unsqueeze()).cos() * scale
}

#[derive(Debug)]
struct RandomFeatures {
    scale: f32,
    prepared: Prepared,
}

/// The weight packed for both passes: it is frozen, so these last through training too.
#[derive(Default)]
struct Forms {
    forward: OnceLock<Packed>,
    backward: OnceLock<Packed>,
}

impl RandomFeatures {
    fn forms(&self, weight: &Array) -> Arc<Forms> {
        self.prepared.of(weight.tensor(), Forms::default)
    }
}

impl Kernel for RandomFeatures {
    fn forward(&self, inputs: &[Array], keep: bool) -> (FlexTensor, Vec<FlexTensor>) {
        let [input, weight, bias] = inputs else { unreachable!("three inputs") };
        let (rows, width) = input.rows_and_width();
        let features = bias.len();
        let mut values = uninitialized(rows * features);
        let forms = self.forms(weight);
        let packed = forms.forward.get_or_init(|| Packed::rows(weight, width, features));
        let left = Left::rows(input, rows, width);
        multiply(left, Right::packed(packed), &mut values, false, &Plain);
        let mut sines = uninitialized(if keep { rows * features } else { 0 });
        scaled_cosine(&mut values, &mut sines, bias, self.scale);
        let kept = match keep {
            true => vec![tensor(sines, [rows, features]), weight.tensor().clone()],
            false => Vec::new(),
        };
        (tensor(values, [rows, features]), kept)
    }

    /// `d input = -(gradient * scale * sin(..)) weight^T`.
    fn backward(
        &self,
        kept: &[Array],
        gradient: &Array,
        _wanted: &[bool],
    ) -> Vec<Option<FlexTensor>> {
        let [sines, weight] = kept else { unreachable!("what forward kept") };
        let (rows, features) = gradient.rows_and_width();
        let width = weight.shape()[0];
        let inner: Vec<f32> = gradient.iter().zip(&**sines).map(|(g, s)| -g * s).collect();
        let mut out = uninitialized(rows * width);
        let forms = self.forms(weight);
        let packed = forms.backward.get_or_init(|| Packed::transposed(weight, features, width));
        let left = Left::rows(&inner, rows, features);
        multiply(left, Right::packed(packed), &mut out, false, &Plain);
        vec![Some(tensor(out, [rows, width])), None, None]
    }
}
