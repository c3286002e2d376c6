use super::error::{CorruptionError, Result};
use super::plane::Plane;

/// Images of this side are what the strengths of all corruptions were chosen for.
const REFERENCE_SIDE: f32 = 32.0;

/// An image of three channels with values from 0 to 1.
///
/// ```
/// use sngp_lab::corruption::Picture;
///
/// let picture = Picture::from_bytes(&[0, 51, 255], 1, 1)?;
/// assert_eq!(picture.channels[1].values, [0.2]);
/// assert_eq!(picture.to_bytes(), [0, 51, 255]);
/// # Ok::<(), sngp_lab::corruption::CorruptionError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Red, green and blue, all of one size.
    pub channels: [Plane; 3],
}

impl Picture {
    /// The picture of bytes `[3, height, width]`.
    ///
    /// # Errors
    ///
    /// Where there are more or fewer bytes.
    pub fn from_bytes(image: &[u8], height: usize, width: usize) -> Result<Self> {
        // Saturating: a size beyond memory is no match either.
        let area = height.saturating_mul(width);
        if image.len() != area.saturating_mul(3) {
            return Err(CorruptionError::WrongSize { found: image.len(), height, width });
        }
        let channel = |channel: usize| Plane {
            height,
            width,
            values: image[channel * area..][..area].iter().map(|&v| f32::from(v) / 255.0).collect(),
        };
        Ok(Self { channels: [channel(0), channel(1), channel(2)] })
    }

    /// The nearest bytes `[3, height, width]`, cut off at 0 and 255.
    pub fn to_bytes(&self) -> Vec<u8> {
        let values = self.channels.iter().flat_map(|channel| &channel.values);
        values.map(|value| (255.0 * value).round() as u8).collect()
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.channels[0].height
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.channels[0].width
    }

    /// What to multiply a length in pixels by that suits an image of 32 pixels.
    pub fn scale(&self) -> f32 {
        self.height().min(self.width()) as f32 / REFERENCE_SIDE
    }

    /// Replaces every value.
    pub fn map(self, mut change: impl FnMut(f32) -> f32) -> Self {
        self.map_channels(|channel| channel.map(&mut change))
    }

    /// Replaces every channel.
    pub fn map_channels(self, change: impl FnMut(Plane) -> Plane) -> Self {
        Self { channels: self.channels.map(change) }
    }

    /// Replaces every pixel, red, green and blue, given its place in a plane's `values`.
    pub fn map_pixels(mut self, mut change: impl FnMut(usize, [f32; 3]) -> [f32; 3]) -> Self {
        let [red, green, blue] = &mut self.channels;
        for (index, red) in red.values.iter_mut().enumerate() {
            let (green, blue) = (&mut green.values[index], &mut blue.values[index]);
            [*red, *green, *blue] = change(index, [*red, *green, *blue]);
        }
        self
    }
}
