use std::path::Path;

use super::error::{DatasetError, Result};
use super::table::read_lines;
use super::text_set::TextSet;

/// Reads a split of SNIPS: a file of labels and a file of sentences, one per line.
///
/// # Errors
///
/// Where a file is unreadable, empty or not UTF-8, or their line counts differ.
///
/// ```no_run
/// let train = sngp_lab::dataset::text::read_snips("snips/train.label", "snips/train.seq.in")?;
/// assert_eq!(train.label_names().len(), 7);
/// # Ok::<(), sngp_lab::dataset::text::DatasetError>(())
/// ```
pub fn read_snips(
    label_file: impl AsRef<Path>,
    sequence_file: impl AsRef<Path>,
) -> Result<TextSet> {
    let (label_path, text_path) = (label_file.as_ref(), sequence_file.as_ref());
    let set = TextSet { texts: read_lines(text_path)?, labels: read_lines(label_path)? };
    if set.texts.len() != set.labels.len() {
        return Err(DatasetError::UnequalLines {
            label_path: label_path.to_owned(),
            labels: set.labels.len(),
            text_path: text_path.to_owned(),
            texts: set.texts.len(),
        });
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Scratch, real_data};
    use super::*;

    fn read(labels: &str, texts: &str) -> Result<TextSet> {
        let labels = Scratch::file("train.label", labels);
        let texts = Scratch::file("train.seq.in", texts);
        read_snips(&labels.path, &texts.path)
    }

    #[test]
    fn pairs_lines_and_keeps_empty_texts() {
        let set = read("PlayMusic\nGetWeather\nPlayMusic", "play \n\nclásicos\n").unwrap();
        assert_eq!(set.texts, ["play ", "", "clásicos"]);
        assert_eq!(set.labels, ["PlayMusic", "GetWeather", "PlayMusic"]);
    }

    #[test]
    fn unequal_counts_are_both_given() {
        let message = read("a\nb\n", "one\n").unwrap_err().to_string();
        assert!(message.contains("train.label has 2 lines but "), "{message}");
        assert!(message.contains("train.seq.in has 1;"), "{message}");
    }

    #[test]
    fn empty_files_are_refused() {
        for (labels, texts) in [("", ""), ("a\n", ""), ("", "one\n")] {
            let message = read(labels, texts).unwrap_err().to_string();
            assert!(message.contains(" is empty"), "{message}");
        }
    }

    #[test]
    fn real_files_have_the_published_sizes() {
        let Some(folder) = real_data("snips") else { return };
        for (split, rows) in [("train", 13084), ("valid", 700), ("test", 700)] {
            let file = |ending| folder.join(format!("{split}.{ending}"));
            let set = read_snips(file("label"), file("seq.in")).unwrap();
            assert_eq!(set.len(), rows);
            assert_eq!(set.label_names().len(), 7);
        }
    }
}
