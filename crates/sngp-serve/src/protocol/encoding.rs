use std::io::{Read, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

use crate::error::{Result, ServeError};

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Not at all.
    Identity,
    /// `gzip`.
    Gzip,
    /// `deflate`, which is zlib's format.
    Deflate,
}

impl Encoding {
    /// Reads a `Content-Encoding`.
    pub fn parse(name: &str) -> Result<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Self::Identity),
            "gzip" | "x-gzip" => Ok(Self::Gzip),
            "deflate" => Ok(Self::Deflate),
            other => {
                let other: String = other.chars().take(40).collect();
                let message = format!("no encoding `{other}`; there are gzip and deflate");
                Err(ServeError::Unreadable(message))
            }
        }
    }

    /// The best of those that an `Accept-Encoding` allows.
    ///
    /// ```
    /// use sngp_serve::protocol::Encoding;
    ///
    /// assert_eq!(Encoding::accepted("br, gzip;q=0.8"), Encoding::Gzip);
    /// assert_eq!(Encoding::accepted("gzip;q=0, deflate"), Encoding::Deflate);
    /// assert_eq!(Encoding::accepted("*"), Encoding::Identity);
    /// ```
    pub fn accepted(header: &str) -> Self {
        let allowed = |name: &str| {
            header.split(',').any(|part| {
                let mut parts = part.split(';').map(str::trim);
                let same = parts.next().is_some_and(|own| own.eq_ignore_ascii_case(name));
                let zero = |q: &str| q.strip_prefix("q=").and_then(|q| q.parse().ok()) == Some(0.0);
                same && !parts.any(zero)
            })
        };
        match (allowed("gzip"), allowed("deflate")) {
            (true, _) => Self::Gzip,
            (false, true) => Self::Deflate,
            (false, false) => Self::Identity,
        }
    }

    /// The name in a `Content-Encoding`.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
            Self::Deflate => Some("deflate"),
        }
    }

    /// Compresses a body.
    pub(crate) fn compress(self, body: Bytes) -> Result<Bytes> {
        let failed = |error: std::io::Error| ServeError::Internal(error.to_string());
        let level = Compression::fast();
        match self {
            Self::Identity => Ok(body),
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), level);
                encoder.write_all(&body).map_err(failed)?;
                Ok(encoder.finish().map_err(failed)?.into())
            }
            Self::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(&body).map_err(failed)?;
                Ok(encoder.finish().map_err(failed)?.into())
            }
        }
    }
}

/// Decompresses a body to at most `limit` bytes: a small one can claim to be gigantic.
pub fn decompress(body: Bytes, encoding: Encoding, limit: usize) -> Result<Bytes> {
    match encoding {
        Encoding::Identity => Ok(body),
        Encoding::Gzip => unpacked(GzDecoder::new(&body[..]), limit),
        Encoding::Deflate => unpacked(ZlibDecoder::new(&body[..]), limit),
    }
}

fn unpacked(decoder: impl Read, limit: usize) -> Result<Bytes> {
    let mut bytes = Vec::new();
    let read = decoder.take(limit as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| ServeError::Invalid(format!("the body cannot be unpacked: {error}")))?;
    if bytes.len() > limit {
        return Err(ServeError::TooLarge(format!("the unpacked body has more than {limit} bytes")));
    }
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_come_back_and_bombs_do_not() {
        let body = Bytes::from(vec![7; 10_000]);
        for encoding in [Encoding::Identity, Encoding::Gzip, Encoding::Deflate] {
            let packed = encoding.compress(body.clone()).unwrap();
            assert_eq!(decompress(packed.clone(), encoding, 10_000).unwrap(), body);
            if encoding != Encoding::Identity {
                assert_eq!(decompress(packed.clone(), encoding, 9_999).unwrap_err().http(), 413);
                assert_eq!(
                    decompress(packed.slice(..9), encoding, 10_000).unwrap_err().http(),
                    400
                );
            }
        }
        assert_eq!(Encoding::parse("br").unwrap_err().http(), 415);
    }
}
