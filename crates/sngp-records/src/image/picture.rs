use std::fs::{self, File};
use std::io::{BufRead, BufReader, Cursor, Seek};
use std::path::Path;

use ::image::imageops::{self, FilterType};
use ::image::metadata::Orientation;
use ::image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, RgbImage};

use super::error::{PictureError, Result};
use super::jpeg::ends_early;

/// Larger images are refused before they are decoded: a small file can claim a gigantic image.
const MAX_SIDE: u32 = 20_000;
/// 16 bytes a pixel while decoding at worst, so 2 GiB.
const MAX_PIXELS: u64 = 1 << 27;

/// What bytes without a file are called in messages.
const NAMELESS: &str = "the picture";

/// A decoded PNG or JPEG image.
///
/// What it holds counts, not its name: files are often JPEG by one name and PNG by another. Grey is
/// copied to all three channels and transparency dropped.
#[derive(Clone, Debug)]
pub struct Picture {
    /// As it is stored, not turned.
    stored: DynamicImage,
    /// How it has to be turned to be upright, by its EXIF data.
    orientation: Orientation,
}

impl Picture {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, is no regular file (such as a named pipe, which is not waited for),
    /// no PNG or JPEG, damaged or gigantic.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let failed = |cause| PictureError::Io { path: path.to_owned(), cause };
        if !fs::metadata(path).map_err(failed)?.is_file() {
            return Err(PictureError::NotAFile { path: path.to_owned() });
        }
        Self::decode(path, BufReader::new(File::open(path).map_err(failed)?))
    }

    /// Decodes the bytes of a file.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    ///
    /// ```
    /// use sngp_records::image::Picture;
    ///
    /// let error = Picture::from_bytes(b"plain text").unwrap_err();
    /// assert!(error.to_string().starts_with("the picture is no usable image: "));
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::decode(Path::new(NAMELESS), Cursor::new(bytes))
    }

    /// A picture from its pixels `[height, width, 3]`, upright.
    ///
    /// # Errors
    ///
    /// Where there are more or fewer pixels, or none.
    ///
    /// ```
    /// use sngp_records::image::Picture;
    ///
    /// let grey = Picture::from_rgb(2, 1, vec![9; 6])?;
    /// assert_eq!(grey.to_rgb(), [9; 6]);
    /// assert!(Picture::from_rgb(2, 1, vec![9; 5]).is_err());
    /// # Ok::<(), sngp_records::image::PictureError>(())
    /// ```
    pub fn from_rgb(width: u32, height: u32, pixels: Vec<u8>) -> Result<Self> {
        let found = pixels.len();
        let image = RgbImage::from_raw(width, height, pixels).filter(|_| {
            let wanted = u64::from(width) * u64::from(height) * 3;
            found > 0 && found as u64 == wanted
        });
        let stored = image.map(DynamicImage::ImageRgb8).ok_or_else(|| {
            let cause = format!("{found} bytes are not {width} x {height} pixels of three");
            PictureError::Undecodable { path: NAMELESS.into(), cause }
        })?;
        Ok(Self { stored, orientation: Orientation::NoTransforms })
    }

    fn decode(path: &Path, mut bytes: impl BufRead + Seek) -> Result<Self> {
        let path = || path.to_owned();
        let unread = |cause| PictureError::Io { path: path(), cause };
        if ends_early(&mut bytes).map_err(unread)? {
            let cause = "it ends before the image does".to_owned();
            return Err(PictureError::Undecodable { path: path(), cause });
        }
        bytes.rewind().map_err(unread)?;
        let undecodable = |cause: ::image::ImageError| PictureError::Undecodable {
            path: path(),
            cause: cause.to_string(),
        };
        let reader = ImageReader::new(bytes).with_guessed_format();
        let mut reader = reader.map_err(|cause| PictureError::Io { path: path(), cause })?;
        match reader.format() {
            Some(ImageFormat::Png | ImageFormat::Jpeg) => {}
            Some(other) => {
                let format = format!("{other:?}").to_uppercase();
                return Err(PictureError::Unsupported { path: path(), format });
            }
            None => {
                let cause = "it starts neither like PNG nor like JPEG".to_owned();
                return Err(PictureError::Undecodable { path: path(), cause });
            }
        }
        let mut limits = Limits::default();
        limits.max_alloc = Some(16 * MAX_PIXELS);
        reader.limits(limits);
        let mut decoder = reader.into_decoder().map_err(undecodable)?;
        let (width, height) = decoder.dimensions();
        if width.max(height) > MAX_SIDE || u64::from(width) * u64::from(height) > MAX_PIXELS {
            let (side, pixels) = (MAX_SIDE, MAX_PIXELS);
            return Err(PictureError::TooLarge { path: path(), width, height, side, pixels });
        }
        let orientation = decoder.orientation().map_err(undecodable)?;
        let stored = DynamicImage::from_decoder(decoder).map_err(undecodable)?;
        Ok(Self { stored, orientation })
    }

    /// Columns of pixels when it is upright.
    pub fn width(&self) -> u32 {
        if self.is_lying() { self.stored.height() } else { self.stored.width() }
    }

    /// Rows of pixels when it is upright.
    pub fn height(&self) -> u32 {
        if self.is_lying() { self.stored.width() } else { self.stored.height() }
    }

    fn is_lying(&self) -> bool {
        use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
        matches!(self.orientation, Rotate90 | Rotate90FlipH | Rotate270 | Rotate270FlipH)
    }

    /// The pixels `[height, width, 3]` of the upright picture.
    pub fn to_rgb(&self) -> Vec<u8> {
        self.upright().into_raw()
    }

    /// The pixels `[3, side, side]` of the largest centred square, so that nothing is stretched.
    ///
    /// It is turned upright first, and scaled by a triangle filter, which averages when it shrinks.
    ///
    /// # Panics
    ///
    /// Where `side` is 0.
    pub fn square(&self, side: u32) -> Vec<u8> {
        assert!(side > 0, "a square of side 0 holds nothing");
        let image = self.upright();
        let (width, height) = image.dimensions();
        let square = width.min(height);
        let (left, top) = ((width - square) / 2, (height - square) / 2);
        let cut = imageops::crop_imm(&image, left, top, square, square).to_image();
        let scaled = match square == side {
            true => cut,
            false => imageops::resize(&cut, side, side, FilterType::Triangle),
        };
        channels_first(&scaled)
    }

    /// The pixels `[3, side, side]` of all of it as it is stored: stretched to a square, not turned
    /// upright. Models of the first version were trained on such pixels.
    ///
    /// # Panics
    ///
    /// Where `side` is 0.
    pub fn stretched(&self, side: u32) -> Vec<u8> {
        assert!(side > 0, "a square of side 0 holds nothing");
        let scaled = self.stored.resize_exact(side, side, FilterType::Triangle);
        channels_first(&scaled.into_rgb8())
    }

    /// A PNG file with the upright picture, no side longer than `max_side` and not enlarged.
    pub fn thumbnail_png(&self, max_side: u32) -> Vec<u8> {
        let upright = DynamicImage::from(self.upright());
        let is_small = upright.width().max(upright.height()) <= max_side;
        let small = if is_small { upright } else { upright.thumbnail(max_side, max_side) };
        let mut bytes = Cursor::new(Vec::new());
        let written = small.write_to(&mut bytes, ImageFormat::Png);
        written.expect("8-bit RGB of at least one pixel is written to memory");
        bytes.into_inner()
    }

    fn upright(&self) -> RgbImage {
        let mut image = DynamicImage::from(self.stored.to_rgb8());
        image.apply_orientation(self.orientation);
        image.into_rgb8()
    }
}

fn channels_first(image: &RgbImage) -> Vec<u8> {
    let channel = |channel: usize| image.pixels().map(move |pixel| pixel.0[channel]);
    (0..3).flat_map(channel).collect()
}

#[cfg(test)]
mod tests;
