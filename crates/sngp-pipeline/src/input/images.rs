//! Images as inputs.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sngp::{Error, Result};
use sngp_records::Cell;
use sngp_records::image::Picture;

use super::columns::{BadCell, shown};

/// How images become vectors: in colour, resized to a square, standardized by channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImagePreparation {
    /// The column with the paths.
    pub column: String,
    /// Height and width they are resized to.
    pub size: usize,
    /// The mean of every channel.
    pub mean: [f32; 3],
    /// The standard deviation of every channel.
    pub scale: [f32; 3],
    /// What is done to images that are no squares.
    #[serde(default)]
    pub fitting: Fitting,
}

/// What is done to images that are no squares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fitting {
    /// They are stretched, whichever way up they lie: how the first version did it.
    #[default]
    Stretched,
    /// They are turned upright and their middle is cut out.
    Cropped,
}

impl ImagePreparation {
    /// Learns mean and deviation of the channels from some of the images.
    pub fn learn<'a>(
        column: &str,
        size: usize,
        pictures: impl Iterator<Item = std::result::Result<std::borrow::Cow<'a, Picture>, BadCell>>,
    ) -> std::result::Result<Self, BadCell> {
        let plain = Self::reader(column, size);
        let (mut sums, mut squares, mut count) = ([0f64; 3], [0f64; 3], 0usize);
        for picture in pictures {
            let vector = plain.encode(&*picture?);
            for (channel, values) in vector.chunks(size * size).enumerate() {
                sums[channel] += values.iter().map(|&v| f64::from(v)).sum::<f64>();
                squares[channel] += values.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>();
            }
            count += size * size;
        }
        let count = count.max(1) as f64;
        let mean = sums.map(|sum| sum / count);
        let scale = std::array::from_fn(|c| {
            (squares[c] / count - mean[c] * mean[c]).max(1e-4).sqrt() as f32
        });
        Ok(Self { mean: mean.map(|m| m as f32), scale, ..plain })
    }

    /// Pixels from 0 to 1, before anything is learned about them.
    pub fn reader(column: &str, size: usize) -> Self {
        let (mean, scale) = ([0.0; 3], [1.0; 3]);
        Self { column: column.to_string(), size, mean, scale, fitting: Fitting::Cropped }
    }

    /// In plain words.
    pub fn describe(&self) -> String {
        format!("images in `{}`, resized to {} x {}", self.column, self.size, self.size)
    }

    /// The length of the vector.
    pub fn width(&self) -> usize {
        3 * self.size * self.size
    }

    /// The image a cell names.
    pub fn read(&self, cell: &Cell, folder: &Path) -> std::result::Result<Picture, BadCell> {
        let bad = |reason: String| BadCell { column: self.column.clone(), reason };
        let Cell::Text(name) = cell else {
            return Err(bad(format!("`{}` is not a path", shown(cell))));
        };
        Picture::read(folder.join(name)).map_err(|error| bad(error.to_string()))
    }

    /// The pixels of an image, channel by channel.
    pub fn encode(&self, picture: &Picture) -> Vec<f32> {
        let pixels = match self.fitting {
            Fitting::Stretched => picture.stretched(self.size as u32),
            Fitting::Cropped => picture.square(self.size as u32),
        };
        let mut values: Vec<f32> = pixels.iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
        self.standardize(&mut values);
        values
    }

    /// Brings pixels from 0 to 1, of whole images, to the units of their channels.
    pub(crate) fn standardize(&self, pixels: &mut [f32]) {
        for (index, channel) in pixels.chunks_exact_mut(self.size * self.size).enumerate() {
            let (mean, scale) = (self.mean[index % 3], self.scale[index % 3]);
            channel.iter_mut().for_each(|pixel| *pixel = (*pixel - mean) / scale);
        }
    }

    /// The pixels that became the values of an image.
    pub(crate) fn bytes(&self, values: impl Iterator<Item = f32>) -> impl Iterator<Item = u8> {
        let side = self.size * self.size;
        values.enumerate().map(move |(place, value)| {
            let channel = place / side % 3;
            ((value * self.scale[channel] + self.mean[channel]) * 255.0).round() as u8
        })
    }
}

/// The image files of a folder with a sub-folder a class: paths relative to it, and classes.
pub(super) fn list(folder: &Path) -> Result<Vec<(String, String)>> {
    let names = |folder: &Path, folders: bool| -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(Error::io(folder))? {
            let entry = entry.map_err(Error::io(folder))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() == folders && !name.starts_with('.') {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    };
    let mut files = Vec::new();
    for class in names(folder, true)? {
        let inside = names(&folder.join(&class), false)?.into_iter().filter(|name| is_image(name));
        files.extend(inside.map(|name| (format!("{class}/{name}"), class.clone())));
    }
    if files.is_empty() {
        let message = format!(
            "{}: no sub-folders with PNG or JPEG files; a folder of images has one a class",
            folder.display()
        );
        return Err(Error::Data(message));
    }
    Ok(files)
}

/// Whether a name is one of an image file, of a kind that is read or of another: such a file is an invalid
/// row. Left out in silence, nobody would know that it has no answer.
pub(super) fn is_image(name: &str) -> bool {
    const ENDINGS: [&str; 12] = [
        ".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".gif", ".webp", ".bmp", ".tif", ".tiff",
        ".heic", ".avif",
    ];
    let lower = name.to_lowercase();
    ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn pixels_are_standardized_by_channel() {
        let pixels = (0..64).flat_map(|i| [if i % 8 < 4 { 0 } else { 255 }, 100, 50]).collect();
        let picture = Picture::from_rgb(8, 8, pixels).unwrap();
        let pictures = std::iter::once(Ok(Cow::Borrowed(&picture)));
        let images = ImagePreparation::learn("path", 4, pictures).unwrap();
        let vector = images.encode(&picture);
        assert_eq!(vector.len(), images.width());
        let red = &vector[..16];
        assert!(red.iter().sum::<f32>().abs() < 1e-3, "{red:?}");
        assert!((red.iter().map(|v| v * v).sum::<f32>() / 16.0 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn what_is_no_image_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x.png"), "no image").unwrap();
        let images = ImagePreparation::reader("path", 4);
        for name in ["x.png", "gone.png"] {
            let error = images.read(&Cell::Text(name.into()), folder.path()).unwrap_err();
            assert!(error.reason.contains(name), "{}", error.reason);
        }
        assert!(list(folder.path()).unwrap_err().to_string().contains("one a class"));
    }

    #[test]
    fn images_of_other_kinds_are_rows_that_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let class = folder.path().join("cat");
        std::fs::create_dir(&class).unwrap();
        for name in ["a.PNG", "b.webp", "notes.txt", ".hidden.png"] {
            std::fs::write(class.join(name), "RIFF").unwrap();
        }
        let rows: Vec<String> =
            list(folder.path()).unwrap().into_iter().map(|(path, _)| path).collect();
        assert_eq!(rows, ["cat/a.PNG", "cat/b.webp"]);
        let images = ImagePreparation::reader("path", 4);
        assert!(images.read(&Cell::Text(rows[1].clone()), folder.path()).is_err());
    }
}
