//! What the integration tests share: tiny data, tiny networks, and ways to compare.

use std::collections::BTreeMap;
use std::path::Path;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor, TensorData};
use ndarray::{Array2, Array3, Axis};
use rand::RngExt;
use rand_distr::StandardNormal;
use serde_json::Value;
use sngp::backbone::{Backbone, ResFfn, ResFfnConfig};
use sngp::data::{Inputs, Labelled, Table, Targets};
use sngp::method::{DeepEnsemble, McDropout, McdGp, Method, SngpEnsemble};
use sngp::model::{Estimator, FitOptions, Model, ModelConfig};
use sngp::nn::HeadConfig;
use sngp::predict::Prediction;
use sngp::seed::{Purpose, stream};
use sngp::{Error, NetworkPlan};

/// Labelled vectors.
pub type Vectors = Labelled<Tensor<2>>;

pub fn device() -> Device {
    Device::flex()
}

/// A file of known answers.
pub fn golden(name: &str) -> Value {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A nested list of numbers, flat.
pub fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

pub fn matrix(value: &Value) -> Array2<f64> {
    let rows = value.as_array().unwrap().len();
    let flat = numbers(value);
    Array2::from_shape_vec((rows, flat.len() / rows), flat).unwrap()
}

pub fn cube(value: &Value) -> Array3<f64> {
    let shape = (value.as_array().unwrap().len(), value[0].as_array().unwrap().len());
    let flat = numbers(value);
    let last = flat.len() / (shape.0 * shape.1);
    Array3::from_shape_vec((shape.0, shape.1, last), flat).unwrap()
}

/// Every number within a relative tolerance of the expected one.
pub fn assert_relative<'a>(
    what: &str,
    found: impl IntoIterator<Item = &'a f64>,
    expected: impl IntoIterator<Item = &'a f64>,
    tolerance: f64,
) {
    let (found, expected): (Vec<_>, Vec<_>) =
        (found.into_iter().collect(), expected.into_iter().collect());
    assert_eq!(found.len(), expected.len(), "{what}: another number of values");
    for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let error = (**found - **expected).abs();
        assert!(
            error <= tolerance * expected.abs(),
            "{what}, value {index}: {found} is not {expected} (relative error {:.1e})",
            error / expected.abs()
        );
    }
}

/// The largest difference between two arrays of numbers.
pub fn largest_difference<'a>(
    left: impl IntoIterator<Item = &'a f64>,
    right: impl IntoIterator<Item = &'a f64>,
) -> f64 {
    left.into_iter().zip(right).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Standard normal numbers.
pub fn normals(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
    let mut rng = stream(seed, Purpose::Shuffle, 0);
    Array2::from_shape_simple_fn((rows, columns), || rng.sample(StandardNormal))
}

/// Round clusters on a circle of radius 1.5, one a class, classes taking turns.
pub fn blobs(classes: usize, per_class: usize, seed: u64) -> (Array2<f32>, Vec<usize>) {
    let noise = normals(classes * per_class, 2, seed);
    let labels: Vec<usize> = (0..classes * per_class).map(|row| row % classes).collect();
    let inputs = Array2::from_shape_fn(noise.dim(), |(row, axis)| {
        let angle = std::f64::consts::TAU * labels[row] as f64 / classes as f64;
        let centre = 1.5 * if axis == 0 { angle.cos() } else { angle.sin() };
        (centre + 0.3 * noise[[row, axis]]) as f32
    });
    (inputs, labels)
}

pub fn labelled_blobs(classes: usize, per_class: usize, seed: u64) -> Vectors {
    let (inputs, labels) = blobs(classes, per_class, seed);
    let targets = Targets::classes(labels, classes).unwrap();
    Labelled::new(Table::new(inputs.view()).unwrap(), targets).unwrap()
}

/// 64 points of two classes.
pub fn two_classes() -> Vectors {
    labelled_blobs(2, 32, 1)
}

/// 60 points of three classes.
pub fn three_classes() -> Vectors {
    labelled_blobs(3, 20, 2)
}

/// Points near and far from the blobs, for predictions.
pub fn test_points() -> Table {
    let points = normals(37, 2, 99).mapv(|v| (2.0 * v) as f32);
    Table::new(points.view()).unwrap()
}

pub fn tiny_backbone() -> ResFfnConfig {
    ResFfnConfig { inputs: 2, depth: 3, width: 16, dropout: 0.1 }
}

/// A few epochs of a small head; whatever the method.
pub fn tiny_config(method: impl Into<Method>) -> ModelConfig {
    let mut config = ModelConfig::new(method);
    config.gaussian_process.features.count = 64;
    config.rbf_centroids.embedding = 8;
    config.training.epochs = 4;
    config.training.batch_size = 16;
    config.training.learning_rate = 1e-2;
    config.seed = 11;
    config
}

/// Every method, ensembles of 2 and passes of 3.
pub fn small_methods() -> Vec<Method> {
    let small = |method| match method {
        Method::McDropout(_) => McDropout { passes: 3 }.into(),
        Method::McdGp(_) => McdGp { passes: 3 }.into(),
        Method::DeepEnsemble(_) => DeepEnsemble { members: 2 }.into(),
        Method::SngpEnsemble(_) => SngpEnsemble { members: 2 }.into(),
        other => other,
    };
    Method::all().into_iter().map(small).collect()
}

/// A fresh network. Built through the plan, which seeds Burn's one generator and draws alone;
/// drawing beside it would disturb the trainings of other tests.
pub fn untrained(backbone: &ResFfnConfig, seed: u64) -> ResFfn {
    let plan = NetworkPlan::<ResFfn> {
        backbone,
        head: HeadConfig::Dense,
        spectral: None,
        outputs: 2,
        log_noise: None,
        pretrained: None,
        pretrained_head: None,
        seed,
    };
    plan.build(&device()).unwrap().backbone
}

/// Fits the tiny network.
pub fn fit(config: &ModelConfig, data: &Vectors) -> Model<ResFfn> {
    try_fit(config, data).unwrap()
}

pub fn try_fit(config: &ModelConfig, data: &Vectors) -> sngp::Result<Model<ResFfn>> {
    Estimator::new(config.clone(), tiny_backbone()).fit(data, FitOptions::new(&device()))
}

/// The files of a folder with their contents.
pub fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            let bytes = match entry.file_type().unwrap().is_dir() {
                true => b"a folder".to_vec(),
                false => std::fs::read(entry.path()).unwrap(),
            };
            (name, bytes)
        })
        .collect()
}

/// What a model is saved as.
pub fn saved<B: Backbone>(model: &Model<B>) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    model.save(folder.path().join("model")).unwrap();
    contents(&folder.path().join("model"))
}

/// Two models that are saved as the same bytes, told apart by file.
pub fn assert_same_bytes<B: Backbone>(what: &str, left: &Model<B>, right: &Model<B>) {
    let (left, right) = (saved(left), saved(right));
    assert!(left.keys().eq(right.keys()));
    for (name, bytes) in &left {
        assert!(bytes == &right[name], "{what}: {name} differs");
    }
}

/// A parameter's shape and values.
pub type Parameter = (Vec<usize>, Vec<f32>);

/// The parameters of a module by their path.
pub fn parameters(module: &impl Module) -> BTreeMap<String, Parameter> {
    struct Collect {
        path: Vec<String>,
        found: BTreeMap<String, Parameter>,
    }
    impl ModuleVisitor for Collect {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.to_string());
        }
        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let values = param.val().into_data().iter::<f32>().collect();
            self.found.insert(self.path.join("."), (param.dims().to_vec(), values));
        }
    }
    let mut collect = Collect { path: Vec::new(), found: BTreeMap::new() };
    module.visit(&mut collect);
    collect.found
}

/// The largest singular value, in f64.
pub fn true_norm(rows: usize, columns: usize, values: &[f64]) -> f64 {
    let matrix = faer::Mat::from_fn(rows, columns, |i, j| values[i * columns + j]);
    matrix.singular_values().unwrap()[0]
}

/// A tensor's values on the host.
pub fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

pub fn host_matrix(tensor: Tensor<2>) -> Array2<f64> {
    let shape = (tensor.dims()[0], tensor.dims()[1]);
    Array2::from_shape_vec(shape, host(tensor)).unwrap()
}

pub fn tensor(values: &Array2<f64>) -> Tensor<2> {
    let single: Vec<f32> = values.iter().map(|&v| v as f32).collect();
    let shape = [values.nrows(), values.ncols()];
    Tensor::from_data(burn::tensor::TensorData::new(single, shape), &device())
}

/// Rows of a prediction's probabilities sum to one and are finite.
pub fn assert_distribution(what: &str, prediction: &Prediction) {
    for (row, p) in prediction.probabilities().unwrap().axis_iter(Axis(0)).enumerate() {
        assert!(p.iter().all(|p| p.is_finite() && (0.0..=1.0).contains(p)), "{what}, row {row}");
        assert!((p.sum() - 1.0).abs() < 1e-9, "{what}, row {row} sums to {}", p.sum());
    }
}

/// One sentence that names the cause: no line breaks, no debug output, the cause in it.
pub fn assert_sentence(error: &Error, cause: &str) {
    let text = error.to_string();
    assert!(text.contains(cause), "`{text}` does not name `{cause}`");
    assert!(!text.contains('\n') && !text.ends_with('.'), "`{text}` is not one sentence");
    assert!(!text.contains("Err(") && !text.contains("Error {"), "`{text}` is debug output");
    assert!(text.split_whitespace().count() >= 4, "`{text}` says too little");
}

/// The error of a result whose value cannot be shown.
pub fn refused<T>(what: &str, result: sngp::Result<T>) -> Error {
    match result {
        Ok(_) => panic!("{what} was accepted"),
        Err(error) => error,
    }
}

/// The scores that need nothing but a prediction of logits and their variance.
pub fn plain_scores() -> Vec<sngp::score::Score> {
    use sngp::score::Score;
    let fitted = |score: &Score| {
        matches!(
            score,
            Score::Combined(_)
                | Score::Density(_)
                | Score::KernelDistance(_)
                | Score::Knn(_)
                | Score::Mahalanobis(_)
                | Score::RelativeMahalanobis(_)
                | Score::Vim(_)
        )
    };
    Score::all().into_iter().filter(|score| !fitted(score)).collect()
}

/// Images of 8 x 8 of one colour, bright or dark, with a little texture.
pub struct Shades;

impl Shades {
    pub const ROWS: usize = 48;

    pub fn label(row: usize) -> usize {
        row % 2
    }
}

impl Inputs<Tensor<4>> for Shades {
    fn rows(&self) -> usize {
        Self::ROWS
    }

    fn batch(&self, rows: &[usize], device: &Device) -> Tensor<4> {
        let image = |&row: &usize| {
            let shade = if Self::label(row) == 0 { -1.0 } else { 1.0 };
            (0..192).map(move |i| shade + 0.3 * ((row * 192 + i) as f32 * 0.7).sin())
        };
        let values: Vec<f32> = rows.iter().flat_map(image).collect();
        Tensor::from_data(TensorData::new(values, [rows.len(), 3, 8, 8]), device)
    }
}
