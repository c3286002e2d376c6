use super::*;

fn values(size: usize, seed: u32, offset: f32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0 + offset
    };
    (0..size).map(|_| next()).collect()
}

fn close(found: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(1e-30, |most: f64, value| most.max(value.abs()));
    for (a, b) in found.iter().zip(expected) {
        assert!((f64::from(*a) - b).abs() <= tolerance * largest, "{a} instead of {b}");
    }
}

fn check(pixels: usize, channels: usize, relu: bool) {
    let x = values(pixels * channels, 1, 3.0);
    let dy = values(pixels * channels, 2, 0.1);
    let (gamma, beta) = (values(channels, 3, 0.5), values(channels, 4, 0.0));
    let n = pixels.max(1) as f64;
    let column = |c: usize| x.iter().skip(c).step_by(channels).map(|x| f64::from(*x));
    let mean: Vec<f64> = (0..channels).map(|c| column(c).sum::<f64>() / n).collect();
    let variance: Vec<f64> =
        (0..channels).map(|c| column(c).map(|x| (x - mean[c]).powi(2)).sum::<f64>() / n).collect();

    let statistics = BatchStatistics::new(&x, channels);
    if pixels > 0 {
        close(&statistics.mean, &mean, 1e-6);
        close(&statistics.variance, &variance, 1e-5);
    }
    let unbiased: Vec<f64> = variance.iter().map(|v| v * n / (n - 1.0).max(1.0)).collect();
    close(&statistics.unbiased_variance(), &unbiased, 1e-5);

    let inverse = statistics.inverse_deviation(1e-3);
    let by = Normalization {
        mean: &statistics.mean,
        inverse_deviation: &inverse,
        gamma: &gamma,
        beta: &beta,
        relu,
    };
    let normal = |i: usize| {
        let c = i % channels;
        (f64::from(x[i]) - mean[c]) / (variance[c] + f64::from(1e-3f32)).sqrt()
    };
    let before = |i: usize| {
        let c = i % channels;
        f64::from(gamma[c]) * normal(i) + f64::from(beta[c])
    };
    let y: Vec<f64> =
        (0..x.len()).map(|i| if relu { before(i).max(0.0) } else { before(i) }).collect();
    let mut found = vec![f32::NAN; x.len()];
    normalize(&x, &by, &mut found);
    close(&found, &y, 1e-5);

    let scale: Vec<f32> = gamma.iter().zip(&inverse).map(|(g, i)| g * i).collect();
    let shift: Vec<f32> = (0..channels).map(|c| beta[c] - by.mean[c] * scale[c]).collect();
    found.fill(f32::NAN);
    scale_and_shift(&x, &scale, &shift, relu, &mut found);
    close(&found, &y, 1e-4);

    let g = |i: usize| if relu && before(i) <= 0.0 { 0.0 } else { f64::from(dy[i]) };
    let (mut dgamma, mut dbeta) = (vec![0.0f64; channels], vec![0.0f64; channels]);
    for i in 0..x.len() {
        dgamma[i % channels] += g(i) * normal(i);
        dbeta[i % channels] += g(i);
    }
    let dx: Vec<f64> = (0..x.len())
        .map(|i| {
            let c = i % channels;
            let scale = f64::from(gamma[c]) / (variance[c] + f64::from(1e-3f32)).sqrt();
            scale * (g(i) - dbeta[c] / n - normal(i) * dgamma[c] / n)
        })
        .collect();
    found.fill(f32::NAN);
    let gradients = backward(&x, &dy, &by, &mut found);
    close(&gradients.gamma, &dgamma, 2e-5);
    close(&gradients.beta, &dbeta, 2e-5);
    close(&found, &dx, 2e-5);
}

#[test]
fn values_and_gradients() {
    for relu in [false, true] {
        for (pixels, channels) in
            [(0, 5), (1, 4), (3, 1), (700, 7), (1031, 64), (97, 130), (9, 5000)]
        {
            check(pixels, channels, relu);
        }
    }
    assert_eq!(BatchStatistics::new(&[], 0).mean, Vec::<f32>::new());
}

#[test]
fn a_large_mean_does_not_drown_the_variance() {
    let x: Vec<f32> = (0..40_000).map(|i| 4096.0 + (i % 2) as f32).collect();
    let statistics = BatchStatistics::new(&x, 1);
    assert!((statistics.mean[0] - 4096.5).abs() < 1e-3);
    assert!((statistics.variance[0] - 0.25).abs() < 1e-4, "{:?}", statistics.variance);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let x = values(50_000 * 24, 1, 2.0);
    let dy = values(x.len(), 2, 0.0);
    let all = || {
        let statistics = BatchStatistics::new(&x, 24);
        let inverse = statistics.inverse_deviation(1e-5);
        let by = Normalization {
            mean: &statistics.mean,
            inverse_deviation: &inverse,
            gamma: &[1.5; 24],
            beta: &[0.1; 24],
            relu: true,
        };
        let mut dx = vec![0.0; x.len()];
        let gradients = backward(&x, &dy, &by, &mut dx);
        (statistics, gradients, dx)
    };
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    assert!(pool(1).install(all) == pool(5).install(all));
}
