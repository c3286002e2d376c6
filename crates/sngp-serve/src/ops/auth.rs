//! The key that requests have to show.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use subtle::ConstantTimeEq;

use crate::error::{Result, ServeError};

/// A key, or none where everybody may ask.
#[derive(Clone, Default)]
pub struct ApiKey(Option<String>);

impl ApiKey {
    /// A key; an empty one is none.
    pub fn new(key: Option<String>) -> Self {
        Self(key.filter(|key| !key.is_empty()))
    }

    /// Whether one has to be shown.
    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }

    /// Refuses headers without the key. How long that takes says nothing about the key.
    ///
    /// ```
    /// use http::HeaderMap;
    /// use sngp_serve::ops::auth::ApiKey;
    ///
    /// let key = ApiKey::new(Some("secret".to_string()));
    /// let mut headers = HeaderMap::new();
    /// assert!(key.check(&headers).is_err());
    /// headers.insert("authorization", "Bearer secret".parse().unwrap());
    /// assert!(key.check(&headers).is_ok());
    /// ```
    pub fn check(&self, headers: &HeaderMap) -> Result<()> {
        let Some(key) = &self.0 else { return Ok(()) };
        let bearer = headers.get(AUTHORIZATION).and_then(|value| {
            value.as_bytes().strip_prefix(b"Bearer ").or(value.as_bytes().strip_prefix(b"bearer "))
        });
        let plain = headers.get("x-api-key").map(|value| value.as_bytes());
        match bearer.or(plain) {
            Some(shown) if bool::from(shown.ct_eq(key.as_bytes())) => Ok(()),
            _ => Err(ServeError::Unauthorized),
        }
    }
}
