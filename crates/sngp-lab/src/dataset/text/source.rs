use std::fs;
use std::path::Path;
use std::str;

use super::error::{DatasetError, Place, Result};

const BYTE_ORDER_MARK: char = '\u{feff}';

pub(super) fn io_error(path: &Path, cause: std::io::Error) -> DatasetError {
    DatasetError::Io { path: path.to_owned(), cause }
}

pub(super) fn empty(path: &Path) -> DatasetError {
    DatasetError::Empty { path: path.to_owned() }
}

pub(super) fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|cause| io_error(path, cause))
}

/// The whole file without a byte order mark.
pub(super) fn read_text(path: &Path) -> Result<String> {
    let bytes = read_bytes(path)?;
    let place_of = |byte| Place::Line(line_at(&bytes, byte));
    decode(path, &bytes, place_of).map(str::to_owned)
}

/// One string per line; the last line may or may not end with a newline.
pub(super) fn read_lines(path: &Path) -> Result<Vec<String>> {
    Ok(read_text(path)?.lines().map(str::to_owned).collect())
}

/// `bytes` as text without a byte order mark; `place_of` turns the offset of a bad byte into what
/// the reader of the error counts in.
pub(super) fn decode<'a>(
    path: &Path,
    bytes: &'a [u8],
    place_of: impl Fn(usize) -> Place,
) -> Result<&'a str> {
    let text = str::from_utf8(bytes).map_err(|error| {
        let byte = error.valid_up_to();
        DatasetError::InvalidUtf8 { path: path.to_owned(), place: place_of(byte), byte: Some(byte) }
    })?;
    Ok(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text))
}

/// The line, from 1, that holds the byte at `offset`.
pub(super) fn line_at(bytes: &[u8], offset: usize) -> usize {
    1 + bytes.iter().take(offset).filter(|&&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scratch;
    use super::*;

    #[test]
    fn lines_keep_blanks_and_spaces_but_not_line_ends() {
        let file = Scratch::file("a.txt", "\u{feff}one \r\n\r\n two");
        assert_eq!(read_lines(&file.path).unwrap(), ["one ", "", " two"]);
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_text(Path::new("/nowhere/at all.txt")).unwrap_err();
        assert!(error.to_string().starts_with("cannot read /nowhere/at all.txt: "), "{error}");
    }

    #[test]
    fn invalid_utf8_is_placed_by_line_and_byte() {
        let file = Scratch::file("a.txt", b"ok\nb\xffd\n");
        let error = read_text(&file.path).unwrap_err();
        assert!(matches!(
            error,
            DatasetError::InvalidUtf8 { place: Place::Line(2), byte: Some(4), .. }
        ));
        assert!(error.to_string().contains("a.txt, line 2, byte offset 4: not valid UTF-8"));
    }
}
