//! Multi-head attention of short sequences, backward.

use super::Attention;
use super::pack::{pack, pack_transposed};
use super::small_product::{COLUMNS, product, product_transposed};
use crate::lanes::total_of_eight;
use crate::parallel::{Shared, run};
use crate::scratch::with_scratch;
use crate::simd::simd;

/// Most blocks of sequences, each with its own sum of the gradient of the bias.
const BLOCKS: usize = 8;

/// Gradients of attention, from the probabilities `p` the forward kept and its `dropout` `m`:
///
/// - `dv = (p m)^T do`, `dp = m (do v^T)`, `ds = p (dp - sum over keys of dp p)`
/// - `dq = scale ds k`, `dk = scale ds^T q`, `dbias = sum over the batch of ds`
///
/// # Shapes
/// - probabilities, dropout: `[batch, heads, tokens, tokens]`
/// - d_output: `[batch, tokens, heads * head_dim]`
/// - d_qkv: `[batch, tokens, 3, heads, head_dim]`, d_bias: `[heads, tokens, tokens]`
pub fn attention_backward(
    input: &Attention<'_>,
    dropout: Option<&[f32]>,
    probabilities: &[f32],
    d_output: &[f32],
    d_qkv: &mut [f32],
    d_bias: Option<&mut [f32]>,
) {
    input.check();
    let square = input.tokens * input.tokens;
    assert_eq!(probabilities.len(), input.probabilities_len());
    assert!(dropout.is_none_or(|dropout| dropout.len() == probabilities.len()));
    assert_eq!(d_output.len(), input.batch * input.tokens * input.width());
    assert_eq!(d_qkv.len(), input.qkv.len());
    assert!(d_bias.as_ref().is_none_or(|d_bias| d_bias.len() == input.heads * square));
    if d_output.is_empty() {
        d_bias.into_iter().for_each(|d_bias| d_bias.fill(0.0));
        return;
    }
    // The gradient of the bias sums over the batch: a piece takes one head of a block of
    // sequences. The batch alone decides the blocks, so the sums never change.
    let block = if d_bias.is_some() { input.batch.div_ceil(BLOCKS) } else { 1 };
    let blocks = input.batch.div_ceil(block);
    let mut partial = vec![0.0; if d_bias.is_some() { blocks * input.heads * square } else { 0 }];
    let (d_qkv, partial_sums) = (Shared::new(d_qkv), Shared::new(&mut partial));
    run(blocks * input.heads, input.nanoseconds(4), |piece| {
        let (first, head) = (piece / input.heads * block, piece % input.heads);
        let mut d_bias = d_bias.is_some().then(|| {
            // SAFETY: every piece has its own square.
            unsafe { partial_sums.part(piece * square, square) }
        });
        for batch in first..(first + block).min(input.batch) {
            let place = (batch * input.heads + head) * square;
            let probabilities = &probabilities[place..][..square];
            let dropout = dropout.map(|dropout| &dropout[place..][..square]);
            let place = batch * input.tokens * input.width() + head * input.head_dim;
            let d_output = &d_output[place..];
            let d_bias = d_bias.as_deref_mut();
            backward_head(input, batch, head, dropout, probabilities, d_output, &d_qkv, d_bias);
        }
    });
    if let Some(d_bias) = d_bias {
        d_bias.fill(0.0);
        partial.chunks_exact(d_bias.len()).for_each(|block| add(d_bias, block));
    }
}

#[allow(clippy::too_many_arguments)]
fn backward_head(
    input: &Attention<'_>,
    batch: usize,
    head: usize,
    dropout: Option<&[f32]>,
    probabilities: &[f32],
    d_output: &[f32],
    d_qkv: &Shared<'_>,
    d_bias: Option<&mut [f32]>,
) {
    let Attention { tokens, head_dim, scale, .. } = *input;
    let (width, keys) = (input.width(), input.keys(batch));
    let (kc, dc) = (keys.next_multiple_of(COLUMNS), head_dim.next_multiple_of(COLUMNS));
    // Where a query, key or value of this head is written, times a factor.
    let write = |which: usize, rows: &[f32], factor: f32| {
        for (token, row) in rows.chunks_exact(dc).enumerate() {
            let place = ((batch * tokens + token) * 3 + which) * width + head * head_dim;
            // SAFETY: only this piece writes this head of this sequence.
            let target = unsafe { d_qkv.part(place, head_dim) };
            for (target, value) in target.iter_mut().zip(row) {
                *target = factor * value;
            }
        }
    };
    if keys == 0 {
        with_scratch([tokens * dc], |[zeros]| {
            zeros.fill(0.0);
            (0..3).for_each(|which| write(which, zeros, 0.0));
        });
        return;
    }
    let (scores, values) = (tokens * kc, tokens * dc);
    let dropped_len = if dropout.is_some() { scores } else { 0 };
    let lengths = [
        values,
        keys * dc,
        head_dim * kc,
        values,
        values,
        scores,
        scores,
        dropped_len,
        tokens * COLUMNS,
    ];
    with_scratch(lengths, |[q, k, v, d_out, d_part, p, d_scores, dropped, lanes]| {
        pack(input.part(batch, head, 0), 3 * width, head_dim, scale, q, dc);
        pack(input.part(batch, head, 1), 3 * width, head_dim, 1.0, k, dc);
        pack_transposed(input.part(batch, head, 2), 3 * width, keys, head_dim, v, kc);
        pack(d_output, width, head_dim, 1.0, d_out, dc);
        pack(probabilities, tokens, keys, 1.0, p, kc);
        product(d_out, dc, v, kc, d_scores, kc, tokens, kc, head_dim);
        let weights = if let Some(dropout) = dropout {
            pack(dropout, tokens, keys, 1.0, dropped, kc);
            drop_out(dropped, d_scores, p);
            &*dropped
        } else {
            &*p
        };
        // Keys beyond the last open one have no gradient.
        d_part[keys * dc..].fill(0.0);
        product_transposed(weights, kc, d_out, dc, d_part, dc, keys, dc, tokens);
        write(2, d_part, 1.0);
        scores_backward(p, d_scores, kc, lanes);
        if let Some(d_bias) = d_bias {
            for (d_bias, d_scores) in d_bias.chunks_exact_mut(tokens).zip(d_scores.chunks_exact(kc))
            {
                add(d_bias, d_scores);
            }
        }
        // The queries already carry the scale.
        product_transposed(d_scores, kc, q, dc, d_part, dc, keys, dc, tokens);
        write(1, d_part, 1.0);
        product(d_scores, kc, k, dc, d_part, dc, tokens, dc, keys);
        write(0, d_part, scale);
    });
}

simd! {
    /// `sum += term`, as far as the shorter goes.
    fn add(sum: &mut [f32], term: &[f32]) {
        for (sum, term) in sum.iter_mut().zip(term) {
            *sum += term;
        }
    }
}

simd! {
    /// `gradient = mask gradient`, then `mask = mask p`.
    fn drop_out(mask: &mut [f32], gradient: &mut [f32], p: &[f32]) {
        for ((mask, gradient), p) in mask.iter_mut().zip(gradient).zip(p) {
            *gradient *= *mask;
            *mask *= p;
        }
    }
}

simd! {
    /// `gradient = p (gradient - sum of gradient p)` in every row, a multiple of eight wide.
    ///
    /// The sums of all rows first, eight lanes each: row by row every step would wait for a sum.
    fn scores_backward(p: &[f32], gradient: &mut [f32], columns: usize, lanes: &mut [f32]) {
        let lanes = lanes.as_chunks_mut::<COLUMNS>().0;
        let rows = p.chunks_exact(columns).zip(gradient.chunks_exact(columns));
        for ((p, gradient), lanes) in rows.zip(lanes.iter_mut()) {
            let mut sums = [0.0; COLUMNS];
            let (p, gradient) = (p.as_chunks::<COLUMNS>().0, gradient.as_chunks::<COLUMNS>().0);
            for (p, gradient) in p.iter().zip(gradient) {
                for i in 0..COLUMNS {
                    sums[i] = p[i].mul_add(gradient[i], sums[i]);
                }
            }
            *lanes = sums;
        }
        let rows = p.chunks_exact(columns).zip(gradient.chunks_exact_mut(columns));
        for ((p, gradient), lanes) in rows.zip(lanes.iter()) {
            let mean = total_of_eight(lanes);
            for (gradient, p) in gradient.iter_mut().zip(p) {
                *gradient = p * (*gradient - mean);
            }
        }
    }
}
