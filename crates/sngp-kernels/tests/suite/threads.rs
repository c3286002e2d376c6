//! Results do not depend on the number of threads.

use burn::tensor::{Device, Tensor};
use sngp_kernels::{
    Activation, AttentionOptions, Geometry, attention, batch_norm_relu, convolution, layer_norm,
    linear, rank_update,
};

use crate::common::{evaluate, filled, values};

/// Everything large enough to be shared out, with gradients.
fn everything() -> Vec<Vec<f32>> {
    let dense = evaluate(&[300 * 200, 200 * 170, 170], |l| {
        let (input, weight) = (l[0].clone().reshape([300, 200]), l[1].clone().reshape([200, 170]));
        linear(input, weight, Some(l[2].clone()), Activation::Gelu, None, None)
    });
    let normalized = evaluate(&[3000 * 64, 64, 64], |l| {
        let input = l[0].clone().reshape([3000, 64]);
        let normalized = layer_norm(input, None, l[1].clone(), l[2].clone(), 1e-5);
        batch_norm_relu(normalized, l[1].clone(), l[2].clone(), 1e-5).output
    });
    let attended = evaluate(&[8 * 32 * 192], |l| {
        attention(l[0].clone().reshape([8, 32, 192]), 4, AttentionOptions::default())
    });
    let convolved = |stride: usize| {
        evaluate(&[8 * 16 * 16 * 32, 40 * 32 * 9], |l| {
            let input = l[0].clone().reshape([8, 16, 16, 32]);
            let weight: Tensor<4> = l[1].clone().reshape([40, 32, 3, 3]);
            convolution(input, weight, Geometry { stride, padding: 1 }, None, None)
        })
    };
    let mut sum = vec![0.0; 500 * 500];
    rank_update(&mut sum, &values(filled([130, 500], 1.0, &Device::flex())), 500);
    let sum = sum.into_iter().map(|value| value as f32).collect();
    [dense, normalized, attended, convolved(1), convolved(2), vec![vec![], sum]].concat()
}

#[test]
fn one_and_three_threads_give_the_same_bits() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(everything)
    };
    assert!(on(1) == on(3));
}
