//! What chains are made of: AutoAugment's operations but for those that CIFAR-10-C measures.
//!
//! Each does to bytes what Pillow's operation of that name does, which the published code calls.

use std::array;

use crate::augment::augmentation::moved;

/// The operations, one line each.
pub(super) static OPERATIONS: [Operation; 9] = [
    Operation::of_values("autocontrast", autocontrast),
    Operation::of_values("equalize", equalize),
    Operation::of_values("posterize", posterize),
    Operation::of_places("rotate", rotate),
    Operation::of_values("solarize", solarize),
    Operation::of_places("shear_x", shear_x),
    Operation::of_places("shear_y", shear_y),
    Operation::of_places("translate_x", translate_x),
    Operation::of_places("translate_y", translate_y),
];

/// Something done to each channel of an image.
pub(super) struct Operation {
    pub name: &'static str,
    /// Whether a negative level means the other direction. The others' are positive.
    pub has_direction: bool,
    channel: fn(&mut Channel<'_>, f32),
}

impl Operation {
    /// One that changes the values of pixels.
    const fn of_values(name: &'static str, channel: fn(&mut Channel<'_>, f32)) -> Self {
        Self { name, has_direction: false, channel }
    }

    /// One that changes their places.
    const fn of_places(name: &'static str, channel: fn(&mut Channel<'_>, f32)) -> Self {
        Self { name, has_direction: true, channel }
    }

    /// Changes an image of bytes `[channels, height, width]`. Levels are out of ten.
    pub fn apply(&self, image: &mut [u8], [height, width]: [usize; 2], level: f32) {
        for pixels in image.chunks_exact_mut(height * width) {
            (self.channel)(&mut Channel { pixels, width }, level);
        }
    }
}

struct Channel<'a> {
    pixels: &'a mut [u8],
    width: usize,
}

impl Channel<'_> {
    fn height(&self) -> usize {
        self.pixels.len() / self.width
    }

    /// How many pixels there are of every value.
    fn counts(&self) -> [usize; 256] {
        let mut counts = [0; 256];
        self.pixels.iter().for_each(|&pixel| counts[usize::from(pixel)] += 1);
        counts
    }

    /// Replaces every value by what the table holds for it.
    fn look_up(&mut self, table: &[u8; 256]) {
        self.pixels.iter_mut().for_each(|pixel| *pixel = table[usize::from(*pixel)]);
    }

    /// Shows at the middle `[y, x]` of every pixel what was at `source` of it, between the pixels
    /// there, or black where that is outside. As in Pillow, half a pixel within the edge is as at
    /// the edge; unlike there, values are rounded and not cut off, which would darken.
    fn resample(&mut self, source: impl Fn([f32; 2]) -> [f32; 2]) {
        let (height, width) = (self.height(), self.width);
        let before = self.pixels.to_vec();
        let (rows, columns) = (0.0..height as f32, 0.0..width as f32);
        for (row, line) in self.pixels.chunks_exact_mut(width).enumerate() {
            for (column, pixel) in line.iter_mut().enumerate() {
                let [y, x] = source([row as f32 + 0.5, column as f32 + 0.5]);
                let inside = rows.contains(&y) && columns.contains(&x);
                *pixel = if inside { sample(&before, [height, width], [y, x]) } else { 0 };
            }
        }
    }

    /// Moves it by whole pixels.
    fn shift(&mut self, offset: [isize; 2]) {
        let moved = moved(self.pixels, self.width, offset);
        self.pixels.copy_from_slice(&moved);
    }
}

/// The value at a place inside, by bilinear interpolation. `Plane::sample` would do, but as it is
/// for places outside too it takes more than twice the time, and this is most of a mix.
fn sample(pixels: &[u8], [height, width]: [usize; 2], [y, x]: [f32; 2]) -> u8 {
    let (top, bottom, down) = neighbours(y, height);
    let (left, right, across) = neighbours(x, width);
    let row = |row: usize| {
        let [a, b] = [left, right].map(|column| f32::from(pixels[row * width + column]));
        a + across * (b - a)
    };
    let (upper, lower) = (row(top), row(bottom));
    (upper + down * (lower - upper) + 0.5) as u8
}

/// The pixels before and after a place in `0..size`, and how far it is from the middle of the first
/// to that of the second. At an edge, both are the last pixel.
fn neighbours(place: f32, size: usize) -> (usize, usize, f32) {
    let from_middle = (place - 0.5).max(0.0);
    let first = from_middle as usize;
    (first, (first + 1).min(size - 1), from_middle - first as f32)
}

/// What a level stands for, where ten stands for `most`.
fn part(level: f32, most: f32) -> f32 {
    level * most / 10.0
}

/// The same in whole numbers, towards zero.
fn whole_part(level: f32, most: f32) -> isize {
    part(level, most) as isize
}

/// Stretches the values, so that the darkest is black and the brightest is white.
fn autocontrast(channel: &mut Channel<'_>, _level: f32) {
    let (darkest, brightest) = channel
        .pixels
        .iter()
        .fold((255, 0), |(low, high), &pixel| (pixel.min(low), pixel.max(high)));
    if darkest >= brightest {
        return;
    }
    let range = usize::from(brightest - darkest);
    // What is outside the range does not occur.
    channel.look_up(&array::from_fn(|value| {
        (value.saturating_sub(usize::from(darkest)) * 255 / range).min(255) as u8
    }));
}

/// Spreads the values, so that all occur about equally often.
fn equalize(channel: &mut Channel<'_>, _level: f32) {
    let counts = channel.counts();
    // Pillow divides the others into 255 steps, so that the brightest become white.
    let brightest = counts.iter().rfind(|count| **count > 0).copied().unwrap_or(0);
    let step = (channel.pixels.len() - brightest) / 255;
    if step == 0 {
        return;
    }
    let mut below = step / 2;
    channel.look_up(&counts.map(|count| {
        let value = below / step;
        below += count;
        value.min(255) as u8
    }));
}

/// Keeps the upper four bits or fewer.
fn posterize(channel: &mut Channel<'_>, level: f32) {
    let bits = 4 - whole_part(level, 4.0);
    let mask = !(0xff_u8 >> bits);
    channel.pixels.iter_mut().for_each(|pixel| *pixel &= mask);
}

/// Inverts the bright ones.
fn solarize(channel: &mut Channel<'_>, level: f32) {
    let threshold = 256 - whole_part(level, 256.0);
    channel.pixels.iter_mut().for_each(|pixel| {
        if isize::from(*pixel) >= threshold {
            *pixel = 255 - *pixel;
        }
    });
}

/// Turns it around its middle, by whole degrees.
fn rotate(channel: &mut Channel<'_>, level: f32) {
    let (sine, cosine) = (whole_part(level, 30.0) as f32).to_radians().sin_cos();
    let [middle_y, middle_x] = [channel.height(), channel.width].map(|size| size as f32 / 2.0);
    channel.resample(|[y, x]| {
        let [y, x] = [y - middle_y, x - middle_x];
        [middle_y + sine * x + cosine * y, middle_x + cosine * x - sine * y]
    });
}

/// Slants it sideways.
fn shear_x(channel: &mut Channel<'_>, level: f32) {
    let slope = part(level, 0.3);
    channel.resample(|[y, x]| [y, x + slope * y]);
}

/// Slants it upwards or downwards.
fn shear_y(channel: &mut Channel<'_>, level: f32) {
    let slope = part(level, 0.3);
    channel.resample(|[y, x]| [y + slope * x, x]);
}

/// Moves it sideways, by up to a third.
fn translate_x(channel: &mut Channel<'_>, level: f32) {
    channel.shift([0, whole_part(level, channel.width as f32 / 3.0)]);
}

/// Moves it up or down, by up to a third.
fn translate_y(channel: &mut Channel<'_>, level: f32) {
    channel.shift([whole_part(level, channel.height() as f32 / 3.0), 0]);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn changed(name: &str, image: &[u8], size: [usize; 2], level: f32) -> Vec<u8> {
        let operation = OPERATIONS.iter().find(|operation| operation.name == name).unwrap();
        let mut image = image.to_vec();
        operation.apply(&mut image, size, level);
        image
    }

    fn waves(length: usize) -> Vec<u8> {
        (0..length).map(|place| (60 + place * place % 130) as u8).collect()
    }

    /// The levels of an operation.
    fn levels(operation: &Operation) -> impl Iterator<Item = f32> {
        let least = if operation.has_direction { -10 } else { 0 };
        (least..=10).map(|level| level as f32)
    }

    #[test]
    fn every_operation_takes_channels_of_every_size_one_by_one() {
        assert_eq!(OPERATIONS.iter().map(|one| one.name).collect::<HashSet<_>>().len(), 9);
        for operation in &OPERATIONS {
            for size @ [height, width] in [[1, 1], [1, 9], [9, 1], [4, 7], [32, 32]] {
                let area = height * width;
                let image = waves(3 * area);
                for level in levels(operation) {
                    let together = changed(operation.name, &image, size, level);
                    let planes = image.chunks_exact(area);
                    let apart: Vec<u8> = planes
                        .flat_map(|plane| changed(operation.name, plane, size, level))
                        .collect();
                    assert_eq!(together, apart, "{} at {level}", operation.name);
                }
            }
        }
    }

    #[test]
    fn levels_of_nothing_change_nothing() {
        let image = waves(3 * 6 * 5);
        for name in ["rotate", "solarize", "shear_x", "shear_y", "translate_x", "translate_y"] {
            assert_eq!(changed(name, &image, [6, 5], 0.0), image, "{name}");
        }
    }

    #[test]
    fn every_operation_does_something() {
        let image = waves(32 * 32);
        for operation in &OPERATIONS {
            let name = operation.name;
            assert_ne!(changed(name, &image, [32, 32], 5.0), image, "{name}");
        }
    }

    #[test]
    fn one_colour_stays_one() {
        for operation in OPERATIONS.iter().filter(|operation| !operation.has_direction) {
            for (colour, level) in (0..=255).flat_map(|c| levels(operation).map(move |l| (c, l))) {
                let image = changed(operation.name, &[colour; 30 * 30], [30, 30], level);
                assert_eq!(image, [image[0]; 30 * 30]);
                let expected = match operation.name {
                    "posterize" => colour & !(0xff >> (4 - (0.4 * level) as u8)),
                    "solarize" if f32::from(colour) >= 256.0 - (25.6 * level).floor() => {
                        255 - colour
                    }
                    _ => colour,
                };
                assert_eq!(image[0], expected, "{} at {level}", operation.name);
            }
        }
    }

    #[test]
    fn autocontrast_stretches_to_black_and_white() {
        assert_eq!(changed("autocontrast", &[50, 60, 70, 100], [2, 2], 1.0), [0, 51, 102, 255]);
        for (low, high) in [(0, 255), (3, 4), (100, 251), (0, 7)] {
            assert_eq!(changed("autocontrast", &[low, high], [1, 2], 1.0), [0, 255]);
        }
    }

    /// Worked out by hand from Pillow's algorithm.
    #[test]
    fn equalize_is_pillows() {
        let image: Vec<u8> = [10, 20, 30, 40].iter().flat_map(|&value| [value; 255]).collect();
        let expected: Vec<u8> = [0, 85, 170, 255].iter().flat_map(|&value| [value; 255]).collect();
        assert_eq!(changed("equalize", &image, [255, 4], 1.0), expected);
        // 509 darker ones are one step of 255, so that what follows is beyond white.
        let image = [vec![7; 300], vec![9; 209], vec![50; 1]].concat();
        let expected = [vec![0; 300], vec![255; 210]].concat();
        assert_eq!(changed("equalize", &image, [51, 10], 1.0), expected);
        // 254 are no step.
        let image = [vec![7; 254], vec![9; 2]].concat();
        assert_eq!(changed("equalize", &image, [16, 16], 1.0), image);
    }

    #[test]
    fn posterize_masks_bits() {
        for (level, mask) in [(0.1, 0xf0), (2.5, 0xe0), (5.0, 0xc0), (7.5, 0x80), (10.0, 0)] {
            assert_eq!(changed("posterize", &[0xff, 0x5a], [1, 2], level), [mask, 0x5a & mask]);
        }
    }

    #[test]
    fn solarize_inverts_from_the_threshold() {
        let image = [0, 127, 128, 255];
        assert_eq!(changed("solarize", &image, [2, 2], 5.0), [0, 127, 127, 0]);
        assert_eq!(changed("solarize", &image, [2, 2], 10.0), [255, 128, 127, 0]);
    }

    #[test]
    fn translation_moves_by_whole_pixels() {
        let image = [1, 2, 3, 4, 5, 6];
        let moved = |name, level| changed(name, &image, [2, 3], level);
        assert_eq!(moved("translate_x", 10.0), [2, 3, 0, 5, 6, 0]);
        assert_eq!(moved("translate_x", -10.0), [0, 1, 2, 0, 4, 5]);
        assert_eq!(moved("translate_x", 9.0), image);
        assert_eq!(changed("translate_y", &image, [6, 1], 5.0), [2, 3, 4, 5, 6, 0]);
        assert_eq!(changed("translate_y", &image, [6, 1], -10.0), [0, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn shears_slant_a_ramp() {
        // Level 10 takes 0.3 pixels more from the right with every row, from the middle of a row.
        let ramp: Vec<u8> = (0..64).map(|place| 20 * (place % 8)).collect();
        let slanted = changed("shear_x", &ramp, [8, 8], 10.0);
        let transposed =
            |image: &[u8]| (0..64).map(|p| image[p % 8 * 8 + p / 8]).collect::<Vec<_>>();
        assert_eq!(slanted[..8], [3, 23, 43, 63, 83, 103, 123, 140]);
        assert_eq!(slanted[24..32], [21, 41, 61, 81, 101, 121, 140, 0]);
        assert_eq!(changed("shear_y", &transposed(&ramp), [8, 8], 10.0), transposed(&slanted));
    }

    #[test]
    fn a_rotation_turns_around_the_middle() {
        // Levels beyond ten, to be exact: three of a degree each.
        let image = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        assert_eq!(changed("rotate", &image, [3, 3], 30.0), [3, 6, 9, 2, 5, 8, 1, 4, 7]);
        assert_eq!(changed("rotate", &image, [3, 3], 60.0), [9, 8, 7, 6, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn directions_of_a_rotation_are_mirror_images() {
        // The left half is the right one's mirror image.
        let image: Vec<u8> = waves(160).chunks(8).flat_map(mirrored_beside).collect();
        let left = changed("rotate", &image, [20, 16], 3.3);
        let right = changed("rotate", &image, [20, 16], -3.3);
        assert_ne!(left, right);
        for (left, right) in left.chunks(16).zip(right.chunks(16)) {
            let mut pairs = left.iter().zip(right.iter().rev());
            assert!(pairs.all(|(left, right)| left.abs_diff(*right) <= 1));
        }
    }

    fn mirrored_beside(half: &[u8]) -> Vec<u8> {
        half.iter().chain(half.iter().rev()).copied().collect()
    }
}
