//! Text by its terms and what they were learned to tell.

use std::collections::HashMap;
use std::sync::Arc;

use ndarray::Array2;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sngp::convex::sparse::LinearMap;
use sngp::{Error, Result};

use super::known_pieces::KnownPieces;
use super::terms::{TermKind, each_term};
use crate::answer::Reason;
use crate::arrays::{NamedArrays, ReadArrays};

/// The file that terms and map are saved in, in the model's folder.
pub(crate) const TEXTS: &str = "texts.safetensors";
/// Letters in a row that are a term, with the edges of words. Two carry scripts without spaces.
const LETTERS: std::ops::RangeInclusive<usize> = 2..=5;
/// Terms that are known at the most, weights of a map at the most (128 MiB), and weights up to which
/// terms that only one text has are known too.
const MOST_TERMS: usize = 1 << 18;
const MOST_WEIGHTS: usize = 1 << 25;
const FEW_WEIGHTS: usize = 1 << 22;
/// Terms that are counted at a time; beyond, those that came once are dropped.
const MOST_COUNTED: usize = 1 << 23;
/// Texts whose terms are found together.
const CHUNK: usize = 4096;

/// The terms that training texts have, each by its hash, and how rare it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Vocabulary {
    /// Hashes of the known terms, ascending.
    terms: Vec<u64>,
    /// What each term counts: `1 + ln((1 + texts) / (1 + texts that have it))`.
    weights: Vec<f32>,
    /// What a term counts that no text had.
    unseen: f32,
}

impl Vocabulary {
    /// Numbers that all terms of a text are folded into.
    pub const FOLDED: usize = 512;

    /// Learns the terms of texts, for a map with so many outputs: the most frequent ones that fit.
    pub fn learn<T: AsRef<str> + Sync>(texts: &[T], outputs: usize) -> Self {
        let mut counts: HashMap<u64, u32> = HashMap::new();
        for texts in texts.chunks(CHUNK) {
            let own: Vec<Vec<u64>> = texts
                .par_iter()
                .map(|text| {
                    let mut own = Vec::new();
                    each_term(text.as_ref(), LETTERS, |_, hash| own.push(hash));
                    own.sort_unstable();
                    own.dedup();
                    own
                })
                .collect();
            own.into_iter().flatten().for_each(|hash| *counts.entry(hash).or_default() += 1);
            if counts.len() > MOST_COUNTED {
                counts.retain(|_, count| *count > 1);
            }
        }
        let few = MOST_TERMS.min(FEW_WEIGHTS / outputs.max(1));
        let least = if counts.len() <= few { 1 } else { 2 };
        let mut known: Vec<(u64, u32)> =
            counts.into_iter().filter(|(_, count)| *count >= least).collect();
        known.sort_unstable_by_key(|(hash, count)| (std::cmp::Reverse(*count), *hash));
        known.truncate(MOST_TERMS.min(MOST_WEIGHTS / outputs.max(1)));
        known.sort_unstable();
        let rows = texts.len() as f32;
        let weight = |count: u32| 1.0 + ((1.0 + rows) / (1.0 + count as f32)).ln();
        let weights = known.iter().map(|(_, count)| weight(*count)).collect();
        let terms = known.into_iter().map(|(hash, _)| hash).collect();
        Self { terms, weights, unseen: weight(0) }
    }

    /// The number of known terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether no term is known.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Every known term of a text with its weight, and all its terms folded into fewer numbers.
    ///
    /// A term counts by the logarithm of how often it is there and by how rare it is; words and
    /// pieces of words make a vector of length 1 each, half of the whole. Terms that are not known
    /// count in the length: a text that is half unknown says half as much.
    pub fn encode(&self, text: &str) -> (Vec<(u32, f32)>, Vec<f32>) {
        let (mut known, mut folded) = (Vec::new(), vec![0f32; Self::FOLDED]);
        let mut found: [Vec<u64>; 2] = Default::default();
        each_term(text, LETTERS, |kind, hash| {
            found[usize::from(kind == TermKind::Words)].push(hash)
        });
        for mut terms in found {
            terms.sort_unstable();
            let counted: Vec<(u64, Option<usize>, f32)> = terms
                .chunk_by(|a, b| a == b)
                .map(|same| {
                    let place = self.terms.binary_search(&same[0]).ok();
                    let rarity = place.map_or(self.unseen, |place| self.weights[place]);
                    (same[0], place, rarity * (1.0 + (same.len() as f32).ln()))
                })
                .collect();
            let length = counted.iter().map(|(_, _, value)| value * value).sum::<f32>().sqrt();
            for (hash, place, value) in counted {
                let value = value / length * std::f32::consts::FRAC_1_SQRT_2;
                known.extend(place.map(|place| (place as u32, value)));
                // What shares a place by accident cancels out on average.
                let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
                folded[hash as usize % Self::FOLDED] += sign * value;
            }
        }
        (known, folded)
    }
}

/// The terms and what they were learned to tell.
#[derive(Clone, Debug, PartialEq)]
pub struct TextMap {
    /// The terms.
    pub vocabulary: Vocabulary,
    /// What they tell about each class, or the number.
    pub map: LinearMap,
}

impl TextMap {
    /// What the terms of a text tell, then all of its terms folded.
    pub fn encode(&self, text: &str) -> Vec<f32> {
        let (known, folded) = self.vocabulary.encode(text);
        let (places, values): (Vec<u32>, Vec<f32>) = known.into_iter().unzip();
        let mut vector = vec![0.0; self.map.outputs()];
        self.map.apply(&places, &values, &mut vector);
        vector.extend(folded);
        vector
    }

    /// The length of a vector.
    pub fn width(&self) -> usize {
        self.map.outputs() + Vocabulary::FOLDED
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let Vocabulary { terms, weights, unseen } = &self.vocabulary;
        let mut arrays = NamedArrays::default();
        arrays.put_u64("terms", terms);
        arrays.put_f32("rarity", vec![weights.len()], weights);
        arrays.put_f32("unseen", vec![1], &[*unseen]);
        let map: Vec<f32> = self.map.weights.iter().copied().collect();
        arrays.put_f32("map", self.map.weights.shape().to_vec(), &map);
        arrays.to_bytes()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let arrays = ReadArrays::new(TEXTS, bytes)?;
        let terms = arrays.u64("terms")?;
        if !terms.is_sorted_by(|a, b| a < b) {
            return Err(arrays.wrong("terms", "is not in order"));
        }
        let positive = |name: &str, length: usize| -> Result<Vec<f32>> {
            let (_, values) = arrays.f32(name)?;
            let sound = values.len() == length && values.iter().all(|value| *value > 0.0);
            sound.then_some(values).ok_or_else(|| arrays.wrong(name, "does not fit the terms"))
        };
        let weights = positive("rarity", terms.len())?;
        let unseen = positive("unseen", 1)?[0];
        let (shape, map) = arrays.f32("map")?;
        let [rows, outputs] = shape[..] else { return Err(arrays.wrong("map", "is no matrix")) };
        if rows != terms.len() || outputs == 0 {
            return Err(arrays.wrong("map", "does not fit the terms"));
        }
        let weights_of_map = Array2::from_shape_vec((rows, outputs), map)
            .map_err(|error| Error::Data(error.to_string()))?;
        let vocabulary = Vocabulary { terms, weights, unseen };
        Ok(Self { vocabulary, map: LinearMap { weights: weights_of_map } })
    }
}

/// How text becomes a vector: what its terms were learned to tell, and all of them folded into fewer
/// numbers, so that a text like no other is far from all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextPreparation {
    /// The column with the text.
    pub text: String,
    /// The pieces of words that were seen.
    pub known: KnownPieces,
    /// Terms and map, in a file of their own beside the card; none until that is read.
    #[serde(skip)]
    pub map: Option<Arc<TextMap>>,
}

impl TextPreparation {
    pub(super) fn describe(&self) -> String {
        let terms = self.map.as_ref().map_or(0, |map| map.vocabulary.len());
        format!("text in `{}`, by {terms} words, pairs of words and pieces of words", self.text)
    }

    /// The length of a vector.
    pub fn width(&self) -> usize {
        self.map.as_ref().map_or(0, |map| map.width())
    }

    /// Why the vector of a text says nothing, where it does.
    pub fn oddity(&self, text: &str) -> Option<Reason> {
        KnownPieces::oddity(Some(&self.known), text)
    }

    /// The vector of a text.
    pub fn encode(&self, text: &str) -> Vec<f32> {
        self.map.as_ref().map_or_else(Vec::new, |map| map.encode(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 3] = ["what is my balance", "book a flight", "what is the weather"];

    #[test]
    fn known_terms_count_by_rarity_and_unknown_ones_shorten() {
        let vocabulary = Vocabulary::learn(&TEXTS, 2);
        let length = |text: &str| -> f32 {
            vocabulary.encode(text).0.iter().map(|(_, value)| value * value).sum()
        };
        assert!((length("what is my balance") - 1.0).abs() < 1e-5);
        let half = length("my balance qqqq");
        assert!(half > 0.1 && half < 0.9, "{half}");
        assert!(length("").abs() < 1e-9 && length("?!").abs() < 1e-9);
        assert_eq!(
            vocabulary.encode("What IS my, balance?"),
            vocabulary.encode("what is my balance")
        );
        let (_, folded) = vocabulary.encode("zzz yyy");
        assert!(folded.iter().any(|value| *value != 0.0), "unknown terms are folded too");
    }

    #[test]
    fn no_more_terms_are_known_than_fit() {
        let texts: Vec<String> =
            (0..4000).map(|i| format!("{i} word{} shared", i * 7919)).collect();
        let all = Vocabulary::learn(&texts, 2);
        let fewer = Vocabulary::learn(&texts, 100_000);
        assert!(all.len() > 10_000, "{}", all.len());
        assert!(fewer.len() <= MOST_WEIGHTS / 100_000, "{}", fewer.len());
        // The most frequent ones stay.
        assert!(!fewer.encode("shared").0.is_empty());
    }

    #[test]
    fn a_saved_map_is_the_same_and_a_damaged_one_is_refused() {
        let vocabulary = Vocabulary::learn(&TEXTS, 2);
        let weights = Array2::from_shape_fn((vocabulary.len(), 2), |(i, j)| (i + j) as f32 * 0.1);
        let map = TextMap { vocabulary, map: LinearMap { weights } };
        let bytes = map.to_bytes().unwrap();
        assert_eq!(TextMap::from_bytes(&bytes).unwrap(), map);
        let broken = |change: fn(&mut TextMap)| {
            let mut map = map.clone();
            change(&mut map);
            TextMap::from_bytes(&map.to_bytes().unwrap()).unwrap_err().to_string()
        };
        assert!(broken(|map| map.vocabulary.terms.swap(0, 1)).contains("order"));
        assert!(broken(|map| map.vocabulary.weights[0] = -1.0).contains("rarity"));
        assert!(broken(|map| map.vocabulary.weights[0] = f32::NAN).contains("finite"));
        assert!(broken(|map| map.vocabulary.weights.truncate(1)).contains("rarity"));
        assert!(broken(|map| map.map = LinearMap::zeros(1, 2)).contains("map"));
    }
}
