use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::error::{RecordsError, Result};

const EXTENSIONS: &str = ".csv, .txt, .tsv, .jsonl, .ndjson, .parquet (all but the last also .gz)";
const NAMES: &str = "csv, tsv, jsonl, parquet, lines";

/// How a table is stored.
///
/// ```
/// use sngp_records::Format;
///
/// assert_eq!(Format::of_path("train.csv.gz".as_ref())?, Format::Csv);
/// assert_eq!("jsonl".parse::<Format>()?, Format::JsonLines);
/// # Ok::<(), sngp_records::RecordsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Delimited by commas, semicolons, tabs or bars, whichever fits; written with commas.
    Csv,
    /// Delimited by tabs.
    Tsv,
    /// One JSON object per line.
    JsonLines,
    /// Apache Parquet.
    Parquet,
    /// One text per line, without a header; only read. No extension names it, since a `.txt` file
    /// may as well be delimited: it has to be asked for.
    Lines,
}

impl Format {
    /// The format that a file's extension names, in any case and with or without `.gz`.
    ///
    /// # Errors
    ///
    /// [`RecordsError::UnknownExtension`].
    pub fn of_path(path: &Path) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let (stem, compressed) = match name.strip_suffix(".gz") {
            Some(stem) => (stem, true),
            None => (name.as_str(), false),
        };
        let extension = Path::new(stem).extension().unwrap_or_default().to_string_lossy();
        match (extension.as_ref(), compressed) {
            ("csv" | "txt", _) => Ok(Self::Csv),
            ("tsv", _) => Ok(Self::Tsv),
            ("jsonl" | "ndjson", _) => Ok(Self::JsonLines),
            ("parquet", false) => Ok(Self::Parquet),
            _ => Err(RecordsError::UnknownExtension { path: path.to_owned(), known: EXTENSIONS }),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::JsonLines => "jsonl",
            Self::Parquet => "parquet",
            Self::Lines => "lines",
        })
    }
}

impl FromStr for Format {
    type Err = RecordsError;

    fn from_str(name: &str) -> Result<Self> {
        match name.to_lowercase().as_str() {
            "csv" => Ok(Self::Csv),
            "tsv" => Ok(Self::Tsv),
            "jsonl" | "ndjson" => Ok(Self::JsonLines),
            "parquet" => Ok(Self::Parquet),
            "lines" => Ok(Self::Lines),
            _ => Err(RecordsError::UnknownFormat { name: name.to_owned(), known: NAMES }),
        }
    }
}

/// Whether the file's name says that it is compressed by gzip.
pub(super) fn is_gzip_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_matched_in_any_case() {
        for (name, expected) in [
            ("a.CSV", Format::Csv),
            ("a.txt.gz", Format::Csv),
            ("x/b.tsv.GZ", Format::Tsv),
            ("a.b.NdJson", Format::JsonLines),
            ("a.parquet", Format::Parquet),
        ] {
            assert_eq!(Format::of_path(name.as_ref()).unwrap(), expected, "{name}");
        }
        for name in ["a", "a.xlsx", ".gz", "a.gz", "a.parquet.gz", "", "-", "csv"] {
            let message = Format::of_path(name.as_ref()).unwrap_err().to_string();
            assert!(message.contains("use one of .csv, .txt, .tsv"), "{message}");
        }
    }

    #[test]
    fn names_read_back() {
        use Format::{Csv, JsonLines, Lines, Parquet, Tsv};
        for format in [Csv, Tsv, JsonLines, Parquet, Lines] {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
        }
        let message = "xml".parse::<Format>().unwrap_err().to_string();
        assert_eq!(message, "\"xml\" is no format; use one of csv, tsv, jsonl, parquet, lines");
    }
}
