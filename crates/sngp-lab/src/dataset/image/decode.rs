use std::path::Path;

use image::imageops::{self, FilterType};
use image::{DynamicImage, ImageDecoder, ImageReader, Limits, RgbImage};

use super::error::{ImageError, Result};
use super::source::io_error;

/// Larger images are refused before they are decoded: a small file can claim a gigantic image.
const MAX_SIDE: u32 = 16_384;
/// 16 bytes a pixel while decoding at worst, so 2 GiB.
const MAX_PIXELS: u64 = 1 << 27;

/// The pixels `[3, side, side]` of a PNG or JPEG file.
///
/// Upright as its EXIF data says, grey copied to all channels, transparency dropped. The largest
/// centred square is cut out and scaled by a triangle filter, which averages when it shrinks.
pub(super) fn decode(path: &Path, side: u32) -> Result<Vec<u8>> {
    let image = open(path)?.into_rgb8();
    let (width, height) = image.dimensions();
    let square = width.min(height);
    let (left, top) = ((width - square) / 2, (height - square) / 2);
    let cut = imageops::crop_imm(&image, left, top, square, square).to_image();
    let scaled =
        if square == side { cut } else { imageops::resize(&cut, side, side, FilterType::Triangle) };
    Ok(channels_first(&scaled))
}

fn open(path: &Path) -> Result<DynamicImage> {
    let undecodable = |cause: image::ImageError| ImageError::Undecodable {
        path: path.to_owned(),
        cause: cause.to_string(),
    };
    let reader = ImageReader::open(path).map_err(io_error(path))?;
    // By content: files are often JPEG by one name and PNG by another.
    let mut reader = reader.with_guessed_format().map_err(io_error(path))?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(16 * MAX_PIXELS);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(undecodable)?;
    let (width, height) = decoder.dimensions();
    if width.max(height) > MAX_SIDE || u64::from(width) * u64::from(height) > MAX_PIXELS {
        let (side, pixels) = (MAX_SIDE, MAX_PIXELS);
        return Err(ImageError::TooLarge { path: path.to_owned(), width, height, side, pixels });
    }
    let orientation = decoder.orientation().map_err(undecodable)?;
    let mut image = DynamicImage::from_decoder(decoder).map_err(undecodable)?;
    image.apply_orientation(orientation);
    Ok(image)
}

fn channels_first(image: &RgbImage) -> Vec<u8> {
    let channel = |channel: usize| image.pixels().map(move |pixel| pixel.0[channel]);
    (0..3).flat_map(channel).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::{ColorType, GrayImage, ImageFormat, Luma, Rgb};

    use super::super::testing::{Scratch, assert_says, every_damage};
    use super::*;

    fn encode(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    fn read(contents: impl AsRef<[u8]>, side: u32) -> Result<Vec<u8>> {
        decode(&Scratch::new().with("a.png", contents).path.join("a.png"), side)
    }

    #[test]
    fn the_centre_is_cut_out_in_channel_order() {
        let image = RgbImage::from_fn(4, 2, |x, y| Rgb([x as u8, y as u8, 9]));
        let png = encode(&image.into(), ImageFormat::Png);
        assert_eq!(read(png, 2).unwrap(), [1, 2, 1, 2, 0, 0, 1, 1, 9, 9, 9, 9]);
    }

    #[test]
    fn shrinking_averages_and_grey_becomes_rgb() {
        let stripes = GrayImage::from_fn(64, 64, |x, _| Luma([if x % 2 == 0 { 0 } else { 200 }]));
        let png = encode(&stripes.into(), ImageFormat::Png);
        let small = read(png, 4).unwrap();
        assert_eq!(small.len(), 48);
        assert!(small.iter().all(|value| (95..=105).contains(value)), "{small:?}");
    }

    #[test]
    fn the_content_counts_not_the_extension() {
        let jpeg = encode(&RgbImage::from_pixel(8, 8, Rgb([80; 3])).into(), ImageFormat::Jpeg);
        assert!(read(jpeg, 8).unwrap().iter().all(|value| value.abs_diff(80) < 3));
    }

    #[test]
    fn damaged_and_gigantic_files_are_named() {
        let png = encode(&DynamicImage::new(40, 40, ColorType::Rgb8), ImageFormat::Png);
        assert_says(read(&png[..50], 2), "a.png is no usable image: ");
        assert_says(read("plain text", 2), "a.png is no usable image: ");
        // Width and height follow the signature, length and name of the first chunk; the decoder
        // is asked for them before it looks at the checksum's neighbours.
        let mut bomb = png.clone();
        bomb[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
        let crc = crc32(&bomb[12..29]);
        bomb[29..33].copy_from_slice(&crc.to_be_bytes());
        assert_says(read(bomb, 2), "a.png is 65536 x 65536 pixels, more than 16384 a side");
    }

    #[test]
    fn no_damage_panics() {
        let image = DynamicImage::from(RgbImage::from_fn(9, 7, |x, y| Rgb([x as u8, y as u8, 9])));
        for format in [ImageFormat::Png, ImageFormat::Jpeg] {
            every_damage(&encode(&image, format), |damaged| read(damaged, 4));
        }
    }

    fn crc32(bytes: &[u8]) -> u32 {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum()
    }
}
