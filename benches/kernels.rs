//! Each kernel beside the same in Burn's own ops: `cargo bench --workspace --bench kernels`.

use std::hint::black_box;

use burn::tensor::{Device, Distribution, Tensor};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use sngp_kernels::allocator::{MiMalloc, keep_pages};
use sngp_kernels::{
    Activation, AdamWStep, AttentionOptions, Geometry, Prepared, activate, attention,
    attention_reference, batch_norm_relu, batch_norm_relu_reference, convolution,
    convolution_reference, layer_norm, layer_norm_reference, linear, linear_reference,
    random_features, random_features_reference, rank_update, softmax, variance, variance_reference,
};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn normal<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), &Device::flex())
}

/// Times the kernel and Burn's ops side by side.
fn pair<T>(
    criterion: &mut Criterion,
    name: &str,
    mut kernel: impl FnMut() -> T,
    mut burn: impl FnMut() -> T,
) {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(20);
    group.bench_function("kernel", |bencher| bencher.iter(|| black_box(kernel())));
    group.bench_function("burn", |bencher| bencher.iter(|| black_box(burn())));
    group.finish();
}

fn dense(criterion: &mut Criterion) {
    for [rows, inputs, outputs] in
        [[1, 128, 128], [128, 128, 128], [12, 384, 1536], [32, 768, 3072], [1024, 384, 1536]]
    {
        let (x, w, b) = (normal([rows, inputs]), normal([inputs, outputs]), normal([outputs]));
        let kept = Prepared::default();
        pair(
            criterion,
            &format!("dense + gelu {rows} x {inputs} x {outputs}"),
            || {
                let bias = Some(b.clone());
                linear(x.clone(), w.clone(), bias, Activation::Gelu, None, Some(&kept))
            },
            || linear_reference(x.clone(), w.clone(), Some(b.clone()), Activation::Gelu, None),
        );
    }
}

/// The product alone, beside the crate Burn's CPU backend takes its products from.
fn product(criterion: &mut Criterion) {
    for [rows, inner, columns] in [[12, 384, 1536], [128, 128, 128], [1024, 384, 1536]] {
        let (x, w) = (normal([rows, inner]), normal([inner, columns]));
        let [a, b] = [x.clone(), w.clone()].map(|t| t.into_data().try_to_vec::<f32>().unwrap());
        let mut c = vec![0.0f32; rows * columns];
        let kept = Prepared::default();
        let mut group = criterion.benchmark_group(format!("product {rows} x {inner} x {columns}"));
        group.sample_size(20);
        group.bench_function("kernel", |bencher| {
            bencher.iter(|| {
                let (x, w) = (x.clone(), w.clone());
                black_box(linear(x, w, None, Activation::Identity, None, Some(&kept)))
            });
        });
        group.bench_function("gemm", |bencher| {
            // SAFETY: row-major matrices of the sizes given.
            bencher.iter(|| unsafe {
                gemm::gemm(
                    rows,
                    columns,
                    inner,
                    c.as_mut_ptr(),
                    1,
                    columns as isize,
                    false,
                    a.as_ptr(),
                    1,
                    inner as isize,
                    b.as_ptr(),
                    1,
                    columns as isize,
                    0.0,
                    1.0,
                    false,
                    false,
                    false,
                    gemm::Parallelism::Rayon(0),
                );
            });
        });
        group.finish();
    }
}

fn rows(criterion: &mut Criterion) {
    let x = normal([1024, 384]);
    let (gamma, beta) = (normal([384]), normal([384]));
    pair(
        criterion,
        "layer norm 1024 x 384",
        || layer_norm(x.clone(), None, gamma.clone(), beta.clone(), 1e-12),
        || layer_norm_reference(x.clone(), None, gamma.clone(), beta.clone(), 1e-12),
    );
    let x = normal([1024, 1536]);
    pair(
        criterion,
        "gelu 1024 x 1536",
        || activate(x.clone(), Activation::Gelu),
        || Activation::Gelu.reference(x.clone()),
    );
    let x = normal([12288, 32]);
    pair(
        criterion,
        "softmax 12288 x 32",
        || softmax(x.clone()),
        || burn::tensor::activation::softmax(x.clone(), 1),
    );
    for [batch, tokens] in [[32, 32], [1, 12]] {
        let qkv = normal([batch, tokens, 3 * 384]);
        pair(
            criterion,
            &format!("attention {batch} x {tokens}, 12 heads of 32"),
            || attention(qkv.clone(), 12, AttentionOptions::default()),
            || attention_reference(qkv.clone(), 12, AttentionOptions::default()),
        );
    }
}

fn images(criterion: &mut Criterion) {
    for [batch, size, channels] in [[1, 32, 160], [1, 8, 640], [16, 16, 320]] {
        let (x, w) = (normal([batch, size, size, channels]), normal([channels, channels, 3, 3]));
        let (geometry, kept) = (Geometry { stride: 1, padding: 1 }, Prepared::default());
        pair(
            criterion,
            &format!("3 x 3 convolution {batch} x {size} x {size} x {channels}"),
            || convolution(x.clone(), w.clone(), geometry, None, Some(&kept)),
            || convolution_reference(x.clone(), w.clone(), geometry, None),
        );
    }
    let x = normal([32, 32, 32, 64]);
    let (gamma, beta) = (normal([64]), normal([64]));
    pair(
        criterion,
        "batch norm + relu 32 x 32 x 32 x 64",
        || batch_norm_relu(x.clone(), gamma.clone(), beta.clone(), 1e-5).output,
        || batch_norm_relu_reference(x.clone(), gamma.clone(), beta.clone(), 1e-5).output,
    );
}

fn posterior(criterion: &mut Criterion) {
    let (x, w, b) = (normal([256, 128]), normal([128, 1024]), normal([1024]));
    let kept = Prepared::default();
    pair(
        criterion,
        "random features 256 x 128 x 1024",
        || random_features(x.clone(), w.clone(), b.clone(), 0.04, &kept),
        || random_features_reference(x.clone(), w.clone(), b.clone(), 0.04),
    );
    for rows in [1, 256] {
        let (x, factors) = (normal([rows, 1024]), normal([1, 1024, 1024]).triu(0));
        let kept = Prepared::default();
        pair(
            criterion,
            &format!("variance {rows} x 1024"),
            || variance(x.clone(), factors.clone(), &kept),
            || variance_reference(x.clone(), factors.clone()),
        );
    }
    let x = normal([256, 1024]);
    let features = x.clone().into_data().try_to_vec::<f32>().unwrap();
    let mut sum = vec![0.0; 1024 * 1024];
    pair(
        criterion,
        "precision update 256 x 1024",
        || rank_update(&mut sum, &features, 1024),
        || drop(x.clone().transpose().matmul(x.clone())),
    );
}

fn optimizer(criterion: &mut Criterion) {
    let step = AdamWStep { rate: 1e-3, betas: [0.9, 0.999], epsilon: 1e-8, decay: 0.01, time: 10 };
    let fresh = || [(); 4].map(|()| normal([384, 1536]).abs());
    let mut group = criterion.benchmark_group("AdamW 384 x 1536");
    group.sample_size(20);
    group.bench_function("kernel", |bencher| {
        bencher.iter_batched(fresh, |[p, g, m, v]| step.apply(p, g, m, v), BatchSize::LargeInput);
    });
    group.bench_function("burn", |bencher| {
        bencher.iter_batched(
            fresh,
            |[p, g, m, v]| step.reference(p, g, m, v),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

fn allocator(_: &mut Criterion) {
    keep_pages();
}

criterion_group!(benches, allocator, dense, product, rows, images, posterior, optimizer);
criterion_main!(benches);
