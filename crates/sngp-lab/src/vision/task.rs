//! What is learned.

use std::path::Path;

use sngp::backbone::{Shipped, ShippedBatch};
use sngp::data::{Labelled, Targets};
use sngp::{Error, Result};

use super::experiment::VisionExperiment;
use super::shift::corrupted_for_validation;
use crate::dataset::image::{ImageInputs, Images, Split};

/// Images of known classes.
pub struct VisionTask {
    /// The names of the classes.
    pub labels: Vec<String>,
    /// What models are trained on.
    pub train: Labelled<ShippedBatch>,
    /// What is held out.
    pub validation: Labelled<ShippedBatch>,
    /// What ridge and mean-field factor are chosen on: the same, and corrupted ones where the
    /// experiment asks for them.
    pub chosen_on: Labelled<ShippedBatch>,
    /// The training images.
    pub images: ImageInputs,
}

impl VisionTask {
    /// Reads the training images of an experiment.
    pub fn read(experiment: &VisionExperiment, folder: &Path) -> Result<Self> {
        let all = experiment.data.source.read(folder, Split::Train)?;
        let (train, validation) = split(&all, experiment)?;
        let chosen_on = with_corrupted(&validation, experiment.data.corrupted_validation)?;
        let images = ImageInputs::augmented(train, experiment.augmentation)?;
        let plain = |images| labelled(ImageInputs::new(images));
        Ok(Self {
            labels: all.names,
            train: labelled(images.clone())?,
            validation: plain(validation)?,
            chosen_on: plain(chosen_on)?,
            images,
        })
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

/// Images, and so many of them also corrupted.
fn with_corrupted(clean: &Images, count: usize) -> Result<Images> {
    let mut all = clean.clone();
    // Not all images can be corrupted, so it is not tried without need.
    if count == 0 {
        return Ok(all);
    }
    let some = clean.select(&(0..count).collect::<Vec<_>>());
    for corrupted in corrupted_for_validation(&some)? {
        all.pixels.extend(corrupted.pixels);
        all.labels.extend(corrupted.labels);
    }
    Ok(all)
}

/// Images with their classes.
pub(super) fn labelled(inputs: ImageInputs) -> Result<Labelled<ShippedBatch>> {
    let Images { labels, names, .. } = inputs.images();
    let targets = Targets::Classes { labels: labels.clone(), classes: names.len() };
    Labelled::new(Shipped::inputs(inputs), targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(channels: usize) -> Images {
        Images {
            pixels: (0..3 * channels * 32 * 32).map(|i| (i % 251) as u8).collect(),
            channels,
            height: 32,
            width: 32,
            labels: vec![0, 1, 0],
            names: vec!["a".into(), "b".into()],
        }
    }

    #[test]
    fn some_held_out_images_also_come_corrupted() {
        let clean = images(3);
        let all = with_corrupted(&clean, 2).unwrap();
        assert_eq!(all.len(), 3 + 2 * 4 * 5, "four ways, five severities");
        assert_eq!(all.labels[3..7], [0, 1, 0, 1]);
        assert_eq!(all.image(1), clean.image(1));
        assert!((3..all.len()).all(|row| all.image(row) != clean.image((row - 3) % 2)));
        assert_eq!(with_corrupted(&clean, 0).unwrap(), clean);
    }

    #[test]
    fn grey_images_are_held_out_as_they_are() {
        assert_eq!(with_corrupted(&images(1), 0).unwrap(), images(1));
        assert!(with_corrupted(&images(1), 1).is_err());
    }
}
