use std::collections::{BTreeSet, HashMap};

use super::error::{DatasetError, Result};

/// Texts with one label each: `labels[i]` belongs to `texts[i]`.
///
/// ```
/// use sngp_lab::dataset::text::TextSet;
///
/// let set = TextSet {
///     texts: vec!["play some jazz".into(), "will it rain".into()],
///     labels: vec!["music".into(), "weather".into()],
/// };
/// assert_eq!(set.len(), 2);
/// assert_eq!(set.label_names(), ["music", "weather"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextSet {
    /// The texts exactly as the file has them; some may be empty.
    pub texts: Vec<String>,
    /// The label of each text, as text even where the file has numbers or booleans.
    pub labels: Vec<String>,
}

impl TextSet {
    /// How many texts there are.
    ///
    /// ```
    /// assert_eq!(sngp_lab::dataset::text::TextSet::default().len(), 0);
    /// ```
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there are no texts.
    ///
    /// ```
    /// assert!(sngp_lab::dataset::text::TextSet::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Every label once, in alphabetical (byte) order.
    ///
    /// ```
    /// let set = sngp_lab::dataset::text::TextSet {
    ///     texts: vec!["so so".into(), "great".into(), "fine".into()],
    ///     labels: vec!["neutral".into(), "good".into(), "good".into()],
    /// };
    /// assert_eq!(set.label_names(), ["good", "neutral"]);
    /// ```
    pub fn label_names(&self) -> Vec<String> {
        self.labels.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect()
    }

    /// The rows without a label, and those with it.
    ///
    /// ```
    /// let set = sngp_lab::dataset::text::TextSet {
    ///     texts: vec!["so so".into(), "great".into()],
    ///     labels: vec!["neutral".into(), "good".into()],
    /// };
    /// let (others, good) = set.split_off("good");
    /// assert_eq!((others.texts, good.texts), (vec!["so so".into()], vec!["great".into()]));
    /// ```
    pub fn split_off(self, label: &str) -> (Self, Self) {
        let (mut without, mut with) = (Self::default(), Self::default());
        for (text, own) in self.texts.into_iter().zip(self.labels) {
            let side = if own == label { &mut with } else { &mut without };
            side.texts.push(text);
            side.labels.push(own);
        }
        (without, with)
    }

    /// The position of each row's label in `names`, the first one where a name is repeated.
    ///
    /// Pass the training set's [`label_names`](Self::label_names) to number every split alike.
    ///
    /// # Errors
    ///
    /// [`DatasetError::UnknownLabel`] for the first label that `names` does not hold.
    ///
    /// ```
    /// let set = sngp_lab::dataset::text::TextSet {
    ///     texts: vec!["so so".into(), "great".into()],
    ///     labels: vec!["neutral".into(), "good".into()],
    /// };
    /// assert_eq!(set.indices(&set.label_names())?, [1, 0]);
    ///
    /// let error = set.indices(&["neutral".to_string()]).unwrap_err();
    /// assert!(error.to_string().starts_with("row 2: label \"good\""));
    /// # Ok::<(), sngp_lab::dataset::text::DatasetError>(())
    /// ```
    pub fn indices(&self, names: &[String]) -> Result<Vec<usize>> {
        let mut index_of = HashMap::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            index_of.entry(name).or_insert(index);
        }
        let known = index_of.len();
        let index = |(position, label): (usize, &String)| {
            index_of.get(label).copied().ok_or_else(|| DatasetError::UnknownLabel {
                row: position + 1,
                label: label.clone(),
                known,
            })
        };
        self.labels.iter().enumerate().map(index).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::strings;
    use super::*;

    fn set(labels: &[&str]) -> TextSet {
        TextSet { texts: vec![String::new(); labels.len()], labels: strings(labels) }
    }

    #[test]
    fn names_are_sorted_and_unique() {
        assert_eq!(set(&["b", "a", "b", "C"]).label_names(), ["C", "a", "b"]);
        assert!(set(&[]).label_names().is_empty());
    }

    #[test]
    fn empty_texts_count() {
        assert_eq!(set(&["a", "b"]).len(), 2);
        assert!(!set(&["a"]).is_empty());
    }

    #[test]
    fn indices_follow_the_order_of_the_names() {
        let names = strings(&["z", "a", "z"]);
        assert_eq!(set(&["a", "z", "a"]).indices(&names).unwrap(), [1, 0, 1]);
    }

    #[test]
    fn unknown_label_is_refused_with_row_label_and_count() {
        let error = set(&["a", "b", "odd"]).indices(&strings(&["a", "b"])).unwrap_err();
        assert!(matches!(
            &error,
            DatasetError::UnknownLabel { row: 3, label, known: 2 } if label == "odd"
        ));
        assert_eq!(
            error.to_string(),
            "row 3: label \"odd\" is none of the 2 known labels; \
             add it to the names or remove the row"
        );
    }
}
