use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::column::page::{Page, PageReader};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

/// What a page may take in memory whatever the size of its file.
const ALWAYS_ALLOWED: u64 = 256 << 20;
/// And in times the size of its file, which is far more than real columns are compressed by.
const INFLATION: u64 = 64;

const TOO_LARGE: &str = "a page claims to be larger than its file can explain";
const UNREADABLE: &str = "the header of a page cannot be read";

/// Refuses pages that claim so much that making room for it would take gigabytes, in a file of
/// kilobytes: readers allocate by what headers say, before they look whether it is there. A dictionary
/// claims too much where it has more values than bytes.
///
/// Only the headers of pages are read, and the dictionaries. Other damage is left to the reader, which
/// comes to it later and says where it is.
pub(super) fn check(
    file: File,
    metadata: &ParquetMetaData,
    is_used: impl Fn(usize) -> bool,
) -> Result<(), &'static str> {
    let limit = ALWAYS_ALLOWED.max(file.len().saturating_mul(INFLATION));
    let file = Arc::new(Bounded { file, limit });
    for group in metadata.row_groups() {
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        for (leaf, column) in group.columns().iter().enumerate() {
            if is_used(leaf)
                && let Ok(pages) = SerializedPageReader::new(file.clone(), column, rows, None)
            {
                check_column(pages)?;
            }
        }
    }
    Ok(())
}

fn check_column(mut pages: SerializedPageReader<Bounded>) -> Result<(), &'static str> {
    loop {
        let next = match pages.peek_next_page() {
            Ok(Some(next)) => next,
            Ok(None) => return Ok(()),
            Err(error) => {
                let reason = error.to_string();
                let ours = [TOO_LARGE, UNREADABLE].into_iter().find(|ours| reason.contains(ours));
                return ours.map_or(Ok(()), Err);
            }
        };
        if !next.is_dict {
            if pages.skip_next_page().is_err() {
                return Ok(());
            }
            continue;
        }
        match pages.get_next_page() {
            // A value of no bytes still has its length.
            Ok(Some(Page::DictionaryPage { buf, num_values, .. }))
                if num_values as usize > buf.len() =>
            {
                return Err(TOO_LARGE);
            }
            Ok(Some(_)) => (),
            _ => return Ok(()),
        }
    }
}

/// A file whose pages are at most so large once they are uncompressed.
struct Bounded {
    file: File,
    limit: u64,
}

impl Length for Bounded {
    fn len(&self) -> u64 {
        self.file.len()
    }
}

impl ChunkReader for Bounded {
    type T = Header;

    fn get_read(&self, start: u64) -> ParquetResult<Header> {
        Ok(Header { source: self.file.get_read(start)?, unchecked: Some(self.limit) })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.file.get_bytes(start, length)
    }
}

/// What is read from where the header of a page begins: an error where the page is too large. The check
/// waits for the first byte that is asked for, since readers are also made where nothing is read.
struct Header {
    source: BufReader<File>,
    unchecked: Option<u64>,
}

impl Read for Header {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(limit) = self.unchecked.take() {
            let refused = match uncompressed_size(self.source.fill_buf()?) {
                Some(size) => (size > limit).then_some(TOO_LARGE),
                None => Some(UNREADABLE),
            };
            if let Some(reason) = refused {
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
        }
        self.source.read(into)
    }
}

/// What the header of a page says of its size, in Thrift's compact protocol: its first fields are the type
/// and the size uncompressed, both 32-bit integers. `None` for anything else, which no program writes.
fn uncompressed_size(header: &[u8]) -> Option<u64> {
    /// A field's number, one more than the last one's, above its type, an `i32`.
    const NEXT_INTEGER: u8 = 0x15;
    let mut bytes = header.iter().copied();
    let mut field = || {
        let is_next = bytes.next()? == NEXT_INTEGER;
        is_next.then(|| varint(&mut bytes)).flatten()
    };
    field()?;
    // The sign is folded into the lowest bit.
    let folded = field()?;
    (folded & 1 == 0).then_some(folded >> 1)
}

fn varint(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let byte = bytes.next()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_stand_second_in_a_header() {
        // A data page of 300 bytes: 300 is folded to 600.
        assert_eq!(uncompressed_size(&[0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0x02]), Some(300));
        assert_eq!(uncompressed_size(&[0x15, 0x00, 0x15, 0x01]), None);
        assert_eq!(uncompressed_size(&[0x15, 0x00, 0x25, 0x02]), None);
        assert_eq!(uncompressed_size(&[0x15, 0x00, 0x15, 0xff, 0xff, 0xff, 0xff, 0xff]), None);
        assert_eq!(uncompressed_size(&[]), None);
    }
}
