//! Attention against the formula in f64, forward and backward.

use super::{Attention, attention, attention_backward, attention_keeping};

struct Case {
    batch: usize,
    tokens: usize,
    heads: usize,
    head_dim: usize,
    mask: bool,
    bias: bool,
    dropout: bool,
}

/// Output, probabilities and the gradients of qkv and of the bias, in f64.
struct Exact {
    output: Vec<f64>,
    probabilities: Vec<f64>,
    d_qkv: Vec<f64>,
    d_bias: Vec<f64>,
}

fn values(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + seed * 101) % 1013) as f32 / 300.0 - 1.7).collect()
}

fn exact(input: &Attention<'_>, dropout: Option<&[f32]>, d_output: &[f32]) -> Exact {
    let Attention { batch, tokens: t, heads, head_dim: d, .. } = *input;
    let (w, scale) = (heads * d, f64::from(input.scale));
    let mut found = Exact {
        output: vec![0.0; batch * t * w],
        probabilities: vec![0.0; batch * heads * t * t],
        d_qkv: vec![0.0; input.qkv.len()],
        d_bias: vec![0.0; heads * t * t],
    };
    for (b, h) in (0..batch).flat_map(|b| (0..heads).map(move |h| (b, h))) {
        let place = |i: usize, which: usize, c: usize| ((b * t + i) * 3 + which) * w + h * d + c;
        let at = |i, which, c| f64::from(input.qkv[place(i, which, c)]);
        for i in 0..t {
            let square = ((b * heads + h) * t + i) * t;
            let score = |j: usize| {
                let product = (0..d).map(|c| at(i, 0, c) * at(j, 1, c)).sum::<f64>() * scale;
                let mask = input.key_mask.map_or(0.0, |mask| f64::from(mask[b * t + j]));
                product + mask + input.bias.map_or(0.0, |bias| f64::from(bias[(h * t + i) * t + j]))
            };
            let e = (0..t).map(|j| score(j).exp()).collect::<Vec<_>>();
            let sum = e.iter().sum::<f64>();
            let p = e.iter().map(|e| if sum == 0.0 { 0.0 } else { e / sum }).collect::<Vec<_>>();
            found.probabilities[square..square + t].copy_from_slice(&p);
            let m = |j: usize| dropout.map_or(1.0, |m| f64::from(m[square + j]));
            let out = (b * t + i) * w + h * d;
            let mut dp = vec![0.0; t];
            for (j, dp) in dp.iter_mut().enumerate() {
                for c in 0..d {
                    let d_out = f64::from(d_output[out + c]);
                    found.output[out + c] += m(j) * p[j] * at(j, 2, c);
                    found.d_qkv[place(j, 2, c)] += m(j) * p[j] * d_out;
                    *dp += m(j) * d_out * at(j, 2, c);
                }
            }
            let mean = dp.iter().zip(&p).map(|(dp, p)| dp * p).sum::<f64>();
            for j in 0..t {
                let ds = p[j] * (dp[j] - mean);
                found.d_bias[(h * t + i) * t + j] += ds;
                for c in 0..d {
                    found.d_qkv[place(i, 0, c)] += scale * ds * at(j, 1, c);
                    found.d_qkv[place(j, 1, c)] += scale * ds * at(i, 0, c);
                }
            }
        }
    }
    found
}

fn close(found: &[f32], expected: &[f64], bound: f64, what: &str) {
    assert_eq!(found.len(), expected.len());
    let error = |(&f, &e): (&f32, &f64)| (f64::from(f) - e).abs() / (1.0 + e.abs());
    let errors = found.iter().zip(expected).map(error);
    // A NaN must not pass.
    assert!(errors.clone().all(|e| e < bound), "{what}: {}", errors.fold(0.0, f64::max));
}

fn check(case: &Case) {
    let Case { batch, tokens, heads, head_dim, .. } = *case;
    let qkv = values(batch * tokens * 3 * heads * head_dim, 1);
    // A hole in every sequence, ends of several lengths, and the last sequence masked entirely.
    let masked = |i: usize| {
        let (sequence, token) = (i / tokens, i % tokens);
        token == 2 || token > tokens - sequence % 3 || (sequence > 0 && sequence + 1 == batch)
    };
    let mask = (0..batch * tokens)
        .map(|i| if masked(i) { f32::NEG_INFINITY } else { 0.0 })
        .collect::<Vec<_>>();
    let bias = values(heads * tokens * tokens, 2);
    let square = batch * heads * tokens * tokens;
    let dropout =
        (0..square).map(|i| if i * 7 % 10 == 0 { 0.0 } else { 1.0 / 0.9 }).collect::<Vec<_>>();
    let dropout = case.dropout.then_some(&dropout[..]);
    let input = Attention {
        qkv: &qkv,
        batch,
        tokens,
        heads,
        head_dim,
        scale: 1.0 / (head_dim as f32).sqrt(),
        key_mask: case.mask.then_some(&mask[..]),
        bias: case.bias.then_some(&bias[..]),
    };
    let d_output = values(batch * tokens * heads * head_dim, 3);
    let expected = exact(&input, dropout, &d_output);
    let mut output = vec![f32::NAN; d_output.len()];
    let mut probabilities = vec![f32::NAN; square];
    attention_keeping(&input, dropout, &mut probabilities, &mut output);
    close(&output, &expected.output, 3e-6, "output");
    close(&probabilities, &expected.probabilities, 1e-6, "probabilities");
    if dropout.is_none() {
        let mut output = vec![f32::NAN; d_output.len()];
        attention(&input, &mut output);
        close(&output, &expected.output, 3e-6, "output alone");
    }
    let mut d_qkv = vec![f32::NAN; qkv.len()];
    let mut d_bias = vec![f32::NAN; bias.len()];
    let kept = &probabilities;
    attention_backward(&input, dropout, kept, &d_output, &mut d_qkv, Some(&mut d_bias));
    close(&d_qkv, &expected.d_qkv, 1e-5, "d_qkv");
    close(&d_bias, &expected.d_bias, 1e-5, "d_bias");
    let mut alone = vec![f32::NAN; qkv.len()];
    attention_backward(&input, dropout, kept, &d_output, &mut alone, None);
    assert_eq!(d_qkv, alone);
}

#[test]
fn is_the_formula() {
    let sizes = [
        (0, 5, 2, 8),
        (2, 0, 2, 8),
        (1, 1, 1, 1),
        (1, 3, 2, 5),
        (1, 12, 12, 32),
        (3, 7, 2, 33),
        (4, 32, 3, 32),
        (2, 50, 2, 64),
        (11, 9, 2, 16),
        (1, 131, 1, 24),
    ];
    for (batch, tokens, heads, head_dim) in sizes {
        for options in 0..8 {
            let (mask, bias, dropout) = (options & 1 > 0, options & 2 > 0, options & 4 > 0);
            check(&Case { batch, tokens, heads, head_dim, mask, bias, dropout });
        }
    }
}

/// The kernels do not depend on the threads that run them.
#[test]
fn threads_do_not_change_the_result() {
    let (batch, tokens, heads, head_dim) = (9, 40, 4, 32);
    let qkv = values(batch * tokens * 3 * heads * head_dim, 1);
    let bias = values(heads * tokens * tokens, 2);
    let d_output = values(batch * tokens * heads * head_dim, 3);
    let bias = Some(&bias[..]);
    let input =
        Attention { qkv: &qkv, batch, tokens, heads, head_dim, scale: 0.2, key_mask: None, bias };
    let run = |threads| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let mut output = vec![0.0; d_output.len()];
            let mut p = vec![0.0; input.probabilities_len()];
            let (mut d_qkv, mut d_bias) =
                (vec![0.0; qkv.len()], vec![0.0; heads * tokens * tokens]);
            attention_keeping(&input, None, &mut p, &mut output);
            attention_backward(&input, None, &p, &d_output, &mut d_qkv, Some(&mut d_bias));
            (output, p, d_qkv, d_bias)
        })
    };
    assert!(run(1) == run(2) && run(1) == run(5));
}
