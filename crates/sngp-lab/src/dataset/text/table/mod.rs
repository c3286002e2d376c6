mod delimited;
mod json_lines;
mod parquet;
mod quotes;

use std::path::Path;

use super::error::{DatasetError, Result};
use super::source::{empty, read_lines};
use super::text_set::TextSet;

const TABLE_EXTENSIONS: &str = ".csv, .tsv, .jsonl, .ndjson, .parquet";

/// Reads texts and labels from a `.csv`, `.tsv`, `.jsonl`, `.ndjson` or `.parquet` file.
///
/// The extension, in any case, picks the format. Labels may be strings, and in JSON Lines and
/// Parquet also integers and booleans, which become text (`7`, `true`).
///
/// # Errors
///
/// Where the extension is unknown, a column is missing, a value is null or of the wrong type, the
/// file is damaged or not UTF-8, or there are no rows.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("train.csv");
/// std::fs::write(&path, "text,category\nWhere is my card?,card_arrival\n")?;
///
/// let set = sngp_lab::dataset::text::read_table(&path, "text", "category")?;
/// assert_eq!(set.texts, ["Where is my card?"]);
/// assert_eq!(set.labels, ["card_arrival"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_table(
    path: impl AsRef<Path>,
    text_column: &str,
    label_column: &str,
) -> Result<TextSet> {
    let columns = Columns { text: text_column, label: Some(label_column) };
    let Rows { texts, labels } = read_rows(path.as_ref(), columns)?;
    Ok(TextSet { texts, labels })
}

/// Reads texts without labels from any file [`read_table`] takes, or from a `.txt` file.
///
/// A `.txt` file holds one text per line and has no columns, so `text_column` is not used there.
///
/// # Errors
///
/// As for [`read_table`].
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("unlabelled.txt");
/// std::fs::write(&path, "tell me a joke\nwho won the cup\n")?;
///
/// assert_eq!(sngp_lab::dataset::text::read_texts(&path, "text")?, ["tell me a joke", "who won the cup"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_texts(path: impl AsRef<Path>, text_column: &str) -> Result<Vec<String>> {
    let columns = Columns { text: text_column, label: None };
    Ok(read_rows(path.as_ref(), columns)?.texts)
}

/// The names of the columns to read.
#[derive(Clone, Copy)]
struct Columns<'a> {
    text: &'a str,
    label: Option<&'a str>,
}

impl Columns<'_> {
    /// Where the columns are among the `present` ones.
    fn locate(self, path: &Path, present: &[&str]) -> Result<(usize, Option<usize>)> {
        let text = position(path, present, self.text)?;
        let label = self.label.map(|label| position(path, present, label)).transpose()?;
        Ok((text, label))
    }
}

/// What was read; `labels` stays empty where no label column was asked for.
#[derive(Default)]
struct Rows {
    texts: Vec<String>,
    labels: Vec<String>,
}

fn read_rows(path: &Path, columns: Columns) -> Result<Rows> {
    let rows = match (lowercase_extension(path).as_str(), columns.label) {
        ("csv", _) => delimited::read(path, b',', columns),
        ("tsv", _) => delimited::read(path, b'\t', columns),
        ("jsonl" | "ndjson", _) => json_lines::read(path, columns),
        ("parquet", _) => parquet::read(path, columns),
        ("txt", None) => Ok(Rows { texts: read_lines(path)?, labels: Vec::new() }),
        (_, None) => Err(unknown_extension(path, format!("{TABLE_EXTENSIONS}, .txt"))),
        (_, Some(_)) => Err(unknown_extension(path, TABLE_EXTENSIONS.to_owned())),
    }?;
    if rows.texts.is_empty() { Err(empty(path)) } else { Ok(rows) }
}

fn lowercase_extension(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

fn unknown_extension(path: &Path, known: String) -> DatasetError {
    DatasetError::UnknownExtension { path: path.to_owned(), known }
}

fn position(path: &Path, present: &[&str], column: &str) -> Result<usize> {
    let mut positions = (0..present.len()).filter(|&index| present[index] == column);
    let (path, column) = (path.to_owned(), column.to_owned());
    let Some(first) = positions.next() else {
        let present = present.iter().map(|&name| name.to_owned()).collect();
        return Err(DatasetError::MissingColumn { path, column, present });
    };
    match positions.count() {
        0 => Ok(first),
        others => Err(DatasetError::RepeatedColumn { path, column, count: others + 1 }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scratch;
    use super::*;

    #[test]
    fn extension_is_matched_in_any_case() {
        let csv = Scratch::file("A.CSV", "t,l\nhi,x\n");
        assert_eq!(read_table(&csv.path, "t", "l").unwrap().labels, ["x"]);
        let json = Scratch::file("a.NdJson", "{\"t\":\"hi\",\"l\":1}\n");
        assert_eq!(read_table(&json.path, "t", "l").unwrap().labels, ["1"]);
    }

    #[test]
    fn unknown_extension_lists_the_known_ones() {
        for name in ["a.xlsx", "a", "a.txt"] {
            let message = read_table(name, "t", "l").unwrap_err().to_string();
            assert!(message.ends_with("use one of .csv, .tsv, .jsonl, .ndjson, .parquet"));
        }
        let message = read_texts("a.xlsx", "t").unwrap_err().to_string();
        assert!(message.ends_with(".parquet, .txt"), "{message}");
    }

    #[test]
    fn plain_lines_are_texts() {
        let file = Scratch::file("a.txt", "one\n\nthree\n");
        assert_eq!(read_texts(&file.path, "ignored").unwrap(), ["one", "", "three"]);
    }

    #[test]
    fn files_without_rows_are_refused() {
        for (name, contents) in [
            ("a.csv", ""),
            ("a.csv", "\u{feff}"),
            ("a.csv", "t,l\n"),
            ("a.tsv", "t\tl\n\n"),
            ("a.jsonl", "\n \n"),
            ("a.txt", ""),
        ] {
            let error = read_texts(&Scratch::file(name, contents).path, "t").unwrap_err();
            assert!(matches!(error, DatasetError::Empty { .. }), "{name} {contents:?}: {error}");
        }
    }

    #[test]
    fn missing_files_are_named_in_every_format() {
        for extension in ["csv", "tsv", "jsonl", "ndjson", "parquet", "txt"] {
            let error = read_texts(format!("/nowhere/a.{extension}"), "t").unwrap_err();
            assert!(matches!(error, DatasetError::Io { .. }), "{error}");
        }
    }
}
