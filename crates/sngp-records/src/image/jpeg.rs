//! Whether a JPEG file is there to its end.
//!
//! Decoders fill in grey for what a download or a disk did not keep, which is kind to people who look
//! at photographs. A model would answer about the grey.

use std::io::{self, BufRead, Read};

/// Begins every JPEG file.
const START: [u8; 3] = [0xff, 0xd8, 0xff];

/// Whether bytes from the beginning of a file lack the end of the JPEG image that they are.
pub(super) fn ends_early(source: &mut impl BufRead) -> io::Result<bool> {
    let mut start = Vec::new();
    source.by_ref().take(START.len() as u64 - 1).read_to_end(&mut start)?;
    if start != START[..2] || next(source)? != Some(START[2]) {
        return Ok(false);
    }
    let mut byte = Some(START[2]);
    loop {
        // Between markers is compressed data, where a zero follows what only looks like one.
        while byte.is_some_and(|byte| byte != 0xff) {
            byte = next(source)?;
        }
        while byte == Some(0xff) {
            byte = next(source)?;
        }
        match byte {
            None => return Ok(true),
            Some(0xd9) => return Ok(false),
            Some(0x00 | 0x01 | 0xd0..=0xd8) => {}
            // A segment is passed over by its length: it may hold a thumbnail with an end of its own.
            Some(_) => {
                let (Some(high), Some(low)) = (next(source)?, next(source)?) else {
                    return Ok(true);
                };
                let length = u64::from(u16::from_be_bytes([high, low])).saturating_sub(2);
                if io::copy(&mut source.by_ref().take(length), &mut io::sink())? < length {
                    return Ok(true);
                }
            }
        }
        byte = next(source)?;
    }
}

fn next(source: &mut impl BufRead) -> io::Result<Option<u8>> {
    let byte = source.fill_buf()?.first().copied();
    source.consume(usize::from(byte.is_some()));
    Ok(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(bytes: &[u8]) -> bool {
        ends_early(&mut &bytes[..]).unwrap()
    }

    #[test]
    fn every_cut_is_noticed() {
        let pixels = image::RgbImage::from_fn(40, 30, |x, y| {
            image::Rgb([(x * 6) as u8, (y * 8) as u8, (x * y % 256) as u8])
        });
        let mut whole = io::Cursor::new(Vec::new());
        pixels.write_to(&mut whole, image::ImageFormat::Jpeg).unwrap();
        let whole = whole.into_inner();
        assert!(!cut(&whole));
        for length in 3..whole.len() {
            assert!(cut(&whole[..length]), "{length} of {}", whole.len());
        }
        // What some programs write behind the image does no harm.
        assert!(!cut(&[&whole[..], b"more"].concat()));
        // The end of a thumbnail in a segment is not that of the image.
        let segment = [&[0xff, 0xe1, 0, 6, 0xff, 0xd9, 1, 1][..]].concat();
        let with_thumbnail = [&whole[..2], &segment[..], &whole[2..]].concat();
        assert!(!cut(&with_thumbnail));
        assert!(cut(&with_thumbnail[..with_thumbnail.len() - 2]));
        assert!(!cut(b"\x89PNG"), "that is for the decoder to say");
        assert!(!cut(b""));
    }
}
