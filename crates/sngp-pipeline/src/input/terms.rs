//! Words, pairs of words and pieces of words.

use std::ops::RangeInclusive;

/// Words in a row that are a term.
const WORDS: RangeInclusive<usize> = 1..=2;

/// What a term is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TermKind {
    /// A word, or two in a row.
    Words,
    /// Letters in a row, with the edges of words.
    Letters,
}

/// Calls `found` with the kind and hash of every term, pieces of words as long as `letters`.
pub(super) fn each_term(
    text: &str,
    letters: RangeInclusive<usize>,
    mut found: impl FnMut(TermKind, u64),
) {
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    for size in WORDS {
        for run in words.windows(size) {
            let bytes = run.iter().flat_map(|word| word.bytes().chain([b' ']));
            found(TermKind::Words, hash(0, bytes));
        }
    }
    let mut edged = String::new();
    let mut bounds = Vec::new();
    for word in words {
        edged.clear();
        edged.extend(["<", word, ">"]);
        bounds.clear();
        bounds.extend(edged.char_indices().map(|(start, _)| start).chain([edged.len()]));
        for size in letters.clone() {
            for run in bounds.windows(size + 1) {
                found(TermKind::Letters, hash(1, edged[run[0]..run[size]].bytes()));
            }
        }
    }
}

/// Whether a text has no letter and no digit.
pub(crate) fn is_blank(text: &str) -> bool {
    !text.chars().any(char::is_alphanumeric)
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
    fn hashes_do_not_change() {
        // A model saved today has to read the same vectors tomorrow.
        assert_eq!(hash(0, "balance ".bytes()), 0xe463_5dda_35e0_dd01);
        let mut found = Vec::new();
        each_term("Ab", 3..=5, |kind, hash| found.push((kind, hash)));
        let letters = |text: &str| (TermKind::Letters, hash(1, text.bytes()));
        let word = (TermKind::Words, hash(0, "ab ".bytes()));
        assert_eq!(found, [word, letters("<ab"), letters("ab>"), letters("<ab>")]);
    }

    #[test]
    fn other_scripts_have_terms() {
        for text in ["残高を教えて", "ما هو رصيدي", "สวัสดีครับ", "é"]
        {
            let mut letters = 0;
            each_term(text, 2..=5, |kind, _| letters += usize::from(kind == TermKind::Letters));
            assert!(letters >= 2, "{text} {letters}");
        }
    }
}
