//! Images as the inputs of networks.

use std::sync::{Arc, OnceLock};

use burn::tensor::{Device, Tensor, TensorData};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sngp::backbone::Normalization;
use sngp::data::Inputs;
use sngp::seed::{Purpose, Rng, stream};

use super::Images;

/// What is done to an image while training, drawn anew every time it is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Augmentation {
    /// Black pixels on every side, from which a part of the old size is cut out somewhere.
    pub padding: usize,
    /// Whether half of the images are mirrored, at random.
    pub flip: bool,
}

/// Images as pixels from 0 to 1, augmented while training.
///
/// ```
/// use burn::tensor::Device;
/// use sngp::data::Inputs;
/// use sngp_lab::dataset::image::{Augmentation, ImageInputs, Images};
///
/// let images = Images {
///     pixels: vec![255, 0, 0, 0],
///     channels: 1,
///     height: 2,
///     width: 2,
///     labels: vec![0],
///     names: vec!["corner".into()],
/// };
/// let inputs = ImageInputs::new(images, Augmentation { padding: 1, flip: true });
/// let plain = inputs.batch(&[0], &Device::flex());
/// assert_eq!(plain.into_data().try_to_vec::<f32>().unwrap(), [1.0, 0.0, 0.0, 0.0]);
/// let corners = |seed| inputs.training_batch(&[0], seed, &Device::flex()).into_data();
/// assert_eq!(corners(3), corners(3));
/// assert!((0..20).any(|seed| corners(seed) != corners(3)));
/// ```
#[derive(Clone, Debug)]
pub struct ImageInputs {
    images: Arc<Images>,
    augmentation: Augmentation,
    digest: Arc<OnceLock<[u8; 32]>>,
}

impl ImageInputs {
    /// Takes images over.
    pub fn new(images: Images, augmentation: Augmentation) -> Self {
        Self { images: Arc::new(images), augmentation, digest: Arc::default() }
    }

    /// The images.
    pub fn images(&self) -> &Images {
        &self.images
    }

    fn tensor(&self, rows: usize, values: Vec<f32>, device: &Device) -> Tensor<4> {
        let Images { channels, height, width, .. } = *self.images;
        Tensor::from_data(TensorData::new(values, [rows, channels, height, width]), device)
    }

    /// Appends one image, cut out of its padded self and perhaps mirrored.
    fn augmented(&self, row: usize, rng: &mut Rng, values: &mut Vec<f32>) {
        let Images { channels, height, width, .. } = *self.images;
        let Augmentation { padding, flip } = self.augmentation;
        let [down, right] = [(); 2].map(|()| rng.random_range(0..=2 * padding));
        let mirrored = flip && rng.random::<bool>();
        let image = self.images.image(row);
        for channel in 0..channels {
            for y in 0..height {
                // Where this row and its pixels lie in the image before it was padded.
                let from = (y + down).checked_sub(padding).filter(|from| *from < height);
                let line = from.map(|from| &image[(channel * height + from) * width..][..width]);
                values.extend((0..width).map(|x| {
                    let x = if mirrored { width - 1 - x } else { x };
                    let from = (x + right).checked_sub(padding);
                    let pixel = line.zip(from).and_then(|(line, from)| line.get(from));
                    pixel.map_or(0.0, |&pixel| f32::from(pixel) / 255.0)
                }));
            }
        }
    }
}

impl Inputs<Tensor<4>> for ImageInputs {
    fn rows(&self) -> usize {
        self.images.len()
    }

    fn batch(&self, rows: &[usize], device: &Device) -> Tensor<4> {
        let bytes = rows.iter().flat_map(|&row| self.images.image(row));
        self.tensor(rows.len(), bytes.map(|&byte| f32::from(byte) / 255.0).collect(), device)
    }

    fn training_batch(&self, rows: &[usize], seed: u64, device: &Device) -> Tensor<4> {
        if self.augmentation == Augmentation::default() {
            return self.batch(rows, device);
        }
        let mut rng = stream(seed, Purpose::Augmentation, 0);
        let mut values = Vec::with_capacity(rows.len() * self.images.image_len());
        rows.iter().for_each(|&row| self.augmented(row, &mut rng, &mut values));
        self.tensor(rows.len(), values, device)
    }

    fn digest(&self) -> Option<[u8; 32]> {
        Some(*self.digest.get_or_init(|| {
            let Images { channels, height, width, .. } = *self.images;
            let mut hasher = Sha256::new();
            hasher.update(format!("{channels} {height} {width} {:?}", self.augmentation));
            hasher.update(&self.images.pixels);
            hasher.finalize().into()
        }))
    }
}

/// Mean and standard deviation of every channel, of pixels from 0 to 1.
pub fn channel_moments(images: &Images) -> Normalization {
    let side = images.height * images.width;
    let mut counts = vec![[0u64; 256]; images.channels];
    for (index, plane) in images.pixels.chunks_exact(side).enumerate() {
        let histogram = &mut counts[index % images.channels];
        plane.iter().for_each(|&pixel| histogram[usize::from(pixel)] += 1);
    }
    let moment = |histogram: &[u64; 256], power: i32, centre: f64| {
        let total: u64 = histogram.iter().sum();
        let terms = histogram
            .iter()
            .enumerate()
            .map(|(value, &count)| count as f64 * (value as f64 / 255.0 - centre).powi(power));
        terms.sum::<f64>() / total.max(1) as f64
    };
    let mean: Vec<f64> = counts.iter().map(|histogram| moment(histogram, 1, 0.0)).collect();
    let deviation = counts.iter().zip(&mean).map(|(histogram, &mean)| {
        // A channel that is the same everywhere is left as it is.
        Some(moment(histogram, 2, mean).sqrt()).filter(|deviation| *deviation > 0.0).unwrap_or(1.0)
    });
    Normalization { deviation: deviation.collect(), mean }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp() -> Images {
        Images {
            pixels: (1..=32).collect(),
            channels: 2,
            height: 4,
            width: 4,
            labels: vec![0],
            names: vec!["ramp".into()],
        }
    }

    #[test]
    fn an_augmented_image_is_a_shifted_or_mirrored_one() {
        let inputs = ImageInputs::new(ramp(), Augmentation { padding: 1, flip: true });
        let device = Device::flex();
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let values = inputs.training_batch(&[0], seed, &device).into_data();
            let values: Vec<u8> = values.iter::<f32>().map(|v| (v * 255.0).round() as u8).collect();
            let found = (0..18).find(|case| {
                let [down, right, mirrored] = [case % 3, case / 3 % 3, case / 9];
                let expected = (0..32).map(|place| {
                    let [channel, y, x] = [place / 16, place / 4 % 4, place % 4];
                    let x = if mirrored == 1 { 3 - x } else { x };
                    let [y, x] = [y + down - 1, x + right - 1];
                    let inside = (0..4).contains(&y) && (0..4).contains(&x);
                    if inside { (channel * 16 + y * 4 + x + 1) as u8 } else { 0 }
                });
                expected.eq(values.iter().copied())
            });
            seen.insert(found.expect("one of the eighteen"));
        }
        assert_eq!(seen.len(), 18);
    }

    #[test]
    fn moments_are_those_of_each_channel() {
        let Normalization { mean, deviation } = channel_moments(&ramp());
        let expected = (8.5 / 255.0, ((256.0 - 1.0) / 12.0f64).sqrt() / 255.0);
        assert!((mean[0] - expected.0).abs() < 1e-12);
        assert!((mean[1] - mean[0] - 16.0 / 255.0).abs() < 1e-12);
        assert!((deviation[0] - expected.1).abs() < 1e-12);
        let flat = Images { pixels: vec![7; 32], ..ramp() };
        assert_eq!(channel_moments(&flat).deviation, [1.0, 1.0]);
    }
}
