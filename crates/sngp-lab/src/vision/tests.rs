//! On the real images, where they are.

use std::path::PathBuf;

use burn::tensor::Device;
use sngp::backbone::{Backbone, ResNet, ResNetConfig};
use sngp::data::Inputs;
use sngp::{Pass, Result};

use super::pretrained::Pretrained;
use super::*;
use crate::dataset::image::{Augmentation, ImageInputs, Split};
use crate::dataset::text::testing::real_data;

fn published() -> VisionExperiment {
    let (_, text) = BUILT_IN.iter().find(|(name, _)| *name == "cifar10-resnet20").unwrap();
    VisionExperiment::parse(text).unwrap()
}

/// The data folder, where it holds the published weights.
fn weights() -> Option<PathBuf> {
    real_data("models/resnet-cifar10")
        .and_then(|folder| Some(folder.ancestors().nth(2)?.to_owned()))
}

/// The independent proof that reading, convolutions, batch normalization and evaluation are right:
/// the published weights are as good here as their publisher says, 91.73 %.
#[test]
fn published_weights_have_their_published_accuracy() -> Result<()> {
    let Some(folder) = weights() else { return Ok(()) };
    let Some(_) = real_data("cifar-10-batches-bin") else { return Ok(()) };
    let experiment = published();
    let NetworkConfig::Resnet(network) = &experiment.network else { unreachable!("it is one") };
    let images = experiment.data.source.read(&folder, Split::Test)?;
    let labels = images.labels.clone();
    let images = ImageInputs::new(images, Augmentation::default());
    let device = Device::flex();
    let config = experiment.pretrained.as_ref().unwrap();
    let pretrained = Pretrained::<ResNet>::read(config, &folder, network, 10, &device)?;
    let rows: Vec<usize> = (0..images.rows()).collect();
    let mut right = 0;
    for rows in rows.chunks(500) {
        let hidden =
            pretrained.backbone.forward(images.batch(rows, &device), &mut Pass::evaluate());
        let answers = pretrained.head.forward(hidden).argmax(1).into_data();
        right +=
            answers.iter::<i64>().zip(rows).filter(|(a, row)| *a as usize == labels[**row]).count();
    }
    assert_eq!(right, 9173, "of 10,000 test images");
    Ok(())
}

/// A depth that the weights are not of is an error, not a network that is half random.
#[test]
fn weights_of_another_depth_are_refused() {
    let Some(folder) = weights() else { return };
    let experiment = published();
    let config = experiment.pretrained.as_ref().unwrap();
    for depth in [14, 26] {
        let network = ResNetConfig { depth, ..Default::default() };
        let read = Pretrained::<ResNet>::read(config, &folder, &network, 10, &Device::flex());
        assert!(read.is_err(), "depth {depth}");
    }
}
