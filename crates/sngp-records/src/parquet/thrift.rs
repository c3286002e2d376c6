//! Thrift's compact protocol, as far as to know that reading something ends.
//!
//! Parquet's metadata are such structs. A reader skips what it does not know, and a list in there may
//! claim billions of elements that are not there; inside of each other, a few kilobytes of them keep it
//! busy for years.

/// Why reading a struct is not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It goes on behind the last byte.
    Cut,
    /// It has no end, or one that takes too long.
    Endless,
}

/// Levels of structs and lists; Parquet's own have less than ten.
const LEVELS: usize = 32;

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// How many bytes the struct takes that begins here. Reading it takes as many steps at most.
pub(super) fn struct_length(bytes: &[u8]) -> Result<usize, Fault> {
    let mut walk = Walk { bytes, at: 0 };
    walk.value(STRUCT, LEVELS)?;
    Ok(walk.at)
}

/// What a field holds.
enum Field {
    Integer,
    Truth,
    Bytes,
    Struct(&'static [Field]),
}

/// The fields of a page's header, from number 1 on.
const PAGE: &[Field] = &[
    Field::Integer,
    Field::Integer,
    Field::Integer,
    Field::Integer,
    Field::Struct(DATA_PAGE),
    Field::Struct(&[]),
    Field::Struct(&[Field::Integer, Field::Integer, Field::Truth]),
    Field::Struct(DATA_PAGE_V2),
];
const DATA_PAGE: &[Field] =
    &[Field::Integer, Field::Integer, Field::Integer, Field::Integer, Field::Struct(STATISTICS)];
const DATA_PAGE_V2: &[Field] = &[
    Field::Integer,
    Field::Integer,
    Field::Integer,
    Field::Integer,
    Field::Integer,
    Field::Integer,
    Field::Truth,
    Field::Struct(STATISTICS),
];
const STATISTICS: &[Field] = &[
    Field::Bytes,
    Field::Bytes,
    Field::Integer,
    Field::Integer,
    Field::Bytes,
    Field::Bytes,
    Field::Truth,
    Field::Truth,
];

/// How many bytes the header of a page takes that begins here. Its fields have to be what Parquet says
/// they are: a reader takes them for that, whatever is written, and would go on at another place than one
/// that believes what is written.
pub(super) fn page_header_length(bytes: &[u8]) -> Result<usize, Fault> {
    let mut walk = Walk { bytes, at: 0 };
    walk.fields(PAGE)?;
    Ok(walk.at)
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Walk<'_> {
    fn byte(&mut self) -> Result<u8, Fault> {
        let byte = *self.bytes.get(self.at).ok_or(Fault::Cut)?;
        self.at += 1;
        Ok(byte)
    }

    fn skip(&mut self, count: u64) -> Result<(), Fault> {
        let left = (self.bytes.len() - self.at) as u64;
        if count > left {
            return Err(Fault::Cut);
        }
        self.at += count as usize;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Fault::Endless)
    }

    fn fields(&mut self, known: &[Field]) -> Result<(), Fault> {
        let mut number = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            let step = usize::from(head >> 4);
            if step == 0 {
                // A number of its own, perhaps of a field that was there already: no program writes it.
                return Err(Fault::Endless);
            }
            number += step;
            match (known.get(number - 1), head & 15) {
                (Some(Field::Integer), kind @ I16..=I64)
                | (Some(Field::Truth), kind @ (TRUE | FALSE))
                | (Some(Field::Bytes), kind @ BINARY)
                | (None, kind) => self.value(kind, LEVELS)?,
                (Some(Field::Struct(fields)), STRUCT) => self.fields(fields)?,
                (Some(_), _) => return Err(Fault::Endless),
            }
        }
    }

    fn value(&mut self, kind: u8, levels: usize) -> Result<(), Fault> {
        let inner = levels.checked_sub(1).ok_or(Fault::Endless)?;
        match kind {
            // Of a field, it is in the field's type.
            TRUE | FALSE => Ok(()),
            BYTE => self.skip(1),
            I16..=I64 => self.varint().map(drop),
            DOUBLE => self.skip(8),
            UUID => self.skip(16),
            BINARY => {
                let length = self.varint()?;
                self.skip(length)
            }
            LIST | SET => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.varint()?,
                    short => u64::from(short),
                };
                self.elements(count, &[head & 15], inner)
            }
            MAP => match self.varint()? {
                0 => Ok(()),
                count => {
                    let kinds = self.byte()?;
                    self.elements(count, &[kinds >> 4, kinds & 15], inner)
                }
            },
            STRUCT => loop {
                let head = self.byte()?;
                if head == 0 {
                    break Ok(());
                }
                if head >> 4 == 0 {
                    // The number of the field, where it is not close to the last one's.
                    self.varint()?;
                }
                self.value(head & 15, inner)?;
            },
            _ => Err(Fault::Endless),
        }
    }

    fn elements(&mut self, count: u64, kinds: &[u8], levels: usize) -> Result<(), Fault> {
        // Readers do not agree on how many bytes they take, some say none; Parquet has none of them.
        let free = kinds.iter().any(|kind| [TRUE, FALSE].contains(kind));
        if free && count > 0 {
            return Err(Fault::Endless);
        }
        for _ in 0..count {
            // Each takes a byte at least, so that this ends where the bytes do.
            for &kind in kinds {
                self.value(kind, levels)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_structs() {
        assert_eq!(struct_length(&[0]), Ok(1));
        // Fields 1 and 2: an integer of 300 bytes' length, and "ab"; more follows.
        assert_eq!(struct_length(&[0x15, 0xd8, 0x04, 0x18, 2, b'a', b'b', 0, 9, 9]), Ok(8));
        // A list of three bytes, a map of a byte to a double, a struct in a struct, true.
        assert_eq!(struct_length(&[0x19, 0x33, 1, 2, 3, 0]), Ok(6));
        assert_eq!(struct_length(&[0x1b, 1, 0x37, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Ok(13));
        assert_eq!(struct_length(&[0x1c, 0x11, 0, 0]), Ok(4));
        // A field with its number, and a list of twenty structs without a field.
        let mut long = vec![0x09, 0x40, 0xfc, 20];
        long.extend([0; 21]);
        assert_eq!(struct_length(&long), Ok(25));
    }

    #[test]
    fn page_headers_are_what_parquet_says() {
        // A data page: its type, two sizes, four integers, statistics with "a", a number and true; more follows.
        let page = [
            0x15, 0, 0x15, 8, 0x15, 8, 0x2c, 0x15, 6, 0x15, 0, 0x15, 6, 0x15, 6, 0x1c, 0x18, 1,
            b'a', 0x26, 0, 0x41, 0, 0, 0, 9,
        ];
        assert_eq!(page_header_length(&page), Ok(page.len() - 1));
        assert_eq!(page_header_length(&page[..20]), Err(Fault::Cut));
        // A field of a later version, a list of three bytes.
        assert_eq!(page_header_length(&[0x15, 0, 0x99, 0x33, 1, 2, 3, 0]), Ok(8));
        // A list where an integer should be, an integer where a struct should be, a number of its own.
        assert_eq!(page_header_length(&[0x19, 0x33, 1, 2, 3, 0]), Err(Fault::Endless));
        assert_eq!(page_header_length(&[0x55, 2, 0]), Err(Fault::Endless));
        assert_eq!(page_header_length(&[0x05, 2, 2, 0]), Err(Fault::Endless));
    }

    #[test]
    fn what_is_not_there_is_not_waited_for() {
        for cut in [
            &[][..],
            &[0x15],
            &[0x15, 0x80],
            &[0x18, 0xff, 0xff, 0x03, 1],
            &[0x19, 0xf3, 0xff, 0x7f],
        ] {
            assert_eq!(struct_length(cut), Err(Fault::Cut), "{cut:?}");
        }
        // Two billion truths, which some readers count without reading.
        assert_eq!(struct_length(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0]), Err(Fault::Endless));
        assert_eq!(struct_length(&[0x1b, 2, 0x13, 0, 0, 0]), Err(Fault::Endless));
        assert_eq!(struct_length(&[0x1c; 100]), Err(Fault::Endless));
        assert_eq!(struct_length(&[0x15; 100].map(|_| 0xff)), Err(Fault::Endless));
    }
}
