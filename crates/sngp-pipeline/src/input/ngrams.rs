//! Text as hashed words and letters, as models of format version 2 and before take it. New ones
//! learn [which terms tell what](super::TextPreparation).

use serde::{Deserialize, Serialize};

use super::known_pieces::KnownPieces;
use super::terms::each_term;
use crate::answer::Reason;

/// Letters in a row that are hashed, with the edges of words.
const LETTERS: std::ops::RangeInclusive<usize> = 3..=5;

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
    /// The length of the vector.
    pub fn width(&self) -> usize {
        self.weights.len()
    }

    /// Why the vector of a text says nothing, where it does.
    pub fn oddity(&self, text: &str) -> Option<Reason> {
        KnownPieces::oddity(self.known.as_ref(), text)
    }

    /// The vector of a text; zero for one without any letter.
    pub fn encode(&self, text: &str) -> Vec<f32> {
        let mut counts = vec![0f32; self.width()];
        each_term(text, LETTERS, |_, hash| {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_have_length_one_and_odd_texts_do_no_harm() {
        let weights = (0..256).map(|place| 1.0 + place as f32 / 256.0).collect();
        let recipe = NgramPreparation { text: "t".to_string(), weights, known: None };
        for text in ["one", "ONE!", "héllo wörld", "日本語", "🙂🙂", "a"] {
            let vector = recipe.encode(text);
            let length: f32 = vector.iter().map(|v| v * v).sum();
            assert!(length == 0.0 || (length - 1.0).abs() < 1e-5, "{text} {length}");
        }
        assert!(recipe.encode("").iter().all(|&v| v == 0.0));
        assert!(recipe.encode("?!").iter().all(|&v| v == 0.0));
        assert_eq!(recipe.encode("One, TWO"), recipe.encode("one two"));
    }
}
