use std::str;

use half::{bf16, f16};

use super::Stored;
use super::dtype::Dtype;
use super::place::Place;
use crate::error::Result;

/// Floats below this have all their whole neighbours in `i64`.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

type Decode = fn(&[u8]) -> Option<String>;

pub(super) fn ints(place: &Place, stored: &Stored) -> Result<Vec<i64>> {
    check_shape(place, stored)?;
    let bytes = stored.bytes.as_slice();
    let float = |value: f64| {
        let is_whole = value.fract() == 0.0 && (-TWO_TO_63..TWO_TO_63).contains(&value);
        is_whole.then_some(value as i64).ok_or_else(|| value.to_string())
    };
    match stored.layout.dtype {
        Dtype::Bool => each(place, bytes, |[byte]: [u8; 1]| Ok((byte != 0).into())),
        Dtype::Signed(1) => each(place, bytes, |value| Ok(i8::from_le_bytes(value).into())),
        Dtype::Signed(2) => each(place, bytes, |value| Ok(i16::from_le_bytes(value).into())),
        Dtype::Signed(4) => each(place, bytes, |value| Ok(i32::from_le_bytes(value).into())),
        Dtype::Signed(_) => each(place, bytes, |value| Ok(i64::from_le_bytes(value))),
        Dtype::Unsigned(1) => each(place, bytes, |[byte]: [u8; 1]| Ok(byte.into())),
        Dtype::Unsigned(2) => each(place, bytes, |value| Ok(u16::from_le_bytes(value).into())),
        Dtype::Unsigned(4) => each(place, bytes, |value| Ok(u32::from_le_bytes(value).into())),
        Dtype::Unsigned(_) => each(place, bytes, |value| {
            let value = u64::from_le_bytes(value);
            i64::try_from(value).map_err(|_| value.to_string())
        }),
        Dtype::Float16 => each(place, bytes, |value| float(f16::from_le_bytes(value).into())),
        Dtype::BFloat16 => each(place, bytes, |value| float(bf16::from_le_bytes(value).into())),
        Dtype::Float32 => each(place, bytes, |value| float(f32::from_le_bytes(value).into())),
        Dtype::Float64 => each(place, bytes, |value| float(f64::from_le_bytes(value))),
        other @ (Dtype::Unicode(_) | Dtype::Bytes(_)) => {
            let way_out = "give whole numbers, or use it as strings";
            Err(place.unusable(format!("it holds {other}"), way_out))
        }
    }
}

pub(super) fn strings(place: &Place, stored: &Stored) -> Result<Vec<String>> {
    check_shape(place, stored)?;
    let bytes = stored.bytes.as_slice();
    let (size, decode) = match stored.layout.dtype {
        Dtype::Unicode(length) if length > 0 => (4 * length, unicode as Decode),
        Dtype::Bytes(length) if length > 0 => (length, utf8 as Decode),
        other => {
            let way_out = "give strings, for example with astype(str), or use it as numbers";
            return Err(place.unusable(format!("it holds {other}"), way_out));
        }
    };
    let text = |(index, field)| {
        let invalid = || place.bad_label(index, "a string that is not valid", "Unicode text");
        decode(field).ok_or_else(invalid)
    };
    bytes.chunks_exact(size).enumerate().map(text).collect()
}

/// Labels are one per row, though perhaps in a column of their own.
fn check_shape(place: &Place, stored: &Stored) -> Result<()> {
    match stored.layout.shape[..] {
        [_] | [_, 1] => Ok(()),
        _ => {
            let found = format!("its shape is {}", stored.layout.shape_text());
            Err(place.unusable(found, "give it one axis, with one label per row"))
        }
    }
}

/// One number per element; `convert` gives back what is not a whole number that fits.
fn each<const SIZE: usize>(
    place: &Place,
    bytes: &[u8],
    convert: impl Fn([u8; SIZE]) -> std::result::Result<i64, String>,
) -> Result<Vec<i64>> {
    let (elements, _) = bytes.as_chunks::<SIZE>();
    let number = |(index, &element)| {
        let expected = "a whole number of at most 63 bits";
        convert(element).map_err(|found| place.bad_label(index, found, expected))
    };
    elements.iter().enumerate().map(number).collect()
}

/// Four bytes per character, filled up with zeros.
fn unicode(field: &[u8]) -> Option<String> {
    let (characters, _) = field.as_chunks::<4>();
    let used = characters.iter().rposition(|&character| character != [0; 4]);
    let used = &characters[..used.map_or(0, |last| last + 1)];
    used.iter().map(|&character| char::from_u32(u32::from_le_bytes(character))).collect()
}

fn utf8(field: &[u8]) -> Option<String> {
    let used = field.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    str::from_utf8(&field[..used]).ok().map(str::to_owned)
}
