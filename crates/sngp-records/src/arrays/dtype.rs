use std::fmt;

/// The type of an array's elements, always little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dtype {
    Bool,
    /// With the bytes of one element: 1, 2, 4 or 8.
    Signed(usize),
    Unsigned(usize),
    Float16,
    BFloat16,
    Float32,
    Float64,
    /// Text of at most so many characters, four bytes each, filled up with zeros.
    Unicode(usize),
    /// Text of at most so many bytes, filled up with zeros.
    Bytes(usize),
}

impl Dtype {
    /// The bytes of one element; `None` where they cannot be counted.
    pub(super) fn size(self) -> Option<usize> {
        match self {
            Self::Bool => Some(1),
            Self::Signed(size) | Self::Unsigned(size) | Self::Bytes(size) => Some(size),
            Self::Float16 | Self::BFloat16 => Some(2),
            Self::Float32 => Some(4),
            Self::Float64 => Some(8),
            Self::Unicode(length) => length.checked_mul(4),
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => formatter.write_str("bool"),
            Self::Signed(size) => write!(formatter, "int{}", 8 * size),
            Self::Unsigned(size) => write!(formatter, "uint{}", 8 * size),
            Self::Float16 => formatter.write_str("float16"),
            Self::BFloat16 => formatter.write_str("bfloat16"),
            Self::Float32 => formatter.write_str("float32"),
            Self::Float64 => formatter.write_str("float64"),
            Self::Unicode(length) => write!(formatter, "strings of up to {length} characters"),
            Self::Bytes(length) => write!(formatter, "strings of up to {length} bytes"),
        }
    }
}

/// How an array's elements are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    /// Columns one after another instead of rows.
    pub(super) fortran: bool,
}

impl Layout {
    /// The bytes of all elements; `None` where they are more than can be counted.
    pub(super) fn byte_len(&self) -> Option<u64> {
        let count = |product: u64, &length: &usize| product.checked_mul(length as u64);
        let size = self.dtype.size()? as u64;
        self.shape.iter().try_fold(size, count)
    }

    /// Whether the order of the elements makes a difference and is not ours.
    pub(super) fn is_column_major(&self) -> bool {
        self.fortran && self.shape.iter().filter(|&&length| length > 1).count() > 1
    }

    /// The shape as Python writes it.
    pub(super) fn shape_text(&self) -> String {
        match self.shape[..] {
            [length] => format!("({length},)"),
            _ => {
                let lengths: Vec<_> = self.shape.iter().map(usize::to_string).collect();
                format!("({})", lengths.join(", "))
            }
        }
    }
}
