use crate::format::Format;

/// How a table is read, where not just by its name.
///
/// ```
/// use sngp_records::{Cell, Format, Header, ReadOptions, Records};
///
/// let columns = vec!["x".to_owned(), "y".to_owned()];
/// let options = ReadOptions {
///     format: Some(Format::Csv),
///     header: Header::Auto { columns },
///     ..ReadOptions::default()
/// };
/// let mut records = Records::from_reader_with("pipe", options, "0.5,0.2\n".as_bytes())?;
/// assert_eq!(records.columns(), ["x", "y"]);
/// let text = |text: &str| Cell::Text(text.to_owned());
/// assert_eq!(records.next_cells(10)?.unwrap(), [[text("0.5"), text("0.2")]]);
/// # Ok::<(), sngp_records::RecordsError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format, where it is not the one that the extension names.
    pub format: Option<Format>,
    /// Where the names of the columns come from.
    pub header: Header,
    /// Keep with each chunk what its rows were before they became cells, for
    /// [`Writer::write_beside`](crate::Writer::write_beside) and
    /// [`Chunk::field`](crate::Chunk::field). It takes about as much memory again.
    pub keep_originals: bool,
}

/// Where the names of a table's columns come from.
///
/// Only delimited files have a choice. JSON Lines and Parquet name their columns themselves, and
/// [`Format::Lines`] has no names: its only column gets the first of those given here, or `text`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// The first row holds them.
    #[default]
    Named,
    /// All rows hold data.
    None {
        /// The names, in order.
        columns: Vec<String>,
    },
    /// The first row holds them unless it looks like data: a number in it, and none of these
    /// names.
    Auto {
        /// The names, in order, where the first row holds none.
        columns: Vec<String>,
    },
}

impl Header {
    /// The names to go by where the file holds none.
    pub(crate) fn given(&self) -> &[String] {
        match self {
            Self::Named => &[],
            Self::None { columns } | Self::Auto { columns } => columns,
        }
    }
}
