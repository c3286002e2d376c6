use std::path::Path;

use super::super::error::{DatasetError, Result};
use super::super::source::line_at;

/// Refuses quoted fields that never end or go on after their closing quote.
///
/// The `csv` crate takes both without a word, and one stray quote can then join thousands of rows
/// into one that still has the right number of fields.
pub(super) fn check_quotes(path: &Path, text: &str, delimiter: u8) -> Result<()> {
    let bytes = text.as_bytes();
    let (mut at, mut column, mut starts_field) = (0, 1, true);
    while let Some(&byte) = bytes.get(at) {
        if starts_field && byte == b'"' {
            at = closing_quote(bytes, at + 1, delimiter).ok_or_else(|| {
                let line = line_at(bytes, at);
                DatasetError::BrokenQuote { path: path.to_owned(), line, column }
            })?;
            starts_field = false;
        } else {
            starts_field = ends_field(byte, delimiter);
            column = match byte {
                b'\n' | b'\r' => 1,
                _ => column + usize::from(byte == delimiter),
            };
        }
        at += 1;
    }
    Ok(())
}

fn closing_quote(bytes: &[u8], mut at: usize, delimiter: u8) -> Option<usize> {
    loop {
        at += bytes[at..].iter().position(|&byte| byte == b'"')?;
        match bytes.get(at + 1) {
            Some(b'"') => at += 2,
            Some(&byte) if !ends_field(byte, delimiter) => return None,
            _ => return Some(at),
        }
    }
}

fn ends_field(byte: u8, delimiter: u8) -> bool {
    byte == delimiter || byte == b'\n' || byte == b'\r'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<()> {
        check_quotes(Path::new("a.csv"), text, b',')
    }

    #[test]
    fn well_formed_quotes_pass() {
        for text in [
            "",
            "a,b\n1,2",
            "a,b\n\"1\",\"2\"",
            "\"\",\"\"\"\"\r\n\"x\ny\",z\r\n",
            "a,b\nit is 5\" wide,say \"hi\"\n",
        ] {
            assert!(check(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn broken_quotes_are_placed_where_they_start() {
        for (text, expected_line, expected_column) in [
            ("a,b\nx,\"y\n", 2, 2),
            ("a,b\nx,y\n\"w\" ord,z\n", 3, 1),
            ("a,b\n\"x\n\"\"y\n\",z\nq,\"", 5, 2),
            ("\"", 1, 1),
            ("\"\"\"", 1, 1),
        ] {
            let error = check(text).unwrap_err();
            let DatasetError::BrokenQuote { line, column, .. } = error else { panic!("{error}") };
            assert_eq!((line, column), (expected_line, expected_column), "{text:?}");
        }
    }
}
