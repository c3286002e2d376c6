use std::fmt;

use crate::error::{Result, ServeError};

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datatype {
    /// A byte that is 0 or 1.
    Bool,
    /// Unsigned, one byte.
    Uint8,
    /// Unsigned, two bytes.
    Uint16,
    /// Unsigned, four bytes.
    Uint32,
    /// Unsigned, eight bytes.
    Uint64,
    /// Signed, one byte.
    Int8,
    /// Signed, two bytes.
    Int16,
    /// Signed, four bytes.
    Int32,
    /// Signed, eight bytes.
    Int64,
    /// A float of four bytes.
    Fp32,
    /// A float of eight bytes.
    Fp64,
    /// Text, or a file.
    Bytes,
}

impl Datatype {
    const ALL: [(Self, &'static str, usize); 12] = [
        (Self::Bool, "BOOL", 1),
        (Self::Uint8, "UINT8", 1),
        (Self::Uint16, "UINT16", 2),
        (Self::Uint32, "UINT32", 4),
        (Self::Uint64, "UINT64", 8),
        (Self::Int8, "INT8", 1),
        (Self::Int16, "INT16", 2),
        (Self::Int32, "INT32", 4),
        (Self::Int64, "INT64", 8),
        (Self::Fp32, "FP32", 4),
        (Self::Fp64, "FP64", 8),
        (Self::Bytes, "BYTES", 0),
    ];

    /// Reads the protocol's name.
    ///
    /// ```
    /// use sngp_serve::protocol::Datatype;
    ///
    /// assert_eq!(Datatype::parse("FP32")?, Datatype::Fp32);
    /// assert!(Datatype::parse("float").unwrap_err().to_string().contains("FP32"));
    /// # Ok::<(), sngp_serve::ServeError>(())
    /// ```
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(_, own, _)| *own == name);
        found.map(|(datatype, ..)| *datatype).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|(_, name, _)| *name).collect();
            let name: String = name.chars().take(40).collect();
            ServeError::Invalid(format!("no datatype `{name}`; there are {}", known.join(", ")))
        })
    }

    /// The protocol's name.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Bytes of an element; none where each has its own length.
    pub fn size(self) -> Option<usize> {
        Some(self.row().2).filter(|size| *size > 0)
    }

    fn row(self) -> &'static (Self, &'static str, usize) {
        &Self::ALL[self as usize]
    }
}

impl fmt::Display for Datatype {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for (datatype, name, _) in Datatype::ALL {
            assert_eq!(Datatype::parse(name), Ok(datatype));
            assert_eq!(datatype.name(), name);
        }
    }
}
