//! Distances to the nearest of many vectors.

use rayon::prelude::*;

use crate::array::uninitialized;
use crate::gemm::{Left, PANEL, Packed, Plain, Right, multiply_here};

/// Queries of one piece of work, and panels of vectors they meet at a time: their products stay in
/// the second-level cache.
const QUERIES: usize = 48;
const PANELS: usize = 32;
/// Distances that are compared with the least ones at once.
const AT_ONCE: usize = 32;

/// Vectors that are asked for their distance, packed once.
///
/// ```
/// let nearest = sngp_kernels::Nearest::new(&[0.0, 3.0, 5.0], 1);
/// // |y|^2 - 2 x y is least for y = 5, then for y = 3.
/// assert_eq!(nearest.less_own_length(&[4.5], 1), [-20.0]);
/// assert_eq!(nearest.less_own_length(&[4.5], 2), [-18.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Nearest {
    packed: Packed,
    lengths: Vec<f32>,
}

impl Nearest {
    /// Packs row-major vectors of a width.
    pub fn new(vectors: &[f32], width: usize) -> Self {
        let count = vectors.len().checked_div(width).unwrap_or(0);
        assert_eq!(vectors.len(), count * width, "whole vectors");
        let length = |vector: &[f32]| vector.iter().map(|v| v * v).sum();
        let lengths = vectors.chunks_exact(width.max(1)).map(length).collect();
        Self { packed: Packed::transposed(vectors, width, count), lengths }
    }

    /// The squared distance of every query to its `rank`-th nearest vector, less its own squared
    /// length; no number where a product is none.
    pub fn less_own_length(&self, queries: &[f32], rank: usize) -> Vec<f32> {
        let (width, count) = (self.packed.inner(), self.packed.columns());
        assert!((1..=count).contains(&rank), "a rank among the vectors");
        let rows = queries.len() / width;
        assert_eq!(queries.len(), rows * width, "whole queries");
        let mut found = vec![0.0; rows];
        let pieces = found.par_chunks_mut(QUERIES).zip(queries.par_chunks(QUERIES * width));
        pieces.for_each(|(found, queries)| self.piece(queries, rank, found));
        found
    }

    fn piece(&self, queries: &[f32], rank: usize, found: &mut [f32]) {
        let (width, rows) = (self.packed.inner(), found.len());
        let mut least = vec![Least::new(rank); rows];
        let mut products = uninitialized(rows * PANELS * PANEL);
        for (group, lengths) in self.lengths.chunks(PANELS * PANEL).enumerate() {
            let left = Left::rows(queries, rows, width);
            let right = Right::packed(&self.packed).part(group * PANELS, PANELS, width);
            let stride = lengths.len();
            multiply_here(left, right, &mut products, stride, false, &Plain);
            for (least, products) in least.iter_mut().zip(products.chunks_exact(stride)) {
                least.add(lengths, products);
            }
        }
        for (found, least) in found.iter_mut().zip(&least) {
            *found = least.value();
        }
    }
}

/// The least values so far, in order.
#[derive(Clone)]
struct Least {
    values: Vec<f32>,
    broken: bool,
}

impl Least {
    fn new(rank: usize) -> Self {
        Self { values: vec![f32::INFINITY; rank], broken: false }
    }

    /// The largest of them, or none where any value was none.
    fn value(&self) -> f32 {
        if self.broken { f32::NAN } else { self.values[self.values.len() - 1] }
    }

    /// Nearly all values are above the least ones so far, which is seen for many at once.
    fn add(&mut self, lengths: &[f32], products: &[f32]) {
        let (many_lengths, lengths) = lengths.as_chunks::<AT_ONCE>();
        let (many_products, products) = products.as_chunks::<AT_ONCE>();
        for (lengths, products) in many_lengths.iter().zip(many_products) {
            let values: [f32; AT_ONCE] = std::array::from_fn(|i| lengths[i] - 2.0 * products[i]);
            let limit = self.values[self.values.len() - 1];
            // A comparison with what is no number is false, so that it is looked at.
            if !values.iter().fold(true, |all, value| all & (*value >= limit)) {
                values.iter().for_each(|value| self.insert(*value));
            }
        }
        for (length, product) in lengths.iter().zip(products) {
            self.insert(length - 2.0 * product);
        }
    }

    fn insert(&mut self, value: f32) {
        self.broken |= value.is_nan();
        let place = self.values.partition_point(|known| *known <= value);
        if place < self.values.len() {
            self.values[place..].rotate_right(1);
            self.values[place] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(count: usize, width: usize, salt: usize) -> Vec<f32> {
        (0..count * width).map(|i| (((i + salt) * 7919) % 257) as f32 / 64.0 - 2.0).collect()
    }

    #[test]
    fn it_is_the_one_of_sorted_distances() {
        for (count, width, queries) in [(1, 1, 1), (20, 1, 3), (100, 7, 50), (1100, 33, 99)] {
            let (kept, asked) = (vectors(count, width, 0), vectors(queries, width, 5));
            let nearest = Nearest::new(&kept, width);
            for rank in [1, 2, 10].into_iter().filter(|rank| *rank <= count) {
                let found = nearest.less_own_length(&asked, rank);
                for (query, found) in asked.chunks_exact(width).zip(found) {
                    let to = |vector: &[f32]| {
                        let pairs = vector.iter().zip(query);
                        pairs.map(|(v, q)| f64::from(*v) * f64::from(v - 2.0 * q)).sum::<f64>()
                    };
                    let mut all: Vec<f64> = kept.chunks_exact(width).map(to).collect();
                    all.sort_by(f64::total_cmp);
                    assert!((f64::from(found) - all[rank - 1]).abs() < 1e-3, "{rank} of {count}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_number_has_no_neighbours() {
        let nearest = Nearest::new(&vectors(700, 3, 0), 3);
        let found = nearest.less_own_length(&[1.0, f32::NAN, 0.0, 1.0, 2.0, 3.0], 10);
        assert!(found[0].is_nan() && found[1].is_finite());
    }
}
