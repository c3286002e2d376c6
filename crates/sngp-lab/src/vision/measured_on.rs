//! What models are measured on.

use std::path::Path;
use std::sync::Arc;

use sngp::backbone::{Shipped, ShippedBatch};
use sngp::data::{Inputs, Labelled};
use sngp::hash::sha256;
use sngp::{Error, Result};

use super::experiment::VisionExperiment;
use super::task::labelled;
use crate::dataset::image::{ImageInputs, Images, Split};

/// Test images, clean and corrupted, and OOD images.
pub struct MeasuredOn {
    /// Clean test images.
    pub test: Labelled<ShippedBatch>,
    /// Test images under worse conditions: every corruption at every severity.
    pub shifted: Vec<Labelled<ShippedBatch>>,
    /// Sets of OOD images, by name.
    pub ood: Vec<(String, Arc<dyn Inputs<ShippedBatch>>)>,
    /// A hash of all of it.
    pub digest: String,
}

impl MeasuredOn {
    /// Reads the test images of an experiment, and makes or reads corrupted ones.
    pub fn read(experiment: &VisionExperiment, labels: &[String], folder: &Path) -> Result<Self> {
        let test = experiment.data.source.read(folder, Split::Test)?;
        if test.names != labels {
            let message = "training and test images are not of the same classes";
            return Err(Error::Data(message.to_string()));
        }
        let plain = ImageInputs::new;
        let shifted = match &experiment.shift {
            Some(shift) => shift.read(folder, &test)?,
            None => Vec::new(),
        };
        let shifted =
            shifted.into_iter().map(|images| labelled(plain(images))).collect::<Result<_>>()?;
        let ood = experiment.ood.iter().map(|set| {
            let name = set.source.name();
            let images = set.source.read(folder, Split::Test)?;
            let images = Shipped::inputs(plain(fitted(images, &test, name)?));
            Ok((name.to_string(), Arc::new(images) as Arc<dyn Inputs<ShippedBatch>>))
        });
        let ood = ood.collect::<Result<_>>()?;
        let test = labelled(plain(test))?;
        let mut all = Self { test, shifted, ood, digest: String::new() };
        all.digest = all.hash();
        Ok(all)
    }

    fn hash(&self) -> String {
        let sets = self.shifted.iter().chain([&self.test]);
        let sets: Vec<_> = sets.map(|set| (set.inputs.digest(), &set.targets)).collect();
        let ood: Vec<_> = self.ood.iter().map(|(name, images)| (name, images.digest())).collect();
        sha256(format!("{sets:?} {ood:?}").as_bytes())
    }
}

/// OOD images of the size the networks take.
fn fitted(images: Images, like: &Images, name: &str) -> Result<Images> {
    let images = if like.channels == 3 { images.to_rgb() } else { images };
    let size = |images: &Images| [images.channels, images.height, images.width];
    if size(&images) == size(like) {
        return Ok(images);
    }
    let show = |[channels, height, width]: [usize; 3]| format!("{channels} x {height} x {width}");
    Err(Error::shape(format!("images of {name}"), show(size(like)), show(size(&images))))
}
