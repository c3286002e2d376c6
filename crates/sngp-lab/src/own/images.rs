//! Image files as inputs.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sngp::{Error, Result};

use super::columns::{BadCell, shown};
use crate::records::Cell;

/// Images larger than this are not decoded.
const MOST_PIXELS: u32 = 20_000;

/// How image files become vectors: in colour, resized to a square, standardized by channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageRecipe {
    /// The column with the paths.
    pub column: String,
    /// Height and width they are resized to.
    pub size: usize,
    /// The mean of every channel.
    pub mean: [f32; 3],
    /// The standard deviation of every channel.
    pub scale: [f32; 3],
}

impl ImageRecipe {
    /// Learns mean and deviation of the channels from some of the images.
    pub fn learn(
        column: &str,
        size: usize,
        cells: &[&Cell],
        folder: &Path,
    ) -> Result<Self, BadCell> {
        let plain = Self { column: column.to_string(), size, mean: [0.0; 3], scale: [1.0; 3] };
        let (mut sums, mut squares, mut count) = ([0f64; 3], [0f64; 3], 0usize);
        for cell in cells {
            let vector = plain.encode(cell, folder)?;
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

    /// In plain words.
    pub fn describe(&self) -> String {
        format!("images in `{}`, resized to {} x {}", self.column, self.size, self.size)
    }

    /// The length of the vector.
    pub fn width(&self) -> usize {
        3 * self.size * self.size
    }

    /// The pixels of a file, channel by channel.
    pub fn encode(&self, cell: &Cell, folder: &Path) -> Result<Vec<f32>, BadCell> {
        let bad = |reason: String| BadCell { column: self.column.clone(), reason };
        let Cell::Text(name) = cell else {
            return Err(bad(format!("`{}` is not a path", shown(cell))));
        };
        let path = folder.join(name);
        let pixels =
            self.decode(&path).map_err(|error| bad(format!("{}: {error}", path.display())))?;
        let side = self.size * self.size;
        let value = |channel: usize, place: usize| {
            (f32::from(pixels[3 * place + channel]) / 255.0 - self.mean[channel])
                / self.scale[channel]
        };
        Ok((0..3).flat_map(|c| (0..side).map(move |place| value(c, place))).collect())
    }

    fn decode(&self, path: &Path) -> image::ImageResult<Vec<u8>> {
        let mut reader = image::ImageReader::open(path)?.with_guessed_format()?;
        let mut limits = image::Limits::default();
        limits.max_image_width = Some(MOST_PIXELS);
        limits.max_image_height = Some(MOST_PIXELS);
        reader.limits(limits);
        let size = self.size as u32;
        let filter = image::imageops::FilterType::Triangle;
        Ok(reader.decode()?.resize_exact(size, size, filter).into_rgb8().into_raw())
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

/// Whether a name is one of an image file.
pub(super) fn is_image(name: &str) -> bool {
    let lower = name.to_lowercase();
    [".png", ".jpg", ".jpeg"].iter().any(|ending| lower.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_are_standardized_by_channel() {
        let folder = tempfile::tempdir().unwrap();
        let image = image::RgbImage::from_fn(8, 8, |x, _| {
            image::Rgb([if x < 4 { 0 } else { 255 }, 100, 50])
        });
        std::fs::create_dir(folder.path().join("a")).unwrap();
        image.save(folder.path().join("a/one.png")).unwrap();
        std::fs::write(folder.path().join("a/notes.txt"), "x").unwrap();
        assert_eq!(list(folder.path()).unwrap(), [("a/one.png".to_string(), "a".to_string())]);
        let cell = Cell::Text("a/one.png".to_string());
        let recipe = ImageRecipe::learn("path", 4, &[&cell], folder.path()).unwrap();
        let vector = recipe.encode(&cell, folder.path()).unwrap();
        assert_eq!(vector.len(), recipe.width());
        let red = &vector[..16];
        assert!(red.iter().sum::<f32>().abs() < 1e-3, "{red:?}");
        assert!((red.iter().map(|v| v * v).sum::<f32>() / 16.0 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn what_is_no_image_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x.png"), "no image").unwrap();
        let recipe =
            ImageRecipe { column: "path".into(), size: 4, mean: [0.0; 3], scale: [1.0; 3] };
        let error = recipe.encode(&Cell::Text("x.png".into()), folder.path()).unwrap_err();
        assert!(error.reason.contains("x.png"), "{}", error.reason);
        let error = recipe.encode(&Cell::Text("gone.png".into()), folder.path()).unwrap_err();
        assert!(error.reason.contains("gone.png"), "{}", error.reason);
        assert!(list(folder.path()).unwrap_err().to_string().contains("one a class"));
    }
}
