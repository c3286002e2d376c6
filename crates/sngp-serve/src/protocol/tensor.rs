use bytes::{BufMut, Bytes, BytesMut};

use super::datatype::Datatype;
use super::flat::Flat;
use crate::error::{Result, ServeError};

/// Integers up to here are exact as `f64`.
const EXACT: f64 = (1u64 << 53) as f64;

/// A named array, as it was sent or is answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// What its elements are.
    pub datatype: Datatype,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its elements, row by row.
    pub values: Values,
}

/// The elements of a tensor, in as few representations as inputs need.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers of any other type; what is missing in JSON is not a number.
    Numbers(Vec<f64>),
    /// FP32, which vectors and pixels are sent as.
    Floats(Vec<f32>),
    /// UINT8, which pixels are sent as.
    Octets(Bytes),
    /// Texts and files.
    Bytes(Vec<Bytes>),
}

impl Values {
    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Floats(values) => values.len(),
            Self::Octets(values) => values.len(),
            Self::Bytes(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads little-endian elements, and BYTES as a length of four bytes and the data, each.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use sngp_serve::protocol::{Datatype, Values};
    ///
    /// let raw = Bytes::from_static(b"\x02\0\0\0hi\0\0\0\0");
    /// let values = Values::from_raw(Datatype::Bytes, &raw)?;
    /// assert_eq!(values, Values::Bytes(vec!["hi".into(), "".into()]));
    /// assert!(Values::from_raw(Datatype::Bytes, &raw.slice(..5)).is_err());
    /// # Ok::<(), sngp_serve::ServeError>(())
    /// ```
    pub fn from_raw(datatype: Datatype, raw: &Bytes) -> Result<Self> {
        let ragged = |size: usize| {
            let bytes = raw.len();
            ServeError::Invalid(format!(
                "{bytes} bytes are no whole number of {size} byte elements"
            ))
        };
        match datatype.size() {
            Some(size) if !raw.len().is_multiple_of(size) => return Err(ragged(size)),
            _ => {}
        }
        macro_rules! numbers {
            ($type:ty) => {{
                let chunks = raw.as_chunks::<{ size_of::<$type>() }>().0;
                Self::Numbers(chunks.iter().map(|c| <$type>::from_le_bytes(*c) as f64).collect())
            }};
        }
        let values = match datatype {
            Datatype::Bool if raw.iter().any(|byte| *byte > 1) => {
                return Err(ServeError::invalid("a BOOL is neither 0 nor 1"));
            }
            Datatype::Bool => Self::Numbers(raw.iter().map(|byte| f64::from(*byte)).collect()),
            Datatype::Uint8 => Self::Octets(raw.clone()),
            Datatype::Uint16 => numbers!(u16),
            Datatype::Uint32 => numbers!(u32),
            Datatype::Uint64 => numbers!(u64),
            Datatype::Int8 => numbers!(i8),
            Datatype::Int16 => numbers!(i16),
            Datatype::Int32 => numbers!(i32),
            Datatype::Int64 => numbers!(i64),
            Datatype::Fp64 => numbers!(f64),
            Datatype::Fp32 => {
                let chunks = raw.as_chunks::<4>().0;
                Self::Floats(chunks.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect())
            }
            Datatype::Bytes => Self::Bytes(elements(raw)?),
        };
        values.checked(datatype)
    }

    /// Reads what stood in JSON.
    pub fn from_flat(datatype: Datatype, flat: Flat) -> Result<Self> {
        let wrong =
            |found: &str| ServeError::Invalid(format!("{found} where {datatype} should be"));
        let values = match (datatype, flat) {
            (Datatype::Bytes, Flat::Texts(texts)) => {
                Self::Bytes(texts.into_iter().map(Bytes::from).collect())
            }
            (Datatype::Bytes, Flat::Empty) => Self::Bytes(Vec::new()),
            (Datatype::Bytes, Flat::Numbers(_)) => return Err(wrong("numbers")),
            (Datatype::Bool, Flat::Truths(truths)) => {
                Self::Numbers(truths.into_iter().map(|truth| f64::from(u8::from(truth))).collect())
            }
            (_, Flat::Texts(_)) => return Err(wrong("texts")),
            (_, Flat::Truths(_)) => return Err(wrong("booleans")),
            (_, Flat::Empty) => Self::Numbers(Vec::new()),
            (_, Flat::Numbers(numbers)) => Self::Numbers(numbers),
        };
        let Self::Numbers(numbers) = values else { return Ok(values) };
        let (low, high) = match datatype {
            Datatype::Fp32 => {
                return Ok(Self::Floats(numbers.into_iter().map(|n| n as f32).collect()));
            }
            Datatype::Fp64 | Datatype::Bytes => return Ok(Self::Numbers(numbers)),
            Datatype::Bool => (0.0, 1.0),
            Datatype::Uint8 => (0.0, f64::from(u8::MAX)),
            Datatype::Uint16 => (0.0, f64::from(u16::MAX)),
            Datatype::Uint32 => (0.0, f64::from(u32::MAX)),
            Datatype::Uint64 => (0.0, EXACT),
            Datatype::Int8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
            Datatype::Int16 => (f64::from(i16::MIN), f64::from(i16::MAX)),
            Datatype::Int32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
            Datatype::Int64 => (-EXACT, EXACT),
        };
        let fits = |number: &f64| number.fract() == 0.0 && (low..=high).contains(number);
        if let Some(number) = numbers.iter().find(|number| !fits(number)) {
            return Err(ServeError::Invalid(format!("{number} is no {datatype}")));
        }
        if datatype == Datatype::Uint8 {
            return Ok(Self::Octets(numbers.into_iter().map(|number| number as u8).collect()));
        }
        Ok(Self::Numbers(numbers))
    }

    /// Refuses integers that `f64` cannot hold: another one would be answered.
    fn checked(self, datatype: Datatype) -> Result<Self> {
        let wide = matches!(datatype, Datatype::Int64 | Datatype::Uint64);
        match &self {
            Self::Numbers(numbers) if wide && numbers.iter().any(|n| n.abs() > EXACT) => {
                let message = "an integer beyond 2^53 is not exact; send it as BYTES";
                Err(ServeError::invalid(message))
            }
            _ => Ok(self),
        }
    }

    /// The elements in the protocol's binary form.
    pub fn to_raw(&self) -> Bytes {
        let mut raw = BytesMut::new();
        match self {
            Self::Numbers(values) => {
                raw.reserve(8 * values.len());
                values.iter().for_each(|value| raw.put_f64_le(*value));
            }
            Self::Floats(values) => {
                raw.reserve(4 * values.len());
                values.iter().for_each(|value| raw.put_f32_le(*value));
            }
            Self::Octets(values) => return values.clone(),
            Self::Bytes(values) => {
                raw.reserve(values.iter().map(|value| 4 + value.len()).sum());
                for value in values {
                    raw.put_u32_le(value.len() as u32);
                    raw.put_slice(value);
                }
            }
        }
        raw.freeze()
    }
}

/// BYTES elements, without a copy.
fn elements(raw: &Bytes) -> Result<Vec<Bytes>> {
    let mut rest = raw.clone();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let Some((length, _)) = rest.split_first_chunk::<4>() else {
            return Err(ServeError::invalid("a BYTES element ends within its length"));
        };
        let length = u32::from_le_bytes(*length) as usize;
        let mut element = rest.split_off(4);
        if length > element.len() {
            let left = element.len();
            let message = format!("a BYTES element of {length} bytes where {left} are left");
            return Err(ServeError::Invalid(message));
        }
        rest = element.split_off(length);
        found.push(element);
    }
    Ok(found)
}

/// The number of elements of a shape that somebody sent.
pub(super) fn elements_of(shape: &[usize]) -> Result<usize> {
    let product = shape.iter().try_fold(1usize, |product, side| product.checked_mul(*side));
    product.ok_or_else(|| ServeError::Invalid(format!("the shape {shape:?} is too large")))
}

impl Tensor {
    /// A tensor whose values have to be as many as its shape makes.
    pub fn new(name: &str, datatype: Datatype, shape: Vec<usize>, values: Values) -> Result<Self> {
        let (wanted, found) = (elements_of(&shape)?, values.len());
        if wanted != found {
            let message = format!(
                "input `{}`: {found} elements where the shape {shape:?} makes {wanted}",
                shown(name)
            );
            return Err(ServeError::Invalid(message));
        }
        Ok(Self { name: name.to_string(), datatype, shape, values })
    }
}

/// A name that somebody sent, short enough for a message.
pub(crate) fn shown(name: &str) -> String {
    let short: String = name.chars().take(80).collect();
    if short.len() < name.len() { format!("{short}..") } else { short }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_datatype_is_little_endian() {
        let raw = Bytes::from_static(&[1, 0, 0, 0, 0, 0, 0, 0]);
        for (datatype, expected) in [
            (Datatype::Uint16, vec![1.0, 0.0, 0.0, 0.0]),
            (Datatype::Int32, vec![1.0, 0.0]),
            (Datatype::Uint64, vec![1.0]),
            (Datatype::Int64, vec![1.0]),
            (Datatype::Bool, vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        ] {
            assert_eq!(Values::from_raw(datatype, &raw), Ok(Values::Numbers(expected)));
        }
        let minus = Bytes::from_static(&[0xff; 8]);
        assert_eq!(Values::from_raw(Datatype::Int64, &minus), Ok(Values::Numbers(vec![-1.0])));
        assert_eq!(Values::from_raw(Datatype::Int8, &minus).unwrap().len(), 8);
        assert!(Values::from_raw(Datatype::Uint64, &minus).is_err(), "2^64 - 1 is not exact");
        assert!(Values::from_raw(Datatype::Bool, &minus).is_err());
        assert!(Values::from_raw(Datatype::Fp64, &minus.slice(1..)).is_err());
    }

    #[test]
    fn json_numbers_fit_their_type() {
        let numbers = |values: &[f64]| Flat::Numbers(values.to_vec());
        assert!(Values::from_flat(Datatype::Uint8, numbers(&[0.0, 255.0])).is_ok());
        let truths = || Flat::Truths(vec![true, false]);
        assert_eq!(
            Values::from_flat(Datatype::Bool, truths()).unwrap(),
            Values::Numbers(vec![1.0, 0.0])
        );
        let error = Values::from_flat(Datatype::Fp64, truths()).unwrap_err();
        assert_eq!(error.to_string(), "booleans where FP64 should be");
        for (datatype, wrong) in [
            (Datatype::Uint8, 256.0),
            (Datatype::Uint8, -1.0),
            (Datatype::Int32, 0.5),
            (Datatype::Int64, 1e300),
            (Datatype::Bool, 2.0),
            (Datatype::Int16, f64::NAN),
        ] {
            assert!(Values::from_flat(datatype, numbers(&[wrong])).is_err(), "{datatype} {wrong}");
        }
        assert!(Values::from_flat(Datatype::Fp64, numbers(&[f64::NAN])).is_ok(), "missing");
    }

    #[test]
    fn a_shape_cannot_overflow() {
        assert!(elements_of(&[usize::MAX, 2]).is_err());
        assert!(Tensor::new("x", Datatype::Fp64, vec![2], Values::Numbers(vec![1.0])).is_err());
    }

    proptest! {
        #[test]
        fn texts_read_back(texts in prop::collection::vec(".{0,20}", 0..10)) {
            let values = Values::Bytes(texts.into_iter().map(Bytes::from).collect());
            prop_assert_eq!(Values::from_raw(Datatype::Bytes, &values.to_raw()).unwrap(), values);
        }

        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..64), which in 0usize..12) {
            let names = ["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32",
                "INT64", "FP32", "FP64", "BYTES"];
            let datatype = Datatype::parse(names[which]).unwrap();
            let _ = Values::from_raw(datatype, &Bytes::from(bytes));
        }
    }
}
