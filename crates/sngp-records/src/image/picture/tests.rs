use ::image::{ColorType, GrayImage, Luma, Rgb, Rgba, RgbaImage};

use super::*;
use crate::testing::Scratch;

fn encode(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn message(contents: impl AsRef<[u8]>) -> String {
    Picture::read(&Scratch::file("a.png", contents).path).unwrap_err().to_string()
}

/// A PNG that says in its EXIF data how to turn it.
fn turned(image: RgbImage, orientation: u8) -> Picture {
    let png = encode(&image.into(), ImageFormat::Png);
    let exif = [b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", &[orientation][..], &[0; 6]]
        .concat();
    let name_and_data = [b"eXIf", &exif[..]].concat();
    let length = (exif.len() as u32).to_be_bytes();
    let chunk = [&length[..], &name_and_data, &crc32(&name_and_data).to_be_bytes()].concat();
    // Right after the signature and the first chunk.
    Picture::from_bytes(&[&png[..33], &chunk, &png[33..]].concat()).unwrap()
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[test]
fn the_centre_is_cut_out_in_channel_order() {
    let image = RgbImage::from_fn(4, 2, |x, y| Rgb([x as u8, y as u8, 9]));
    let picture = Picture::from_bytes(&encode(&image.into(), ImageFormat::Png)).unwrap();
    assert_eq!(picture.square(2), [1, 2, 1, 2, 0, 0, 1, 1, 9, 9, 9, 9]);
}

#[test]
fn shrinking_averages_and_grey_becomes_rgb() {
    let stripes = GrayImage::from_fn(64, 64, |x, _| Luma([if x % 2 == 0 { 0 } else { 200 }]));
    let picture = Picture::from_bytes(&encode(&stripes.into(), ImageFormat::Png)).unwrap();
    for small in [picture.square(4), picture.stretched(4)] {
        assert_eq!(small.len(), 48);
        assert!(small.iter().all(|value| (95..=105).contains(value)), "{small:?}");
    }
}

#[test]
fn only_the_upright_forms_are_turned() {
    let picture = turned(RgbImage::from_fn(2, 1, |x, _| Rgb([x as u8 * 100; 3])), 6);
    assert_eq!((picture.width(), picture.height()), (1, 2));
    assert_eq!(picture.to_rgb(), [0, 0, 0, 100, 100, 100]);
    assert_eq!(picture.stretched(2)[..4], [0, 100, 0, 100]);
    let tall = turned(RgbImage::from_fn(2, 2, |x, _| Rgb([x as u8 * 100; 3])), 6);
    assert_eq!(tall.square(2)[..4], [0, 0, 100, 100]);
}

/// What the first version of the pipeline did with a file, in its own words.
#[test]
fn stretching_is_what_it_was() {
    let image = RgbaImage::from_fn(37, 21, |x, y| {
        Rgba([(x * 7) as u8, (y * 11) as u8, (x * y) as u8, (x + y * 5) as u8])
    });
    let file = Scratch::file("a.png", encode(&image.into(), ImageFormat::Png));
    let reader = ImageReader::open(&file.path).unwrap().with_guessed_format().unwrap();
    let before = reader.decode().unwrap().resize_exact(8, 8, FilterType::Triangle);
    let before = before.into_rgb8().into_raw();
    let channel = |channel: usize| before.iter().skip(channel).step_by(3).copied();
    let expected: Vec<u8> = (0..3).flat_map(channel).collect();
    assert_eq!(Picture::read(&file.path).unwrap().stretched(8), expected);
}

#[test]
fn thumbnails_shrink_only() {
    let picture = turned(RgbImage::new(100, 50), 6);
    for (max_side, expected) in [(10, (5, 10)), (500, (50, 100)), (0, (1, 1))] {
        let small = Picture::from_bytes(&picture.thumbnail_png(max_side)).unwrap();
        assert_eq!((small.width(), small.height()), expected);
    }
}

#[test]
fn the_content_counts_not_the_extension() {
    let jpeg = encode(&RgbImage::from_pixel(8, 8, Rgb([80; 3])).into(), ImageFormat::Jpeg);
    let file = Scratch::file("a.png", jpeg);
    let pixels = Picture::read(&file.path).unwrap().square(8);
    assert!(pixels.iter().all(|value| value.abs_diff(80) < 3));
}

#[test]
fn damaged_gigantic_and_other_files_are_named() {
    let png = encode(&DynamicImage::new(40, 40, ColorType::Rgb8), ImageFormat::Png);
    let found = message(&png[..50]);
    assert!(found.contains("a.png is no usable image: "), "{found}");
    assert!(message("plain text").contains("a.png is no usable image: it starts neither"));
    assert!(message("").contains("a.png is no usable image: it starts neither"));
    let tiff = message(b"II\x2a\0\x08\0\0\0");
    assert!(tiff.ends_with("a.png is an image in the format TIFF; convert it to PNG or JPEG"));
    // Width and height follow the signature, length and name of the first chunk; the decoder is
    // asked for them before it looks at the checksum's neighbours.
    let mut bomb = png.clone();
    bomb[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
    let crc = crc32(&bomb[12..29]);
    bomb[29..33].copy_from_slice(&crc.to_be_bytes());
    let found = message(bomb);
    assert!(found.contains("a.png is 65536 x 65536 pixels, more than 20000 a side"), "{found}");
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let error = Picture::read("/nowhere/a.png").unwrap_err();
    assert!(matches!(error, PictureError::Io { .. }), "{error}");
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Picture::read(&folder), Err(PictureError::NotAFile { .. })));
    #[cfg(unix)]
    {
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        assert!(matches!(Picture::read(&pipe), Err(PictureError::NotAFile { .. })));
    }
}

#[test]
fn no_damage_panics() {
    let image = DynamicImage::from(RgbImage::from_fn(9, 7, |x, y| Rgb([x as u8, y as u8, 9])));
    for format in [ImageFormat::Png, ImageFormat::Jpeg] {
        let file = encode(&image, format);
        let read = |bytes: &[u8]| drop(Picture::from_bytes(bytes).map(|image| image.square(4)));
        (0..file.len()).for_each(|length| read(&file[..length]));
        for at in 0..file.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut damaged = file.clone();
                damaged[at] ^= change;
                read(&damaged);
            }
        }
    }
}
