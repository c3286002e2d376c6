//! Images as the inputs of networks.

use std::sync::{Arc, OnceLock};

use burn::tensor::{Device, Tensor, TensorData};
use sha2::{Digest, Sha256};
use sngp::Result;
use sngp::augment::Augmentation;
use sngp::backbone::Normalization;
use sngp::data::Inputs;
use sngp::seed::{Purpose, stream};

use super::Images;

/// Images as pixels from 0 to 1, augmented while training.
///
/// ```
/// use burn::tensor::Device;
/// use sngp::data::Inputs;
/// use sngp::augment::Augmentation;
/// use sngp_lab::dataset::image::{ImageInputs, Images};
///
/// let images = Images {
///     pixels: vec![255, 0, 0, 0],
///     channels: 1,
///     height: 2,
///     width: 2,
///     labels: vec![0],
///     names: vec!["corner".into()],
/// };
/// let augmentation = Augmentation { padding: 1, flip: true, ..Augmentation::default() };
/// let inputs = ImageInputs::augmented(images, augmentation)?;
/// let plain = inputs.batch(&[0], &Device::flex());
/// assert_eq!(plain.into_data().try_to_vec::<f32>().unwrap(), [1.0, 0.0, 0.0, 0.0]);
/// let corners = |seed| inputs.training_batch(&[0], seed, &Device::flex()).into_data();
/// assert_eq!(corners(3), corners(3));
/// assert!((0..20).any(|seed| corners(seed) != corners(3)));
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImageInputs {
    images: Arc<Images>,
    augmentation: Augmentation,
    digest: Arc<OnceLock<[u8; 32]>>,
}

impl ImageInputs {
    /// Takes images over, to be seen as they are.
    pub fn new(images: Images) -> Self {
        let augmentation = Augmentation::default();
        Self { images: Arc::new(images), augmentation, digest: Arc::default() }
    }

    /// Takes images over that are augmented while they are trained on.
    pub fn augmented(images: Images, augmentation: Augmentation) -> Result<Self> {
        augmentation.check()?;
        Ok(Self { augmentation, ..Self::new(images) })
    }

    /// The images.
    pub fn images(&self) -> &Images {
        &self.images
    }

    fn tensor(&self, rows: usize, values: Vec<f32>, device: &Device) -> Tensor<4> {
        let Images { channels, height, width, .. } = *self.images;
        Tensor::from_data(TensorData::new(values, [rows, channels, height, width]), device)
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
        let size = [self.images.height, self.images.width];
        for &row in rows {
            self.augmentation.append(self.images.image(row), size, &mut rng, &mut values);
        }
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
    use rand::RngExt;
    use sngp::augment::AugMix;

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

    fn shifted_or_mirrored() -> Augmentation {
        Augmentation { padding: 1, flip: true, ..Augmentation::default() }
    }

    /// By the same draws as ever, so that trainings can be repeated.
    #[test]
    fn an_augmented_image_is_a_shifted_or_mirrored_one() {
        let inputs = ImageInputs::augmented(ramp(), shifted_or_mirrored()).unwrap();
        let device = Device::flex();
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let mut rng = stream(seed, Purpose::Augmentation, 0);
            let [down, right] = [(); 2].map(|()| rng.random_range(0..=2usize));
            let mirrored = rng.random::<bool>();
            let expected = (0..32).map(|place| {
                let [channel, y, x] = [place / 16, place / 4 % 4, place % 4];
                let x = if mirrored { 3 - x } else { x };
                let [y, x] = [y + down, x + right];
                let inside = (1..5).contains(&y) && (1..5).contains(&x);
                if inside { (channel * 16 + y * 4 + x - 4) as f32 / 255.0 } else { 0.0 }
            });
            let values = inputs.training_batch(&[0], seed, &device).into_data();
            assert!(expected.eq(values.iter::<f32>()), "seed {seed}");
            seen.insert((down, right, mirrored));
        }
        assert_eq!(seen.len(), 18);
    }

    #[test]
    fn the_digest_tells_augmentations_apart() {
        let digest =
            |augmentation| ImageInputs::augmented(ramp(), augmentation).unwrap().digest().unwrap();
        assert_eq!(digest(shifted_or_mirrored()), digest(shifted_or_mirrored()));
        let other = Augmentation { cutout: 1, ..shifted_or_mirrored() };
        assert_ne!(digest(other), digest(shifted_or_mirrored()));
        assert_ne!(ImageInputs::new(ramp()).digest(), Some(digest(shifted_or_mirrored())));
    }

    #[test]
    fn an_augmentation_that_is_none_is_refused() {
        let augmix = AugMix { width: 0, ..AugMix::default() };
        let augmentation = Augmentation { augmix: Some(augmix), ..shifted_or_mirrored() };
        let error = ImageInputs::augmented(ramp(), augmentation).unwrap_err().to_string();
        assert!(error.contains("augmix.width is 0"), "{error}");
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
