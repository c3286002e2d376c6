//! What inputs are like, whatever a model makes of them.
//!
//! A network may be certain anywhere, and a Gaussian process is not certain to be uncertain: its
//! features see one length scale. So every model keeps the ranges of its training inputs and the
//! centres of its classes, and what lies outside of them is not answered, by any method.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sngp::metrics::conformal_quantile;
use sngp::{Error, Result};

use crate::arrays::{NamedArrays, ReadArrays};

/// The file it is saved in, in the model's folder.
pub(crate) const GUARD: &str = "guard.safetensors";

/// The share of held-out rows that each rule may reject.
const REJECTED: f64 = 0.005;
/// More centres than this are no model's classes.
const MOST_CENTRES: usize = 1 << 20;
/// Inputs may leave the ranges seen in training by this share of their width at least.
const MARGIN: f64 = 0.1;
/// With few held-out rows, the largest distance among them is no limit yet.
const SLACK: f64 = 1.5;
/// A range counts as at least this share of its ends: rounding is no excess.
const NARROW: f64 = 0.05;
/// Rows whose distances are computed together.
const BLOCK: usize = 256;

/// What of an input is looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum View {
    /// Numbers of a table: each by itself, and all together.
    Numbers {
        /// Their places in the prepared vector.
        places: Vec<usize>,
    },
    /// Vectors of an encoder: their length, and their direction.
    Direction,
    /// Pictures: brightness, contrast and detail of every channel.
    Picture {
        /// Height and width.
        size: usize,
    },
}

/// Ranges and centres of the training inputs, with the limits of what is answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    view: View,
    low: Vec<f32>,
    high: Vec<f32>,
    /// How far outside of the ranges is too far, in widths of the range.
    excess: f64,
    /// `[classes, n]`.
    centres: Array2<f32>,
    scale: Vec<f32>,
    /// The largest mean squared distance from the nearest centre, in deviations within classes.
    distance: f64,
}

/// Collects what a [`Guard`] is made of, in pieces.
pub(crate) struct GuardSums {
    view: View,
    low: Vec<f32>,
    high: Vec<f32>,
    sums: Array2<f64>,
    squares: Vec<f64>,
    counts: Vec<f64>,
}

impl GuardSums {
    pub fn new(view: View, classes: usize) -> Self {
        let none = Array2::zeros((classes.max(1), 0));
        Self {
            view,
            low: Vec::new(),
            high: Vec::new(),
            sums: none,
            squares: Vec::new(),
            counts: vec![0.0; classes.max(1)],
        }
    }

    /// Adds rows of known classes; all of one class for numbers.
    pub fn add(&mut self, rows: ArrayView2<'_, f32>, classes: &[usize]) {
        for (row, &class) in rows.axis_iter(Axis(0)).zip(classes) {
            let (ranged, placed) = self.view.look(row);
            if self.low.is_empty() && !ranged.is_empty() {
                (self.low, self.high) = (ranged.clone(), ranged.clone());
            }
            for (index, value) in ranged.into_iter().enumerate() {
                self.low[index] = self.low[index].min(value);
                self.high[index] = self.high[index].max(value);
            }
            if self.sums.ncols() != placed.len() {
                self.sums = Array2::zeros((self.counts.len(), placed.len()));
                self.squares = vec![0.0; placed.len()];
            }
            self.counts[class] += 1.0;
            for (index, &value) in placed.iter().enumerate() {
                self.sums[[class, index]] += f64::from(value);
                self.squares[index] += f64::from(value).powi(2);
            }
        }
    }

    /// Finishes with limits that hardly a held-out row exceeds.
    pub fn finish(self, held_out: ArrayView2<'_, f32>) -> Result<Guard> {
        let Self { view, low, high, sums, squares, counts } = self;
        let rows: f64 = counts.iter().sum();
        let mut between = vec![0.0; squares.len()];
        let mut centres = Vec::new();
        for (sum, &count) in sums.axis_iter(Axis(0)).zip(&counts).filter(|(_, n)| **n > 0.0) {
            for (total, value) in between.iter_mut().zip(&sum) {
                *total += value * value / count;
            }
            centres.push(sum.mapv(|value| (value / count) as f32));
        }
        let within = squares.iter().zip(&between).map(|(all, between)| (all - between) / rows);
        let within: Vec<f64> = within.map(|variance| variance.max(0.0)).collect();
        // A direction in which nothing varies is measured by what varies elsewhere.
        let floor = 1e-3 * within.iter().sum::<f64>() / within.len().max(1) as f64 + 1e-12;
        let scale = within.iter().map(|variance| (variance + floor).sqrt() as f32).collect();
        let views: Vec<_> = centres.iter().map(|centre| centre.view()).collect();
        let centres = ndarray::stack(Axis(0), &views).map_err(|e| Error::Data(e.to_string()))?;
        let (excess, distance) = (f64::INFINITY, f64::INFINITY);
        let mut guard = Guard { view, low, high, excess, centres, scale, distance };
        let seen = guard.measure(held_out);
        let limit = |values: Vec<f64>, least: f64| -> Result<f64> {
            let largest = values.iter().copied().fold(0.0, f64::max);
            let found = conformal_quantile(&values, 1.0 - REJECTED)?;
            Ok(found.unwrap_or(SLACK * largest).max(least))
        };
        guard.excess = limit(seen.iter().map(|m| m.excess).collect(), MARGIN)?;
        guard.distance = limit(seen.iter().map(|m| m.distance).collect(), 1e-6)?;
        Ok(guard)
    }
}

/// How far a row is from the training inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The most that any of its numbers is outside of its range, in widths of the range.
    pub excess: f64,
    /// Its mean squared distance from the nearest centre.
    pub distance: f64,
}

impl View {
    /// What is compared with ranges, and what with centres.
    fn look(&self, row: ArrayView1<'_, f32>) -> (Vec<f32>, Vec<f32>) {
        match self {
            Self::Numbers { places } => {
                let numbers: Vec<f32> = places.iter().map(|&place| row[place]).collect();
                (numbers.clone(), numbers)
            }
            Self::Direction => {
                let length = row.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
                let unit = |v: &f32| (f64::from(*v) / length.max(f64::MIN_POSITIVE)) as f32;
                (vec![length as f32], row.iter().map(unit).collect())
            }
            Self::Picture { size } => (looks(row, *size), Vec::new()),
        }
    }
}

/// Brightness, contrast and detail of every channel: a picture of one colour has neither of the
/// last two, and noise too much.
fn looks(row: ArrayView1<'_, f32>, size: usize) -> Vec<f32> {
    let pixels: Vec<f32> = row.iter().copied().collect();
    let channel = |values: &[f32]| {
        let count = values.len() as f32;
        let mean = values.iter().sum::<f32>() / count;
        let contrast = (values.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / count).sqrt();
        let steps = values.chunks(size).flat_map(|line| line.windows(2));
        let detail = steps.map(|pair| (pair[1] - pair[0]).abs()).sum::<f32>() / count;
        // Logarithms: a tenth of the contrast is as odd as ten times of it.
        [mean, (contrast + 1e-3).ln(), (detail + 1e-3).ln()]
    };
    pixels.chunks(size * size).flat_map(channel).collect()
}

impl Guard {
    /// How far rows are from the training inputs.
    pub fn measure(&self, rows: ArrayView2<'_, f32>) -> Vec<Measured> {
        let (centres, _) = self.centres();
        let lengths: Vec<f32> = centres.axis_iter(Axis(0)).map(|row| row.dot(&row)).collect();
        let blocks: Vec<ArrayView2<'_, f32>> = rows.axis_chunks_iter(Axis(0), BLOCK).collect();
        let block = |rows: &ArrayView2<'_, f32>| self.measure_block(*rows, &centres, &lengths);
        blocks.par_iter().flat_map_iter(block).collect()
    }

    /// `|x - c|^2 = |x|^2 - 2 x c + |c|^2`, so that one product has the distances to all centres.
    fn measure_block(
        &self,
        rows: ArrayView2<'_, f32>,
        centres: &Array2<f32>,
        lengths: &[f32],
    ) -> Vec<Measured> {
        let mut excess = Vec::with_capacity(rows.nrows());
        let mut placed = Array2::<f32>::zeros((rows.nrows(), self.scale.len()));
        for (row, mut place) in rows.axis_iter(Axis(0)).zip(placed.axis_iter_mut(Axis(0))) {
            let (ranged, values) = self.view.look(row);
            excess.push(self.excess(&ranged));
            let scaled = values.iter().zip(&self.scale).map(|(value, scale)| value / scale);
            place.iter_mut().zip(scaled).for_each(|(place, value)| *place = value);
        }
        let products = placed.dot(&centres.t());
        let width = self.scale.len().max(1) as f64;
        let rows = placed.axis_iter(Axis(0)).zip(products.axis_iter(Axis(0)));
        let distances = rows.map(|(row, products)| {
            let own = row.dot(&row);
            let to = |(product, length): (&f32, &f32)| f64::from(own - 2.0 * product + length);
            // Not `f64::min`, which would take any number over one that is none.
            let least = |a: f64, b: f64| if b.is_nan() || b < a { b } else { a };
            let nearest = products.iter().zip(lengths).map(to).fold(f64::INFINITY, least);
            (if nearest < 0.0 { 0.0 } else { nearest }) / width
        });
        let measured = distances.zip(&excess);
        measured.map(|(distance, &excess)| Measured { excess, distance }).collect()
    }

    /// The most that any number is outside of its range, in widths of the range.
    fn excess(&self, ranged: &[f32]) -> f64 {
        let mut most = 0.0;
        for ((low, high, width), &value) in self.ranges().zip(ranged) {
            let value = f64::from(value);
            let outside = (low - value).max(value - high) / width;
            // What is no number is outside of every range.
            most = if outside.is_nan() { f64::INFINITY } else { outside.max(most) };
        }
        most
    }

    /// Whether a row is near enough to be answered. What is no number is not.
    pub fn admits(&self, measured: Measured) -> bool {
        measured.excess <= self.excess && measured.distance <= self.distance
    }

    /// What it looks at.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The ranges of what is looked at: the least, the largest, and the width that an excess is
    /// measured in.
    pub fn ranges(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        self.low.iter().zip(&self.high).map(|(&low, &high)| {
            let (low, high) = (f64::from(low), f64::from(high));
            (low, high, (high - low).max(NARROW * low.abs().max(high.abs())).max(1e-9))
        })
    }

    /// The centres of the classes in deviations within them, and those deviations.
    pub fn centres(&self) -> (Array2<f32>, &[f32]) {
        let mut centres = self.centres.clone();
        for mut centre in centres.axis_iter_mut(Axis(0)) {
            centre.iter_mut().zip(&self.scale).for_each(|(value, scale)| *value /= scale);
        }
        (centres, &self.scale)
    }

    /// The limits of excess and distance.
    pub fn limits(&self) -> (f64, f64) {
        (self.excess, self.distance)
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut arrays = NamedArrays::default();
        let (kind, places): (f64, Vec<f64>) = match &self.view {
            View::Numbers { places } => (0.0, places.iter().map(|&p| p as f64).collect()),
            View::Direction => (1.0, Vec::new()),
            View::Picture { size } => (2.0, vec![*size as f64]),
        };
        arrays.put_f64("limits", &[kind, self.excess, self.distance]);
        arrays.put_f64("places", &places);
        arrays.put_f32("low", vec![self.low.len()], &self.low);
        arrays.put_f32("high", vec![self.high.len()], &self.high);
        arrays.put_f32("scale", vec![self.scale.len()], &self.scale);
        let centres: Vec<f32> = self.centres.iter().copied().collect();
        arrays.put_f32("centres", self.centres.shape().to_vec(), &centres);
        arrays.to_bytes()
    }

    /// Reads it and checks that it fits inputs of a width; a guard that does not would admit what
    /// it should not.
    pub(crate) fn from_bytes(bytes: &[u8], width: usize) -> Result<Self> {
        let arrays = ReadArrays::new(GUARD, bytes)?;
        let limits = arrays.f64("limits")?;
        let places: Vec<usize> =
            arrays.f64("places")?.iter().map(|&place| place as usize).collect();
        let [kind, excess, distance] = limits[..] else {
            return Err(arrays.wrong("limits", "has another length"));
        };
        if !(excess >= 0.0 && distance >= 0.0) {
            return Err(arrays.wrong("limits", "is not sound"));
        }
        let view = match (kind as i64, &places[..]) {
            (0, _) if places.iter().all(|&place| place < width) => View::Numbers { places },
            (1, []) => View::Direction,
            (2, &[size]) if size > 0 && size.checked_mul(size * 3) == Some(width) => {
                View::Picture { size }
            }
            _ => return Err(arrays.wrong("places", "does not fit the model's inputs")),
        };
        let (ranged, placed) = match &view {
            View::Numbers { places } => (places.len(), places.len()),
            View::Direction => (1, width),
            View::Picture { .. } => (9, 0),
        };
        let vector = |name: &str, length: usize| -> Result<Vec<f32>> {
            let (shape, values) = arrays.f32(name)?;
            match shape[..] == [length] {
                true => Ok(values),
                false => Err(arrays.wrong(name, "has another length")),
            }
        };
        let (shape, centres) = arrays.f32("centres")?;
        let scale = vector("scale", placed)?;
        // Rows of no number take no byte, so that only their count can be held against sense.
        let sound = shape.len() == 2 && shape[1] == placed && shape[0] <= MOST_CENTRES;
        if !sound || scale.iter().any(|scale| *scale <= 0.0) {
            return Err(arrays.wrong("centres", "does not fit the model's inputs"));
        }
        let centres = Array2::from_shape_vec((shape[0], shape[1]), centres)
            .map_err(|error| Error::Data(error.to_string()))?;
        let (low, high) = (vector("low", ranged)?, vector("high", ranged)?);
        Ok(Self { view, low, high, excess, centres, scale, distance })
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use sngp::seed::{Purpose, stream};

    use super::*;

    fn noise(seed: u64, rows: usize, columns: usize) -> Array2<f32> {
        let mut rng = stream(seed, Purpose::MonteCarlo, 0);
        // A sum of uniforms is normal enough.
        let mut normal = || (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0;
        Array2::from_shape_simple_fn((rows, columns), &mut normal)
    }

    fn guard(view: View, rows: &Array2<f32>, held_out: &Array2<f32>) -> Guard {
        let mut sums = GuardSums::new(view, 2);
        let classes: Vec<usize> = (0..rows.nrows()).map(|row| row % 2).collect();
        sums.add(rows.view(), &classes);
        sums.finish(held_out.view()).unwrap()
    }

    fn admitted(guard: &Guard, rows: &Array2<f32>) -> usize {
        guard.measure(rows.view()).into_iter().filter(|m| guard.admits(*m)).count()
    }

    #[test]
    fn rows_like_the_training_pass_and_far_ones_do_not() {
        let view = View::Numbers { places: (0..5).collect() };
        let guard = guard(view, &noise(1, 1000, 5), &noise(2, 300, 5));
        let fresh = noise(3, 1000, 5);
        assert!(admitted(&guard, &fresh) >= 980, "{}", admitted(&guard, &fresh));
        for deviations in [6.0, 10.0, 1e6, 1e30] {
            let mut one = fresh.clone();
            one.column_mut(2).fill(deviations);
            assert_eq!(admitted(&guard, &one), 0, "{deviations}");
        }
        let all = Array2::from_elem((1, 5), 3.5f32);
        assert_eq!(admitted(&guard, &all), 0);
        assert_eq!(admitted(&guard, &Array2::from_elem((1, 5), f32::NAN)), 0);
    }

    #[test]
    fn directions_and_lengths_of_vectors_count() {
        let centres = noise(4, 2, 64);
        let near = |seed: u64, rows: usize| {
            let mut vectors = 0.3 * noise(seed, rows, 64);
            for (row, mut vector) in vectors.axis_iter_mut(Axis(0)).enumerate() {
                vector += &centres.row(row % 2);
            }
            vectors
        };
        let guard = guard(View::Direction, &near(5, 1000), &near(6, 300));
        assert!(admitted(&guard, &near(7, 500)) >= 485);
        assert_eq!(admitted(&guard, &noise(8, 100, 64)), 0, "random vectors");
        assert_eq!(admitted(&guard, &(near(7, 50) * 10.0)), 0, "too long");
        assert_eq!(admitted(&guard, &(near(7, 50) * 0.01)), 0, "too short");
        assert_eq!(admitted(&guard, &Array2::zeros((1, 64))), 0, "nothing");
        assert_eq!(admitted(&guard, &(near(7, 50) * -1.0)), 0, "the other way round");
    }

    #[test]
    fn pictures_of_one_colour_are_no_pictures() {
        let guard = guard(View::Picture { size: 8 }, &noise(1, 300, 192), &noise(2, 300, 192));
        assert!(admitted(&guard, &noise(3, 200, 192)) >= 190);
        for colour in [-2.0, 0.0, 0.3, 2.0] {
            assert_eq!(admitted(&guard, &Array2::from_elem((1, 192), colour)), 0, "{colour}");
        }
    }

    #[test]
    fn it_reads_back_and_what_does_not_fit_is_refused() {
        for (view, width) in [
            (View::Numbers { places: vec![0, 2] }, 3),
            (View::Direction, 3),
            (View::Picture { size: 1 }, 3),
        ] {
            let guard = guard(view, &noise(1, 50, 3), &noise(2, 50, 3));
            let bytes = guard.to_bytes().unwrap();
            assert_eq!(Guard::from_bytes(&bytes, width).unwrap(), guard);
            assert!(Guard::from_bytes(&bytes, 2).is_err());
            assert!(Guard::from_bytes(&bytes[..40], width).is_err());
        }
    }

    /// Centres of no number take no byte, however many a file says there are.
    #[test]
    fn more_centres_than_a_model_has_classes_are_refused() {
        let view = View::Picture { size: 1 };
        let mut guard = guard(view, &noise(1, 50, 3), &noise(2, 50, 3));
        guard.centres = Array2::zeros((MOST_CENTRES + 1, 0));
        assert!(Guard::from_bytes(&guard.to_bytes().unwrap(), 3).is_err());
    }
}
