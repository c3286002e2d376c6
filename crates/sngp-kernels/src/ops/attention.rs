//! Multi-head attention over short sequences, scores never leaving the cache.

use burn::tensor::{Tensor, activation};
use burn_flex::FlexTensor;

use crate::array::{Array, tensor, uninitialized};
use crate::attention::{self as slices, Attention};
use crate::device::takes;
use crate::op::{Kernel, apply_1, apply_2, apply_3, apply_4};

/// What attention takes beside queries, keys and values.
#[derive(Clone, Debug, Default)]
pub struct AttentionOptions {
    /// Added to the scores of every key, 0 or negative infinity: `[batch, tokens]`.
    pub mask: Option<Tensor<2>>,
    /// Added to the scores, the same for every sequence: `[heads, tokens, tokens]`.
    pub bias: Option<Tensor<3>>,
    /// Multiplied with the probabilities: `[batch, heads, tokens, tokens]`.
    pub dropout: Option<Tensor<4>>,
}

/// `softmax(q k^T / sqrt(head width) + mask + bias) v` of every head. Gradients are those of
/// `qkv` and of the bias.
///
/// # Shapes
/// - qkv: `[batch, tokens, 3 * width]`, queries, keys and values side by side, each head by head
/// - output: `[batch, tokens, width]`
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp_kernels::{AttentionOptions, attention};
///
/// // One token attends to itself: the output is its value.
/// let qkv = Tensor::<3>::from_floats([[[1.0, 2.0, 3.0]]], &Device::flex());
/// let output = attention(qkv, 1, AttentionOptions::default());
/// assert_eq!(output.into_scalar::<f32>(), 3.0);
/// ```
pub fn attention(qkv: Tensor<3>, heads: usize, options: AttentionOptions) -> Tensor<3> {
    let tracked = options.mask.as_ref().is_some_and(Tensor::is_tracked)
        || options.dropout.as_ref().is_some_and(Tensor::is_tracked);
    if tracked || !takes(&qkv) || !fits(&qkv, heads, &options) {
        return attention_reference(qkv, heads, options);
    }
    let AttentionOptions { mask, bias, dropout } = options;
    let kernel = FusedAttention {
        heads,
        mask: mask.is_some(),
        bias: bias.is_some(),
        dropout: dropout.is_some(),
    };
    match (mask, bias, dropout) {
        (None, None, None) => apply_1(kernel, qkv),
        (Some(mask), None, None) => apply_2(kernel, qkv, mask),
        (None, Some(bias), None) => apply_2(kernel, qkv, bias),
        (None, None, Some(dropout)) => apply_2(kernel, qkv, dropout),
        (Some(mask), Some(bias), None) => apply_3(kernel, qkv, mask, bias),
        (Some(mask), None, Some(dropout)) => apply_3(kernel, qkv, mask, dropout),
        (None, Some(bias), Some(dropout)) => apply_3(kernel, qkv, bias, dropout),
        (Some(mask), Some(bias), Some(dropout)) => apply_4(kernel, qkv, mask, bias, dropout),
    }
}

/// Sizes that do not fit get Burn's own message.
fn fits(qkv: &Tensor<3>, heads: usize, options: &AttentionOptions) -> bool {
    let [batch, tokens, width] = qkv.dims();
    heads > 0
        && width % (3 * heads) == 0
        && options.mask.as_ref().is_none_or(|mask| mask.dims() == [batch, tokens])
        && options.bias.as_ref().is_none_or(|bias| bias.dims() == [heads, tokens, tokens])
        && options
            .dropout
            .as_ref()
            .is_none_or(|dropout| dropout.dims() == [batch, heads, tokens, tokens])
}

/// The same in Burn's own ops, for every other device.
pub fn attention_reference(qkv: Tensor<3>, heads: usize, options: AttentionOptions) -> Tensor<3> {
    let [batch, tokens, three_widths] = qkv.dims();
    let width = three_widths / 3;
    let head_width = width / heads;
    let part = |index: usize| {
        let part = qkv.clone().slice_dim(2, index * width..(index + 1) * width);
        part.reshape([batch, tokens, heads, head_width]).swap_dims(1, 2)
    };
    let mut scores = part(0).matmul(part(1).transpose()) / (head_width as f64).sqrt();
    if let Some(mask) = options.mask {
        scores = scores + mask.reshape([batch, 1, 1, tokens]);
    }
    if let Some(bias) = options.bias {
        scores = scores + bias.unsqueeze();
    }
    let mut probabilities = activation::softmax(scores, 3);
    if let Some(dropout) = options.dropout {
        probabilities = probabilities * dropout;
    }
    probabilities.matmul(part(2)).swap_dims(1, 2).reshape([batch, tokens, width])
}

/// Inputs: qkv, then mask, bias and dropout where there are any.
#[derive(Debug)]
struct FusedAttention {
    heads: usize,
    mask: bool,
    bias: bool,
    dropout: bool,
}

impl FusedAttention {
    /// The inputs by their names.
    fn input<'a>(&self, inputs: &'a [Array]) -> (Attention<'a>, Option<&'a [f32]>) {
        let [batch, tokens, width] = inputs[0].shape().dims();
        let head_dim = width / (3 * self.heads);
        let mut rest = inputs[1..].iter();
        let mut next = |there: bool| there.then(|| &**rest.next().expect("an input for each flag"));
        let attention = Attention {
            qkv: &inputs[0],
            batch,
            tokens,
            heads: self.heads,
            head_dim,
            scale: 1.0 / (head_dim as f32).sqrt(),
            key_mask: next(self.mask),
            bias: next(self.bias),
        };
        (attention, next(self.dropout))
    }
}

impl Kernel for FusedAttention {
    fn forward(&self, inputs: &[Array], keep: bool) -> (FlexTensor, Vec<FlexTensor>) {
        let (input, dropout) = self.input(inputs);
        let width = self.heads * input.head_dim;
        let mut out = uninitialized(input.batch * input.tokens * width);
        let mut kept = Vec::new();
        if keep || dropout.is_some() {
            let mut probabilities = uninitialized(input.probabilities_len());
            slices::attention_keeping(&input, dropout, &mut probabilities, &mut out);
            kept.push(tensor(probabilities, [input.probabilities_len()]));
            kept.extend(inputs.iter().map(|input| input.tensor().clone()));
        } else {
            slices::attention(&input, &mut out);
        }
        (tensor(out, [input.batch, input.tokens, width]), kept)
    }

    fn backward(
        &self,
        kept: &[Array],
        gradient: &Array,
        wanted: &[bool],
    ) -> Vec<Option<FlexTensor>> {
        let (probabilities, inputs) = kept.split_first().expect("what forward kept");
        let (input, dropout) = self.input(inputs);
        let mut qkv_gradient = uninitialized(input.qkv.len());
        let bias_at = 1 + usize::from(self.mask);
        let mut bias_gradient =
            (self.bias && wanted[bias_at]).then(|| vec![0.0; inputs[bias_at].len()]);
        slices::attention_backward(
            &input,
            dropout,
            probabilities,
            gradient,
            &mut qkv_gradient,
            bias_gradient.as_deref_mut(),
        );
        let mut gradients = vec![None; wanted.len()];
        gradients[0] = Some(tensor(qkv_gradient, inputs[0].shape().clone()));
        if let Some(bias_gradient) = bias_gradient {
            gradients[bias_at] = Some(tensor(bias_gradient, inputs[bias_at].shape().clone()));
        }
        gradients
    }
}
