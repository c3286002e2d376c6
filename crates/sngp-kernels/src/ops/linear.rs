//! A dense layer in one pass: product, bias, activation and residual.

use burn::tensor::Tensor;
use burn_flex::FlexTensor;

use crate::activation::Activation;
use crate::array::{Array, tensor, uninitialized};
use crate::device::takes;
use crate::gemm::{Finish, Left, Packed, Plain, Right, multiply};
use crate::op::{Kernel, apply_2, apply_3, apply_4};
use crate::prepared::Prepared;
use crate::reduce::column_sums;

/// Rows up to which a weight that is not prepared is read as it lies.
const FEW_ROWS: usize = 4;

/// `residual + activation(input weight + bias)`.
///
/// `prepared`, if there is one, belongs to the layer: it keeps the packed weight between
/// predictions.
///
/// # Shapes
/// - input: `[.., inputs]`, weight: `[inputs, outputs]`, bias: `[outputs]`
/// - residual and output: `[.., outputs]`
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp_kernels::{Activation, linear};
///
/// let device = Device::flex();
/// let x = Tensor::<2>::from_floats([[1.0, -2.0]], &device);
/// let weight = Tensor::<2>::from_floats([[1.0, 1.0], [0.0, 1.0]], &device);
/// let residual = Some(x.clone());
/// let y = linear(x, weight, None, Activation::Relu, residual, None);
/// assert_eq!(y.into_data(), [[2.0f32, -2.0]].into());
/// ```
pub fn linear<const D: usize>(
    input: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    activation: Activation,
    residual: Option<Tensor<D>>,
    prepared: Option<&Prepared>,
) -> Tensor<D> {
    let [inputs, outputs] = weight.dims();
    let mut shape = input.dims();
    // Sizes that do not fit get Burn's own message.
    let fits = shape[D - 1] == inputs && bias.as_ref().is_none_or(|bias| bias.dims() == [outputs]);
    shape[D - 1] = outputs;
    let fits = fits && residual.as_ref().is_none_or(|residual| residual.dims() == shape);
    if !(fits && takes(&input) && takes(&weight)) {
        return linear_reference(input, weight, bias, activation, residual);
    }
    let kernel = Linear {
        bias: bias.is_some(),
        residual: residual.is_some(),
        activation,
        prepared: prepared.cloned(),
    };
    match (bias, residual) {
        (None, None) => apply_2(kernel, input, weight),
        (Some(bias), None) => apply_3(kernel, input, weight, bias),
        (None, Some(residual)) => apply_3(kernel, input, weight, residual),
        (Some(bias), Some(residual)) => apply_4(kernel, input, weight, bias, residual),
    }
}

/// The same in Burn's own ops, for every other device.
pub fn linear_reference<const D: usize>(
    input: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    activation: Activation,
    residual: Option<Tensor<D>>,
) -> Tensor<D> {
    let product = burn::tensor::module::linear(input, weight, bias);
    let activated = activation.reference(product);
    match residual {
        Some(residual) => residual + activated,
        None => activated,
    }
}

/// Inputs: input, weight, then bias and residual where there are any.
#[derive(Debug)]
struct Linear {
    bias: bool,
    residual: bool,
    activation: Activation,
    prepared: Option<Prepared>,
}

impl Kernel for Linear {
    fn forward(&self, inputs: &[Array], keep: bool) -> (FlexTensor, Vec<FlexTensor>) {
        let (input, weight) = (&inputs[0], &inputs[1]);
        let (rows, width) = input.rows_and_width();
        let outputs = weight.shape()[1];
        let mut out = uninitialized(rows * outputs);
        let mut before = match keep && self.activation != Activation::Identity {
            true => uninitialized(rows * outputs),
            false => Vec::new(),
        };
        let finish = LinearFinish {
            bias: self.bias.then(|| &*inputs[2]),
            residual: self.residual.then(|| &**inputs.last().expect("the residual")),
            activation: self.activation,
            outputs,
            before: (!before.is_empty()).then_some(Writer(before.as_mut_ptr())),
        };
        let left = Left::rows(input, rows, width);
        let pack = || Packed::rows(weight, width, outputs);
        let in_place = Right::in_place(weight, width, outputs).filter(|_| rows <= FEW_ROWS);
        match (in_place, &self.prepared) {
            // In training the weight is another one after every step.
            (_, Some(prepared)) if !keep => {
                let packed = prepared.of(weight.tensor(), pack);
                multiply(left, Right::packed(&packed), &mut out, false, &finish);
            }
            (Some(right), _) => multiply(left, right, &mut out, false, &finish),
            (None, _) => multiply(left, Right::packed(&pack()), &mut out, false, &finish),
        }
        let mut shape = input.shape().clone();
        let last = shape.num_dims() - 1;
        shape[last] = outputs;
        let kept = if keep {
            let mut kept = vec![input.tensor().clone(), weight.tensor().clone()];
            if !before.is_empty() {
                kept.push(tensor(before, [rows, outputs]));
            }
            kept
        } else {
            Vec::new()
        };
        (tensor(out, shape), kept)
    }

    fn backward(
        &self,
        kept: &[Array],
        gradient: &Array,
        wanted: &[bool],
    ) -> Vec<Option<FlexTensor>> {
        let (input, weight) = (&kept[0], &kept[1]);
        let (rows, width) = input.rows_and_width();
        let outputs = weight.shape()[1];
        // The gradient before the activation.
        let inner = kept.get(2).map(|before| self.activation.gradient(before, gradient));
        let inner = inner.as_deref().unwrap_or(gradient);
        let input_gradient = wanted[0].then(|| {
            let mut out = uninitialized(rows * width);
            let packed = Packed::transposed(weight, outputs, width);
            let left = Left::rows(inner, rows, outputs);
            multiply(left, Right::packed(&packed), &mut out, false, &Plain);
            tensor(out, input.shape().clone())
        });
        let weight_gradient = wanted[1].then(|| {
            let mut out = uninitialized(width * outputs);
            let packed = Packed::rows(inner, rows, outputs);
            let left = Left::transposed(input, width, rows);
            multiply(left, Right::packed(&packed), &mut out, false, &Plain);
            tensor(out, [width, outputs])
        });
        let mut gradients = vec![input_gradient, weight_gradient];
        if self.bias {
            gradients.push(wanted[2].then(|| tensor(column_sums(inner, outputs), [outputs])));
        }
        if self.residual {
            gradients.push(Some(gradient.tensor().clone()));
        }
        gradients
    }
}

/// Bias, activation and residual on finished outputs; the values before the activation are
/// written aside where the backward pass will want them.
struct LinearFinish<'a> {
    bias: Option<&'a [f32]>,
    residual: Option<&'a [f32]>,
    activation: Activation,
    outputs: usize,
    before: Option<Writer>,
}

/// Where rows are written by the thread that computes them.
struct Writer(*mut f32);

// SAFETY: every element is written once, by the thread that computes it.
unsafe impl Sync for Writer {}

impl Finish for LinearFinish<'_> {
    #[inline(always)]
    fn finish(&self, row: usize, column: usize, values: &mut [f32]) {
        if let Some(bias) = self.bias {
            for (value, bias) in values.iter_mut().zip(&bias[column..]) {
                *value += bias;
            }
        }
        let at = row * self.outputs + column;
        if let Some(before) = &self.before {
            // SAFETY: the buffer has the output's size, and no one else writes here.
            let before = unsafe { std::slice::from_raw_parts_mut(before.0.add(at), values.len()) };
            before.copy_from_slice(values);
        }
        self.activation.apply_all(values);
        if let Some(residual) = self.residual {
            for (value, residual) in values.iter_mut().zip(&residual[at..]) {
                *value += residual;
            }
        }
    }
}
