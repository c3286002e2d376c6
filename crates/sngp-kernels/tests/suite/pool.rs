//! The mean over an image, and the largest value of each window.

use burn::tensor::{Device, Tensor};
use proptest::prelude::*;
use sngp_kernels::{max_pool, max_pool_reference, mean_pool};

use crate::common::{assert_same, filled, values};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn the_mean_over_an_image_is_burns(batch in 1usize..4, size in 1usize..7, channels in 1usize..70) {
        let shape = [batch, size, size, channels];
        let ours = |l: &[Tensor<1>]| mean_pool(l[0].clone().reshape(shape));
        let burns = |l: &[Tensor<1>]| {
            let flat = l[0].clone().reshape([batch, size * size, channels]);
            flat.mean_dim(1).reshape([batch, channels])
        };
        assert_same(&[shape.iter().product()], 1e-5, ours, burns);
    }

    #[test]
    fn the_largest_of_each_window_is_burns(
        batch in 1usize..4,
        down in 1usize..5,
        across in 1usize..5,
        window in (1usize..4, 1usize..4),
        channels in 1usize..70,
    ) {
        let shape = [batch, down * window.0, across * window.1, channels];
        let window = [window.0, window.1];
        let ours = |l: &[Tensor<1>]| max_pool(l[0].clone().reshape(shape), window);
        let burns = |l: &[Tensor<1>]| max_pool_reference(l[0].clone().reshape(shape), window);
        assert_same(&[shape.iter().product()], 1e-6, ours, burns);
    }
}

#[test]
fn images_in_any_layout_and_none_at_all() {
    let device = Device::flex();
    let empty = Tensor::<4>::zeros([0, 4, 4, 3], &device);
    assert_eq!(max_pool(empty.clone(), [2, 2]).dims(), [0, 2, 2, 3]);
    assert_eq!(mean_pool(empty).dims(), [0, 3]);
    let image = filled([2, 3, 4, 6], 1.0, &device).permute([0, 2, 3, 1]);
    let copy = Tensor::<4>::from_data(image.clone().into_data(), &device);
    assert_eq!(values(max_pool(image, [4, 3])), values(max_pool_reference(copy, [4, 3])));
}

#[test]
#[should_panic(expected = "do not tile")]
fn windows_that_do_not_tile_the_image_are_refused() {
    max_pool(Tensor::zeros([1, 4, 5, 1], &Device::flex()), [2, 2]);
}
