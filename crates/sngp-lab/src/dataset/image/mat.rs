use std::path::Path;

use super::bytes::{Bytes, malformed};
use super::error::{ImageError, Result};
use super::source::decompress_zlib;

const HEADER_LEN: usize = 128;
const VERSION_5: u16 = 0x0100;
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;
/// What the offsets of an error inside a compressed variable are relative to.
const PART: &str = "compressed variable";

/// A numeric variable of a MATLAB 5 file (`save -v6` or `-v7`), values in column-major order.
///
/// The layout is that of "MAT-File Format" by The MathWorks, chapter 1.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) sizes: Vec<usize>,
    pub(super) values: Values,
    /// Where the values start, in the uncompressed variable if it is compressed.
    pub(super) values_at: usize,
}

/// The stored values, which may be of a narrower type than the variable.
#[derive(Debug)]
pub(super) enum Values {
    Bytes(Vec<u8>),
    Integers {
        width: usize,
        signed: bool,
        bytes: Vec<u8>,
    },
    Doubles(Vec<u8>),
    /// Of a type that no data set here uses; an error only where it is asked for.
    Other(u32),
}

impl Values {
    /// As whole numbers, with the bytes each takes in the file.
    pub(super) fn integers(&self) -> Option<(usize, Vec<i64>)> {
        match self {
            Self::Bytes(bytes) => Some((1, bytes.iter().map(|&byte| i64::from(byte)).collect())),
            Self::Integers { width, signed, bytes } => {
                Some((*width, bytes.chunks_exact(*width).map(|v| integer(v, *signed)).collect()))
            }
            Self::Doubles(bytes) => {
                let values =
                    bytes.chunks_exact(8).map(|v| f64::from_bits(integer(v, false) as u64));
                let whole = values.map(|v| (v.fract() == 0.0).then_some(v as i64));
                Some((8, whole.collect::<Option<_>>()?))
            }
            Self::Other(_) => None,
        }
    }
}

/// All variables of a file.
pub(super) fn variables(path: &Path, file: &[u8]) -> Result<Vec<Variable>> {
    let mut bytes = Bytes::new(path, file);
    let header = bytes.take(HEADER_LEN, "the MATLAB header")?;
    let version = u16::from_le_bytes([header[124], header[125]]);
    if &header[126..] != b"IM" || version != VERSION_5 {
        let found =
            format!("the version {version:#06x} {:?}", String::from_utf8_lossy(&header[126..]));
        let expected = "a little-endian MATLAB 5 file (0x0100 \"IM\"; write it by save -v7)";
        return Err(malformed(path, 124, found, expected));
    }
    let mut variables = Vec::new();
    while bytes.rest() > 0 {
        let start = bytes.at();
        let Element { kind, content, at } = Element::read(&mut bytes, "a variable")?;
        match kind {
            MATRIX => variables.push(matrix(path, content, at)?),
            COMPRESSED => {
                let part = path.join(format!("{PART} at {start}"));
                variables.push(unpacked(&part, &decompress_zlib(&part, content)?)?);
            }
            other => {
                let found = format!("type {other}");
                return Err(malformed(path, start, found, "a variable (14 or 15)"));
            }
        }
    }
    Ok(variables)
}

fn unpacked(part: &Path, bytes: &[u8]) -> Result<Variable> {
    let Element { kind, content, at } = Element::read(&mut Bytes::new(part, bytes), "a variable")?;
    match kind {
        MATRIX => matrix(part, content, at),
        other => Err(malformed(part, 0, format!("type {other}"), "a matrix (14)")),
    }
}

/// A typed piece of the file. Elements start at multiples of eight bytes, except compressed ones,
/// and those of up to four bytes hide in their own tag.
struct Element<'a> {
    kind: u32,
    content: &'a [u8],
    /// Where the content starts.
    at: usize,
}

impl<'a> Element<'a> {
    fn read(bytes: &mut Bytes<'a>, what: &'static str) -> Result<Self> {
        let tag = u32::from_le_bytes(bytes.array("a tag")?);
        let (kind, small) = (tag & 0xffff, (tag >> 16) as usize);
        if small > 4 {
            let found = format!("a small element of {small} bytes");
            return Err(malformed(bytes.path, bytes.at() - 4, found, "at most 4"));
        }
        if small > 0 {
            let at = bytes.at();
            return Ok(Self { kind, content: &bytes.take(4, what)?[..small], at });
        }
        let length = u32::from_le_bytes(bytes.array("a tag")?) as usize;
        let at = bytes.at();
        let content = bytes.take(length, what)?;
        if kind != COMPRESSED {
            bytes.skip_padding(length.next_multiple_of(8) - length);
        }
        Ok(Self { kind, content, at })
    }
}

/// A matrix element: flags, sizes, name and values; `base` is where its content starts.
fn matrix(path: &Path, content: &[u8], base: usize) -> Result<Variable> {
    let mut bytes = Bytes::new(path, content);
    let mut next = |what| Element::read(&mut bytes, what).map_err(|error| shifted(error, base));
    next("the flags of a variable")?;
    let sizes = next("the sizes of a variable")?.content.chunks_exact(4);
    let sizes = sizes.map(|size| integer(size, true).max(0) as usize).collect();
    let name = String::from_utf8_lossy(next("the name of a variable")?.content).into_owned();
    let Element { kind, content, at } = next("the values of a variable")?;
    let integers = |width, signed| Values::Integers { width, signed, bytes: content.to_vec() };
    let values = match kind {
        2 => Values::Bytes(content.to_vec()),
        1 => integers(1, true),
        3 | 4 => integers(2, kind == 3),
        5 | 6 => integers(4, kind == 5),
        12 | 13 => integers(8, kind == 12),
        9 => Values::Doubles(content.to_vec()),
        other => Values::Other(other),
    };
    Ok(Variable { name, sizes, values, values_at: base + at })
}

/// An error of a part that starts at `base`, told from the start of the whole.
fn shifted(mut error: ImageError, base: usize) -> ImageError {
    if let ImageError::Truncated { offset, .. } | ImageError::Malformed { offset, .. } = &mut error
    {
        *offset += base as u64;
    }
    error
}

/// Up to eight little-endian bytes; a `u64` beyond `i64` turns negative and thus out of range.
fn integer(value: &[u8], signed: bool) -> i64 {
    let negative = signed && value.last().is_some_and(|&high| high >= 0x80);
    let mut wide = [if negative { 0xff } else { 0 }; 8];
    wide[..value.len()].copy_from_slice(value);
    i64::from_le_bytes(wide)
}
