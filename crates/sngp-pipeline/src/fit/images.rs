//! Networks of images, trained from nothing.

use std::time::Instant;

use burn::tensor::{Device, Tensor, TensorData};
use ndarray::{Array2, ArrayView2, Axis};
use sngp::Result;
use sngp::augment::{Augmentation, Border};
use sngp::backbone::{Shipped, ShippedConfig, WhitenedResNetConfig, Whitening};
use sngp::data::{Inputs, Labelled, Targets};
use sngp::method::Output;
use sngp::model::{Estimator, ModelConfig, fit};
use sngp::seed::{Purpose, stream};
use sngp::train::{Decay, Optimizer, Schedule};

use super::examples::Examples;
use super::network::{Fit, Settings, calibrated, config, fit_options};
use super::options::Options;
use crate::input::ImagePreparation;

/// Channels of the three stages.
const WIDTHS: [usize; 3] = [32, 128, 128];

/// Images of a step at most, and at least; between the two, an epoch has so many steps: of a few hundred
/// images, large steps alone would be too few to learn from. They are as even as can be: the last one is
/// as long as all others whatever it is of.
const BATCH: usize = 256;
const LEAST_BATCH: usize = 16;
const STEPS: usize = 8;

/// Images whose neighbours say whether they may be mirrored.
const COMPARED: usize = 600;
/// The side they are compared at.
const THUMBNAIL: usize = 8;

pub(super) fn fit_images(
    images: &ImagePreparation,
    pixels: &Array2<f32>,
    examples: &Examples,
    settings: &Settings,
    options: &Options<'_>,
) -> Result<Fit> {
    let (size, learning) = (images.size, &examples.learning);
    let started = Instant::now();
    let flip = match &learning.train {
        Targets::Classes { labels, .. } => may_be_mirrored(pixels.view(), size, labels),
        Targets::Values(_) => false,
    };
    let augmentation =
        Augmentation { padding: size / 8, border: Border::Reflect, flip, ..Default::default() };
    let inputs = TrainingImages::new(pixels.view(), images.clone(), augmentation);
    let some: Vec<usize> = (0..inputs.rows().min(Whitening::IMAGES)).collect();
    let backbone = WhitenedResNetConfig {
        widths: WIDTHS,
        dropout: 0.05,
        image: [3, size, size],
        normalization: None,
        whitening: Some(Whitening::learn(inputs.batch(&some, &options.device), None)?),
    };
    let config = recipe(config(settings, options, settings.length_scale.unwrap_or(100.0)), &inputs);
    let data = Labelled::new(Shipped::inputs(inputs), learning.train.clone())?;
    let estimator = Estimator::new(config, ShippedConfig::from(backbone));
    let model = fit(&estimator, &data, fit_options(options, learning))?;
    let seconds = started.elapsed().as_secs_f64();
    let mirrored = if flip { ", mirrored" } else { "" };
    let words = format!(
        "residual network from whitened patches, {} epochs of shifted{mirrored} images",
        options.epochs()
    );
    calibrated(Fit { model, tokenizer: None, words, seconds }, examples)
}

/// How it is trained.
fn recipe(mut config: ModelConfig, inputs: &TrainingImages) -> ModelConfig {
    let output = config.method.recipe().output;
    let training = &mut config.training;
    if !matches!(output, Output::GaussianProcess | Output::Dense) {
        // Centroids move by themselves and do not keep up with large steps.
        training.learning_rate = 1e-3;
        training.batch_size = 32;
        return config;
    }
    let most = (inputs.rows() / STEPS).clamp(LEAST_BATCH, BATCH);
    training.batch_size = inputs.rows().div_ceil(inputs.rows().div_ceil(most));
    training.optimizer = Optimizer::Muon { momentum: 0.6 };
    training.learning_rate = 0.24;
    // A dense output takes the hidden vectors as they are, which are long.
    training.head_learning_rate = (output == Output::Dense).then_some(0.02);
    training.weight_decay = 5e-4;
    training.schedule = Schedule { warm_up: 0.05, decay: Decay::Linear };
    config.gaussian_process.feature_gain = 4.0;
    config
}

/// Images as bytes, a quarter of what they take as the numbers that a network takes.
struct TrainingImages {
    bytes: Vec<u8>,
    preparation: ImagePreparation,
    augmentation: Augmentation,
}

impl TrainingImages {
    fn new(
        pixels: ArrayView2<'_, f32>,
        preparation: ImagePreparation,
        augmentation: Augmentation,
    ) -> Self {
        let mut bytes = Vec::with_capacity(pixels.len());
        for row in pixels.axis_iter(Axis(0)) {
            bytes.extend(preparation.bytes(row.iter().copied()));
        }
        Self { bytes, preparation, augmentation }
    }

    fn image(&self, row: usize) -> &[u8] {
        let width = self.preparation.width();
        &self.bytes[row * width..][..width]
    }

    /// A batch of images whose pixels are from 0 to 1.
    fn tensor(&self, rows: usize, mut pixels: Vec<f32>, device: &Device) -> Tensor<4> {
        let ImagePreparation { size, .. } = self.preparation;
        self.preparation.standardize(&mut pixels);
        Tensor::from_data(TensorData::new(pixels, [rows, 3, size, size]), device)
    }
}

impl Inputs<Tensor<4>> for TrainingImages {
    fn rows(&self) -> usize {
        self.bytes.len() / self.preparation.width()
    }

    fn batch(&self, rows: &[usize], device: &Device) -> Tensor<4> {
        let bytes = rows.iter().flat_map(|&row| self.image(row));
        self.tensor(rows.len(), bytes.map(|&byte| f32::from(byte) / 255.0).collect(), device)
    }

    fn training_batch(&self, rows: &[usize], seed: u64, device: &Device) -> Tensor<4> {
        let mut rng = stream(seed, Purpose::Augmentation, 0);
        let mut pixels = Vec::with_capacity(rows.len() * self.preparation.width());
        let size = [self.preparation.size; 2];
        for &row in rows {
            self.augmentation.append(self.image(row), size, &mut rng, &mut pixels);
        }
        self.tensor(rows.len(), pixels, device)
    }
}

/// Whether an image in the mirror is of the same class, as it is for photographs and is not for digits
/// and arrows: whether the nearest of the other images tell its class as well. Where images are so
/// unlike each other that their neighbours say nothing, they may be mirrored.
fn may_be_mirrored(pixels: ArrayView2<'_, f32>, size: usize, labels: &[usize]) -> bool {
    let step = labels.len().div_ceil(COMPARED).max(1);
    let rows: Vec<usize> = (0..labels.len()).step_by(step).collect();
    let thumbnails: Vec<Vec<f32>> =
        rows.iter().map(|&row| thumbnail(pixels.row(row).iter().copied(), size)).collect();
    let right = |mirrored: bool| {
        let is_right = |&at: &usize| {
            let mut image = thumbnails[at].clone();
            if mirrored {
                image.chunks_exact_mut(THUMBNAIL).for_each(<[f32]>::reverse);
            }
            let distance = |other: &usize| -> f32 {
                image.iter().zip(&thumbnails[*other]).map(|(a, b)| (a - b) * (a - b)).sum()
            };
            let others = (0..rows.len()).filter(|other| *other != at);
            let nearest = others.min_by(|a, b| distance(a).total_cmp(&distance(b)));
            nearest.is_some_and(|nearest| labels[rows[nearest]] == labels[rows[at]])
        };
        (0..rows.len()).filter(is_right).count() as f64 / rows.len().max(1) as f64
    };
    let (as_it_is, mirrored) = (right(false), right(true));
    // Two standard errors of such a share.
    let error = (as_it_is * (1.0 - as_it_is) / rows.len().max(1) as f64).sqrt();
    mirrored >= as_it_is - 2.0 * error.max(0.01)
}

/// An image at a few pixels, each the mean of what it covers.
fn thumbnail(pixels: impl Iterator<Item = f32>, size: usize) -> Vec<f32> {
    let mut sums = vec![0.0; 3 * THUMBNAIL * THUMBNAIL];
    for (place, value) in pixels.enumerate() {
        let [channel, y, x] = [place / (size * size), place / size % size, place % size];
        sums[(channel * THUMBNAIL + y * THUMBNAIL / size) * THUMBNAIL + x * THUMBNAIL / size] +=
            value;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preparation() -> ImagePreparation {
        let plain = ImagePreparation::reader("path", 16);
        ImagePreparation { mean: [0.4, 0.5, 0.6], scale: [0.2, 0.1, 0.3], ..plain }
    }

    #[test]
    fn a_network_sees_the_same_in_training_as_in_use() {
        let preparation = preparation();
        let mut pixels: Vec<f32> = (0..768).map(|i| (i * 7 % 256) as f32 / 255.0).collect();
        preparation.standardize(&mut pixels);
        let row = Array2::from_shape_vec((1, 768), pixels.clone()).unwrap();
        let inputs = TrainingImages::new(row.view(), preparation, Augmentation::default());
        assert_eq!(inputs.image(0)[..3], [0, 7, 14]);
        for batch in
            [inputs.batch(&[0], &Device::flex()), inputs.training_batch(&[0], 1, &Device::flex())]
        {
            assert_eq!(batch.into_data().try_to_vec::<f32>().unwrap(), pixels);
        }
    }

    /// Arrows to the left and to the right, or arrows and bars.
    fn signs(size: usize, sign: impl Fn(usize) -> [f32; 2]) -> (Array2<f32>, Vec<usize>) {
        let image = |row: usize| {
            let [left, right] = sign(row % 2);
            (0..3 * size * size).map(move |place| {
                let noise = ((row * 7919 + place * 104_729) % 97) as f32 / 200.0;
                noise + if place % size < size / 2 { left } else { right }
            })
        };
        let values: Vec<f32> = (0..60).flat_map(image).collect();
        let pixels = Array2::from_shape_vec((60, 3 * size * size), values).unwrap();
        (pixels, (0..60).map(|row| row % 2).collect())
    }

    #[test]
    fn what_the_mirror_makes_another_class_is_not_mirrored() {
        for size in [8, 12, 40] {
            let (arrows, labels) = signs(size, |class| [class as f32, 1.0 - class as f32]);
            assert!(!may_be_mirrored(arrows.view(), size, &labels));
            let (bars, labels) = signs(size, |class| [class as f32; 2]);
            assert!(may_be_mirrored(bars.view(), size, &labels));
        }
    }
}
