//! Random Fourier features: product, phase, cosine and scale in one pass.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::{DType, Shape, Tensor};
use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn_flex::FlexTensor;
use rayon::prelude::*;

use crate::device::takes;
use crate::trigonometry::scaled_cosine;

/// Rows of one piece of work. Fixed, so that the result does not depend on the threads.
const ROWS: usize = 32;

/// Random Fourier features `scale * cos(input weight + bias)`.
///
/// # Shapes
/// - input: `[rows, inputs]`, weight: `[inputs, features]`, bias: `[features]`
/// - output: `[rows, features]`
///
/// ```
/// use burn::tensor::{Device, Tensor};
///
/// let device = Device::flex();
/// let phi = sngp_kernels::random_features(
///     Tensor::from_floats([[0.0]], &device),
///     Tensor::from_floats([[1.0]], &device),
///     Tensor::from_floats([0.0], &device),
///     2.0,
/// );
/// assert_eq!(phi.into_scalar::<f32>(), 2.0);
/// ```
pub fn random_features(
    input: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    scale: f64,
) -> Tensor<2> {
    // The kernel differentiates with respect to the input only: the weights are frozen.
    let frozen = !weight.is_tracked() && !bias.is_tracked();
    // Sizes that do not fit get Burn's own message.
    let fits = input.dims()[1] == weight.dims()[0] && weight.dims()[1] == bias.dims()[0];
    if !(frozen && fits && takes(&input) && takes(&weight) && takes(&bias)) {
        return random_features_reference(input, weight, bias, scale);
    }
    Tensor::from_dispatch(Dispatch::fused_features(
        input.into_dispatch(),
        weight.into_dispatch(),
        bias.into_dispatch(),
        scale as f32,
    ))
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

/// The differentiable operation.
#[backend_extension(Flex, Autodiff)]
pub trait FusedFeatures: Backend {
    /// `scale * cos(input weight + bias)`.
    fn fused_features(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        scale: f32,
    ) -> FloatTensor<Self>;
}

/// The forward pass with what the backward pass needs, on concrete backends.
trait FeatureKernel: Backend {
    /// The features and, where asked for, `scale * sin(..)`.
    fn features(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        scale: f32,
        with_sines: bool,
    ) -> (FloatTensor<Self>, Option<FloatTensor<Self>>);
}

impl FeatureKernel for Flex {
    fn features(
        input: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        scale: f32,
        with_sines: bool,
    ) -> (FlexTensor, Option<FlexTensor>) {
        let (input, weight, bias) =
            (input.to_contiguous(), weight.to_contiguous(), bias.to_contiguous());
        let [rows, inputs] = input.shape().dims();
        let [_, features] = weight.shape().dims();
        let shape = Shape::new([rows, features]);
        let mut values = FlexTensor::zeros(shape.clone(), DType::F32);
        let mut sines = with_sines.then(|| FlexTensor::zeros(shape, DType::F32));
        if rows == 0 || features == 0 {
            return (values, sines);
        }
        let (x, w, b) = (slice(&input), slice(&weight), slice(&bias));
        let work = |(piece, (values, sines)): (usize, (&mut [f32], Option<&mut [f32]>))| {
            let first = piece * ROWS * inputs;
            product(&x[first..], w, values, inputs, features);
            scaled_cosine(values, sines, b, scale);
        };
        let pieces = values.storage_mut::<f32>().par_chunks_mut(ROWS * features);
        match &mut sines {
            Some(sines) => pieces
                .zip(sines.storage_mut::<f32>().par_chunks_mut(ROWS * features))
                .map(|(values, sines)| (values, Some(sines)))
                .enumerate()
                .for_each(work),
            None => pieces.map(|values| (values, None)).enumerate().for_each(work),
        }
        (values, sines)
    }
}

fn slice(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice::<f32>().expect("a contiguous f32 tensor")
}

/// `out = x w`, row-major, for as many rows as `out` has.
fn product(x: &[f32], w: &[f32], out: &mut [f32], inputs: usize, features: usize) {
    let rows = out.len() / features;
    assert!(x.len() >= rows * inputs && w.len() >= inputs * features);
    // SAFETY: `out` has rows x features elements, `x` and `w` at least as many as are read (just
    // checked), all row-major with unit column strides, and `out` overlaps neither.
    unsafe {
        gemm::gemm(
            rows,
            features,
            inputs,
            out.as_mut_ptr(),
            1,
            features as isize,
            false,
            x.as_ptr(),
            1,
            inputs as isize,
            w.as_ptr(),
            1,
            features as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

impl FusedFeatures for Flex {
    fn fused_features(
        input: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        scale: f32,
    ) -> FlexTensor {
        Self::features(input, weight, bias, scale, false).0
    }
}

/// `d input = -(gradient * scale * sin(..)) weight^T`.
#[derive(Debug)]
struct FeatureBackward;

impl<B: Backend> Backward<B, 1> for FeatureBackward {
    /// The scaled sines and the weight.
    type State = (FloatTensor<B>, FloatTensor<B>);

    fn backward(
        self,
        ops: Ops<Self::State, 1>,
        grads: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let (sines, weight) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            let inner = B::float_neg(B::float_mul(gradient, sines));
            B::float_matmul(inner, B::float_transpose(weight))
        });
    }
}

impl<B: FusedFeatures + FeatureKernel, C: CheckpointStrategy> FusedFeatures for Autodiff<B, C> {
    fn fused_features(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        scale: f32,
    ) -> FloatTensor<Self> {
        let node = input.node();
        let (input, weight, bias) =
            (input.into_primitive(), weight.into_primitive(), bias.into_primitive());
        match FeatureBackward.prepare::<C>([node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => {
                let (features, sines) = B::features(input, weight.clone(), bias, scale, true);
                match sines {
                    Some(sines) => prepared.finish((sines, weight), features),
                    None => unreachable!("the kernel gives the sines it is asked for"),
                }
            }
            OpsKind::UnTracked(prepared) => {
                prepared.finish(B::features(input, weight, bias, scale, false).0)
            }
        }
    }
}
