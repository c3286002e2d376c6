use std::path::{Path, PathBuf};

use super::bytes::{Bytes, check_label, malformed};
use super::cifar::Split;
use super::error::{ImageError, Result};
use super::images::Images;
use super::source::read_maybe_gzip;

/// The classes of MNIST and SVHN.
pub const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// The classes of Fashion-MNIST.
pub const FASHION: [&str; 10] = [
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
];

const UNSIGNED_BYTE: u8 = 8;

/// Reads a split of a folder with the four files of MNIST or a set that took over its format,
/// gzipped (`t10k-images-idx3-ubyte.gz`) or not. `names` are those of the classes, e.g.
/// [`DIGITS`] or [`FASHION`].
///
/// # Errors
///
/// Where a file is missing, not in `idx` format or cut short, or a label is none of `names`.
///
/// ```no_run
/// use sngp_lab::dataset::image::{FASHION, Split, read_mnist};
///
/// let test = read_mnist("fashion-mnist", Split::Test, &FASHION)?;
/// assert_eq!((test.channels, test.height, test.width), (1, 28, 28));
/// # Ok::<(), sngp_lab::dataset::image::ImageError>(())
/// ```
pub fn read_mnist(
    folder: impl AsRef<Path>,
    split: Split,
    names: &[impl AsRef<str>],
) -> Result<Images> {
    let prefix = match split {
        Split::Train => "train",
        Split::Test => "t10k",
    };
    let find = |part: &str| find(folder.as_ref(), &format!("{prefix}-{part}-ubyte"));
    read_idx(find("images-idx3")?, find("labels-idx1")?, names)
}

fn find(folder: &Path, file: &str) -> Result<PathBuf> {
    let plain = folder.join(file);
    let packed = plain.with_added_extension("gz");
    [plain, packed].into_iter().find(|path| path.exists()).ok_or_else(|| ImageError::MissingFile {
        path: folder.to_owned(),
        file: format!("{file}(.gz)"),
        expected: "a folder in MNIST's layout",
    })
}

/// Reads grey images (`idx3-ubyte`) and their labels (`idx1-ubyte`), gzipped or not.
///
/// # Errors
///
/// As [`read_mnist`], and where the two files differ in length.
///
/// ```no_run
/// use sngp_lab::dataset::image::{DIGITS, read_idx};
///
/// let images = read_idx("images-idx3-ubyte.gz", "labels-idx1-ubyte", &DIGITS)?;
/// # Ok::<(), sngp_lab::dataset::image::ImageError>(())
/// ```
pub fn read_idx(
    images: impl AsRef<Path>,
    labels: impl AsRef<Path>,
    names: &[impl AsRef<str>],
) -> Result<Images> {
    let (image_path, label_path) = (images.as_ref(), labels.as_ref());
    let file = read_maybe_gzip(image_path)?;
    let ([count, height, width], pixels) = parse(image_path, &file)?;
    let file = read_maybe_gzip(label_path)?;
    let ([label_count], labels) = parse(label_path, &file)?;
    if count != label_count {
        return Err(ImageError::UnequalCounts {
            image_path: image_path.to_owned(),
            images: count,
            label_path: label_path.to_owned(),
            labels: label_count,
        });
    }
    let labels_at = file.len() - labels.len();
    let labels = labels.iter().enumerate();
    let labels = labels.map(|(index, &label)| {
        check_label(label_path, labels_at + index, i64::from(label), names.len())
    });
    Ok(Images {
        pixels: pixels.to_vec(),
        channels: 1,
        height,
        width,
        labels: labels.collect::<Result<_>>()?,
        names: names.iter().map(|name| name.as_ref().to_owned()).collect(),
    })
}

/// The sizes and the bytes of an `idx` file of `AXES` axes.
fn parse<'a, const AXES: usize>(
    path: &'a Path,
    file: &'a [u8],
) -> Result<([usize; AXES], &'a [u8])> {
    let mut bytes = Bytes::new(path, file);
    let magic = bytes.array("the magic")?;
    let expected = [0, 0, UNSIGNED_BYTE, AXES as u8];
    if magic != expected {
        let (found, expected) = (u32::from_be_bytes(magic), u32::from_be_bytes(expected));
        let expected = format!("{expected:#010x}, idx{AXES} of unsigned bytes,");
        return Err(malformed(path, 0, format!("the magic {found:#010x}"), expected));
    }
    let mut sizes = [0; AXES];
    for size in &mut sizes {
        *size = u32::from_be_bytes(bytes.array("a size")?) as usize;
    }
    if sizes.contains(&0) {
        return Err(malformed(path, 4, format!("the shape {sizes:?}"), "at least one value"));
    }
    let what = if AXES == 1 { "the labels" } else { "the images" };
    let values = bytes.take(sizes.iter().copied().fold(1, usize::saturating_mul), what)?;
    bytes.finish()?;
    Ok((sizes, values))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Scratch, assert_says, every_damage, gzip, real_data};
    use super::*;

    fn idx(sizes: &[u32], values: &[u8]) -> Vec<u8> {
        let sizes: Vec<u8> = sizes.iter().flat_map(|size| size.to_be_bytes()).collect();
        [&[0, 0, 8, (sizes.len() / 4) as u8], sizes.as_slice(), values].concat()
    }

    fn read(images: &[u8], labels: &[u8]) -> Result<Images> {
        let folder = Scratch::new()
            .with("train-images-idx3-ubyte", images)
            .with("train-labels-idx1-ubyte.gz", gzip(labels));
        read_mnist(&folder, Split::Train, &DIGITS)
    }

    #[test]
    fn plain_and_gzipped_files_mix() {
        let images = read(&idx(&[2, 1, 2], &[1, 2, 3, 4]), &idx(&[2], &[9, 0])).unwrap();
        assert_eq!(images.labels, [9, 0]);
        assert_eq!(images.image(1), [3, 4]);
        assert_eq!((images.channels, images.height, images.width), (1, 1, 2));
        assert_eq!(images.names, DIGITS);
    }

    #[test]
    fn damaged_files_are_named_with_an_offset() {
        let (images, labels) = (idx(&[2, 1, 2], &[1, 2, 3, 4]), idx(&[2], &[9, 0]));
        let cut = read(&images[..19], &labels);
        assert_says(cut, "idx3-ubyte, byte offset 16: the file ends after 3 of the 4 bytes of the");
        assert_says(read(&images[..7], &labels), "offset 4: the file ends after 3 of the 4 bytes");
        let swapped = read(&labels, &images);
        assert_says(swapped, "offset 0: the magic 0x00000801 where 0x00000803, idx3 of unsigned");
        let more = read(&[images.as_slice(), &[0]].concat(), &labels);
        assert_says(more, "offset 20: 1 more bytes where the end is needed");
        assert_says(read(&images, &idx(&[1], &[9])), "idx3-ubyte holds 2 images but ");
        let label = read(&images, &idx(&[2], &[9, 10]));
        assert_says(label, "idx1-ubyte.gz, byte offset 9: label 10 is none of the 10 classes");
        assert_says(read(&idx(&[2, 0, 2], &[]), &labels), "the shape [2, 0, 2] where at least");
        assert_says(read(&idx(&[u32::MAX; 3], &[]), &labels), "the file ends after 0 of the ");
        let empty = read_mnist(Scratch::new(), Split::Test, &DIGITS);
        assert_says(empty, "has no t10k-images-idx3-ubyte(.gz); is it a folder in MNIST's");
    }

    #[test]
    fn no_damage_panics() {
        let (images, labels) = (idx(&[2, 1, 2], &[1, 2, 3, 4]), idx(&[2], &[9, 0]));
        every_damage(&images, |damaged| read(damaged, &labels));
        every_damage(&gzip(&images), |damaged| read(damaged, &labels));
    }

    #[test]
    fn real_files_have_the_published_sizes() {
        let Some(folder) = real_data("fashion-mnist") else { return };
        let train = read_mnist(&folder, Split::Train, &FASHION).unwrap();
        assert_eq!((train.len(), train.names[train.labels[0]].as_str()), (60_000, "Ankle boot"));
        assert_eq!(read_mnist(&folder, Split::Test, &FASHION).unwrap().len(), 10_000);
    }
}
