//! JSON in which no object has a key twice.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::protocol::shown;

/// How the message about a key that is there twice begins.
pub(super) const TWICE: &str = "there twice: the key";

/// Any JSON value without such an object in it. Nothing is kept of it.
pub(super) struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for UniqueKeys {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let _: Self = map.next_value()?;
            if let Some(twice) = keys.replace(key) {
                return Err(A::Error::custom(format!("{TWICE} `{}`", shown(&twice))));
            }
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E: Error>(self) -> Result<Self, E> {
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_twice_is_found_at_any_depth() {
        let read = |text: &str| serde_json::from_str::<UniqueKeys>(text).map(drop);
        assert!(read(r#"[{"a": 1, "b": [null, true, -1, 2.5, "x"]}, {"a": {}}]"#).is_ok());
        for text in [r#"{"a": 1, "a": 1}"#, r#"[{"f": {"g": 1, "h": 2, "g": 3}}]"#] {
            assert!(read(text).unwrap_err().to_string().starts_with(TWICE), "{text}");
        }
        assert!(read("[1, ").is_err());
    }
}
