use std::path::{Path, PathBuf};

use super::bytes::{label_error, malformed};
use super::error::{ImageError, Result};
use super::idx::DIGITS;
use super::images::Images;
use super::mat::{Values, Variable, variables};
use super::source::io_error;

/// Reads SVHN's cropped digits: `train_32x32.mat`, `test_32x32.mat` or `extra_32x32.mat`.
///
/// # Errors
///
/// Where the file is not MATLAB 5, is cut short, lacks `X` (bytes `[32, 32, 3, n]`) or `y`
/// (`[n, 1]`), or a label is not 1 to 10.
///
/// ```no_run
/// let digits = sngp_lab::dataset::image::read_svhn("svhn/test_32x32.mat")?;
/// assert_eq!((digits.channels, digits.height, digits.width), (3, 32, 32));
/// # Ok::<(), sngp_lab::dataset::image::ImageError>(())
/// ```
pub fn read_svhn(path: impl AsRef<Path>) -> Result<Images> {
    let path = path.as_ref();
    let file = std::fs::read(path).map_err(io_error(path))?;
    let variables = variables(path, &file)?;
    let images = Located::find(path, &variables, "X")?;
    let labels = Located::find(path, &variables, "y")?;

    let [height, width, channels @ 3, count] = images.variable.sizes[..] else {
        return Err(images.wrong("bytes of shape [h, w, 3, n]"));
    };
    let expected = [height, width, channels, count].into_iter().fold(1, usize::saturating_mul);
    let columns = match &images.variable.values {
        Values::Bytes(bytes) if bytes.len() == expected && expected > 0 => bytes,
        _ => return Err(images.wrong("bytes of shape [h, w, 3, n]")),
    };
    let digits = labels.digits()?;
    if digits.len() != count {
        return Err(ImageError::UnequalCounts {
            image_path: images.path,
            images: count,
            label_path: labels.path,
            labels: digits.len(),
        });
    }
    Ok(Images {
        pixels: columns.chunks_exact(height * width).flat_map(|p| transposed(p, height)).collect(),
        channels,
        height,
        width,
        labels: digits,
        names: DIGITS.map(str::to_owned).to_vec(),
    })
}

/// One channel in column-major order, row by row.
fn transposed(plane: &[u8], height: usize) -> impl Iterator<Item = u8> {
    (0..height).flat_map(move |row| plane.iter().skip(row).step_by(height).copied())
}

/// A variable with the path to name it by.
struct Located<'a> {
    path: PathBuf,
    variable: &'a Variable,
}

impl<'a> Located<'a> {
    fn find(file: &Path, variables: &'a [Variable], name: &str) -> Result<Self> {
        let variable = variables.iter().find(|variable| variable.name == name);
        let variable = variable.ok_or_else(|| ImageError::MissingFile {
            path: file.to_owned(),
            file: format!("variable {name}"),
            expected: "a 32x32.mat file of SVHN",
        })?;
        Ok(Self { path: file.join(name), variable })
    }

    fn digits(&self) -> Result<Vec<usize>> {
        let expected = "whole numbers of shape [n, 1]";
        let values = self.variable.values.integers();
        let (width, values) = values.ok_or_else(|| self.wrong(expected))?;
        if self.variable.sizes != [values.len(), 1] {
            return Err(self.wrong(expected));
        }
        // The file writes the digit 0 as 10, as MATLAB counts from 1.
        let digit = |(index, label)| match label {
            1..=10 => Ok(label as usize % 10),
            _ => {
                let offset = self.variable.values_at + index * width;
                Err(label_error(&self.path, offset, label, DIGITS.len()))
            }
        };
        values.into_iter().enumerate().map(digit).collect()
    }

    fn wrong(&self, expected: &str) -> ImageError {
        let kind = match &self.variable.values {
            Values::Bytes(_) => "bytes".to_owned(),
            Values::Integers { width, .. } => format!("integers of {width} bytes"),
            Values::Doubles(_) => "doubles".to_owned(),
            Values::Other(kind) => format!("values of type {kind}"),
        };
        let found = format!("{kind} of shape {:?}", self.variable.sizes);
        malformed(&self.path, self.variable.values_at, found, expected)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::super::testing::{Scratch, assert_says, every_damage, real_data};
    use super::*;

    fn element(kind: u32, content: &[u8]) -> Vec<u8> {
        let length = (content.len() as u32).to_le_bytes();
        let mut bytes = [&kind.to_le_bytes(), &length, content].concat();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    /// An element of up to four bytes, within its tag.
    fn small(kind: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind, 0, content.len() as u8, 0];
        bytes.extend_from_slice(content);
        bytes.resize(8, 0);
        bytes
    }

    fn variable(name: &str, sizes: &[i32], kind: u32, values: &[u8]) -> Vec<u8> {
        let sizes: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
        let flags = element(6, &[9, 0, 0, 0, 0, 0, 0, 0]);
        let parts = [flags, element(5, &sizes), small(1, name.as_bytes()), element(kind, values)];
        element(14, &parts.concat())
    }

    fn compressed(variable: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(variable).unwrap();
        let packed = encoder.finish().unwrap();
        [&15_u32.to_le_bytes(), &(packed.len() as u32).to_le_bytes(), packed.as_slice()].concat()
    }

    fn file(variables: &[Vec<u8>]) -> Vec<u8> {
        let mut header = b"MATLAB 5.0 MAT-file".to_vec();
        header.resize(124, b' ');
        [header, vec![0, 1], b"IM".to_vec(), variables.concat()].concat()
    }

    fn read(file: &[u8]) -> Result<Images> {
        read_svhn(Scratch::new().with("test.mat", file).path.join("test.mat"))
    }

    /// Two images of 2 rows and 1 column.
    fn images() -> Vec<u8> {
        variable("X", &[2, 1, 3, 2], 2, &(0..12).collect::<Vec<_>>())
    }

    fn labels(values: &[u8]) -> Vec<u8> {
        variable("y", &[values.len() as i32, 1], 2, values)
    }

    #[test]
    fn compressed_and_plain_variables_read_alike() {
        let wide: Vec<u8> = [10_f64, 9.0].iter().flat_map(|digit| digit.to_le_bytes()).collect();
        let doubles = variable("y", &[2, 1], 9, &wide);
        for file in [
            file(&[images(), labels(&[10, 9])]),
            file(&[compressed(&images()), compressed(&labels(&[10, 9]))]),
            file(&[compressed(&doubles), variable("z", &[1, 1], 7, &[0; 4]), images()]),
        ] {
            let read = read(&file).unwrap();
            assert_eq!(read.labels, [0, 9]);
            assert_eq!(read.image(1), [6, 7, 8, 9, 10, 11]);
            assert_eq!((read.height, read.width), (2, 1));
        }
    }

    #[test]
    fn columns_become_rows() {
        let square: Vec<u8> = (0..12).collect();
        let read = read(&file(&[variable("X", &[2, 2, 3, 1], 2, &square), labels(&[1])])).unwrap();
        assert_eq!(read.image(0)[..4], [0, 2, 1, 3]);
    }

    #[test]
    fn damaged_files_are_named_with_an_offset() {
        let good = file(&[images(), labels(&[1, 2])]);
        assert_says(
            read(&good[..100]),
            "offset 0: the file ends after 100 of the 128 bytes of the",
        );
        assert_says(read(&good[..200]), "offset 136: the file ends after 64 of the ");
        let mut newer = good.clone();
        newer[125] = 2;
        assert_says(read(&newer), "offset 124: the version 0x0200 \"IM\" where a little-endian");
        assert_says(read(&file(&[images()])), "test.mat has no variable y; is it a 32x32.mat");
        let label = file(&[images(), compressed(&labels(&[1, 2, 3, 4, 11]))]);
        assert_says(read(&label), "test.mat/y, byte offset 60: label 11 is none of the 10 classes");
        assert_says(read(&file(&[images(), labels(&[0, 1])])), "label 0 is none of the 10");
        assert_says(read(&file(&[images(), labels(&[1])])), "X holds 2 images but ");
        let flat = variable("X", &[6, 2], 2, &[0; 12]);
        assert_says(read(&file(&[flat, labels(&[1, 1])])), "bytes of shape [6, 2] where bytes of");
        let mut torn = compressed(&images());
        torn[12..20].fill(0xff);
        assert_says(read(&file(&[torn])), "variable at 128: cannot decompress after ");
        assert_says(read(&file(&[element(3, &[0; 8])])), "offset 128: type 3 where a variable");
    }

    #[test]
    fn no_damage_panics() {
        every_damage(&file(&[images(), labels(&[1, 2])]), read);
        every_damage(&file(&[compressed(&images()), compressed(&labels(&[1, 2]))]), read);
    }

    #[test]
    fn the_real_file_has_all_digits() {
        let Some(folder) = real_data("svhn") else { return };
        let test = read_svhn(folder.join("test_32x32.mat")).unwrap();
        assert_eq!((test.image_len(), test.pixels.len()), (3072, test.len() * 3072));
        let mut counts = [0; 10];
        test.labels.iter().for_each(|&digit| counts[digit] += 1);
        // Of street numbers 1 is the most and, being never the first digit, 0 a rare one.
        assert!(counts.iter().all(|&count| count > 500 && count <= counts[1]), "{counts:?}");
    }
}
