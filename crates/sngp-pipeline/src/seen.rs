//! Which rows a model has learned from.
//!
//! A promise made on rows the model knows is no promise, and rows that were never added cannot be
//! forgotten. So a model keeps a hash of every row it saw, not the row.

use std::collections::HashMap;

use sngp::{Error, Result};

use crate::input::Prepared;

/// The file they are saved in, in the model's folder.
pub(crate) const SEEN: &str = "rows.hashes";
/// Why a model may not know what it has learned from.
pub(crate) const NOTHING_KEPT: &str = "the model keeps no hashes of the rows it learned from, as \
                                       those of format version 1, of `merge`, and of very many \
                                       rows do";
/// More hashes than this are not kept: 32 MiB.
const MOST: usize = 4_000_000;

/// Hashes of the rows a model has learned from or was tuned on, each as often as the posterior has it in
/// full: not at all where the row only chose something, has faded, or was forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    rows: HashMap<u64, u32>,
}

impl Seen {
    /// Adds rows that the posterior has learned from.
    pub fn add(&mut self, hashes: &[u64]) {
        for hash in hashes {
            *self.rows.entry(*hash).or_default() += 1;
        }
    }

    /// Adds rows that chose settings or thresholds and are not in the posterior.
    pub fn add_known(&mut self, hashes: &[u64]) {
        for hash in hashes {
            self.rows.entry(*hash).or_default();
        }
    }

    /// The posterior has none of them in full any more.
    pub fn fade(&mut self) {
        self.rows.values_mut().for_each(|count| *count = 0);
    }

    /// Whether there are too many to be kept.
    pub fn is_too_large(&self) -> bool {
        self.rows.len() > MOST
    }

    /// Which of these rows it knows.
    pub fn contains(&self, hashes: &[u64]) -> Vec<bool> {
        hashes.iter().map(|hash| self.rows.contains_key(hash)).collect()
    }

    /// Takes rows out of the posterior, which are known all the same; how many of these it does not have,
    /// in which case nothing is taken.
    pub fn remove(&mut self, hashes: &[u64]) -> std::result::Result<(), usize> {
        let mut left = self.rows.clone();
        let mut unknown = 0;
        for hash in hashes {
            match left.get_mut(hash) {
                Some(count) if *count > 0 => *count -= 1,
                _ => unknown += 1,
            }
        }
        if unknown > 0 {
            return Err(unknown);
        }
        self.rows = left;
        Ok(())
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut rows: Vec<(u64, u32)> = self.rows.iter().map(|(hash, n)| (*hash, *n)).collect();
        rows.sort_unstable();
        let each = |(hash, count): (u64, u32)| {
            hash.to_le_bytes().into_iter().chain(count.to_le_bytes()).collect::<Vec<u8>>()
        };
        rows.into_iter().flat_map(each).collect()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (rows, rest) = bytes.as_chunks::<12>();
        if !rest.is_empty() || rows.len() > MOST {
            return Err(Error::Data(format!("{SEEN}: it has another length")));
        }
        let row = |bytes: &[u8; 12]| {
            let (hash, count) = bytes.split_at(8);
            (number(hash), number(count) as u32)
        };
        Ok(Self { rows: rows.iter().map(row).collect() })
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The hash of every prepared row, the same on every machine.
pub(crate) fn hashes(inputs: &Prepared) -> Vec<u64> {
    match inputs {
        Prepared::Vectors(vectors) => {
            let row = |row: ndarray::ArrayView1<'_, f32>| {
                mixed(row.iter().map(|value| u64::from(value.to_bits())))
            };
            vectors.outer_iter().map(row).collect()
        }
        Prepared::Texts(texts) => {
            texts.iter().map(|text| mixed(text.bytes().map(u64::from))).collect()
        }
        Prepared::Encoded(encoded) => encoded.hashes.clone(),
    }
}

/// One hash of many values.
pub(crate) fn mixed(values: impl Iterator<Item = u64>) -> u64 {
    const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
    let hash = values.fold(PRIME, |hash, value| (hash ^ value).wrapping_mul(PRIME).rotate_left(29));
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn rows_are_known_by_their_values() {
        let rows = hashes(&Prepared::Vectors(array![[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]));
        assert!(rows[0] == rows[2] && rows[0] != rows[1]);
        let mut seen = Seen::default();
        seen.add(&rows);
        let other = hashes(&Prepared::Vectors(array![[1.0, 2.1]]));
        assert_eq!(seen.contains(&[rows[1], other[0]]), [true, false]);
        assert_eq!(Seen::from_bytes(&seen.to_bytes()).unwrap(), seen);
        assert!(Seen::from_bytes(&[0; 13]).is_err());
        assert_eq!(seen.remove(&[rows[0], other[0]]), Err(1));
        assert_eq!(seen.remove(&[rows[0], rows[0]]), Ok(()));
        assert_eq!(seen.remove(&[rows[0]]), Err(1), "it was there twice, and is gone twice");
        assert_eq!(seen.contains(&rows), [true; 3], "the network has learned from it");
        seen.add_known(&[rows[1], other[0]]);
        assert_eq!(seen.remove(&[other[0]]), Err(1), "it is not in the posterior");
        assert_eq!(Seen::from_bytes(&seen.to_bytes()).unwrap(), seen);
        let mut faded = seen.clone();
        faded.fade();
        assert_eq!(faded.remove(&[rows[1]]), Err(1), "a part of it is left");
        assert_eq!(seen.remove(&[rows[1]]), Ok(()));
    }
}
