use rayon::prelude::*;

use super::error::{CorruptionError, Result};
use super::registry::Corruption;
use super::severity::Severity;
use crate::dataset::image::Images;

impl Corruption {
    /// Corrupts every image of a set, in parallel; labels and names stay.
    ///
    /// # Errors
    ///
    /// Where the images do not have three channels.
    ///
    /// ```
    /// use sngp_lab::corruption::{Corruption, Severity};
    /// use sngp_lab::dataset::image::Images;
    ///
    /// let clean = Images {
    ///     pixels: vec![100; 2 * 3 * 32 * 32],
    ///     channels: 3,
    ///     height: 32,
    ///     width: 32,
    ///     labels: vec![0, 1],
    ///     names: vec!["a".into(), "b".into()],
    /// };
    /// let noisy = Corruption::GaussianNoise.apply_all(&clean, Severity::ALL[4], 1)?;
    /// assert_eq!(noisy.labels, clean.labels);
    /// assert_ne!(noisy.image(0), noisy.image(1));
    /// # Ok::<(), sngp_lab::corruption::CorruptionError>(())
    /// ```
    pub fn apply_all(self, images: &Images, severity: Severity, seed: u64) -> Result<Images> {
        if images.channels != 3 {
            return Err(CorruptionError::WrongChannels { channels: images.channels });
        }
        let corrupt = |index| {
            let mut rng = self.rng(seed, severity, index);
            self.apply(images.image(index), images.height, images.width, severity, &mut rng)
        };
        let corrupted: Vec<Vec<u8>> =
            (0..images.len()).into_par_iter().map(corrupt).collect::<Result<_>>()?;
        Ok(Images {
            pixels: corrupted.concat(),
            labels: images.labels.clone(),
            names: images.names.clone(),
            ..*images
        })
    }
}
