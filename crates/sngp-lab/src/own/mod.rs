//! People's own data: from a file to a classifier that abstains.
//!
//! - [`Dataset`] is what is in a file: rows of cells, vectors, or images;
//! - [`Recipe`] is how a raw row becomes what a network takes, learned from the training rows and
//!   saved with the model;
//! - [`train`] makes an [`OwnModel`], which takes raw rows and says what it was trained on
//!   ([`Card`]);
//! - [`evaluate`] measures it, with the [detectors](Detectors) it is to be compared with.

mod card;
mod columns;
mod dataset;
mod detectors;
mod encoder;
mod evaluate;
mod finish;
mod fit;
mod guess;
mod images;
mod inputs;
mod intervals;
mod labels;
mod model;
mod ngrams;
mod recipe;
mod shards;
mod showcase;
mod split;
mod train;
mod tune;
mod tuning;

pub use card::{Card, HeldOut, Task, Training};
pub use columns::{BadCell, Column, Encoding, Ignored, TableRecipe};
pub use dataset::{Body, Dataset, Place, is_arrays};
pub use detectors::{Detector, Detectors};
pub use evaluate::{Evaluation, classes, evaluate, held_out, outcomes};
pub use finish::largest_logits as evidence;
pub use guess::{Kind, guess};
pub use images::ImageRecipe;
pub use intervals::{Interval, intervals};
pub use model::OwnModel;
pub use ngrams::NgramRecipe;
pub use recipe::{Located, Prepared, Recipe};
pub use shards::precision;
pub use split::{Split, stratified};
pub use train::{TrainOptions, Trained, prepare, train};
pub use tune::{Trial, tune};
pub use tuning::{Calibration, calibrate};
