use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use parquet::basic::ConvertedType;
use parquet::schema::types::SchemaDescriptor;

use super::super::cell::Cell;

type Result<T> = std::result::Result<T, ArrowError>;

/// How the values of a column become cells.
pub(super) enum Kind {
    Missing,
    Bool,
    Signed,
    Unsigned,
    Float,
    /// Strings, with the place among Parquet's leaf columns.
    Text {
        leaf: usize,
    },
    /// Dates, times and points in time without a time zone.
    Time,
    /// Points in time in universal time.
    Instant(TimeUnit),
    List,
    /// Anything else, with its name.
    Unsupported(String),
}

pub(super) fn kinds(schema: &Schema, parquet: &SchemaDescriptor) -> Vec<Kind> {
    let mut first_leaves = vec![0; schema.fields().len()];
    for leaf in (0..parquet.num_columns()).rev() {
        // A root without any leaf cannot be a plain column, so that a stray index does no harm.
        if let Some(first) = first_leaves.get_mut(parquet.get_column_root_idx(leaf)) {
            *first = leaf;
        }
    }
    let fields = schema.fields().iter().zip(first_leaves);
    fields.map(|(field, leaf)| Kind::of(field.data_type(), leaf, parquet)).collect()
}

impl Kind {
    fn of(data_type: &DataType, leaf: usize, parquet: &SchemaDescriptor) -> Self {
        match data_type {
            DataType::Null => Self::Missing,
            DataType::Boolean => Self::Bool,
            kind if kind.is_signed_integer() => Self::Signed,
            kind if kind.is_unsigned_integer() => Self::Unsigned,
            kind if is_real(kind) => Self::Float,
            // Text with another annotation, such as JSON, is not checked to be UTF-8 by the reader.
            DataType::Utf8 => match parquet.column(leaf).converted_type() {
                ConvertedType::UTF8 => Self::Text { leaf },
                other => Self::Unsupported(other.to_string()),
            },
            DataType::Timestamp(unit, Some(_)) => Self::Instant(*unit),
            kind if kind.is_temporal() && !is_span(kind) => Self::Time,
            DataType::List(element) if is_number(element.data_type()) => Self::List,
            other => Self::Unsupported(other.to_string()),
        }
    }

    pub(super) fn is_read(&self) -> bool {
        !matches!(self, Self::Unsupported(_))
    }

    /// What stands in the cells of an unsupported column.
    pub(super) fn stand_in(&self) -> Cell {
        match self {
            Self::Unsupported(found) => Cell::Text(format!("unsupported type {found}")),
            _ => Cell::Missing,
        }
    }

    pub(super) fn cells(&self, array: &ArrayRef) -> Result<Vec<Cell>> {
        match self {
            Self::Missing | Self::Unsupported(_) => Ok(vec![self.stand_in(); array.len()]),
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
            Self::Text { .. } | Self::Time => text_cells(array, ""),
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
