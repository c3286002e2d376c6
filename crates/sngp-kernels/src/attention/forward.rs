//! Multi-head attention of short sequences, forward.

use super::pack::{pack, pack_transposed};
use super::small_product::{COLUMNS, product};
use crate::parallel::{Shared, run};
use crate::scratch::with_scratch;
use crate::simd::simd;
use crate::softmax::exponentials;

/// Queries scored together, so that their scores stay in the first cache: whole tiles of rows.
const QUERIES: usize = 48;

/// What attention reads.
#[derive(Clone, Copy, Debug)]
pub struct Attention<'a> {
    /// Queries, keys and values: `[batch, tokens, 3, heads, head_dim]`.
    pub qkv: &'a [f32],
    /// Sequences.
    pub batch: usize,
    /// Tokens of a sequence, padding included.
    pub tokens: usize,
    /// Heads.
    pub heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Factor of the scores, commonly `1 / sqrt(head_dim)`.
    pub scale: f32,
    /// Added to the scores of a key, 0 or -infinity: `[batch, tokens]`. Keys masked at the end of
    /// a sequence are not computed at all.
    pub key_mask: Option<&'a [f32]>,
    /// Added to the scores, the same for the whole batch: `[heads, tokens, tokens]`, a row a query.
    pub bias: Option<&'a [f32]>,
}

impl<'a> Attention<'a> {
    /// Values in a token's row of queries, of keys or of values.
    pub(crate) fn width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Values the probabilities have: `[batch, heads, tokens, tokens]`.
    pub fn probabilities_len(&self) -> usize {
        self.batch * self.heads * self.tokens * self.tokens
    }

    pub(crate) fn check(&self) {
        let (tokens, heads) = (self.tokens, self.heads);
        assert_eq!(self.qkv.len(), self.batch * tokens * 3 * self.width());
        assert!(self.key_mask.is_none_or(|mask| mask.len() == self.batch * tokens));
        assert!(self.bias.is_none_or(|bias| bias.len() == heads * tokens * tokens));
    }

    /// Nanoseconds on one core of that many products of scores and values, roughly.
    pub(crate) fn nanoseconds(&self, products: usize) -> usize {
        self.batch * self.heads * self.tokens * self.tokens * self.head_dim * products / 20
    }

    /// Queries (0), keys (1) or values (2) of a head, from its first value; rows `3 width` apart.
    pub(crate) fn part(&self, batch: usize, head: usize, which: usize) -> &'a [f32] {
        &self.qkv[batch * self.tokens * 3 * self.width()..]
            [which * self.width() + head * self.head_dim..]
    }

    /// The mask of a sequence.
    fn mask(&self, batch: usize) -> Option<&'a [f32]> {
        self.key_mask.map(|mask| &mask[batch * self.tokens..][..self.tokens])
    }

    /// Keys of a sequence up to the last one not masked.
    pub(crate) fn keys(&self, batch: usize) -> usize {
        let open = |&mask: &f32| mask != f32::NEG_INFINITY;
        let last = |mask: &[f32]| mask.iter().rposition(open).map_or(0, |last| last + 1);
        self.mask(batch).map_or(self.tokens, last)
    }
}

/// `softmax(scale q k^T + mask + bias) v` of every head.
///
/// A query all of whose keys are masked gives 0.
///
/// # Shapes
/// - output: `[batch, tokens, heads * head_dim]`
pub fn attention(input: &Attention<'_>, output: &mut [f32]) {
    forward(input, None, None, output);
}

/// As [`attention`], keeping the probabilities for the backward; they are multiplied by `dropout`
/// (0, or 1 over the share kept) for the output, but kept without it.
///
/// # Shapes
/// - probabilities, dropout: `[batch, heads, tokens, tokens]`
/// - output: `[batch, tokens, heads * head_dim]`
pub fn attention_keeping(
    input: &Attention<'_>,
    dropout: Option<&[f32]>,
    probabilities: &mut [f32],
    output: &mut [f32],
) {
    assert_eq!(probabilities.len(), input.probabilities_len());
    assert!(dropout.is_none_or(|dropout| dropout.len() == input.probabilities_len()));
    forward(input, dropout, Some(probabilities), output);
}

fn forward(
    input: &Attention<'_>,
    dropout: Option<&[f32]>,
    probabilities: Option<&mut [f32]>,
    output: &mut [f32],
) {
    input.check();
    assert_eq!(output.len(), input.batch * input.tokens * input.width());
    if output.is_empty() {
        return;
    }
    let (output, probabilities) = (Shared::new(output), probabilities.map(Shared::new));
    let square = input.tokens * input.tokens;
    run(input.batch * input.heads, input.nanoseconds(2), |piece| {
        let probabilities = probabilities.as_ref().map(|probabilities| {
            // SAFETY: every piece has its own square.
            unsafe { probabilities.part(piece * square, square) }
        });
        let dropout = dropout.map(|dropout| &dropout[piece * square..][..square]);
        let (batch, head) = (piece / input.heads, piece % input.heads);
        forward_head(input, batch, head, dropout, probabilities, &output);
    });
}

fn forward_head(
    input: &Attention<'_>,
    batch: usize,
    head: usize,
    dropout: Option<&[f32]>,
    probabilities: Option<&mut [f32]>,
    output: &Shared<'_>,
) {
    let Attention { tokens, head_dim, scale, .. } = *input;
    let (width, keys, mut probabilities) = (input.width(), input.keys(batch), probabilities);
    let (key_columns, dim_columns) =
        (keys.next_multiple_of(COLUMNS), head_dim.next_multiple_of(COLUMNS));
    let bias = input.bias.map(|bias| &bias[head * tokens * tokens..][..tokens * tokens]);
    let queries = QUERIES.min(tokens);
    let lengths = [
        key_columns,
        queries * head_dim,
        head_dim * key_columns,
        keys * dim_columns,
        queries * key_columns,
        queries * COLUMNS,
        queries,
        queries * dim_columns,
    ];
    with_scratch(lengths, |[mask, q, k, v, scores, lanes, inverse, context]| {
        // The padding is masked like the keys that are masked.
        mask.fill(f32::NEG_INFINITY);
        match input.mask(batch) {
            Some(values) => mask[..keys].copy_from_slice(&values[..keys]),
            None => mask[..keys].fill(0.0),
        }
        pack_transposed(input.part(batch, head, 1), 3 * width, keys, head_dim, k, key_columns);
        pack(input.part(batch, head, 2), 3 * width, head_dim, 1.0, v, dim_columns);
        for first in (0..tokens).step_by(QUERIES) {
            let count = QUERIES.min(tokens - first);
            let place = first * tokens..(first + count) * tokens;
            let (q, scores) = (&mut q[..count * head_dim], &mut scores[..count * key_columns]);
            let source = &input.part(batch, head, 0)[first * 3 * width..];
            pack(source, 3 * width, head_dim, scale, q, head_dim);
            product(q, head_dim, k, key_columns, scores, key_columns, count, key_columns, head_dim);
            let bias = bias.map(|bias| &bias[place.clone()]);
            weights(scores, mask, bias, tokens, lanes, &mut inverse[..count]);
            if let Some(probabilities) = &mut probabilities {
                let (kept, dropout) =
                    (&mut probabilities[place.clone()], dropout.map(|d| &d[place]));
                keep(scores, keys, dropout, kept, tokens, &mut inverse[..count]);
            }
            product(
                scores,
                key_columns,
                v,
                dim_columns,
                context,
                dim_columns,
                count,
                dim_columns,
                keys,
            );
            for (row, context) in context.chunks_exact(dim_columns).take(count).enumerate() {
                let place = (batch * tokens + first + row) * width + head * head_dim;
                // SAFETY: only this piece writes this head of this sequence.
                let target = unsafe { output.part(place, head_dim) };
                for (target, value) in target.iter_mut().zip(context) {
                    *target = inverse[row] * value;
                }
            }
        }
    });
}

simd! {
    /// `scores = e^(scores + mask + bias - largest of the row)`, with the inverse of their sums.
    fn weights(
        scores: &mut [f32],
        mask: &[f32],
        bias: Option<&[f32]>,
        tokens: usize,
        lanes: &mut [f32],
        inverse: &mut [f32],
    ) {
        // All keys masked: no scores, and rows of no width.
        if mask.is_empty() {
            inverse.fill(0.0);
            return;
        }
        if let Some(bias) = bias {
            for (row, scores) in scores.chunks_exact_mut(mask.len()).enumerate() {
                for (score, bias) in scores.iter_mut().zip(&bias[row * tokens..][..tokens]) {
                    *score += bias;
                }
            }
        }
        exponentials(scores, mask, lanes.as_chunks_mut().0, inverse);
    }
}

simd! {
    /// Normalises the weights into `kept`, and applies the dropout to them for the product.
    fn keep(
        weights: &mut [f32],
        keys: usize,
        dropout: Option<&[f32]>,
        kept: &mut [f32],
        tokens: usize,
        inverse: &mut [f32],
    ) {
        let columns = keys.next_multiple_of(COLUMNS);
        for (row, (kept, inverse)) in kept.chunks_exact_mut(tokens).zip(inverse).enumerate() {
            let weights = &mut weights[row * columns..][..keys];
            let (open, masked) = kept.split_at_mut(keys);
            for (kept, weight) in open.iter_mut().zip(weights.iter_mut()) {
                *weight *= *inverse;
                *kept = *weight;
            }
            masked.fill(0.0);
            if let Some(dropout) = dropout {
                for (weight, dropout) in weights.iter_mut().zip(&dropout[row * tokens..][..keys]) {
                    *weight *= dropout;
                }
            }
            *inverse = 1.0;
        }
    }
}
