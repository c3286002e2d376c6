//! The precision's update and the variance.

use burn::tensor::{Device, Tensor};
use proptest::prelude::*;
use sngp_kernels::{Prepared, rank_update, variance, variance_reference};

use crate::common::{difference, filled, values};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_update_is_the_square(rows in 0usize..70, dimension in 1usize..150) {
        let features = values(filled([rows, dimension], 1.0, &Device::flex()));
        let mut sum = vec![0.5f64; dimension * dimension];
        rank_update(&mut sum, &features, dimension);
        for column in 0..dimension {
            for row in column..dimension {
                let exact: f64 = features
                    .chunks(dimension)
                    .map(|x| f64::from(x[row]) * f64::from(x[column]))
                    .sum();
                let error = (sum[column * dimension + row] - 0.5 - exact).abs();
                prop_assert!(error < 1e-5 * rows.max(1) as f64, "{row} {column}: {error}");
            }
        }
    }

    #[test]
    fn the_variance_is_burns(rows in 0usize..30, dimension in 1usize..200, matrices in 1usize..4) {
        let device = Device::flex();
        let features = filled([rows, dimension], 1.0, &device);
        let full = filled([matrices, dimension, dimension], 1.0, &device);
        let factors = Tensor::<3>::triu(full, 0);
        let prepared = Prepared::default();
        for _ in 0..2 {
            let ours = variance(features.clone(), factors.clone(), &prepared);
            prop_assert_eq!(ours.dims(), [rows, matrices]);
            if rows > 0 {
                let burns = variance_reference(features.clone(), factors.clone());
                prop_assert!(difference(&values(ours), &values(burns)) < 1e-4);
            }
        }
    }
}
