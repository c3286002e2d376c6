//! From files and memory to what a model takes.

mod columns;
mod dataset;
mod encoded;
mod guess;
mod images;
mod known_pieces;
mod ngrams;
mod preparation;
mod terms;
mod texts;

pub use columns::{BadCell, Column, Encoding, Ignored, TablePreparation};
pub use dataset::{Body, Dataset, Place, is_arrays};
pub use encoded::{EncodedPreparation, EncodedRows};
pub use guess::{Kind, guess};
pub use images::{Fitting, ImagePreparation};
pub use known_pieces::KnownPieces;
pub use ngrams::NgramPreparation;
pub(crate) use preparation::in_file;
pub use preparation::{Located, Preparation, Prepared, PreparedRows, RowState};
pub(crate) use terms::is_blank;
pub(crate) use texts::TEXTS;
pub use texts::{TextMap, TextPreparation, Vocabulary};
