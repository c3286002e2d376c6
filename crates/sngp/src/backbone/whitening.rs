//! Small patches of images without their correlations: a first layer that is known before training.

use std::fmt;

use burn::tensor::{Device, Tensor, TensorData, s};
use faer::{Mat, Side};
use serde::{Deserialize, Serialize};

use super::Normalization;
use super::images::prepared;
use crate::{Error, Result};

/// Added to the variance of a direction, so that what hardly varies is not blown up to noise.
const LEAST_VARIANCE: f64 = 5e-4;

/// The directions in which patches of 2 x 2 pixels vary, each divided by how far: along them,
/// patches of the training images are uncorrelated and of unit variance. Neighbouring pixels are
/// nearly alike; a network that starts from white patches need not find that out.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use sngp::backbone::Whitening;
///
/// let images = Tensor::<4>::random([20, 3, 8, 8], Distribution::Uniform(0.0, 1.0), &Device::flex());
/// let whitening = Whitening::learn(images, None)?;
/// assert_eq!(whitening.directions.len(), 12);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Whitening {
    /// What the values of a patch are multiplied by, from the direction of most variance on: the
    /// upper left pixel's channels, the upper right one's, the lower ones'.
    pub directions: Vec<Vec<f32>>,
}

/// In short, and the same where the last digits differ from one CPU to another: what a training
/// depends on is told by it.
impl fmt::Debug for Whitening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = |direction: &Vec<f32>| direction.iter().map(|v| v * v).sum::<f32>().sqrt();
        let longest = self.directions.iter().map(length).fold(0.0, f32::max);
        write!(f, "Whitening({} directions, up to {longest:.1})", self.directions.len())
    }
}

impl Whitening {
    /// Images that are learnt from at most: their patches are alike long before.
    pub const IMAGES: usize = 2000;

    /// Learns the directions of training images `[rows, channels, height, width]`, pixels from 0 to 1,
    /// as the network sees them.
    pub fn learn(images: Tensor<4>, normalization: Option<&Normalization>) -> Result<Self> {
        let rows = images.dims()[0].min(Self::IMAGES);
        let images = prepared(images.slice(s![..rows]), normalization);
        let [_, height, width, channels] = images.dims();
        let inputs = 4 * channels;
        if rows == 0 || height < 2 || width < 2 {
            return Err(Error::Data("whitening: there are no patches of 2 x 2 pixels".into()));
        }
        // An image after the other: sums of millions of patches in f32 would lose their ends.
        let mut moments = Mat::<f64>::zeros(inputs, inputs);
        for row in 0..rows {
            let image = images.clone().slice(s![row..row + 1]);
            let pixel = |y: usize, x: usize| {
                image.clone().slice([0..1, y..y + height - 1, x..x + width - 1])
            };
            let patches = Tensor::cat(vec![pixel(0, 0), pixel(0, 1), pixel(1, 0), pixel(1, 1)], 3);
            let patches = patches.reshape([(height - 1) * (width - 1), inputs]);
            let sums = crate::host::vector(patches.clone().transpose().matmul(patches));
            for (place, sum) in sums.into_iter().enumerate() {
                moments[(place / inputs, place % inputs)] += sum;
            }
        }
        let moments = moments * faer::Scale(1.0 / (rows * (height - 1) * (width - 1)) as f64);
        let eigen = moments
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| Error::Data("whitening: the patches have no directions".to_string()))?;
        let (vectors, values) = (eigen.U(), eigen.S());
        let direction = |column: usize| {
            // Which of the two opposites it is, is chance: the one whose largest value is positive.
            let largest = (0..inputs)
                .map(|input| vectors[(input, column)])
                .fold(0.0, |largest: f64, v| if v.abs() > largest.abs() { v } else { largest });
            let factor = largest.signum() / (values[column].max(0.0) + LEAST_VARIANCE).sqrt();
            (0..inputs).map(|input| (vectors[(input, column)] * factor) as f32).collect()
        };
        let directions: Vec<Vec<f32>> = (0..inputs).rev().map(direction).collect();
        if !directions.iter().flatten().all(|value| value.is_finite()) {
            return Err(Error::Data("whitening: pixels that are not numbers".to_string()));
        }
        Ok(Self { directions })
    }

    /// Refuses directions of another kind of patches.
    pub(super) fn check(&self, channels: usize) -> Result<()> {
        let inputs = 4 * channels;
        let lengths = std::iter::once(self.directions.len());
        match lengths.chain(self.directions.iter().map(Vec::len)).find(|found| *found != inputs) {
            Some(found) => Err(Error::shape("whitened directions and their values", inputs, found)),
            None if self.directions.iter().flatten().all(|value| value.is_finite()) => Ok(()),
            None => Err(Error::config("whitening", "a direction", "its values must be finite")),
        }
    }

    /// The directions and their opposites as kernels of 3 x 3, `[filters, channels, 3, 3]`, the patch in
    /// their lower right: cut off at zero, the two say together what the direction did.
    pub(super) fn kernels(&self, channels: usize, device: &Device) -> Tensor<4> {
        let mut values = vec![0.0f32; 2 * self.directions.len() * channels * 9];
        let opposites = [1.0, -1.0]
            .into_iter()
            .flat_map(|sign| self.directions.iter().map(move |direction| (sign, direction)));
        for ((sign, direction), kernel) in opposites.zip(values.chunks_exact_mut(channels * 9)) {
            for (place, value) in direction.iter().enumerate() {
                let (pixel, channel) = (place / channels, place % channels);
                kernel[channel * 9 + (1 + pixel / 2) * 3 + 1 + pixel % 2] = sign * value;
            }
        }
        let shape = [2 * self.directions.len(), channels, 3, 3];
        Tensor::from_data(TensorData::new(values, shape), device)
    }
}

#[cfg(test)]
mod tests {
    use sngp_kernels::{Geometry, convolution};

    use super::*;

    /// Images whose pixels resemble their neighbours and whose channels resemble each other.
    fn smooth(rows: usize) -> Tensor<4> {
        let wave = |i: usize| {
            let (image, rest) = (i / (3 * 64), i % (3 * 64));
            let (channel, y, x) = (rest / 64, rest % 64 / 8, rest % 8);
            let phase = image as f32 * 1.7 + channel as f32 * 0.4;
            0.5 + 0.2 * (phase + y as f32 * 0.6).sin()
                + 0.15 * (phase * 2.3 + x as f32).cos()
                + 0.05 * ((i * i % 1009) as f32 * 0.37).sin()
        };
        let values: Vec<f32> = (0..rows * 3 * 64).map(wave).collect();
        Tensor::from_data(TensorData::new(values, [rows, 3, 8, 8]), &Device::flex())
    }

    #[test]
    fn patches_of_the_training_images_are_white() {
        let units = Normalization { mean: vec![0.5; 3], deviation: vec![0.2; 3] };
        let whitening = Whitening::learn(smooth(40), Some(&units)).unwrap();
        whitening.check(3).unwrap();
        let kernels = whitening.kernels(3, &Device::flex());
        let images = prepared(smooth(40), Some(&units));
        let white = convolution(images, kernels, Geometry { stride: 1, padding: 1 }, None, None);
        // Patches that lie inside of the image.
        let white = white.slice([0..40, 0..7, 0..7, 0..24]).reshape([40 * 49, 24]);
        let moments = (white.clone().transpose().matmul(white) / 1960.0).into_data();
        let moments: Vec<f32> = moments.iter::<f32>().collect();
        for (place, moment) in moments.iter().enumerate() {
            let (row, column) = (place / 24, place % 24);
            let sign = if row == column { 1.0 } else { -1.0 };
            match row % 12 == column % 12 {
                // Less than one where the variance is near the least.
                true => assert!((0.3..1.01).contains(&(sign * moment)), "{row} {column}: {moment}"),
                false => assert!(moment.abs() < 0.01, "{row} {column}: {moment}"),
            }
        }
    }

    #[test]
    fn what_is_no_patch_is_refused() {
        assert!(Whitening::learn(Tensor::zeros([0, 3, 8, 8], &Device::flex()), None).is_err());
        assert!(Whitening::learn(Tensor::zeros([2, 3, 1, 8], &Device::flex()), None).is_err());
        let whitening =
            Whitening::learn(Tensor::zeros([2, 3, 8, 8], &Device::flex()), None).unwrap();
        assert!(whitening.check(1).unwrap_err().to_string().contains("whitened directions"));
        let nan = Tensor::full([2, 3, 8, 8], f32::NAN, &Device::flex());
        assert!(Whitening::learn(nan, None).is_err());
    }
}
