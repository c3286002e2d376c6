//! Reductions of a row in lanes: LLVM does not reorder float sums itself.

/// Values reduced side by side.
pub(crate) const LANES: usize = 32;

/// Folds the lanes, a multiple of eight of them, down to eight.
///
/// LLVM shapes the vectors of a loop after what becomes of its lanes: the last steps of a sum, two
/// and four lanes wide, would make the whole loop so. The black box makes it one store of all
/// lanes, which costs a few cycles a row.
#[inline(always)]
fn eight<const N: usize>(lanes: [f32; N], f: impl Fn(f32, f32) -> f32) -> [f32; 8] {
    let (first, rest) = lanes.split_first_chunk::<8>().expect("eight lanes");
    let mut folded = *first;
    for block in rest.as_chunks::<8>().0 {
        for i in 0..8 {
            folded[i] = f(folded[i], block[i]);
        }
    }
    std::hint::black_box(folded)
}

/// Sum of the lanes, a multiple of eight of them, pairwise.
#[inline(always)]
pub(crate) fn total<const N: usize>(lanes: [f32; N]) -> f32 {
    total_of_eight(&eight(lanes, |a, b| a + b))
}

/// Sum of eight values, pairwise.
#[inline(always)]
pub(crate) fn total_of_eight(l: &[f32; 8]) -> f32 {
    let l = [l[0] + l[4], l[1] + l[5], l[2] + l[6], l[3] + l[7]];
    (l[0] + l[2]) + (l[1] + l[3])
}

/// The larger of two; `f32::max` takes three instructions, this comparison one.
#[inline(always)]
pub(crate) fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Largest of the lanes, a multiple of eight of them.
#[inline(always)]
fn largest<const N: usize>(lanes: [f32; N]) -> f32 {
    largest_of_eight(&eight(lanes, larger))
}

/// Largest of eight values.
#[inline(always)]
pub(crate) fn largest_of_eight(l: &[f32; 8]) -> f32 {
    let l = [larger(l[0], l[4]), larger(l[1], l[5]), larger(l[2], l[6]), larger(l[3], l[7])];
    larger(larger(l[0], l[2]), larger(l[1], l[3]))
}

/// Sum of a row.
#[inline(always)]
pub(crate) fn sum(row: &[f32]) -> f32 {
    let (blocks, rest) = row.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for block in blocks {
        for i in 0..LANES {
            lanes[i] += block[i];
        }
    }
    let (blocks, tail) = rest.as_chunks::<8>();
    for block in blocks {
        for i in 0..8 {
            lanes[i] += block[i];
        }
    }
    total(lanes) + tail.iter().sum::<f32>()
}

/// Sum of the products of two rows.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for i in 0..LANES {
            lanes[i] = a[i].mul_add(b[i], lanes[i]);
        }
    }
    a_tail.iter().zip(b_tail).fold(total(lanes), |sum, (a, b)| a.mul_add(*b, sum))
}

/// Largest value of a row, -infinity of an empty one. NaN are passed over.
#[inline(always)]
pub(crate) fn maximum(row: &[f32]) -> f32 {
    const NARROW: usize = 16;
    let (blocks, tail) = row.as_chunks::<NARROW>();
    let mut lanes = [f32::NEG_INFINITY; NARROW];
    for block in blocks {
        for i in 0..NARROW {
            // This way round a NaN leaves the lane as it is.
            lanes[i] = larger(block[i], lanes[i]);
        }
    }
    tail.iter().fold(largest(lanes), |m, &x| larger(x, m))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reduce_rows_of_any_length() {
        for n in [0, 1, 5, 8, 31, 32, 33, 100] {
            let a = (0..n).map(|i| (i * 7 % 13) as f32 - 3.0).collect::<Vec<_>>();
            let b = (0..n).map(|i| (i * 5 % 11) as f32).collect::<Vec<_>>();
            assert_eq!(sum(&a), a.iter().sum::<f32>());
            assert_eq!(dot(&a, &b), a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>());
            assert_eq!(maximum(&a), a.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        }
        assert_eq!(maximum(&[f32::NAN, 2.0, f32::NAN]), 2.0);
    }
}
