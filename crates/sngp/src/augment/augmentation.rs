//! What is done to an image.

use std::ops::Range;

use super::augmix::AugMix;
use crate::Result;
use crate::seed::Rng;
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// What is beyond the edges of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Border {
    /// Nothing: black.
    #[default]
    Black,
    /// The image in a mirror. It has no edge that the image does not have.
    Reflect,
}

/// What is done to an image while training, drawn anew every time it is seen, in this order but
/// for the square, which comes last.
///
/// ```
/// use sngp::augment::{AugMix, Augmentation};
///
/// let text = r#"{"padding": 4, "flip": true, "augmix": {"severity": 2}}"#;
/// let augmentation: Augmentation = serde_json::from_str(text)?;
/// assert_eq!(augmentation.augmix, Some(AugMix { severity: 2, ..AugMix::default() }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Augmentation {
    /// Pixels added on every side, from which a part of the old size is cut out somewhere.
    pub padding: usize,
    /// What is added.
    pub border: Border,
    /// Whether half of the images are mirrored, at random.
    pub flip: bool,
    /// The side of a black square, none where it is 0. Its centre is anywhere in the image, so
    /// that a part of it may be outside (DeVries & Taylor 2017, arXiv:1708.04552).
    pub cutout: usize,
    /// Mixing with chains of operations, where wanted.
    pub augmix: Option<AugMix>,
}

impl Augmentation {
    /// Refuses what no image can be augmented by.
    ///
    /// ```
    /// use sngp::augment::{AugMix, Augmentation};
    ///
    /// let mix = |width| Some(AugMix { width, ..AugMix::default() });
    /// let with = |width| Augmentation { augmix: mix(width), ..Augmentation::default() };
    /// assert!(with(3).check().is_ok());
    /// let error = with(0).check().unwrap_err().to_string();
    /// assert_eq!(error, "augmix.width is 0, but there is nothing to mix without a chain");
    /// ```
    pub fn check(&self) -> Result<()> {
        self.augmix.map_or(Ok(()), |augmix| augmix.check())
    }

    /// Appends one image of bytes `[channels, height, width]`, augmented, as pixels from 0 to 1.
    ///
    /// ```
    /// use sngp::augment::Augmentation;
    /// use sngp::seed::{Purpose, stream};
    ///
    /// let (image, mut pixels) = ([0, 255, 0, 0], Vec::new());
    /// let flip = Augmentation { flip: true, ..Augmentation::default() };
    /// flip.append(&image, [2, 2], &mut stream(1, Purpose::Augmentation, 0), &mut pixels);
    /// assert!(pixels == [0.0, 1.0, 0.0, 0.0] || pixels == [1.0, 0.0, 0.0, 0.0]);
    /// ```
    pub fn append(&self, image: &[u8], size: [usize; 2], rng: &mut Rng, values: &mut Vec<f32>) {
        let start = values.len();
        let cropped = self.cropped(image, size, rng);
        match self.augmix {
            Some(augmix) => augmix.append(&cropped, size, rng, values),
            None => values.extend(cropped.iter().map(|&pixel| f32::from(pixel) / 255.0)),
        }
        // After the mix, which would move the square about.
        if self.cutout > 0 {
            cut_out(self.cutout, size, rng, &mut values[start..]);
        }
    }

    /// The image, cut out of its padded self and perhaps mirrored.
    fn cropped(&self, image: &[u8], [height, width]: [usize; 2], rng: &mut Rng) -> Vec<u8> {
        let offset = [(); 2].map(|()| {
            let offset = rng.random_range(0..=2 * self.padding);
            offset as isize - self.padding as isize
        });
        let mirrored = self.flip && rng.random::<bool>();
        let mut cropped = Vec::with_capacity(image.len());
        for plane in image.chunks_exact(height * width) {
            cropped.extend(match self.border {
                Border::Black => moved(plane, width, offset),
                Border::Reflect => moved_in_mirrors(plane, width, offset),
            });
        }
        if mirrored {
            cropped.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
        cropped
    }
}

/// A channel moved by whole pixels: at `(y, x)` stands its pixel `(y + down, x + right)`, or black
/// where that is outside.
pub(super) fn moved(plane: &[u8], width: usize, [down, right]: [isize; 2]) -> Vec<u8> {
    let (from_row, to_row, rows) = overlap(down, plane.len() / width);
    let (from_column, to_column, columns) = overlap(right, width);
    let mut moved = vec![0; plane.len()];
    for row in 0..rows {
        let line = &plane[(from_row + row) * width + from_column..][..columns];
        moved[(to_row + row) * width + to_column..][..columns].copy_from_slice(line);
    }
    moved
}

/// The same with the image's reflections around it.
fn moved_in_mirrors(plane: &[u8], width: usize, [down, right]: [isize; 2]) -> Vec<u8> {
    let height = plane.len() / width;
    let columns: Vec<usize> = (0..width).map(|x| reflected(x, right, width)).collect();
    let rows = (0..height).map(|y| &plane[reflected(y, down, height) * width..][..width]);
    rows.flat_map(|line| columns.iter().map(|&column| line[column])).collect()
}

/// The place in `0..size` that is seen at another one beyond, the pixel at the edge once.
fn reflected(place: usize, offset: isize, size: usize) -> usize {
    let period = 2 * (size as isize - 1).max(1);
    let place = (place as isize + offset).rem_euclid(period);
    (place.min(period - place) as usize).min(size - 1)
}

/// Where reading and writing begin when `size` pixels are moved, and how many are copied.
fn overlap(offset: isize, size: usize) -> (usize, usize, usize) {
    let distance = offset.unsigned_abs().min(size);
    let (from, to) = if offset < 0 { (0, distance) } else { (distance, 0) };
    (from, to, size - distance)
}

/// Blackens a square in every channel.
fn cut_out(side: usize, [height, width]: [usize; 2], rng: &mut Rng, values: &mut [f32]) {
    let [rows, columns] =
        [height, width].map(|size| stretch(side, rng.random_range(0..size), size));
    for plane in values.chunks_exact_mut(height * width) {
        for line in plane[rows.start * width..rows.end * width].chunks_exact_mut(width) {
            line[columns.clone()].fill(0.0);
        }
    }
}

/// The part inside `0..size` of a stretch of `length` around a centre.
fn stretch(length: usize, centre: usize, size: usize) -> Range<usize> {
    centre.saturating_sub(length / 2)..centre.saturating_add(length.div_ceil(2)).min(size)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::seed::{Purpose, stream};

    #[test]
    fn unknown_names_are_refused() {
        for text in [r#"{"cut_out": 3}"#, r#"{"border": "grey"}"#, r#"{"augmix": {"widht": 3}}"#] {
            assert!(serde_json::from_str::<Augmentation>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn cutout_blackens_the_clipped_square_and_nothing_else() {
        let (size @ [height, width], image) = ([5, 4], [255; 2 * 5 * 4]);
        for cutout in [2, 3] {
            let augmentation = Augmentation { cutout, ..Augmentation::default() };
            let mut seen = BTreeSet::new();
            for seed in 0..400 {
                let mut values = vec![0.5];
                let mut rng = stream(seed, Purpose::Augmentation, 0);
                augmentation.append(&image, size, &mut rng, &mut values);
                assert_eq!(values.remove(0), 0.5, "the image before it");
                // An even square has no pixel in its middle: it is the one after.
                let near = |at: usize, centre: usize| {
                    at + cutout / 2 >= centre && at < centre + cutout - cutout / 2
                };
                let found = (0..height * width).find(|centre| {
                    let expected = (0..image.len()).map(|place| {
                        let [y, x] = [place / width % height, place % width];
                        let black = near(y, centre / width) && near(x, centre % width);
                        if black { 0.0 } else { 1.0 }
                    });
                    expected.eq(values.iter().copied())
                });
                seen.insert(found.expect("a square around some pixel"));
            }
            assert_eq!(seen.len(), height * width);
        }
    }

    #[test]
    fn a_square_larger_than_the_image_covers_it() {
        let augmentation = Augmentation { cutout: usize::MAX, ..Augmentation::default() };
        let mut values = Vec::new();
        augmentation.append(&[9; 6], [2, 3], &mut stream(0, Purpose::Augmentation, 0), &mut values);
        assert_eq!(values, [0.0; 6]);
    }

    #[test]
    fn moving_keeps_what_stays_inside() {
        let plane = [1, 2, 3, 4, 5, 6];
        assert_eq!(moved(&plane, 3, [0, 0]), plane);
        assert_eq!(moved(&plane, 3, [0, 1]), [2, 3, 0, 5, 6, 0]);
        assert_eq!(moved(&plane, 3, [-1, -2]), [0, 0, 0, 0, 0, 1]);
        assert_eq!(moved(&plane, 3, [5, -9]), [0; 6]);
    }

    #[test]
    fn mirrors_stand_at_the_edges() {
        let plane = [1, 2, 3, 4, 5, 6];
        assert_eq!(moved_in_mirrors(&plane, 3, [0, 1]), [2, 3, 2, 5, 6, 5]);
        assert_eq!(moved_in_mirrors(&plane, 3, [-1, -2]), [6, 5, 4, 3, 2, 1]);
        assert_eq!(moved_in_mirrors(&[7], 1, [3, -5]), [7]);
        let augmentation =
            Augmentation { padding: 2, border: Border::Reflect, ..Augmentation::default() };
        for seed in 0..50 {
            let (mut values, mut rng) = (Vec::new(), stream(seed, Purpose::Augmentation, 0));
            augmentation.append(&[255; 12], [4, 3], &mut rng, &mut values);
            assert_eq!(values, [1.0; 12], "nothing black comes in");
        }
    }
}
