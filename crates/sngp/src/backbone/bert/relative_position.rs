//! The relative position bias of MPNet.

use burn::tensor::{Device, Int, Tensor, TensorData};

/// Distances from here on share the last bucket.
const FARTHEST: usize = 128;

/// The bucket of every pair of positions, row by row of the query.
///
/// Keys before and after the query have half of the buckets each; in a half, short distances have
/// a bucket of their own and longer ones share buckets that widen logarithmically.
///
/// ```
/// assert_eq!(sngp::backbone::relative_buckets(2, 32), [0, 17, 1, 0]);
/// ```
pub fn relative_buckets(tokens: usize, count: usize) -> Vec<i64> {
    (0..tokens)
        .flat_map(|query| (0..tokens).map(move |key| bucket(query, key, count) as i64))
        .collect()
}

/// The same on a device.
pub(super) fn buckets(tokens: usize, count: usize, device: &Device) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::from(relative_buckets(tokens, count).as_slice()), device)
}

fn bucket(query: usize, key: usize, count: usize) -> usize {
    let half = count / 2;
    let side = if key > query { half } else { 0 };
    let (distance, exact) = (query.abs_diff(key), half / 2);
    if distance < exact {
        return side + distance;
    }
    let growth = (distance as f64 / exact as f64).ln() / (FARTHEST as f64 / exact as f64).ln();
    let shared = exact + (growth * (half - exact) as f64) as usize;
    side + shared.min(half - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_positions_have_their_own_bucket_and_far_ones_share() {
        // First distances of each shared bucket, from the published code.
        let first = [(8, 8), (12, 9), (16, 10), (23, 11), (32, 12), (46, 13), (64, 14), (91, 15)];
        for (distance, expected) in first {
            assert_eq!(bucket(distance, 0, 32), expected, "distance {distance}");
            assert_eq!(bucket(0, distance, 32), expected + 16, "distance {distance}");
            assert_eq!(bucket(distance - 1, 0, 32), expected - 1, "before {distance}");
        }
        assert_eq!(bucket(5, 5, 32), 0);
        assert_eq!(bucket(3, 5, 32), 18);
        assert_eq!(bucket(500, 0, 32), 15);
    }
}
