//! From a picture to the pixels that a network was trained on.

use image::RgbImage;
use image::imageops::{self, FilterType};
use serde::{Deserialize, Serialize};
use sngp_records::image::Picture;

/// Usual means and deviations of photographs' channels, from 0 to 1.
pub const MEAN: [f32; 3] = [0.485, 0.456, 0.406];
pub const SCALE: [f32; 3] = [0.229, 0.224, 0.225];
/// A side that most networks of photographs take.
pub const USUAL_SIDE: usize = 224;
/// Larger sides are a mistake.
pub const MOST_SIDE: usize = 4096;

/// How pictures become what a network takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pixels {
    /// The sides of what is taken.
    pub height: usize,
    /// Its other side.
    pub width: usize,
    /// How a picture is resized before its middle is cut out.
    pub resize: Resize,
    /// How pixels in between are made.
    pub filter: Filter,
    /// What a byte is multiplied by.
    pub factor: f32,
    /// The mean of every channel, subtracted after that.
    pub mean: [f32; 3],
    /// The deviation of every channel, which it is divided by.
    pub scale: [f32; 3],
    /// Whether channels come after the pixels and not before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub channels_last: bool,
}

/// How a picture is resized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case", deny_unknown_fields)]
pub enum Resize {
    /// To the size that is taken, stretched.
    Exactly,
    /// Until its shorter side is so long.
    ShorterSide {
        /// In pixels.
        side: usize,
    },
    /// To another size than is taken, stretched.
    Stretched {
        /// In pixels.
        height: usize,
        /// In pixels.
        width: usize,
    },
}

/// How pixels in between are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// The nearest one.
    Nearest,
    /// Linear.
    Bilinear,
    /// Cubic.
    Bicubic,
    /// Lanczos's window.
    Lanczos,
}

impl Pixels {
    /// What most networks of photographs want, of a size.
    pub fn usual([height, width]: [usize; 2]) -> Self {
        Self {
            height,
            width,
            resize: Resize::ShorterSide { side: height.max(width) },
            filter: Filter::Bilinear,
            factor: 1.0 / 255.0,
            mean: MEAN,
            scale: SCALE,
            channels_last: false,
        }
    }

    /// Refuses what no preparation is saved with.
    pub fn check(&self) -> Result<(), String> {
        let numbers = self.mean.iter().chain(&self.scale).chain([&self.factor]);
        let (least, resized) = match self.resize {
            Resize::Exactly => ([1, 1], [1, 1]),
            Resize::ShorterSide { side } => ([self.height.max(self.width); 2], [side, side]),
            Resize::Stretched { height, width } => ([self.height, self.width], [height, width]),
        };
        let sides = [self.height, self.width, resized[0], resized[1]];
        let sound = numbers.clone().all(|value| value.is_finite())
            && self.scale.iter().chain([&self.factor]).all(|value| *value > 0.0)
            && sides.iter().all(|side| (1..=MOST_SIDE).contains(side))
            && resized.iter().zip(least).all(|(side, least)| *side >= least);
        if sound { Ok(()) } else { Err("the images' preparation is not sound".to_string()) }
    }

    /// The shape that `rows` of them have together.
    pub fn shape(&self, rows: usize) -> [usize; 4] {
        match self.channels_last {
            true => [rows, self.height, self.width, 3],
            false => [rows, 3, self.height, self.width],
        }
    }

    /// The pixels of a picture `[height, width, 3]`, resized and cut.
    pub fn bytes(&self, picture: &Picture) -> Vec<u8> {
        let (width, height) = (picture.width(), picture.height());
        let image = RgbImage::from_raw(width, height, picture.to_rgb())
            .expect("a picture has as many pixels as it says");
        let (to_width, to_height) = match self.resize {
            Resize::Exactly => (self.width as u32, self.height as u32),
            Resize::Stretched { height, width } => (width as u32, height as u32),
            Resize::ShorterSide { side } => {
                let longer = |long: u32, short: u32| {
                    // No thinner than a pixel, no longer than memory has room for.
                    let length = u64::from(long) * side as u64 / u64::from(short.max(1));
                    length.clamp(side as u64, 8 * MOST_SIDE as u64) as u32
                };
                match width <= height {
                    true => (side as u32, longer(height, width)),
                    false => (longer(width, height), side as u32),
                }
            }
        };
        let filter = match self.filter {
            Filter::Nearest => FilterType::Nearest,
            Filter::Bilinear => FilterType::Triangle,
            Filter::Bicubic => FilterType::CatmullRom,
            Filter::Lanczos => FilterType::Lanczos3,
        };
        let resized = match (to_width, to_height) == (width, height) {
            true => image,
            false => imageops::resize(&image, to_width, to_height, filter),
        };
        let (left, top) =
            ((to_width - self.width as u32) / 2, (to_height - self.height as u32) / 2);
        imageops::crop_imm(&resized, left, top, self.width as u32, self.height as u32)
            .to_image()
            .into_raw()
    }

    /// Numbers of pixels `[height, width, 3]` as the network takes them, added to others.
    pub fn numbers(&self, bytes: &[u8], into: &mut Vec<f32>) {
        let value = |place: usize, channel: usize| {
            let byte = f32::from(bytes[3 * place + channel]);
            (byte * self.factor - self.mean[channel]) / self.scale[channel]
        };
        let places = self.height * self.width;
        match self.channels_last {
            true => into.extend(
                (0..places)
                    .flat_map(|place| (0..3).map(move |c| (place, c)))
                    .map(|(place, channel)| value(place, channel)),
            ),
            false => into.extend(
                (0..3)
                    .flat_map(|c| (0..places).map(move |place| (place, c)))
                    .map(|(place, channel)| value(place, channel)),
            ),
        }
    }
}
