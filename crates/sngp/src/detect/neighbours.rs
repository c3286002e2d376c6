//! Nearest training vectors.

use ndarray::{Array2, ArrayView2, Axis, concatenate};
use rayon::prelude::*;

use crate::seed::{Purpose, Rng, stream};
use crate::{Error, Result};
use rand::RngExt;

/// The neighbour whose distance counts.
const NEIGHBOUR: usize = 10;
/// Bytes of vectors that are kept; of more, a random sample.
const KEPT_BYTES: usize = 32 << 20;
/// Rows whose distances are computed together.
const BLOCK: usize = 128;
/// Distances that are compared with the least ones at once.
const SEEN_AT_ONCE: usize = 32;

/// Training vectors, all of them or a random sample where they would take too much memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbours {
    vectors: Array2<f32>,
    seen: usize,
}

impl Neighbours {
    /// Squared distances below this share of a vector's squared length are rounding, and none.
    pub const ROUNDING: f64 = 1e-5;

    /// No vectors yet, of a width.
    pub fn new(width: usize) -> Self {
        Self { vectors: Array2::zeros((0, width)), seen: 0 }
    }

    /// Vectors that were saved.
    pub fn from_parts(vectors: Array2<f32>, seen: usize) -> Self {
        Self { vectors, seen }
    }

    /// Adds vectors. Beyond the limit every vector seen has the same chance to be kept (Vitter's
    /// reservoir), whatever their order.
    pub fn add(&mut self, vectors: ArrayView2<'_, f32>) {
        let limit = (KEPT_BYTES / (4 * vectors.ncols().max(1))).max(NEIGHBOUR);
        let room = limit.saturating_sub(self.vectors.nrows()).min(vectors.nrows());
        let (first, rest) = vectors.split_at(Axis(0), room);
        if room > 0 {
            self.vectors =
                concatenate(Axis(0), &[self.vectors.view(), first]).expect("vectors of one width");
        }
        self.seen += room;
        let mut rng: Rng = stream(self.seen as u64, Purpose::Shuffle, 1);
        for vector in rest.axis_iter(Axis(0)) {
            self.seen += 1;
            let place = rng.random_range(0..self.seen);
            if place < limit {
                self.vectors.row_mut(place).assign(&vector);
            }
        }
    }

    /// The vectors that are kept.
    pub fn vectors(&self) -> &Array2<f32> {
        &self.vectors
    }

    /// How many there were.
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// The neighbour whose distance counts: the tenth nearest, or the farthest of fewer.
    pub fn rank(&self) -> usize {
        NEIGHBOUR.min(self.vectors.nrows())
    }

    /// The distance of every vector to its tenth nearest neighbour (Sun et al., 2022), to the
    /// farthest where there are fewer.
    pub fn distances(&self, vectors: ArrayView2<'_, f32>) -> Result<Vec<f64>> {
        if self.vectors.is_empty() {
            return Err(Error::Data("there are no neighbours to compare with".to_string()));
        }
        let kept = &self.vectors;
        let lengths: Vec<f32> = kept.axis_iter(Axis(0)).map(|row| row.dot(&row)).collect();
        let blocks: Vec<ArrayView2<'_, f32>> = vectors.axis_chunks_iter(Axis(0), BLOCK).collect();
        let block = |vectors: &ArrayView2<'_, f32>| {
            let products = vectors.dot(&kept.t());
            let rows = vectors.axis_iter(Axis(0)).zip(products.axis_iter(Axis(0)));
            rows.map(|(vector, products)| {
                // Not the products in place: their rows need not lie together in memory.
                let to = products.iter().zip(&lengths).map(|(p, length)| length - 2.0 * p);
                let found = nth_least(&to.collect::<Vec<f32>>(), self.rank());
                let length = f64::from(vector.dot(&vector));
                let square = length + f64::from(found);
                // Not `f64::max`, which would make a number of what is none.
                if square < Self::ROUNDING * length { 0.0 } else { square.sqrt() }
            })
            .collect::<Vec<f64>>()
        };
        Ok(blocks.par_iter().flat_map_iter(block).collect())
    }
}

/// The value that has `rank - 1` below it; none where any is none. Nearly all values are larger than
/// the least ones found so far, which is seen for many of them at once.
fn nth_least(values: &[f32], rank: usize) -> f32 {
    let mut least = vec![f32::INFINITY; rank];
    let mut limit = f32::INFINITY;
    for some in values.chunks(SEEN_AT_ONCE) {
        // A comparison with what is no number is false, so that it is found here.
        if some.iter().fold(true, |all, value| all & (*value >= limit)) {
            continue;
        }
        for &value in some {
            if value.is_nan() {
                return f32::NAN;
            }
            if value < limit {
                let place = least.partition_point(|known| *known <= value);
                least[place..].rotate_right(1);
                least[place] = value;
                limit = least[rank - 1];
            }
        }
    }
    limit
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn the_tenth_nearest_counts() {
        let mut neighbours = Neighbours::new(1);
        neighbours.add(Array2::from_shape_fn((20, 1), |(i, _)| i as f32).view());
        let found = neighbours.distances(array![[0.0], [30.0]].view()).unwrap();
        assert_eq!(found, [9.0, 20.0]);
    }

    #[test]
    fn the_nth_least_is_that_of_sorted_values() {
        let value = |i: usize| ((i * 7919) % 257) as f32 - 100.0;
        for count in [1, 5, 16, 17, 300] {
            let values: Vec<f32> = (0..count).map(value).collect();
            let mut sorted = values.clone();
            sorted.sort_by(f32::total_cmp);
            for rank in [1, 2, 10].into_iter().filter(|rank| *rank <= count) {
                assert_eq!(nth_least(&values, rank), sorted[rank - 1], "{rank} of {count}");
            }
        }
        assert!(nth_least(&[1.0, f32::NAN, 0.5], 1).is_nan());
        assert!(nth_least(&[1.0; 40].map(|_| f32::NAN), 10).is_nan());
    }

    #[test]
    fn a_sample_is_kept_of_too_many() {
        let width = KEPT_BYTES / 4 / 20;
        let mut neighbours = Neighbours::new(width);
        for piece in 0..4 {
            neighbours.add(Array2::from_elem((25, width), piece as f32).view());
        }
        assert_eq!((neighbours.vectors().nrows(), neighbours.seen()), (20, 100));
        let late = neighbours.vectors().column(0).iter().filter(|&&v| v >= 2.0).count();
        assert!((4..=16).contains(&late), "{late} of 20 are of the later half");
    }
}
