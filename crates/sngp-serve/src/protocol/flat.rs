use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// The elements of a JSON array, nested or not, row by row.
///
/// ```
/// use sngp_serve::protocol::Flat;
///
/// let nested: Flat = serde_json::from_str("[[1, 2], [3, null]]")?;
/// let Flat::Numbers(numbers) = nested else { panic!() };
/// assert_eq!(numbers[..3], [1.0, 2.0, 3.0]);
/// assert!(numbers[3].is_nan(), "missing");
/// assert!(serde_json::from_str::<Flat>("[1, \"a\"]").is_err());
/// assert!(serde_json::from_str::<Flat>("[1, true]").is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Flat {
    /// There are none.
    #[default]
    Empty,
    /// Numbers, and what is missing as not a number.
    Numbers(Vec<f64>),
    /// Booleans.
    Truths(Vec<bool>),
    /// Texts.
    Texts(Vec<String>),
}

impl Flat {
    fn number<E: Error>(&mut self, number: f64) -> Result<(), E> {
        match self {
            Self::Empty => *self = Self::Numbers(vec![number]),
            Self::Numbers(numbers) => numbers.push(number),
            Self::Texts(_) | Self::Truths(_) => return Err(mixed()),
        }
        Ok(())
    }

    fn truth<E: Error>(&mut self, truth: bool) -> Result<(), E> {
        match self {
            Self::Empty => *self = Self::Truths(vec![truth]),
            Self::Truths(truths) => truths.push(truth),
            Self::Texts(_) | Self::Numbers(_) => return Err(mixed()),
        }
        Ok(())
    }

    fn text<E: Error>(&mut self, text: String) -> Result<(), E> {
        match self {
            Self::Empty => *self = Self::Texts(vec![text]),
            Self::Texts(texts) => texts.push(text),
            Self::Numbers(_) | Self::Truths(_) => return Err(mixed()),
        }
        Ok(())
    }
}

fn mixed<E: Error>() -> E {
    E::custom("numbers, booleans or texts in one tensor: send one kind")
}

impl<'de> Deserialize<'de> for Flat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut flat = Self::Empty;
        deserializer.deserialize_seq(Level(&mut flat))?;
        Ok(flat)
    }
}

/// One level of nesting, whose elements go into the same list.
struct Level<'a>(&'a mut Flat);

impl<'de> serde::de::DeserializeSeed<'de> for Level<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of numbers or texts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Level(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.0.number(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.0.number(number as f64)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.0.number(number as f64)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.0.truth(value)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.number(f64::NAN)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.text(text.to_string())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<(), E> {
        self.0.text(text)
    }
}
