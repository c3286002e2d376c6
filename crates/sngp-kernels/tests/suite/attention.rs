//! Attention.

use burn::tensor::{Device, Tensor};
use proptest::prelude::*;
use sngp_kernels::{AttentionOptions, attention, attention_reference};

use crate::common::{assert_same, difference, filled, values};

/// Masks the last tokens of every sentence but the first.
fn mask(batch: usize, tokens: usize, device: &Device) -> Tensor<2> {
    let hidden = |row: usize, token: usize| row > 0 && token + row % tokens >= tokens;
    let values: Vec<f32> = (0..batch * tokens)
        .map(|at| if hidden(at / tokens, at % tokens) { f32::NEG_INFINITY } else { 0.0 })
        .collect();
    Tensor::<1>::from_floats(values.as_slice(), device).reshape([batch, tokens])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn attention_is_burns(
        batch in 1usize..4,
        tokens in 1usize..40,
        heads in 1usize..5,
        head_width in 1usize..40,
        with_mask: bool,
        with_bias: bool,
        with_dropout: bool,
    ) {
        let width = heads * head_width;
        let apply = |leaves: &[Tensor<1>], fused: bool| {
            let device = leaves[0].device();
            let qkv = leaves[0].clone().reshape([batch, tokens, 3 * width]);
            let bias = leaves[1].clone().reshape([heads, tokens, tokens]);
            let rest = bias.clone().sum().unsqueeze() * 0.01;
            let dropout = filled([batch, heads, tokens, tokens], 1.0, &device).clamp_min(0.0);
            let options = AttentionOptions {
                mask: with_mask.then(|| mask(batch, tokens, &device)),
                bias: with_bias.then_some(bias),
                dropout: with_dropout.then_some(dropout),
            };
            match fused {
                true => attention(qkv, heads, options) + rest,
                false => attention_reference(qkv, heads, options) + rest,
            }
        };
        let leaves = [batch * tokens * 3 * width, heads * tokens * tokens];
        assert_same(&leaves, 2e-5, |l| apply(l, true), |l| apply(l, false));
    }
}

/// A sentence's result does not depend on the padding beside it.
#[test]
fn padding_changes_nothing() {
    let device = Device::flex();
    let qkv = filled([1, 7, 3 * 24], 1.0, &device);
    let alone = attention(qkv.clone(), 3, AttentionOptions::default());
    let padded = Tensor::cat(vec![qkv, filled([1, 5, 3 * 24], 9.0, &device)], 1);
    let mut open = vec![0.0f32; 12];
    open[7..].fill(f32::NEG_INFINITY);
    let mask = Tensor::<1>::from_floats(open.as_slice(), &device).reshape([1, 12]);
    let options = AttentionOptions { mask: Some(mask), ..Default::default() };
    let beside = attention(padded, 3, options).slice_dim(1, 0..7);
    assert!(difference(&values(beside), &values(alone)) < 1e-6);
}

#[test]
fn an_empty_batch_works() {
    let qkv = Tensor::<3>::zeros([0, 4, 12], &Device::flex());
    assert_eq!(attention(qkv, 2, AttentionOptions::default()).dims(), [0, 4, 4]);
}
