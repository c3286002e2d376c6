//! What is learned and what it is measured on.

use std::path::Path;

use burn::tensor::Tensor;
use sngp::data::{Inputs, Labelled, Targets};
use sngp::hash::sha256;
use sngp::{Error, Result};

use super::experiment::VisionExperiment;
use crate::dataset::image::{Augmentation, ImageInputs, Images, Split};

/// Images of known classes, clean and corrupted, and others.
pub struct VisionTask {
    /// The names of the classes.
    pub labels: Vec<String>,
    /// What models are trained on.
    pub train: Labelled<Tensor<4>>,
    /// What choices are made on.
    pub validation: Labelled<Tensor<4>>,
    /// What is measured.
    pub test: Labelled<Tensor<4>>,
    /// Test images under worse conditions, by corruption and severity.
    pub shifted: Vec<(String, Labelled<Tensor<4>>)>,
    /// Images of no class, by name.
    pub strangers: Vec<(&'static str, ImageInputs)>,
    /// The training images.
    pub images: ImageInputs,
    /// A hash of everything that is measured on.
    pub digest: String,
}

impl VisionTask {
    /// Reads the images of an experiment.
    pub fn read(experiment: &VisionExperiment, folder: &Path) -> Result<Self> {
        let source = &experiment.data.source;
        let all = source.read(folder, Split::Train)?;
        let test = source.read(folder, Split::Test)?;
        let labels = all.names.clone();
        if test.names != labels {
            return Err(Error::Data("training and test images have other classes".to_string()));
        }
        let (train, validation) = split(&all, experiment)?;
        let plain = |images: Images| labelled(ImageInputs::new(images, Augmentation::default()));
        let shifted = match &experiment.shift {
            Some(shift) => shift.read(folder, &test)?,
            None => Vec::new(),
        };
        let shifted = shifted.into_iter().map(|(name, images)| Ok((name, plain(images)?)));
        let strangers = experiment.strangers.iter().map(|strangers| {
            let images = strangers.source.read(folder, Split::Test)?;
            let images = fitted(images, &test, strangers.source.name())?;
            Ok((strangers.source.name(), ImageInputs::new(images, Augmentation::default())))
        });
        let images = ImageInputs::new(train, experiment.augmentation);
        let mut task = Self {
            labels,
            train: labelled(images.clone())?,
            validation: plain(validation)?,
            shifted: shifted.collect::<Result<_>>()?,
            strangers: strangers.collect::<Result<_>>()?,
            test: plain(test)?,
            images,
            digest: String::new(),
        };
        task.digest = task.hash();
        Ok(task)
    }

    fn hash(&self) -> String {
        let sets = self.shifted.iter().map(|(_, set)| set).chain([&self.test]);
        let digests = sets
            .map(|set| set.inputs.digest())
            .chain(self.strangers.iter().map(|(_, set)| set.digest()));
        sha256(format!("{:?}", digests.collect::<Vec<_>>()).as_bytes())
    }
}

/// What is trained on, and what is held out.
fn split(all: &Images, experiment: &VisionExperiment) -> Result<(Images, Images)> {
    let held_out = experiment.data.validation;
    let rest = all.len().saturating_sub(held_out);
    let wanted = experiment.data.train.unwrap_or(rest);
    if wanted == 0 || wanted > rest {
        return Err(Error::Data(format!(
            "{} training images: {held_out} are held out, so {wanted} cannot be trained on",
            all.len()
        )));
    }
    let rows = |rows: std::ops::Range<usize>| all.select(&rows.collect::<Vec<_>>());
    Ok((rows(0..wanted), rows(rest..all.len())))
}

/// Strangers of the size the networks take.
fn fitted(images: Images, like: &Images, name: &str) -> Result<Images> {
    let images = if like.channels == 3 { images.to_rgb() } else { images };
    let size = |images: &Images| [images.channels, images.height, images.width];
    if size(&images) == size(like) {
        return Ok(images);
    }
    let show = |[channels, height, width]: [usize; 3]| format!("{channels} x {height} x {width}");
    Err(Error::shape(format!("images of {name}"), show(size(like)), show(size(&images))))
}

fn labelled(inputs: ImageInputs) -> Result<Labelled<Tensor<4>>> {
    let Images { labels, names, .. } = inputs.images();
    let targets = Targets::Classes { labels: labels.clone(), classes: names.len() };
    Labelled::new(inputs, targets)
}
