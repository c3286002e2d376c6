use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::{MultiGzDecoder, ZlibDecoder};

use super::error::{ImageError, Result};

/// More uncompressed bytes than any of the data sets has: a crafted file of a few kilobytes can
/// claim to hold terabytes.
const LIMIT: u64 = 4 << 30;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A file of a data set with the path to name it by.
pub(super) struct Member {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

pub(super) fn io_error(path: &Path) -> impl FnOnce(std::io::Error) -> ImageError {
    move |cause| ImageError::Io { path: path.to_owned(), cause }
}

/// The whole file, decompressed where it is gzip.
pub(super) fn read_maybe_gzip(path: &Path) -> Result<Vec<u8>> {
    let bytes = fs::read(path).map_err(io_error(path))?;
    if bytes.starts_with(&GZIP_MAGIC) {
        decompress(path, MultiGzDecoder::new(bytes.as_slice()))
    } else {
        Ok(bytes)
    }
}

pub(super) fn decompress_zlib(path: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
    decompress(path, ZlibDecoder::new(bytes))
}

fn decompress(path: &Path, decoder: impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let outcome = decoder.take(LIMIT + 1).read_to_end(&mut bytes);
    let cause = match outcome {
        Err(cause) => cause.to_string(),
        Ok(_) if bytes.len() as u64 > LIMIT => format!("more than {LIMIT} bytes"),
        Ok(_) => return Ok(bytes),
    };
    Err(ImageError::Compressed { path: path.to_owned(), offset: bytes.len() as u64, cause })
}

/// The files called `wanted`, in that order, of a folder or of a `.tar.gz`.
pub(super) fn read_members(
    path: &Path,
    wanted: &[&str],
    expected: &'static str,
) -> Result<Vec<Member>> {
    let mut found = if fs::metadata(path).map_err(io_error(path))?.is_dir() {
        from_folder(path, wanted)?
    } else {
        from_archive(path, wanted)?
    };
    wanted
        .iter()
        .map(|&file| {
            let position = found.iter().position(|member| member.path.ends_with(file));
            position.map(|position| found.swap_remove(position)).ok_or_else(|| {
                ImageError::MissingFile { path: path.to_owned(), file: file.into(), expected }
            })
        })
        .collect()
}

fn from_folder(folder: &Path, wanted: &[&str]) -> Result<Vec<Member>> {
    let paths = wanted.iter().map(|file| folder.join(file)).filter(|path| path.exists());
    paths
        .map(|path| Ok(Member { bytes: fs::read(&path).map_err(io_error(&path))?, path }))
        .collect()
}

/// Members are looked up by file name and never unpacked, so their paths cannot do harm.
fn from_archive(archive: &Path, wanted: &[&str]) -> Result<Vec<Member>> {
    let damaged = |offset: u64, cause: String| ImageError::Compressed {
        path: archive.to_owned(),
        offset,
        cause,
    };
    let file = BufReader::new(File::open(archive).map_err(io_error(archive))?);
    let mut tar = tar::Archive::new(MultiGzDecoder::new(file));
    let mut members = Vec::new();
    let mut offset = 0;
    for entry in tar.entries().map_err(|cause| damaged(0, cause.to_string()))? {
        let mut entry = entry.map_err(|cause| damaged(offset, cause.to_string()))?;
        offset = entry.raw_file_position();
        let name = entry.path().map_err(|cause| damaged(offset, cause.to_string()))?.into_owned();
        if !wanted.iter().any(|file| name.ends_with(file)) {
            continue;
        }
        if entry.size() > LIMIT {
            return Err(damaged(offset, format!("a file of {} bytes", entry.size())));
        }
        let mut bytes = Vec::new();
        if let Err(cause) = entry.read_to_end(&mut bytes) {
            return Err(damaged(offset + bytes.len() as u64, cause.to_string()));
        }
        offset += bytes.len() as u64;
        members.push(Member { path: archive.join(name), bytes });
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Scratch, assert_says, gzip};
    use super::*;

    fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, contents) in members {
            let mut header = tar::Header::new_gnu();
            header.set_size(contents.len() as u64);
            builder.append_data(&mut header, name, *contents).unwrap();
        }
        gzip(&builder.into_inner().unwrap())
    }

    #[test]
    fn members_come_in_the_order_asked_for() {
        let packed = archive(&[("top/b", b"2"), ("top/more", b"-"), ("top/a", b"1")]);
        let folder = Scratch::new().with("a", "1").with("b", "2").with("x.tar.gz", packed);
        for path in [folder.path.clone(), folder.path.join("x.tar.gz")] {
            let members = read_members(&path, &["a", "b"], "x").unwrap();
            assert_eq!(members.iter().map(|m| m.bytes[0]).collect::<Vec<_>>(), b"12");
            assert_says(read_members(&path, &["c"], "an X"), "has no c; is it an X?");
        }
    }

    #[test]
    fn truncated_and_wrong_archives_are_named_with_an_offset() {
        let noise: Vec<u8> = (0..9000_u32).map(|i| ((i * i) >> 3) as u8).collect();
        let packed = archive(&[("top/a", &noise)]);
        let folder =
            Scratch::new().with("cut.tar.gz", &packed[..packed.len() / 2]).with("text", "hello");
        let read = |file| read_members(&folder.path.join(file), &["a"], "x");
        assert_says(read("cut.tar.gz"), "cut.tar.gz: cannot decompress after ");
        assert_says(read("text"), "text: cannot decompress after 0 bytes: ");
    }

    #[test]
    fn gzip_is_known_by_its_magic() {
        let folder = Scratch::new().with("a.gz", gzip(b"abc")).with("b", "abc");
        for file in ["a.gz", "b"] {
            assert_eq!(read_maybe_gzip(&folder.path.join(file)).unwrap(), b"abc");
        }
        let cut = Scratch::new().with("a.gz", &gzip(b"abc")[..12]);
        assert_says(read_maybe_gzip(&cut.path.join("a.gz")), "a.gz: cannot decompress after ");
    }
}
