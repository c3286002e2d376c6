//! Nearest training vectors.

use std::sync::OnceLock;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, concatenate};
use sngp_kernels::Nearest;

use crate::seed::{Purpose, Rng, stream};
use crate::{Error, Result};
use rand::RngExt;

/// The neighbour whose distance counts.
const NEIGHBOUR: usize = 10;
/// Bytes of vectors that are kept; of more, a random sample.
const KEPT_BYTES: usize = 32 << 20;

/// Training vectors, all of them or a random sample where they would take too much memory.
#[derive(Clone, Debug)]
pub struct Neighbours {
    vectors: Array2<f32>,
    seen: usize,
    /// The vectors as they are searched, once they are.
    nearest: OnceLock<Nearest>,
}

impl Neighbours {
    /// Squared distances below this share of a vector's squared length are rounding, and none.
    pub const ROUNDING: f64 = 1e-5;

    /// No vectors yet, of a width.
    pub fn new(width: usize) -> Self {
        Self::from_parts(Array2::zeros((0, width)), 0)
    }

    /// Vectors that were saved.
    pub fn from_parts(vectors: Array2<f32>, seen: usize) -> Self {
        Self { vectors, seen, nearest: OnceLock::new() }
    }

    /// Adds vectors. Beyond the limit every vector seen has the same chance to be kept (Vitter's
    /// reservoir), whatever their order.
    pub fn add(&mut self, vectors: ArrayView2<'_, f32>) {
        self.nearest = OnceLock::new();
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
        let nearest = self.nearest.get_or_init(|| {
            let values = self.vectors.as_standard_layout();
            Nearest::new(values.as_slice().expect("a standard layout"), self.vectors.ncols())
        });
        let vectors = vectors.as_standard_layout();
        let found =
            nearest.less_own_length(vectors.as_slice().expect("a standard layout"), self.rank());
        let distance = |(vector, found): (ArrayView1<'_, f32>, f32)| {
            let length = f64::from(vector.dot(&vector));
            let square = length + f64::from(found);
            // Not `f64::max`, which would make a number of what is none.
            if square < Self::ROUNDING * length { 0.0 } else { square.sqrt() }
        };
        Ok(vectors.axis_iter(Axis(0)).zip(found).map(distance).collect())
    }
}

impl PartialEq for Neighbours {
    fn eq(&self, other: &Self) -> bool {
        self.seen == other.seen && self.vectors == other.vectors
    }
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
        neighbours.add(Array2::from_elem((10, 1), 30.0).view());
        assert_eq!(neighbours.distances(array![[30.0]].view()).unwrap(), [0.0]);
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
