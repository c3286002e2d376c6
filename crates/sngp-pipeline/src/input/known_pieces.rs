//! Which pieces of text a model has seen.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::terms::{hash, is_blank};
use crate::answer::Reason;

/// A text with a smaller share of known pieces than this is noise to the model.
const KNOWN: f64 = 1.0 / 3.0;
/// Bits of the filter: one in a hundred unknown pieces passes with 50,000 known ones.
const BITS: usize = 1 << 19;
const PROBES: u32 = 4;
/// Letters of a piece, with the edges of words.
const LETTERS: usize = 4;

/// The pieces of words that were there in training, as a Bloom filter: 64 KiB however much text
/// there was, and a piece that was seen is never called unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownPieces {
    bits: Vec<u64>,
}

impl Default for KnownPieces {
    fn default() -> Self {
        Self { bits: vec![0; BITS / 64] }
    }
}

impl KnownPieces {
    /// Learns the pieces of a text.
    pub fn learn(&mut self, text: &str) {
        each_piece(text, |hash| {
            for bit in places(hash) {
                self.bits[bit / 64] |= 1 << (bit % 64);
            }
        });
    }

    /// Why the vector of a text says nothing, where it does.
    pub fn oddity(known: Option<&Self>, text: &str) -> Option<Reason> {
        if is_blank(text) {
            return Some(Reason::EmptyInput);
        }
        let share = known?.known_share(text)?;
        (share < KNOWN).then_some(Reason::UnknownWords)
    }

    /// The share of a text's pieces that is known; none for a text without any.
    pub fn known_share(&self, text: &str) -> Option<f64> {
        let (mut all, mut known) = (0usize, 0usize);
        each_piece(text, |hash| {
            all += 1;
            let seen = |bit: usize| self.bits[bit / 64] >> (bit % 64) & 1 == 1;
            known += usize::from(places(hash).all(seen));
        });
        (all > 0).then(|| known as f64 / all as f64)
    }
}

fn places(hash: u64) -> impl Iterator<Item = usize> {
    let (first, second) = (hash as u32, (hash >> 32) as u32 | 1);
    (0..PROBES).map(move |probe| first.wrapping_add(probe.wrapping_mul(second)) as usize % BITS)
}

/// Calls `found` with the hash of every run of four letters, edges of words included; words of one
/// letter have one piece.
fn each_piece(text: &str, mut found: impl FnMut(u64)) {
    let lower = text.to_lowercase();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let letters: Vec<char> =
            std::iter::once('<').chain(word.chars()).chain(std::iter::once('>')).collect();
        for run in letters.windows(LETTERS.min(letters.len())) {
            let text: String = run.iter().collect();
            found(hash(2, text.bytes()));
        }
    }
}

/// As hexadecimal digits: the card is a text file.
impl Serialize for KnownPieces {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text: String = self.bits.iter().map(|word| format!("{word:016x}")).collect();
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for KnownPieces {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let text = String::deserialize(deserializer)?;
        if text.len() != BITS / 4 || !text.is_ascii() {
            return Err(D::Error::custom("the known pieces have another length"));
        }
        let word = |start: usize| u64::from_str_radix(&text[start..start + 16], 16);
        let bits = (0..text.len()).step_by(16).map(word).collect::<Result<_, _>>();
        bits.map(|bits| Self { bits }).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_known_and_noise_is_not() {
        let mut pieces = KnownPieces::default();
        for text in ["what is my balance", "book a flight to berlin", "残高を教えて"] {
            pieces.learn(text);
            assert_eq!(pieces.known_share(text), Some(1.0));
        }
        assert!(pieces.known_share("balanc").unwrap() > 0.5, "a word cut short");
        assert!(pieces.known_share("xkqjz wvpl qqq").unwrap() < 0.1);
        assert_eq!(pieces.known_share("?!"), None);
        let json = serde_json::to_string(&pieces).unwrap();
        assert_eq!(serde_json::from_str::<KnownPieces>(&json).unwrap(), pieces);
        assert!(serde_json::from_str::<KnownPieces>("\"00\"").is_err());
    }
}
