use std::path::Path;

use super::bytes::{Bytes, check_label, malformed};
use super::error::Result;
use super::images::Images;
use super::source::{Member, read_members};

const SIDE: usize = 32;
const IMAGE_LEN: usize = 3 * SIDE * SIDE;

/// Which part of a data set to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// What models are trained on.
    Train,
    /// What they are judged by.
    Test,
}

/// Which of its two labels a CIFAR-100 image gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cifar100Labels {
    /// One of 100 classes.
    #[default]
    Fine,
    /// One of 20 groups of five classes.
    Coarse,
}

/// How a CIFAR file is laid out: a record is label bytes, then 3,072 bytes of pixels.
struct Layout {
    expected: &'static str,
    names: &'static str,
    classes: usize,
    label_bytes: usize,
    label_at: usize,
}

const CIFAR10: Layout = Layout {
    expected: "the folder cifar-10-batches-bin or cifar-10-binary.tar.gz",
    names: "batches.meta.txt",
    classes: 10,
    label_bytes: 1,
    label_at: 0,
};

const CIFAR100_FINE: Layout = Layout {
    expected: "the folder cifar-100-binary or cifar-100-binary.tar.gz",
    names: "fine_label_names.txt",
    classes: 100,
    label_bytes: 2,
    label_at: 1,
};

const CIFAR100_COARSE: Layout =
    Layout { names: "coarse_label_names.txt", classes: 20, label_at: 0, ..CIFAR100_FINE };

/// Reads the binary version of CIFAR-10: the folder `cifar-10-batches-bin` or the publishers'
/// `cifar-10-binary.tar.gz`.
///
/// # Errors
///
/// Where a batch or the class names are missing, a file is cut short, or a label is above 9.
///
/// ```no_run
/// use sngp_lab::dataset::image::{Split, read_cifar10};
///
/// let train = read_cifar10("cifar-10-batches-bin", Split::Train)?;
/// assert_eq!(train.names[train.labels[0]], "frog");
/// # Ok::<(), sngp_lab::dataset::image::ImageError>(())
/// ```
pub fn read_cifar10(path: impl AsRef<Path>, split: Split) -> Result<Images> {
    let batches: &[&str] = match split {
        Split::Train => &[
            "data_batch_1.bin",
            "data_batch_2.bin",
            "data_batch_3.bin",
            "data_batch_4.bin",
            "data_batch_5.bin",
        ],
        Split::Test => &["test_batch.bin"],
    };
    CIFAR10.read(path.as_ref(), batches)
}

/// Reads the binary version of CIFAR-100: the folder `cifar-100-binary` or the publishers'
/// `cifar-100-binary.tar.gz`.
///
/// # Errors
///
/// Where the split or the class names are missing, a file is cut short, or a label is out of range.
///
/// ```no_run
/// use sngp_lab::dataset::image::{Cifar100Labels, Split, read_cifar100};
///
/// let test = read_cifar100("cifar-100-binary", Split::Test, Cifar100Labels::Fine)?;
/// assert_eq!(test.names.len(), 100);
/// # Ok::<(), sngp_lab::dataset::image::ImageError>(())
/// ```
pub fn read_cifar100(
    path: impl AsRef<Path>,
    split: Split,
    labels: Cifar100Labels,
) -> Result<Images> {
    let layout = match labels {
        Cifar100Labels::Fine => CIFAR100_FINE,
        Cifar100Labels::Coarse => CIFAR100_COARSE,
    };
    let file = match split {
        Split::Train => "train.bin",
        Split::Test => "test.bin",
    };
    layout.read(path.as_ref(), &[file])
}

impl Layout {
    fn read(&self, path: &Path, batches: &[&str]) -> Result<Images> {
        let wanted: Vec<&str> =
            std::iter::once(self.names).chain(batches.iter().copied()).collect();
        let mut members = read_members(path, &wanted, self.expected)?.into_iter();
        let names = members.next().map(|file| self.names(&file)).transpose()?.unwrap_or_default();
        let mut images =
            Images { channels: 3, height: SIDE, width: SIDE, names, ..Images::default() };
        for batch in members {
            self.append(&batch, &mut images)?;
        }
        Ok(images)
    }

    /// One name a line; the published file ends with an empty one.
    fn names(&self, file: &Member) -> Result<Vec<String>> {
        let text = String::from_utf8_lossy(&file.bytes);
        let names: Vec<String> = text
            .lines()
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        if names.len() == self.classes {
            return Ok(names);
        }
        let expected = format!("one of each of the {} classes", self.classes);
        Err(malformed(&file.path, 0, format!("{} names", names.len()), expected))
    }

    fn append(&self, batch: &Member, images: &mut Images) -> Result<()> {
        let mut bytes = Bytes::new(&batch.path, &batch.bytes);
        images.pixels.reserve(batch.bytes.len());
        if bytes.rest() == 0 {
            return Err(malformed(&batch.path, 0, "an empty file", "an image"));
        }
        while bytes.rest() > 0 {
            let offset = bytes.at() + self.label_at;
            let labels = bytes.take(self.label_bytes, "a label")?;
            let label = i64::from(labels[self.label_at]);
            images.labels.push(check_label(&batch.path, offset, label, self.classes)?);
            images.pixels.extend_from_slice(bytes.take(IMAGE_LEN, "an image")?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Scratch, assert_says, gzip, real_data};
    use super::*;

    fn record(labels: &[u8], pixel: u8) -> Vec<u8> {
        [labels, &[pixel; IMAGE_LEN]].concat()
    }

    fn lines(count: usize) -> String {
        (0..count).map(|class| format!("class {class}\n")).collect::<String>() + "\n"
    }

    fn cifar10(batch: &[u8]) -> Scratch {
        Scratch::new().with("batches.meta.txt", lines(10)).with("test_batch.bin", batch)
    }

    #[test]
    fn batches_are_joined_in_order() {
        let mut folder = cifar10(&record(&[9], 5));
        for batch in 1..=5 {
            folder = folder.with(&format!("data_batch_{batch}.bin"), record(&[batch], batch));
        }
        let train = read_cifar10(&folder, Split::Train).unwrap();
        assert_eq!(train.labels, [1, 2, 3, 4, 5]);
        assert_eq!(train.image(3), [4; IMAGE_LEN]);
        assert_eq!(train.names[9], "class 9");
        assert_eq!(read_cifar10(&folder, Split::Test).unwrap().labels, [9]);
    }

    #[test]
    fn the_publishers_archive_reads_like_the_folder() {
        let folder = cifar10(&[record(&[3], 1), record(&[4], 2)].concat());
        let mut builder = tar::Builder::new(Vec::new());
        builder.append_dir_all("cifar-10-batches-bin", &folder).unwrap();
        let archive = gzip(&builder.into_inner().unwrap());
        let packed = Scratch::new().with("cifar-10-binary.tar.gz", archive);
        let read = read_cifar10(packed.path.join("cifar-10-binary.tar.gz"), Split::Test).unwrap();
        assert_eq!(read, read_cifar10(&folder, Split::Test).unwrap());
        assert_eq!(read.labels, [3, 4]);
    }

    #[test]
    fn cifar100_has_two_labels() {
        let folder = Scratch::new()
            .with("fine_label_names.txt", lines(100))
            .with("coarse_label_names.txt", lines(20))
            .with("train.bin", record(&[19, 99], 1));
        let labels = |kind| read_cifar100(&folder, Split::Train, kind).unwrap().labels;
        assert_eq!(labels(Cifar100Labels::Fine), [99]);
        assert_eq!(labels(Cifar100Labels::Coarse), [19]);
        let folder = folder.with("train.bin", record(&[20, 100], 1));
        let read = |kind| read_cifar100(&folder, Split::Train, kind);
        assert_says(read(Cifar100Labels::Fine), "offset 1: label 100 is none of the 100 classes");
        assert_says(read(Cifar100Labels::Coarse), "offset 0: label 20 is none of the 20 classes");
    }

    #[test]
    fn damaged_files_are_named_with_an_offset() {
        let read = |batch: &[u8]| read_cifar10(cifar10(batch), Split::Test);
        let two = [record(&[1], 0), record(&[10], 0)].concat();
        assert_says(read(&two), "test_batch.bin, byte offset 3073: label 10 is none of the 10");
        let cut = read(&two[..3000]);
        assert_says(cut, "offset 1: the file ends after 2999 of the 3072 bytes of an image");
        assert_says(read(&[]), "test_batch.bin, byte offset 0: an empty file where an image");
        let names = cifar10(&two).with("batches.meta.txt", lines(9));
        assert_says(read_cifar10(&names, Split::Test), "meta.txt, byte offset 0: 9 names where");
        let missing = read_cifar10(cifar10(&two), Split::Train);
        assert_says(missing, "has no data_batch_1.bin; is it the folder cifar-10-batches-bin or");
    }

    #[test]
    fn real_files_have_the_published_sizes() {
        if let Some(folder) = real_data("cifar-10-batches-bin") {
            let train = read_cifar10(&folder, Split::Train).unwrap();
            assert_eq!((train.len(), train.names[train.labels[0]].as_str()), (50_000, "frog"));
            let test = read_cifar10(&folder, Split::Test).unwrap();
            assert_eq!((test.len(), test.names[test.labels[0]].as_str()), (10_000, "cat"));
        }
        if let Some(folder) = real_data("cifar-100-binary") {
            let test = read_cifar100(&folder, Split::Test, Cifar100Labels::Fine).unwrap();
            let per_class = |class| test.labels.iter().filter(|&&label| label == class).count();
            assert!((0..100).all(|class| per_class(class) == 100));
        }
    }
}
