//! Every way of computing a convolution against plain sums in f64.

use super::*;

/// Values in (-1, 1) that differ from seed to seed.
fn values(size: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..size).map(|_| next()).collect()
}

/// Calls `visit(input index, weight index, output index)` for every product of the convolution.
fn products(shape: &ConvShape, mut visit: impl FnMut(usize, usize, usize)) {
    let ConvShape { batch, height, width, channels, filters, kernel, stride, padding } = *shape;
    let (rows, columns) = (shape.output_height(), shape.output_width());
    for n in 0..batch {
        for (oy, ox) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
            for (ky, kx) in (0..kernel).flat_map(|y| (0..kernel).map(move |x| (y, x))) {
                let (y, x) = (oy * stride + ky, ox * stride + kx);
                if y < padding || y - padding >= height || x < padding || x - padding >= width {
                    continue;
                }
                let pixel = (n * height + y - padding) * width + x - padding;
                for c in 0..channels {
                    for f in 0..filters {
                        let weight = ((f * channels + c) * kernel + ky) * kernel + kx;
                        let output = ((n * rows + oy) * columns + ox) * filters + f;
                        visit(pixel * channels + c, weight, output);
                    }
                }
            }
        }
    }
}

/// The largest difference relative to the largest expected value.
fn error(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().all(|value| value.is_finite()));
    let largest = expected.iter().fold(1e-30, |most: f64, value| most.max(value.abs()));
    let pairs = found.iter().zip(expected);
    pairs.fold(0.0, |most: f64, (a, b)| most.max((f64::from(*a) - b).abs())) / largest
}

fn methods(shape: &ConvShape) -> Vec<Method> {
    let mut methods = vec![Method::Direct];
    if shape.is_same_3x3() {
        methods.extend([Tile::Two, Tile::Four].map(Method::Winograd));
    }
    methods
}

fn check(shape: ConvShape) {
    let x = values(shape.input_len(), 1);
    let w = values(shape.weight_len(), 2);
    let dy = values(shape.output_len(), 3);
    let residual = values(shape.output_len(), 4);
    let (scale, shift) = (values(shape.filters, 5), values(shape.filters, 6));
    let mut y = vec![0.0f64; shape.output_len()];
    let mut dx = vec![0.0f64; shape.input_len()];
    let mut dw = vec![0.0f64; shape.weight_len()];
    products(&shape, |input, weight, output| {
        y[output] += f64::from(x[input]) * f64::from(w[weight]);
        dx[input] += f64::from(dy[output]) * f64::from(w[weight]);
        dw[weight] += f64::from(dy[output]) * f64::from(x[input]);
    });
    let finished: Vec<f64> = (0..y.len())
        .map(|i| {
            let filter = i % shape.filters;
            let scaled = y[i] * f64::from(scale[filter]) + f64::from(shift[filter]);
            (scaled + f64::from(residual[i])).max(0.0)
        })
        .collect();
    let full = Epilogue {
        scale: Some(&scale),
        shift: Some(&shift),
        residual: Some(&residual),
        relu: true,
    };
    for method in methods(&shape) {
        let mut found = vec![f32::NAN; y.len()];
        let weight = PreparedWeight::new(&w, &shape, method);
        weight.forward(&x, &shape, &Epilogue::default(), &mut found);
        assert!(error(&found, &y) < 2e-5, "{method:?} {shape:?}: {}", error(&found, &y));
        found.fill(f32::NAN);
        weight.forward(&x, &shape, &full, &mut found);
        assert!(error(&found, &finished) < 2e-5, "{method:?} {shape:?} with epilogue");

        let mut found = vec![f32::NAN; dx.len()];
        let weight = PreparedGradient::new(&w, &shape, method);
        weight.input_gradient(&dy, &shape, &mut found);
        assert!(error(&found, &dx) < 2e-5, "{method:?} {shape:?} input gradient");

        let mut found = vec![f32::NAN; dw.len()];
        weight_gradient(&x, &dy, &shape, method, &mut found);
        assert!(error(&found, &dw) < 2e-5, "{method:?} {shape:?} weight gradient");
    }
}

fn shape(sizes: [usize; 4], filters: usize, kernel: [usize; 3]) -> ConvShape {
    let [batch, height, width, channels] = sizes;
    let [kernel, stride, padding] = kernel;
    ConvShape { batch, height, width, channels, filters, kernel, stride, padding }
}

#[test]
fn odd_sizes_and_small_images() {
    for kernel in [[3, 1, 1], [3, 2, 1], [1, 1, 0], [1, 2, 0], [5, 1, 2], [5, 2, 2], [3, 1, 0]] {
        for size in [[1, 1, 1, 3], [2, 5, 7, 3], [1, 7, 9, 19], [3, 6, 4, 16], [0, 5, 5, 4]] {
            check(shape(size, 5, kernel));
            check(shape(size, 33, kernel));
        }
    }
    check(shape([2, 3, 3, 2], 3, [3, 1, 4]));
    check(shape([2, 6, 6, 2], 3, [2, 3, 0]));
}

#[test]
fn sizes_that_all_threads_share() {
    check(shape([4, 32, 32, 16], 32, [3, 1, 1]));
    check(shape([1, 13, 11, 70], 50, [3, 1, 1]));
    check(shape([2, 16, 16, 40], 200, [3, 2, 1]));
    check(shape([1, 16, 16, 64], 128, [3, 2, 1]));
    check(shape([2, 16, 16, 64], 70, [1, 2, 0]));
    check(shape([9, 12, 12, 24], 40, [1, 1, 0]));
    check(shape([6, 20, 20, 3], 16, [3, 1, 1]));
    check(shape([1, 8, 8, 350], 350, [3, 1, 1]));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let shapes = [
        shape([5, 18, 14, 24], 40, [3, 1, 1]),
        shape([3, 17, 17, 32], 300, [3, 2, 1]),
        shape([8, 20, 20, 3], 16, [3, 1, 1]),
        shape([1, 8, 8, 350], 350, [3, 1, 1]),
    ];
    for shape in shapes {
        let x = values(shape.input_len(), 1);
        let w = values(shape.weight_len(), 2);
        let dy = values(shape.output_len(), 3);
        for method in methods(&shape) {
            let all = || {
                let mut y = vec![0.0; shape.output_len()];
                let mut dx = vec![0.0; shape.input_len()];
                let mut dw = vec![0.0; shape.weight_len()];
                let weight = PreparedWeight::new(&w, &shape, method);
                weight.forward(&x, &shape, &Epilogue::default(), &mut y);
                let weight = PreparedGradient::new(&w, &shape, method);
                weight.input_gradient(&dy, &shape, &mut dx);
                weight_gradient(&x, &dy, &shape, method, &mut dw);
                (y, dx, dw)
            };
            let alone = pool(1).install(all);
            assert!(alone == pool(2).install(all), "{method:?} {shape:?}");
            assert!(alone == pool(7).install(all), "{method:?} {shape:?}");
        }
    }
}

/// How far the methods are from the exact sum at 160 channels; run with `--nocapture`.
#[test]
fn errors_at_160_channels() {
    let shape = shape([1, 16, 16, 160], 160, [3, 1, 1]);
    let x = values(shape.input_len(), 1);
    let w = values(shape.weight_len(), 2);
    let dy = values(shape.output_len(), 3);
    let mut y = vec![0.0f64; shape.output_len()];
    let mut dw = vec![0.0f64; shape.weight_len()];
    products(&shape, |input, weight, output| {
        y[output] += f64::from(x[input]) * f64::from(w[weight]);
        dw[weight] += f64::from(dy[output]) * f64::from(x[input]);
    });
    let rms = |found: &[f32], expected: &[f64]| {
        let square: f64 = expected.iter().map(|value| value * value).sum();
        let pairs = found.iter().zip(expected);
        let wrong: f64 = pairs.map(|(a, b)| (f64::from(*a) - b).powi(2)).sum();
        (wrong / square).sqrt()
    };
    for (method, limit) in methods(&shape).into_iter().zip([1e-6, 1e-6, 4e-6]) {
        let mut found = vec![0.0; y.len()];
        let weight = PreparedWeight::new(&w, &shape, method);
        weight.forward(&x, &shape, &Epilogue::default(), &mut found);
        let mut gradient = vec![0.0; dw.len()];
        weight_gradient(&x, &dy, &shape, method, &mut gradient);
        let errors = [rms(&found, &y), rms(&gradient, &dw)];
        println!(
            "{method:?}: forward rms {:.2e} max {:.2e}; weight gradient rms {:.2e} max {:.2e}",
            errors[0],
            error(&found, &y),
            errors[1],
            error(&gradient, &dw)
        );
        assert!(errors[0] < limit && errors[1] < limit);
    }
}
