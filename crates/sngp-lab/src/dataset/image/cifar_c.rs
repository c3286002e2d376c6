use std::fs;
use std::path::{Path, PathBuf};

use sngp_records::{Arrays, ByteArray};

use super::bytes::malformed;
use super::error::{ImageError, Result};
use super::images::Images;
use super::source::io_error;
use crate::corruption::Severity;

/// The array of the labels, in a file of that name.
const LABELS: &str = "labels";
const SEVERITIES: usize = Severity::ALL.len();

/// A folder of corrupted CIFAR images in the layout of CIFAR-10-C and CIFAR-100-C: a `.npy` file
/// `[5 n, 32, 32, 3]` a corruption, the five severities one after the other, and `labels.npy`.
///
/// Only the images asked for are read from disk; the files must not be changed meanwhile.
///
/// ```no_run
/// use sngp_lab::corruption::Severity;
/// use sngp_lab::dataset::image::{CifarC, Split, read_cifar10};
///
/// let names = read_cifar10("cifar-10-batches-bin", Split::Test)?.names;
/// let shifted = CifarC::open("CIFAR-10-C", &names)?;
/// for name in shifted.corruptions() {
///     let images = shifted.read(name, Severity::ALL[2])?;
///     assert_eq!(images.len(), shifted.len());
/// }
/// # Ok::<(), sngp_lab::dataset::image::ImageError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CifarC {
    folder: PathBuf,
    corruptions: Vec<String>,
    /// Of all severities, as in the file.
    labels: Vec<usize>,
    names: Vec<String>,
}

impl CifarC {
    /// Lists the corruptions of a folder and reads its labels; `names` are those of the classes,
    /// which the folder does not hold.
    ///
    /// # Errors
    ///
    /// Where the folder or its labels cannot be read, a label is none of `names`, or there is no
    /// corruption.
    pub fn open(folder: impl AsRef<Path>, names: &[impl AsRef<str>]) -> Result<Self> {
        let folder = folder.as_ref();
        let path = npy(folder, LABELS);
        let labels = Arrays::open(&path)?.ints(LABELS)?;
        if labels.is_empty() || labels.len() % SEVERITIES != 0 {
            let found = format!("{} labels", labels.len());
            return Err(malformed(&path, 0, found, "the labels of five severities"));
        }
        let class = |(index, &label): (usize, &i64)| {
            let class = usize::try_from(label).ok().filter(|&class| class < names.len());
            class.ok_or_else(|| {
                let (path, row, classes) = (path.clone(), index + 1, names.len());
                ImageError::LabelRow { path, row, label, classes }
            })
        };
        let labels = labels.iter().enumerate().map(class).collect::<Result<_>>()?;
        let mut corruptions = Vec::new();
        for entry in fs::read_dir(folder).map_err(io_error(folder))? {
            let name = entry.map_err(io_error(folder))?.file_name();
            let Some(name) = name.to_str() else { continue };
            let stem = name.strip_suffix(".npy").filter(|stem| *stem != LABELS);
            corruptions.extend(stem.filter(|stem| !stem.starts_with('.')).map(str::to_owned));
        }
        if corruptions.is_empty() {
            return Err(ImageError::Empty {
                path: folder.to_owned(),
                what: "corruption .npy file",
            });
        }
        corruptions.sort();
        let names = names.iter().map(|name| name.as_ref().to_owned()).collect();
        Ok(Self { folder: folder.to_owned(), corruptions, labels, names })
    }

    /// The names of the corruptions, sorted.
    pub fn corruptions(&self) -> &[String] {
        &self.corruptions
    }

    /// Images of one corruption at one severity.
    #[expect(clippy::len_without_is_empty, reason = "an empty folder is refused by `open`")]
    pub fn len(&self) -> usize {
        self.labels.len() / SEVERITIES
    }

    /// Reads the images of one corruption at one severity.
    ///
    /// # Errors
    ///
    /// Where the folder has no such corruption, or its file is not of bytes `[5 n, h, w, 3]`.
    pub fn read(&self, corruption: &str, severity: Severity) -> Result<Images> {
        if !self.corruptions.iter().any(|name| name == corruption) {
            return Err(ImageError::UnknownCorruption {
                path: self.folder.clone(),
                name: corruption.to_owned(),
                present: self.corruptions.clone(),
            });
        }
        let path = npy(&self.folder, corruption);
        let array = Arrays::open(&path)?.bytes(corruption)?;
        let [height, width] = self.image_size(&path, &array)?;
        let image_len = height * width * 3;
        let first = severity.index() * self.len();
        let images = array.as_slice().chunks_exact(image_len).skip(first).take(self.len());
        Ok(Images {
            pixels: images.flat_map(channels_first).collect(),
            channels: 3,
            height,
            width,
            labels: self.labels[first..first + self.len()].to_vec(),
            names: self.names.clone(),
        })
    }

    /// The images' size, where there are as many as labels.
    fn image_size(&self, path: &Path, array: &ByteArray) -> Result<[usize; 2]> {
        let [count, height @ (1..), width @ (1..), 3] = array.shape()[..] else {
            let found = format!("the shape {:?}", array.shape());
            return Err(malformed(path, 0, found, "the shape [5 n, h, w, 3]"));
        };
        if count != self.labels.len() {
            return Err(ImageError::UnequalCounts {
                image_path: path.to_owned(),
                images: count,
                label_path: npy(&self.folder, LABELS),
                labels: self.labels.len(),
            });
        }
        Ok([height, width])
    }
}

/// The file of an array.
fn npy(folder: &Path, name: &str) -> PathBuf {
    folder.join(name).with_added_extension("npy")
}

/// `[h, w, 3]` to `[3, h, w]`.
fn channels_first(image: &[u8]) -> impl Iterator<Item = u8> {
    (0..3).flat_map(move |channel| image.iter().skip(channel).step_by(3).copied())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Scratch, assert_says, every_damage, real_data};
    use super::super::{DIGITS, Split, read_cifar10};
    use super::*;

    fn encode(kind: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = u16::try_from(text.len()).unwrap().to_le_bytes();
        [b"\x93NUMPY\x01\0", &length[..], text.as_bytes(), data].concat()
    }

    /// Two images of 1 x 2 pixels a severity; the bytes count up.
    fn folder() -> Scratch {
        let pixels: Vec<u8> = (0..60).collect();
        Scratch::new()
            .with("labels.npy", encode("|u1", "(10,)", &[3, 9].repeat(5)))
            .with("snow.npy", encode("|u1", "(10, 1, 2, 3)", &pixels))
            .with("fog.npy", encode("|u1", "(10, 1, 2, 3)", &pixels))
            .with("README.txt", "")
    }

    fn read(folder: &Scratch, name: &str, severity: usize) -> Result<Images> {
        CifarC::open(folder, &DIGITS)?.read(name, Severity::ALL[severity - 1])
    }

    #[test]
    fn severities_are_cut_out_in_order() {
        let folder = folder();
        assert_eq!(CifarC::open(&folder, &DIGITS).unwrap().corruptions(), ["fog", "snow"]);
        let images = read(&folder, "snow", 2).unwrap();
        assert_eq!(images.labels, [3, 9]);
        assert_eq!(images.image(0), [12, 15, 13, 16, 14, 17]);
        assert_eq!((images.height, images.width, images.channels), (1, 2, 3));
        assert_eq!(read(&folder, "fog", 5).unwrap().image(1)[5], 59);
    }

    #[test]
    fn damaged_folders_are_named() {
        let bytes = |shape, count| encode("|u1", shape, &vec![0; count]);
        assert_says(
            read(&folder(), "rain", 1),
            "has no corruption \"rain\"; it has [\"fog\", \"snow\"]",
        );
        let with = |contents| read(&folder().with("snow.npy", contents), "snow", 1);
        let says = |contents, place: &str, what: &str| {
            assert_says(with(contents), &format!("snow.npy, array \"snow\"{place}: {what}"));
        };
        let at = format!(", byte offset {}", bytes("(10, 1, 2, 3)", 0).len());
        says(bytes("(10, 1, 2, 3)", 59), &at, "59 bytes of data where uint8 of shape");
        says(b"x".to_vec(), ", byte offset 0", "the header is cut off");
        let zip = b"PK\x03\x04 something else";
        says(zip.to_vec(), ", byte offset 0", "it does not start as .npy data does");
        says(encode("<f4", "(10, 1, 2, 3)", &[0; 240]), "", "it holds float32");
        assert_says(with(bytes("(5, 1, 2, 3)", 30)), "snow.npy holds 5 images but ");
        let shape = "snow.npy, byte offset 0: the shape [10, 3, 2, 1] where the shape [5 n";
        assert_says(with(bytes("(10, 3, 2, 1)", 60)), shape);
        let labels = |contents| CifarC::open(folder().with("labels.npy", contents), &DIGITS);
        assert_says(labels(encode("|u1", "(4,)", &[0; 4])), "4 labels where the labels of five");
        let high = encode("|u1", "(5,)", &[0, 10, 0, 0, 0]);
        assert_says(labels(high), "labels.npy, row 2: label 10 is none of the 10 classes");
        let magic = "labels.npy, array \"labels\", byte offset 0: it does not start";
        assert_says(labels(zip.to_vec()), magic);
        let none = Scratch::new().with("labels.npy", encode("|u1", "(5,)", &[0; 5]));
        assert_says(CifarC::open(&none, &DIGITS), "holds no corruption .npy file");
    }

    #[test]
    fn no_damage_panics() {
        for name in ["labels.npy", "snow.npy"] {
            let file = fs::read(folder().path.join(name)).unwrap();
            every_damage(&file, |damaged| read(&folder().with(name, damaged), "snow", 5));
        }
    }

    #[test]
    fn the_real_sample_shows_the_test_images() {
        let Some(folder) = real_data("CIFAR-10-C") else { return };
        let Some(clean) = real_data("cifar-10-batches-bin") else { return };
        let clean = read_cifar10(clean, Split::Test).unwrap();
        let shifted = CifarC::open(folder, &clean.names).unwrap();
        let images = shifted.read("brightness", Severity::ALL[0]).unwrap();
        assert_eq!(images.labels, clean.labels[..shifted.len()]);
        // A slight corruption of the same image: close in every channel, so in the right order.
        let difference = |a: &[u8], b: &[u8]| {
            let sum: u64 = a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
            sum / a.len() as u64
        };
        assert!((0..images.len()).all(|i| difference(images.image(i), clean.image(i)) < 20));
    }
}
