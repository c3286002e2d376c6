//! What backbones for images share.

use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// What is subtracted from every channel of an image and what it is then divided by. It is part
/// of the network: what a network takes are pixels from 0 to 1, wherever it is loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normalization {
    /// The mean of every channel.
    pub mean: Vec<f64>,
    /// Its standard deviation.
    pub deviation: Vec<f64>,
}

impl Normalization {
    fn check(&self, channels: usize) -> Result<()> {
        for (what, values) in [("mean", &self.mean), ("deviation", &self.deviation)] {
            if values.len() != channels {
                return Err(Error::shape(
                    format!("{what} of the channels"),
                    channels,
                    values.len(),
                ));
            }
        }
        if let Some(value) = self.mean.iter().find(|value| !value.is_finite()) {
            return Err(Error::config("mean", value, "it must be finite"));
        }
        let bad = |value: &&f64| !(value.is_finite() && **value > 0.0);
        match self.deviation.iter().find(bad) {
            Some(value) => Err(Error::config("deviation", value, "it must be positive")),
            None => Ok(()),
        }
    }

    /// Normalizes images `[batch, height, width, channels]`.
    fn apply(&self, images: Tensor<4>) -> Tensor<4> {
        let channels = self.mean.len();
        let (device, dtype) = (images.device(), images.dtype());
        let row = |values: Vec<f32>| {
            let data = TensorData::new(values, [1, 1, 1, channels]);
            Tensor::<4>::from_data(data, &device).cast(dtype)
        };
        let scale = self.deviation.iter().map(|deviation| (1.0 / deviation) as f32);
        let moments = self.mean.iter().zip(&self.deviation);
        let shift = moments.map(|(mean, deviation)| (-mean / deviation) as f32);
        images * row(scale.collect()) + row(shift.collect())
    }
}

/// Refuses sizes no network can have.
pub(super) fn check(image: [usize; 3], normalization: Option<&Normalization>) -> Result<()> {
    let [channels, height, width] = image;
    if channels == 0 || height == 0 || width == 0 || height % 4 != 0 || width % 4 != 0 {
        let rule = "there must be channels, and both sizes must be multiples of four";
        return Err(Error::config("image", format!("{image:?}"), rule));
    }
    normalization.map_or(Ok(()), |normalization| normalization.check(channels))
}

/// Refuses a batch of other images.
pub(super) fn check_batch(image: [usize; 3], batch: &Tensor<4>) -> Result<()> {
    let [_, channels, height, width] = batch.dims();
    let found = [channels, height, width];
    if found == image {
        return Ok(());
    }
    let show = |image: [usize; 3]| format!("{} x {} x {}", image[0], image[1], image[2]);
    Err(Error::shape("channels, height and width of an image", show(image), show(found)))
}

/// Rows of pixels as images: channel by channel.
pub(super) fn of_rows([channels, height, width]: [usize; 3], rows: Tensor<2>) -> Option<Tensor<4>> {
    let [count, columns] = rows.dims();
    let fits = columns == channels * height * width;
    fits.then(|| rows.reshape([count, channels, height, width]))
}

/// Images as the layers take them: channels last, normalized.
pub(super) fn prepared(images: Tensor<4>, normalization: Option<&Normalization>) -> Tensor<4> {
    let images = images.permute([0, 2, 3, 1]);
    match normalization {
        Some(normalization) => normalization.apply(images),
        None => images,
    }
}
