//! Text as hashed words and letters: no download, no vocabulary.

use serde::{Deserialize, Serialize};

use super::known_pieces::KnownPieces;
use crate::answer::Reason;

/// Letters in a row that are hashed, with the edges of words.
const LETTERS: std::ops::RangeInclusive<usize> = 3..=5;
/// Words in a row that are hashed.
const WORDS: std::ops::RangeInclusive<usize> = 1..=2;
/// A text with a smaller share of known pieces than this is noise to the model.
const KNOWN: f64 = 1.0 / 3.0;

/// How text becomes a vector: words, pairs of words and pieces of words are hashed into a fixed
/// number of places, rare ones count more, and the vector has length 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NgramPreparation {
    /// The column with the text.
    pub text: String,
    /// What each place counts: `ln(rows / rows that have it)`.
    pub weights: Vec<f32>,
    /// The pieces of words that were seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<KnownPieces>,
}

impl NgramPreparation {
    /// Learns how rare each place is.
    ///
    /// ```
    /// use sngp_pipeline::input::NgramPreparation;
    ///
    /// let recipe = NgramPreparation::learn("text", &["what is my balance", "book a flight"], 512);
    /// let alike = |a: &str, b: &str| -> f32 {
    ///     recipe.encode(a).iter().zip(recipe.encode(b)).map(|(a, b)| a * b).sum()
    /// };
    /// assert!(alike("my balance", "what is the balance") > alike("my balance", "a flight"));
    /// ```
    pub fn learn<T: AsRef<str>>(column: &str, texts: &[T], places: usize) -> Self {
        let mut seen = vec![0usize; places];
        let mut known = KnownPieces::default();
        for text in texts {
            known.learn(text.as_ref());
            let mut own: Vec<usize> = Vec::new();
            each(text.as_ref(), |hash| own.push((hash as usize) % places));
            own.sort_unstable();
            own.dedup();
            own.into_iter().for_each(|place| seen[place] += 1);
        }
        let rows = texts.len() as f32;
        let weights = seen.into_iter().map(|n| 1.0 + ((1.0 + rows) / (1.0 + n as f32)).ln());
        Self { text: column.to_string(), weights: weights.collect(), known: Some(known) }
    }

    /// The length of the vector.
    pub fn width(&self) -> usize {
        self.weights.len()
    }

    /// Why the vector of a text says nothing, where it does.
    pub fn oddity(&self, text: &str) -> Option<Reason> {
        if is_blank(text) {
            return Some(Reason::EmptyInput);
        }
        let share = self.known.as_ref()?.known_share(text)?;
        (share < KNOWN).then_some(Reason::UnknownWords)
    }

    /// The vector of a text; zero for one without any letter.
    pub fn encode(&self, text: &str) -> Vec<f32> {
        let mut counts = vec![0f32; self.width()];
        each(text, |hash| {
            // What shares a place by accident cancels out on average.
            let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
            counts[hash as usize % self.weights.len()] += sign;
        });
        for (count, weight) in counts.iter_mut().zip(&self.weights) {
            // The tenth time a word is there says less than the first.
            *count = count.signum() * count.abs().ln_1p() * weight;
        }
        let length = counts.iter().map(|count| count * count).sum::<f32>().sqrt();
        if length > 0.0 {
            counts.iter_mut().for_each(|count| *count /= length);
        }
        counts
    }
}

/// Whether a text has no letter and no digit.
pub(super) fn is_blank(text: &str) -> bool {
    !text.chars().any(char::is_alphanumeric)
}

/// Calls `found` with the hash of every n-gram.
fn each(text: &str, mut found: impl FnMut(u64)) {
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    for size in WORDS {
        for run in words.windows(size) {
            found(hash(0, run.iter().flat_map(|word| word.bytes().chain([b' ']))));
        }
    }
    for word in words {
        let letters: Vec<char> =
            std::iter::once('<').chain(word.chars()).chain(std::iter::once('>')).collect();
        for size in LETTERS {
            for run in letters.windows(size) {
                let mut buffer = [0; 4];
                let bytes: Vec<u8> = run
                    .iter()
                    .flat_map(|c| c.encode_utf8(&mut buffer).as_bytes().to_vec())
                    .collect();
                found(hash(1, bytes.into_iter()));
            }
        }
    }
}

/// FNV-1a with a last mix, stable over versions and machines: the vectors are part of a model.
pub(super) fn hash(kind: u64, bytes: impl Iterator<Item = u8>) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let start = 0xcbf2_9ce4_8422_2325 ^ kind.wrapping_mul(PRIME);
    let value = bytes.fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    let value = (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    value ^ (value >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_have_length_one_and_odd_texts_do_no_harm() {
        let recipe = NgramPreparation::learn("t", &["one two three", "two three four"], 256);
        for text in ["one", "ONE!", "héllo wörld", "日本語", "🙂🙂", "a"] {
            let vector = recipe.encode(text);
            let length: f32 = vector.iter().map(|v| v * v).sum();
            assert!(length == 0.0 || (length - 1.0).abs() < 1e-5, "{text} {length}");
        }
        assert!(recipe.encode("").iter().all(|&v| v == 0.0));
        assert!(recipe.encode("?!").iter().all(|&v| v == 0.0));
        assert_eq!(recipe.encode("One, TWO"), recipe.encode("one two"));
    }

    #[test]
    fn hashes_do_not_change() {
        // A model saved today has to read the same vectors tomorrow.
        assert_eq!(hash(0, "balance ".bytes()), hash(0, "balance ".bytes()));
        let mut found = Vec::new();
        each("ab", |hash| found.push(hash));
        assert_eq!(found.len(), 1 + 2 + 1);
    }
}
