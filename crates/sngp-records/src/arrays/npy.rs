use std::io::{self, Read};
use std::ops::Range;

use super::Stored;
use super::bytes::{Bytes, Mapped};
use super::dtype::{Dtype, Layout};
use super::literal::{self, Literal};
use super::place::Place;
use crate::error::Result;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Far above what any header of an unstructured array takes.
const MAX_HEADER: usize = 1 << 20;

/// The first part of an `.npy` file.
pub(super) struct Header {
    pub(super) layout: Layout,
    /// Where the elements start.
    pub(super) length: u64,
}

/// An uncompressed `.npy` file, or a member of an archive, at `range` of a mapped file.
pub(super) fn mapped(place: &Place, map: &Mapped, range: Range<usize>) -> Result<Stored> {
    let whole = map.bytes().get(range.clone());
    let whole = whole.ok_or_else(|| place.damaged(0, "the file ends before the array"))?;
    let Header { layout, length } = read_header(place, &mut &*whole)?;
    let declared = declared_bytes(place, &layout)?;
    let found = whole.len() as u64 - length;
    if found != declared {
        return Err(place.damaged(length, wrong_length(declared, &layout, &found.to_string())));
    }
    let bytes = Bytes::part(map, range.start + length as usize..range.end);
    let bytes = bytes.ok_or_else(|| place.damaged(0, "the file ends before the array"))?;
    Ok(Stored { layout, bytes })
}

/// The bytes that all elements take.
pub(super) fn declared_bytes(place: &Place, layout: &Layout) -> Result<u64> {
    let overflow = || format!("the shape {} is impossibly large", layout.shape_text());
    let declared = layout.byte_len().filter(|&bytes| bytes <= isize::MAX as u64);
    declared.ok_or_else(|| place.damaged(MAGIC.len() as u64, overflow()))
}

pub(super) fn wrong_length(declared: u64, layout: &Layout, found: &str) -> String {
    let (dtype, shape) = (layout.dtype, layout.shape_text());
    format!("{found} bytes of data where {dtype} of shape {shape} takes {declared}")
}

pub(super) fn read_header(place: &Place, reader: &mut impl Read) -> Result<Header> {
    let mut start = [0; 8];
    fill(place, reader, &mut start, 0)?;
    if !start.starts_with(MAGIC) {
        return Err(place.damaged(0, "it does not start as .npy data does"));
    }
    let mut size = [0; 4];
    let size_bytes = match start[6] {
        1 => 2,
        2 | 3 => 4,
        other => {
            return Err(place.damaged(6, format!("version {other} of the format is not known")));
        }
    };
    fill(place, reader, &mut size[..size_bytes], 8)?;
    let (offset, size) = (8 + size_bytes as u64, u32::from_le_bytes(size) as usize);
    if size > MAX_HEADER {
        return Err(place.damaged(8, format!("a header of {size} bytes")));
    }
    let mut text = vec![0; size];
    fill(place, reader, &mut text, offset)?;
    let layout = parse_header(place, &String::from_utf8_lossy(&text), offset)?;
    Ok(Header { layout, length: offset + size as u64 })
}

fn fill(place: &Place, reader: &mut impl Read, buffer: &mut [u8], offset: u64) -> Result<()> {
    reader.read_exact(buffer).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => place.damaged(offset, "the header is cut off"),
        _ => place.damaged(offset, error),
    })
}

/// Parses the dictionary that starts at `offset` of the file.
fn parse_header(place: &Place, text: &str, offset: u64) -> Result<Layout> {
    let invalid = |cause: &str| place.damaged(offset, cause);
    let header = literal::parse(text)
        .map_err(|at| place.damaged(offset + at as u64, "the header is not understood"))?;
    let Literal::Dict(entries) = header else {
        return Err(invalid("the header is no dictionary"));
    };
    let value = |wanted: &str| {
        let found =
            entries.iter().find(|(key, _)| matches!(key, Literal::Text(key) if key == wanted));
        found.map(|(_, value)| value)
    };
    let dtype = match value("descr") {
        Some(Literal::Text(descr)) => parse_dtype(place, descr)?,
        Some(Literal::List(_)) => {
            let way_out = "save each field as an array of its own";
            return Err(place.unusable("it has elements of several fields", way_out));
        }
        _ => return Err(invalid("the header names no type ('descr')")),
    };
    let Some(Literal::Bool(fortran)) = value("fortran_order") else {
        return Err(invalid("the header does not tell the order ('fortran_order')"));
    };
    let Some(Literal::Tuple(lengths)) = value("shape") else {
        return Err(invalid("the header tells no shape ('shape')"));
    };
    let length = |literal: &Literal| match literal {
        Literal::Number(length) => usize::try_from(*length).ok(),
        _ => None,
    };
    let shape = lengths.iter().map(length).collect::<Option<Vec<_>>>();
    let shape = shape.ok_or_else(|| invalid("the shape is not made of whole numbers"))?;
    Ok(Layout { dtype, shape, fortran: *fortran })
}

fn parse_dtype(place: &Place, descr: &str) -> Result<Dtype> {
    let unknown = || {
        let way_out = "convert it to float32, an integer type or strings with astype";
        place.unusable(format!("its elements have the type {descr:?}"), way_out)
    };
    let order = descr.chars().next().filter(|order| "<>|=".contains(*order));
    let rest = &descr[order.map_or(0, char::len_utf8)..];
    let kind = rest.chars().next().ok_or_else(unknown)?;
    let size = &rest[kind.len_utf8()..];
    if kind == 'O' {
        let way_out = "pickled data can run any program and is never read; save numbers or \
                       strings, for example with astype(str)";
        return Err(place.unusable("it holds pickled Python objects", way_out));
    }
    let size: usize = size.parse().map_err(|_| unknown())?;
    let dtype = match (kind, size) {
        ('b', 1) => Dtype::Bool,
        ('i', 1 | 2 | 4 | 8) => Dtype::Signed(size),
        ('u', 1 | 2 | 4 | 8) => Dtype::Unsigned(size),
        ('f', 2) => Dtype::Float16,
        ('f', 4) => Dtype::Float32,
        ('f', 8) => Dtype::Float64,
        ('U', _) => Dtype::Unicode(size),
        ('S' | 'a', _) => Dtype::Bytes(size),
        _ => return Err(unknown()),
    };
    let is_swapped = order == Some('>') && !matches!(dtype, Dtype::Bytes(_)) && size > 1;
    if is_swapped || (order == Some('>') && kind == 'U') {
        let way_out = "save it in little-endian order, for example as astype('<f4')";
        return Err(place.unusable(format!("its type {descr:?} is big-endian"), way_out));
    }
    Ok(dtype)
}
