use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;

use bytes::Bytes;
use parquet::column::page::{Page, PageReader};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use super::thrift::{Fault, page_header_length, struct_length};

/// What a page may take in memory whatever the size of its file.
const ALWAYS_ALLOWED: u64 = 256 << 20;
/// And in times the size of its file, which is far more than real columns are compressed by.
const INFLATION: u64 = 64;

/// Bytes of a page's header that are looked at first, and at most: it may hold the least and the
/// largest text of the page.
const HEADER: u64 = 8 << 10;
const LONGEST_HEADER: u64 = 4 << 20;

/// What stands behind the metadata: its length and a word.
const TAIL: u64 = 8;

const ENDLESS: &str = "its metadata has no end";
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
        Ok(Header::new(self.file.get_read(start)?, self.limit))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.file.get_bytes(start, length)
    }
}

/// Refuses metadata that would keep a reader busy without an end. What is not there at all is left to
/// the reader, which says so.
pub(super) fn check_footer(mut file: &File) -> Result<(), &'static str> {
    let mut metadata = || -> io::Result<Option<Vec<u8>>> {
        let size = file.metadata()?.len();
        let Some(end) = size.checked_sub(TAIL) else { return Ok(None) };
        let mut tail = [0; TAIL as usize];
        file.seek(SeekFrom::Start(end))?;
        file.read_exact(&mut tail)?;
        let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
        let Some(start) = end.checked_sub(length) else { return Ok(None) };
        file.seek(SeekFrom::Start(start))?;
        let mut metadata = Vec::new();
        file.take(length).read_to_end(&mut metadata)?;
        Ok(Some(metadata))
    };
    match metadata() {
        Ok(Some(metadata)) if struct_length(&metadata) == Err(Fault::Endless) => Err(ENDLESS),
        _ => Ok(()),
    }
}

/// What is read from where the header of a page begins: an error where the page is too large, or the
/// header has no end. The check waits for the first byte that is asked for, since readers are also made
/// where nothing is read.
struct Header {
    source: Chain<Cursor<Vec<u8>>, BufReader<File>>,
    unchecked: Option<u64>,
}

impl Header {
    fn new(source: BufReader<File>, limit: u64) -> Self {
        Self { source: Cursor::new(Vec::new()).chain(source), unchecked: Some(limit) }
    }

    /// Why the page is not read, if it is not.
    fn refused(&mut self, limit: u64) -> io::Result<Option<&'static str>> {
        let (seen, source) = self.source.get_mut();
        let bytes = seen.get_mut();
        let mut wanted = HEADER;
        loop {
            source.take(wanted - bytes.len() as u64).read_to_end(bytes)?;
            let all = (bytes.len() as u64) < wanted || wanted >= LONGEST_HEADER;
            match page_header_length(bytes) {
                Ok(_) => break,
                Err(Fault::Cut) if !all => wanted *= 8,
                Err(_) => return Ok(Some(UNREADABLE)),
            }
        }
        Ok(match uncompressed_size(bytes) {
            Some(size) => (size > limit).then_some(TOO_LARGE),
            None => Some(UNREADABLE),
        })
    }
}

impl Read for Header {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(limit) = self.unchecked.take()
            && let Some(reason) = self.refused(limit)?
        {
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
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
