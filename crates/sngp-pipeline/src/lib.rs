//! From a raw row to an answer, or to an honest refusal.
//!
//! ```
//! use sngp_pipeline::input::Dataset;
//! use sngp_pipeline::{Options, Pipeline};
//!
//! let texts: Vec<String> = (0..60).map(|i| match i % 3 {
//!     0 => format!("send {i} euros to my landlord"),
//!     1 => format!("what will the weather be like on day {i}"),
//!     _ => format!("wake me up at {i} minutes past seven"),
//! }).collect();
//! let labels: Vec<&str> = (0..60).map(|i| ["transfer", "weather", "alarm"][i % 3]).collect();
//! let mut pipeline = Pipeline::fit_texts(&texts, &labels, &Options { features: 64, ..Default::default() })?;
//! let answers = pipeline.answer(&Dataset::of_texts(["will the weather be good", "qwzx vrrk"]))?;
//! assert!(!answers[1].is_accepted());
//! assert_eq!(answers[1].reason().unwrap(), "unknown_words");
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path().join("intents");
//! pipeline.save(&folder)?;
//! # Ok::<(), sngp::Error>(())
//! ```
//!
//! - [`input`]: what is in a file or in memory ([`Dataset`](input::Dataset)), and how a raw row
//!   becomes what a network takes ([`Preparation`](input::Preparation)), learned from the training
//!   rows and saved with the model;
//! - [`fit`]: from examples to a [`Pipeline`], with its [`Options`];
//! - [`Answer`]: accepted, abstained with a [`Reason`], or invalid with column and reason;
//! - [`guard`]: what inputs are like, whatever the model makes of them;
//! - [`calibrate`]: when it abstains, by the risk you accept; [`Pipeline::flags`]: which rows of a
//!   batch are out-of-distribution, with few false ones among them;
//! - [`Pipeline::use_minimax`]: probabilities that go to uniform away from the data;
//! - [`Pipeline::update`], [`forget`](Pipeline::forget) and [`merge`](Pipeline::merge): a posterior
//!   that learns and comes from several machines;
//! - [`Pipeline::signature`]: inputs and outputs by name, for servers and forms.
#![warn(missing_docs)]

mod aim;
mod answer;
mod arrays;
pub mod calibrate;
mod calibration_rows;
mod card;
mod class_coverage;
mod decide;
mod detectors;
pub mod fit;
mod flags;
pub mod guard;
pub mod input;
mod limits;
mod pipeline;
mod posterior;
mod predictive;
mod seen;
mod signature;

pub use aim::Aim;
pub use answer::{Answer, AnswerValue, Outcome, Reason, Verdict};
pub use card::{Card, HeldOut, Task, Training};
pub use decide::Detail;
pub use fit::{Fitted, Options, Target};
pub use flags::Flags;
pub use pipeline::{Loader, Pipeline};
pub use posterior::Part;
pub use seen::Seen;
pub use signature::{Field, FieldKind, Signature};
