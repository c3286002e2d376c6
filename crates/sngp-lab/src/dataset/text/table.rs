use std::path::Path;

use sngp_records::{Cell, Chunk, Format, Header, ReadOptions, Records, RecordsError, Row};

use super::error::{DatasetError, Result};
use super::text_set::TextSet;

/// Rows that are read at a time.
const CHUNK: usize = 4096;

/// Reads texts and labels from any table that [`Records`] opens, e.g. CSV or Parquet.
///
/// Texts and labels are as they stand in the file, numbers and booleans as text (`7`, `true`). An
/// empty text is a text; a label has to be there.
///
/// # Errors
///
/// Where the extension is unknown, a column or a label is missing, a row cannot be read, or there
/// are no rows.
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
    let mut records = Records::open_with(path, options(None, text_column))?;
    let (text, label) = (records.column(text_column)?, records.column(label_column)?);
    let mut set = TextSet::default();
    for_each_row(&mut records, |path, chunk, index, cells| {
        if cells[label] == Cell::Missing {
            let (path, row) = (path.to_owned(), chunk.first_row + index + 1);
            return Err(DatasetError::MissingLabel { path, row, column: label_column.to_owned() });
        }
        set.texts.push(chunk.field(index, text).into_owned());
        set.labels.push(chunk.field(index, label).into_owned());
        Ok(())
    })?;
    Ok(set)
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
/// let texts = sngp_lab::dataset::text::read_texts(&path, "text")?;
/// assert_eq!(texts, ["tell me a joke", "who won the cup"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_texts(path: impl AsRef<Path>, text_column: &str) -> Result<Vec<String>> {
    let path = path.as_ref();
    let is_plain = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("txt"));
    read_column(path, is_plain.then_some(Format::Lines), text_column)
}

/// One string per line, blank ones included.
pub(super) fn read_lines(path: &Path) -> Result<Vec<String>> {
    read_column(path, Some(Format::Lines), "text")
}

fn read_column(path: &Path, format: Option<Format>, column: &str) -> Result<Vec<String>> {
    let mut records = Records::open_with(path, options(format, column))?;
    let column = records.column(column)?;
    let mut texts = Vec::new();
    for_each_row(&mut records, |_, chunk, index, _| {
        texts.push(chunk.field(index, column).into_owned());
        Ok(())
    })?;
    Ok(texts)
}

/// The originals are kept because `NA` and `None` are texts here.
fn options(format: Option<Format>, text_column: &str) -> ReadOptions {
    let header = match format {
        Some(Format::Lines) => Header::None { columns: vec![text_column.to_owned()] },
        _ => Header::Named,
    };
    ReadOptions { format, header, keep_originals: true }
}

/// Calls `take` with the file, the chunk, the row's index in it and the row's cells.
fn for_each_row(
    records: &mut Records,
    mut take: impl FnMut(&Path, &Chunk, usize, &[Cell]) -> Result<()>,
) -> Result<()> {
    let path = records.path().to_owned();
    while let Some(chunk) = records.next_chunk(CHUNK)? {
        for (index, row) in chunk.rows.iter().enumerate() {
            match row {
                Row::Cells(cells) => take(&path, &chunk, index, cells)?,
                Row::Bad { reason, .. } => {
                    let (row, reason) = (chunk.first_row + index + 1, reason.clone());
                    return Err(RecordsError::BadRow { path, row, reason }.into());
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Scratch, real_data};
    use super::*;

    fn read(name: &str, contents: impl AsRef<[u8]>) -> Result<TextSet> {
        read_table(&Scratch::file(name, contents).path, "text", "label")
    }

    fn message(name: &str, contents: impl AsRef<[u8]>) -> String {
        read(name, contents).unwrap_err().to_string()
    }

    #[test]
    fn texts_are_as_they_stand_in_the_file() {
        let csv = "\u{feff}id,text,label\r\n1,\"a, \"\"b\"\"\nc\",x\r\n\r\n2,, y\r\n3,None,z\r\n";
        let set = read("A.CSV", csv).unwrap();
        assert_eq!(set.texts, ["a, \"b\"\nc", "", "None"]);
        assert_eq!(set.labels, ["x", " y", "z"]);
        let set = read("a.tsv", "label\ttext\nx\tone, two\n\"y\"\t\"a\tb\"").unwrap();
        assert_eq!(set.texts, ["one, two", "a\tb"]);
    }

    #[test]
    fn labels_may_be_strings_integers_and_booleans() {
        let set = read(
            "a.NdJson",
            "{\"text\": \"a\\nb\", \"label\": \"x\"}\n{\"label\": -7, \"text\": \"\"}\n\
             {\"label\": 18446744073709551615, \"text\": \"c\"}\n{\"label\": true, \"text\": \"d\"}",
        )
        .unwrap();
        assert_eq!(set.texts, ["a\nb", "", "c", "d"]);
        assert_eq!(set.labels, ["x", "-7", "18446744073709551615", "true"]);
    }

    #[test]
    fn a_missing_label_is_named_by_row() {
        let found = message("a.csv", "text,label\na,x\n\nb,\n");
        assert!(
            found.ends_with("a.csv, row 2: \"label\" is missing; fill it in or remove the row")
        );
        let found = message("a.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\"}\n");
        assert!(found.contains("a.jsonl, row 2: \"label\" is missing"), "{found}");
    }

    #[test]
    fn what_the_reader_refuses_is_passed_on() {
        let found = message("a.csv", "text,category\nhi,x\n");
        let end = "a.csv has no column \"label\"; its columns are [\"text\", \"category\"]";
        assert!(found.ends_with(end), "{found}");
        let found = message("a.csv", "text,label\na,b\nc\n");
        assert!(found.contains("a.csv, row 2: line 3: 1 fields where the header has 2"), "{found}");
        assert!(message("a.xlsx", "").contains("a.xlsx: unknown extension; use one of .csv"));
        assert!(message("a.csv", "text,label\n").contains("has columns but no rows"));
    }

    #[test]
    fn plain_lines_are_texts() {
        let file = Scratch::file("a.txt", "\u{feff}one \r\n\r\n two, three");
        assert_eq!(read_texts(&file.path, "ignored").unwrap(), ["one ", "", " two, three"]);
        let table = Scratch::file("a.csv", "text\none\n\"\"\n");
        assert_eq!(read_texts(&table.path, "text").unwrap(), ["one", ""]);
    }

    #[test]
    fn real_banking77_has_the_published_sizes() {
        let Some(folder) = real_data("banking77") else { return };
        for (file, rows) in [("train.csv", 10003), ("test.csv", 3080)] {
            let set = read_table(folder.join(file), "text", "category").unwrap();
            assert_eq!((set.len(), set.label_names().len()), (rows, 77));
        }
    }
}
