//! Rows of the training that choose settings, and how they are split for it.

use std::collections::HashSet;

use ndarray::{Array2, Axis};
use sngp::Result;
use sngp::backbone::{Shipped, ShippedBatch};
use sngp::data::{Inputs, Labelled, Table, Targets};
use sngp::seed::{Purpose, stream};

use super::examples::{Examples, TrainInputs};
use super::options::Options;
use super::split::{Split, stratified_share};
use super::units::Units;
use crate::input::Preparation;

/// Rows that the search looks at, fewer where so many logits would have to be computed, and the
/// share of them that judges the others.
const ROWS: [usize; 2] = [1200, 3000];
const LOGITS: usize = 150_000;
const SHARE: f64 = 0.25;
/// Fewer rows to judge by than this say little: the rows are split anew, up to so many times.
const JUDGES: usize = 400;
const MOST_SPLITS: usize = 5;

/// The rows that the search looks at.
pub(super) struct Looked {
    pub vectors: Array2<f32>,
    labels: Vec<usize>,
}

impl Looked {
    /// A fair share of every class, no row twice: a copy on the other side of a split would praise
    /// whatever remembers most.
    pub fn at(examples: &Examples, labels: &[usize], classes: usize, seed: u64) -> Self {
        let [least, most] = ROWS;
        let wanted = (LOGITS / classes.max(1)).clamp(least, most);
        let rows: Vec<usize> = if labels.len() > wanted {
            let share = wanted as f64 / labels.len() as f64;
            stratified_share(labels, share, stream(seed, Purpose::Shuffle, u64::MAX - 1)).held_out
        } else {
            (0..labels.len()).collect()
        };
        let vectors = match &examples.train {
            TrainInputs::Mapped(mapped) => mapped.load(&rows),
            TrainInputs::Vectors(vectors)
            | TrainInputs::CrossFitted { cross_fitted: vectors, .. }
            | TrainInputs::Logits { vectors, .. } => vectors.select(Axis(0), &rows),
            TrainInputs::Sentences(embedded) => embedded.vectors.select(Axis(0), &rows),
        };
        let mut known = HashSet::new();
        let bits = |place: &usize| -> Vec<u32> {
            vectors.row(*place).iter().map(|value| value.to_bits()).collect()
        };
        let once: Vec<usize> = (0..rows.len()).filter(|place| known.insert(bits(place))).collect();
        Self {
            vectors: vectors.select(Axis(0), &once),
            labels: once.iter().map(|&place| labels[rows[place]]).collect(),
        }
    }

    /// Units that are worth a try. Those of columns need a layer of their own, which an encoder has
    /// no place for; in one unit for all, rows of equal length are what their directions are.
    pub fn units(&self, examples: &Examples, options: &Options<'_>) -> Vec<Units> {
        let encoder = matches!(examples.preparation, Preparation::Sentences { .. });
        if encoder || options.length_scale.is_some() {
            return vec![Units::Direction];
        }
        let lengths: Vec<f64> = self
            .vectors
            .axis_iter(Axis(0))
            .map(|row| row.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt())
            .collect();
        let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
        let alike = lengths.iter().all(|length| (length - mean).abs() <= 0.01 * mean);
        Units::ALL.into_iter().filter(|&units| !(alike && units == Units::Common)).collect()
    }

    /// The rows split in two, several times where they are few.
    pub fn splits(&self, classes: usize, seed: u64) -> Result<Vec<Inner>> {
        let mut splits: Vec<Inner> = Vec::new();
        let mut judges = 0;
        while splits.len() < MOST_SPLITS && judges < JUDGES {
            let rng = stream(seed, Purpose::Shuffle, u64::MAX - 2 - splits.len() as u64);
            let Split { train, held_out } = stratified_share(&self.labels, SHARE, rng);
            if train.is_empty() || held_out.is_empty() {
                break;
            }
            let of = |rows: &[usize]| rows.iter().map(|&row| self.labels[row]).collect::<Vec<_>>();
            let table = |rows: &[usize]| Table::new(self.vectors.select(Axis(0), rows).view());
            let targets = Targets::classes(of(&train), classes)?;
            judges += held_out.len();
            splits.push(Inner {
                train: Labelled::new(Shipped::inputs(table(&train)?), targets)?,
                held_out: Box::new(Shipped::inputs(table(&held_out)?)),
                labels: of(&held_out),
            });
        }
        Ok(splits)
    }
}

/// Rows to learn from, and rows that judge.
pub(super) struct Inner {
    pub train: Labelled<ShippedBatch>,
    pub held_out: Box<dyn Inputs<ShippedBatch>>,
    pub labels: Vec<usize>,
}
