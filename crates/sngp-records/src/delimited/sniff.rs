/// The delimiters that are looked for, the first wins a draw.
const CANDIDATES: [u8; 4] = [b',', b'\t', b';', b'|'];

const MAX_RECORDS: usize = 100;

/// What a delimiter is called in messages.
pub(super) fn name_of(delimiter: u8) -> &'static str {
    match delimiter {
        b'\t' => "a tab",
        b';' => "a semicolon",
        b'|' => "a bar",
        _ => "a comma",
    }
}

/// How often each candidate stands outside quotes in the first records of a file.
pub(super) struct Sample {
    counts: Vec<[usize; 4]>,
}

impl Sample {
    /// `is_all` says that the file ends with `start`; otherwise its last record may be cut.
    pub(super) fn of(start: &[u8], is_all: bool) -> Self {
        let mut counts = Vec::new();
        let mut record = [0; 4];
        let (mut quoted, mut closed, mut before) = (false, false, b'\n');
        for &byte in start {
            let was_closed = std::mem::take(&mut closed);
            match byte {
                // All candidates at once: whichever it is, a quote after one opens a field. A
                // quote after a closing one takes that back: they were two, inside the field.
                b'"' if !quoted && (was_closed || starts_field(before)) => quoted = true,
                b'"' if quoted => (quoted, closed) = (false, true),
                _ if !quoted && is_line_end(byte) => {
                    if !is_line_end(before) {
                        counts.push(record);
                    }
                    record = [0; 4];
                }
                _ if !quoted => {
                    if let Some(index) = position(byte) {
                        record[index] += 1;
                    }
                }
                _ => {}
            }
            if counts.len() == MAX_RECORDS {
                return Self { counts };
            }
            before = byte;
        }
        if !is_line_end(before) && (is_all || counts.is_empty()) {
            counts.push(record);
        }
        Self { counts }
    }

    /// The delimiter that splits most rows as it splits the first, preferably into `expected`
    /// fields.
    pub(super) fn best(&self, expected: usize) -> u8 {
        let fits = |index: usize| self.fit(index).filter(|fit| fit.share >= 0.5);
        let best = (0..CANDIDATES.len()).rev().filter_map(fits).max_by(|one, other| {
            // What splits every row evenly comes first, then what splits into most fields. Where a
            // comma is the decimal point, only the expected number tells it from a delimiter.
            let key = |fit: &Fit| (fit.share == 1.0, fit.count + 1 == expected, fit.count);
            key(one).cmp(&key(other))
        });
        best.map_or(CANDIDATES[0], |fit| fit.delimiter)
    }

    /// Another delimiter that clearly fits where tabs do not.
    pub(super) fn other_than_tab(&self) -> Option<u8> {
        let tabs = position(b'\t').and_then(|index| self.fit(index));
        let best = self.best(0);
        let other = self.fit(position(best)?)?;
        (tabs.is_none() && self.counts.len() > 1 && other.share == 1.0).then_some(best)
    }

    /// `None` where the candidate is not in the header.
    fn fit(&self, index: usize) -> Option<Fit> {
        let count = self.counts.first().map(|header| header[index]).filter(|&count| count > 0)?;
        let even = self.counts.iter().filter(|record| record[index] == count).count();
        let share = even as f64 / self.counts.len() as f64;
        Some(Fit { delimiter: CANDIDATES[index], count, share })
    }
}

struct Fit {
    delimiter: u8,
    count: usize,
    share: f64,
}

fn position(byte: u8) -> Option<usize> {
    CANDIDATES.iter().position(|&candidate| candidate == byte)
}

fn starts_field(before: u8) -> bool {
    is_line_end(before) || position(before).is_some()
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(text: &str) -> char {
        Sample::of(text.as_bytes(), true).best(0).into()
    }

    #[test]
    fn the_delimiter_that_fits_is_found() {
        for (text, expected) in [
            ("a,b\n1,2\n", ','),
            ("a;b\n1,5;2,5\n", ';'),
            ("a\tb\n1,5\t2\n", '\t'),
            ("a|b|c\r\n1|2,0|3\r\n", '|'),
            ("id;text\n1;\"one; two\"\n2;three, four, five\n", ';'),
            ("id,text\n1,one; two\n2,\"three; four\"\n", ','),
            ("id,\"p;q;r\"\n1,\"a;b;c\"\n", ','),
            ("id,\"a \"\"b;\"\" c\"\n1,\"d;e\"\n", ','),
            ("name, first;age\nMuster, A;3\nMuster;4\n", ';'),
            ("a;b", ';'),
        ] {
            assert_eq!(best(text), expected, "{text:?}");
        }
    }

    #[test]
    fn one_column_stays_one_column() {
        for text in ["", "text\nHello, you\nand; you\n", "a; b\n1\n2\n3\n", "\"a;b\"\n\"c;d\"\n"] {
            assert_eq!(best(text), ',', "{text:?}");
        }
    }

    #[test]
    fn the_expected_number_of_fields_decides() {
        let decimal_commas = Sample::of(b"0,5;0,2\n1,5;3,0\n", true);
        assert_eq!((decimal_commas.best(0), decimal_commas.best(2)), (b',', b';'));
        assert_eq!(Sample::of(b"a,b,c\n1,2,3\n", true).best(2), b',');
    }

    #[test]
    fn a_few_ragged_rows_do_not_mislead() {
        assert_eq!(best("a;b;c\n1;2;3\n1;2\n1;2;3\n1,1;2;3\n"), ';');
        assert_eq!(best("a,b\n1,2\n1,2,3\n1,2\n\n1,2\n"), ',');
    }

    #[test]
    fn a_cut_sample_ignores_its_last_record() {
        assert_eq!(Sample::of(b"a;b;c\n1;2;3\n1;", false).counts.len(), 2);
        assert_eq!(Sample::of(b"a;b;c\n1;2;3\n1;", true).counts.len(), 3);
        assert_eq!(Sample::of(b"a;b;c", false).best(0), b';');
    }
}
