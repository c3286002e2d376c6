use std::path::Path;

use super::bytes::{Bytes, malformed};
use super::error::Result;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The header of a NumPy `.npy` file, as `numpy.lib.format` documents it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Type and byte order of the values, e.g. `|u1`.
    pub(super) kind: String,
    pub(super) shape: Vec<usize>,
    /// Where the values start.
    pub(super) data_at: usize,
}

impl Header {
    /// Enough bytes from the start of a file to hold any header we accept.
    pub(super) const MAX_LEN: usize = 4096;

    /// Reads the header from the first bytes of a file.
    pub(super) fn parse(path: &Path, start: &[u8]) -> Result<Self> {
        let mut bytes = Bytes::new(path, start);
        let magic = bytes.take(MAGIC.len(), "the NumPy magic")?;
        if magic != MAGIC {
            let found = format!("{:?}", String::from_utf8_lossy(magic));
            return Err(malformed(path, 0, found, "the NumPy magic \"\\x93NUMPY\""));
        }
        let [major, _minor] = bytes.array("the version")?;
        let length = match major {
            1 => usize::from(u16::from_le_bytes(bytes.array("the header length")?)),
            _ => u32::from_le_bytes(bytes.array("the header length")?) as usize,
        };
        let at = bytes.at();
        let text = String::from_utf8_lossy(bytes.take(length, "the header")?).into_owned();
        let wrong = |what: &str| malformed(path, at, format!("the header {:?}", text.trim()), what);
        let kind = value(&text, "descr").and_then(quoted).ok_or_else(|| wrong("a 'descr'"))?;
        let shape = value(&text, "shape").and_then(tuple).ok_or_else(|| wrong("a 'shape'"))?;
        // Of one axis both orders are the same.
        let fortran = value(&text, "fortran_order").is_none_or(|rest| !rest.starts_with("False"));
        if fortran && shape.len() > 1 {
            return Err(wrong("'fortran_order': False"));
        }
        Ok(Self { kind, shape, data_at: bytes.at() })
    }
}

/// What follows `'key':` in the header's Python dictionary.
fn value<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}'"))?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

fn quoted(rest: &str) -> Option<String> {
    rest.strip_prefix('\'')?.split_once('\'').map(|(text, _)| text.to_owned())
}

fn tuple(rest: &str) -> Option<Vec<usize>> {
    let (inside, _) = rest.strip_prefix('(')?.split_once(')')?;
    let parts = inside.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().ok()).collect()
}

/// The whole numbers of a `.npy` file of one axis, each with its offset.
pub(super) fn integers(path: &Path, file: &[u8]) -> Result<Vec<(usize, i64)>> {
    let header = Header::parse(path, file)?;
    let [count] = header.shape[..] else {
        return Err(malformed(path, 0, format!("the shape {:?}", header.shape), "one axis"));
    };
    let width = match header.kind.as_str() {
        "|u1" | "|i1" => 1,
        "<u2" | "<i2" => 2,
        "<u4" | "<i4" => 4,
        "<u8" | "<i8" => 8,
        other => return Err(malformed(path, 0, format!("values {other}"), "whole numbers")),
    };
    let mut bytes = Bytes::new(path, file);
    bytes.take(header.data_at, "the header")?;
    let values = bytes.take(count.saturating_mul(width), "the labels")?;
    bytes.finish()?;
    let signed = header.kind.contains('i');
    let values = values.chunks_exact(width).enumerate();
    Ok(values.map(|(i, value)| (header.data_at + i * width, integer(value, signed))).collect())
}

/// Up to eight little-endian bytes; a `u64` beyond `i64` turns negative and thus out of range.
pub(super) fn integer(value: &[u8], signed: bool) -> i64 {
    let negative = signed && value.last().is_some_and(|&high| high >= 0x80);
    let mut wide = [if negative { 0xff } else { 0 }; 8];
    wide[..value.len()].copy_from_slice(value);
    i64::from_le_bytes(wide)
}

#[cfg(test)]
pub(super) fn encode(kind: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = u16::try_from(text.len()).unwrap().to_le_bytes();
    [MAGIC, &[1, 0], &length, text.as_bytes(), data].concat()
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_says;
    use super::*;

    fn read(file: &[u8]) -> Result<Vec<i64>> {
        let values = integers(Path::new("labels.npy"), file)?;
        Ok(values.into_iter().map(|(_, value)| value).collect())
    }

    #[test]
    fn integers_of_all_widths() {
        assert_eq!(read(&encode("|u1", "(2,)", &[1, 255])).unwrap(), [1, 255]);
        assert_eq!(read(&encode("|i1", "(2,)", &[1, 255])).unwrap(), [1, -1]);
        assert_eq!(read(&encode("<i8", "(1,)", &[7, 0, 0, 0, 0, 0, 0, 0])).unwrap(), [7]);
        assert_eq!(read(&encode("<u2", "(1,)", &[1, 1])).unwrap(), [257]);
    }

    #[test]
    fn wrong_files_are_placed() {
        assert_says(read(b"PK\x03\x04 not numpy"), "labels.npy, byte offset 0: \"PK\\u{3}");
        assert_says(read(b"\x93NUM"), "ends after 4 of the 6 bytes of the NumPy magic");
        let good = encode("|u1", "(3,)", &[1, 2, 3]);
        let data_at = good.len() - 3;
        let cut =
            format!("byte offset {data_at}: the file ends after 2 of the 3 bytes of the labels");
        assert_says(read(&good[..good.len() - 1]), &cut);
        assert_says(read(&encode("|u1", "(1,)", &[1, 2])), ": 1 more bytes where the end");
        assert_says(read(&encode("<f4", "(1,)", &[0; 4])), "values <f4 where whole numbers");
        assert_says(read(&encode("|u1", "(1, 1)", &[0])), "the shape [1, 1] where one axis");
        assert_says(read(&encode("|u1", "(x,)", &[0])), "where a 'shape' is needed");
    }

    #[test]
    fn fortran_order_is_refused() {
        let mut file = encode("|u1", "(2, 2)", &[0; 4]);
        let text = String::from_utf8_lossy(&file).find("False").unwrap();
        // The magic is one byte in the file but three in the lossy text.
        file[text - 2..text + 3].copy_from_slice(b"True ");
        let header = Header::parse(Path::new("a.npy"), &file);
        assert_says(header, "where 'fortran_order': False is needed");
    }
}
