//! Where images come from.

use std::path::{Path, PathBuf};

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use sngp::seed::{Purpose, stream};
use sngp::{Error, Result};

use crate::dataset::image::{
    Cifar100Labels, DIGITS, FASHION, ImageError, Images, Split, read_cifar10, read_cifar100,
    read_image_folder, read_mnist, read_svhn,
};

/// A set of images in the format of its publisher. Paths are relative to the data folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// CIFAR-10, binary version: a folder or its `.tar.gz`.
    Cifar10 {
        /// The folder or archive.
        path: PathBuf,
    },
    /// CIFAR-100 with its fine labels, likewise.
    Cifar100 {
        /// The folder or archive.
        path: PathBuf,
    },
    /// SVHN's cropped digits: `train_32x32.mat` and `test_32x32.mat` in a folder.
    Svhn {
        /// The folder.
        path: PathBuf,
    },
    /// Digits in MNIST's format.
    Mnist {
        /// The folder with the four files.
        path: PathBuf,
    },
    /// Clothes in MNIST's format.
    FashionMnist {
        /// The folder with the four files.
        path: PathBuf,
    },
    /// `train` and `test`, each with a folder a class.
    Folder {
        /// The folder of both.
        path: PathBuf,
        /// Height and width the images are scaled to.
        side: usize,
    },
}

impl Source {
    /// Reads a part of it.
    pub fn read(&self, folder: &Path, split: Split) -> Result<Images> {
        let images = match self {
            Self::Cifar10 { path } => read_cifar10(folder.join(path), split),
            Self::Cifar100 { path } => {
                read_cifar100(folder.join(path), split, Cifar100Labels::Fine)
            }
            Self::Svhn { path } => {
                let file = format!("{}_32x32.mat", part(split));
                read_svhn(folder.join(path).join(file))
            }
            Self::Mnist { path } => read_mnist(folder.join(path), split, &DIGITS),
            Self::FashionMnist { path } => read_mnist(folder.join(path), split, &FASHION),
            Self::Folder { path, side } => {
                read_image_folder(folder.join(path).join(part(split)), None, *side).map(mixed)
            }
        };
        images.map_err(data)
    }

    /// The name it is known by in tables; a folder has its own.
    pub fn name(&self) -> &str {
        match self {
            Self::Cifar10 { .. } => "cifar10",
            Self::Cifar100 { .. } => "cifar100",
            Self::Svhn { .. } => "svhn",
            Self::Mnist { .. } => "mnist",
            Self::FashionMnist { .. } => "fashion_mnist",
            Self::Folder { path, .. } => {
                path.file_name().and_then(|name| name.to_str()).unwrap_or("folder")
            }
        }
    }
}

/// Images that were read class by class in an order whose parts are fair samples.
fn mixed(images: Images) -> Images {
    let mut rows: Vec<usize> = (0..images.len()).collect();
    rows.shuffle(&mut stream(0, Purpose::Shuffle, 0));
    images.select(&rows)
}

fn part(split: Split) -> &'static str {
    match split {
        Split::Train => "train",
        Split::Test => "test",
    }
}

/// What a reader found wrong.
pub(super) fn data(error: ImageError) -> Error {
    Error::Data(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_mixed_the_same_way_every_time() {
        let root = tempfile::tempdir().unwrap();
        for class in ["dark", "light"] {
            let folder = root.path().join("own/train").join(class);
            std::fs::create_dir_all(&folder).unwrap();
            for index in 0..20 {
                image::RgbImage::new(4, 4).save(folder.join(format!("{index}.png"))).unwrap();
            }
        }
        let source = Source::Folder { path: "own".into(), side: 4 };
        let read = || source.read(root.path(), Split::Train).unwrap().labels;
        let labels = read();
        assert_eq!(labels, read());
        let light = |labels: &[usize]| labels.iter().sum::<usize>();
        assert_eq!(light(&labels), 20);
        assert!((4..16).contains(&light(&labels[..20])), "{labels:?}");
        assert_eq!(source.name(), "own");
    }
}
