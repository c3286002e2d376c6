//! On the real images, where they are.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use sngp::backbone::{Backbone, ResNetConfig};
use sngp::data::Inputs;
use sngp::{Pass, Result};

use super::pretrained::Pretrained;
use super::*;
use crate::corruption::{Corruption, Severity};
use crate::dataset::image::{CifarC, ImageInputs, Images, Split};
use crate::dataset::text::testing::real_data;

fn published() -> VisionExperiment {
    let (_, text) = BUILT_IN.iter().find(|(name, _)| *name == "cifar10-resnet20").unwrap();
    VisionExperiment::parse(text).unwrap()
}

/// The data folder, where it holds the published weights and these images.
fn folder(images: &[&str]) -> Option<PathBuf> {
    let weights = real_data("models/resnet-cifar10")?;
    images.iter().try_for_each(|images| real_data(images).map(drop))?;
    Some(weights.ancestors().nth(2)?.to_owned())
}

fn resnet20(folder: &Path) -> Result<Pretrained> {
    let experiment = published();
    let NetworkConfig::Resnet(network) = &experiment.network else { unreachable!("it is one") };
    let config = experiment.pretrained.as_ref().unwrap();
    Pretrained::read(config, folder, &network.clone().into(), 10, &Device::flex())
}

/// How many images it recognizes.
fn right(network: &Pretrained, images: Images) -> usize {
    let (labels, device) = (images.labels.clone(), Device::flex());
    let images = ImageInputs::new(images);
    let rows: Vec<usize> = (0..images.rows()).collect();
    let batches = rows.chunks(500).map(|rows| {
        let hidden =
            network.backbone.forward(images.batch(rows, &device).into(), &mut Pass::evaluate());
        let answers = network.head.forward(hidden).argmax(1).into_data();
        answers.iter::<i64>().zip(rows).filter(|(a, row)| *a as usize == labels[**row]).count()
    });
    batches.sum()
}

/// The independent proof that reading, convolutions, batch normalization and evaluation are right:
/// the published weights are as good here as their publisher says, 91.73 %.
#[test]
fn published_weights_have_their_published_accuracy() -> Result<()> {
    let Some(folder) = folder(&["cifar-10-batches-bin"]) else { return Ok(()) };
    let images = published().data.source.read(&folder, Split::Test)?;
    assert_eq!(right(&resnet20(&folder)?, images), 9173, "of 10,000 test images");
    Ok(())
}

/// Our corruptions cost a fixed classifier what CIFAR-10-C's cost it: on the same images, the mean
/// accuracy over the corruptions both have differs by less than three points at every severity.
#[test]
fn corruptions_are_as_strong_as_published_ones() -> Result<()> {
    let Some(folder) = folder(&["CIFAR-10-C", "cifar-10-batches-bin"]) else { return Ok(()) };
    let network = resnet20(&folder)?;
    let test = published().data.source.read(&folder, Split::Test)?;
    let theirs = CifarC::open(folder.join("CIFAR-10-C"), &test.names).unwrap();
    let clean = test.select(&(0..theirs.len()).collect::<Vec<_>>());
    let kinds: Vec<Corruption> =
        theirs.corruptions().iter().filter_map(|name| name.parse().ok()).collect();
    assert!(kinds.len() >= 14, "all fifteen but frost: {kinds:?}");
    for severity in Severity::ALL {
        let (mut own, mut published) = (0, 0);
        for kind in &kinds {
            own += right(&network, kind.apply_all(&clean, severity, 0).unwrap());
            published += right(&network, theirs.read(kind.name(), severity).unwrap());
        }
        let points = |right: usize| 100.0 * right as f64 / (kinds.len() * clean.len()) as f64;
        let (own, published) = (points(own), points(published));
        assert!((own - published).abs() < 3.0, "severity {severity}: {own} and {published}");
    }
    Ok(())
}

/// A depth that the weights are not of is an error, not a network that is half random.
#[test]
fn weights_of_another_depth_are_refused() {
    let Some(folder) = folder(&[]) else { return };
    let experiment = published();
    let config = experiment.pretrained.as_ref().unwrap();
    for depth in [14, 26] {
        let network = ResNetConfig { depth, ..Default::default() };
        let read = Pretrained::read(config, &folder, &network.clone().into(), 10, &Device::flex());
        assert!(read.is_err(), "depth {depth}");
    }
}
