use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use parquet::basic::{ConvertedType, Type};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use crate::cell::Cell;

type Result<T> = std::result::Result<T, ArrowError>;

/// How the values of a column become cells.
pub(super) enum Kind {
    Missing,
    Bool,
    Signed,
    Unsigned,
    Float,
    Text,
    /// Dates, times and points in time without a time zone.
    Time,
    /// Points in time in universal time.
    Instant(TimeUnit),
    List,
    /// Anything else.
    Unsupported {
        /// The type's name.
        found: String,
        /// It is read all the same, to be written again.
        is_read: bool,
    },
}

/// The kinds of a file's columns. `keep` says that those which are not supported are to be read.
pub(super) fn kinds(schema: &Schema, parquet: &SchemaDescriptor, keep: bool) -> Vec<Kind> {
    let kind = |(root, field): (usize, &Arc<Field>)| {
        let unchecked = leaves(parquet, root).find(|leaf| !is_checked(leaf));
        match (Kind::of(field.data_type()), unchecked) {
            (Kind::Text, Some(leaf)) => {
                Kind::Unsupported { found: leaf.converted_type().to_string(), is_read: false }
            }
            (Kind::Unsupported { found, .. }, unchecked) => {
                Kind::Unsupported { found, is_read: keep && unchecked.is_none() }
            }
            (kind, _) => kind,
        }
    };
    schema.fields().iter().enumerate().map(kind).collect()
}

/// Parquet's own columns that a column consists of.
fn leaves(parquet: &SchemaDescriptor, root: usize) -> impl Iterator<Item = &ColumnDescriptor> {
    let leaves = parquet.columns().iter().enumerate();
    let its = leaves.filter(move |(leaf, _)| parquet.get_column_root_idx(*leaf) == root);
    its.map(|(_, leaf)| leaf.as_ref())
}

/// Whether the reader makes sure that what it takes for text is UTF-8. With another annotation
/// than that of text, such as JSON, it does not.
fn is_checked(leaf: &ColumnDescriptor) -> bool {
    use ConvertedType::{BSON, DECIMAL, ENUM, NONE, UTF8};
    match leaf.converted_type() {
        _ if leaf.physical_type() != Type::BYTE_ARRAY => true,
        UTF8 => true,
        NONE | BSON | ENUM | DECIMAL => leaf.logical_type_ref().is_none(),
        _ => false,
    }
}

impl Kind {
    /// The kind of arrays in memory, which are known to hold what they say.
    pub(super) fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Null => Self::Missing,
            DataType::Boolean => Self::Bool,
            kind if kind.is_signed_integer() => Self::Signed,
            kind if kind.is_unsigned_integer() => Self::Unsigned,
            kind if is_real(kind) => Self::Float,
            kind if is_text(kind) => Self::Text,
            DataType::Dictionary(_, values) if is_text(values) => Self::Text,
            DataType::Timestamp(unit, Some(_)) => Self::Instant(*unit),
            kind if kind.is_temporal() && !is_span(kind) => Self::Time,
            DataType::List(element)
            | DataType::LargeList(element)
            | DataType::FixedSizeList(element, _)
                if is_number(element.data_type()) =>
            {
                Self::List
            }
            other => Self::Unsupported { found: other.to_string(), is_read: true },
        }
    }

    pub(super) fn is_read(&self) -> bool {
        !matches!(self, Self::Unsupported { is_read: false, .. })
    }

    /// The name of a type that cannot become cells.
    pub(super) fn unsupported(&self) -> Option<&str> {
        match self {
            Self::Unsupported { found, .. } => Some(found),
            _ => None,
        }
    }

    /// What stands in the cells of an unsupported column.
    pub(super) fn stand_in(&self) -> Cell {
        match self.unsupported() {
            Some(found) => Cell::Text(format!("unsupported type {found}")),
            None => Cell::Missing,
        }
    }

    pub(super) fn cells(&self, array: &ArrayRef) -> Result<Vec<Cell>> {
        match self {
            Self::Missing | Self::Unsupported { .. } => Ok(vec![self.stand_in(); array.len()]),
            Self::Bool => Ok(collect(array.as_boolean().iter(), Cell::Bool)),
            Self::Signed => {
                let array = cast(array, &DataType::Int64)?;
                Ok(collect(array.as_primitive::<Int64Type>().iter(), Cell::from_signed))
            }
            Self::Unsigned => {
                let array = cast(array, &DataType::UInt64)?;
                Ok(collect(array.as_primitive::<UInt64Type>().iter(), Cell::from_unsigned))
            }
            Self::Float => {
                let array = cast(array, &DataType::Float64)?;
                Ok(collect(array.as_primitive::<Float64Type>().iter(), Cell::from_float))
            }
            Self::Text | Self::Time => text_cells(array, ""),
            // Named time zones need a crate of their own; what is stored is universal time.
            Self::Instant(unit) => {
                text_cells(&cast(array, &DataType::Timestamp(*unit, None))?, "Z")
            }
            Self::List => list_cells(array),
        }
    }
}

fn is_real(kind: &DataType) -> bool {
    kind.is_floating() || kind.is_decimal()
}

fn is_number(kind: &DataType) -> bool {
    kind.is_integer() || is_real(kind)
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_span(kind: &DataType) -> bool {
    matches!(kind, DataType::Duration(_) | DataType::Interval(_))
}

fn collect<T>(values: impl Iterator<Item = Option<T>>, cell: impl Fn(T) -> Cell) -> Vec<Cell> {
    values.map(|value| value.map_or(Cell::Missing, &cell)).collect()
}

fn text_cells(array: &ArrayRef, suffix: &str) -> Result<Vec<Cell>> {
    // Large offsets, because a batch of long texts can pass the 2 GiB of plain Utf8.
    let array = cast(array, &DataType::LargeUtf8)?;
    let text = |value: &str| Cell::Text(format!("{value}{suffix}"));
    Ok(collect(array.as_string::<i64>().iter(), text))
}

fn list_cells(array: &ArrayRef) -> Result<Vec<Cell>> {
    let floats = Field::new_list_field(DataType::Float32, true);
    let array = cast(array, &DataType::LargeList(floats.into()))?;
    let list = |values: ArrayRef| {
        let values = values.as_primitive::<Float32Type>();
        Cell::List(values.iter().map(|value| value.unwrap_or(f32::NAN)).collect())
    };
    Ok(collect(array.as_list::<i64>().iter(), list))
}
