//! SHA-256 sums as text.

use sha2::{Digest, Sha256};

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The SHA-256 of bytes as text.
///
/// ```
/// assert!(sngp::hash::sha256(b"abc").starts_with("ba7816bf"));
/// ```
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
