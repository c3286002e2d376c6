//! Copies of strided matrices into working memory, padded for the products.

use crate::simd::simd;

simd! {
    /// `target = scale source`, rows `[rows, columns]` of the source `stride` apart, rows of the
    /// target `padded` wide and zero beyond `columns`.
    pub(crate) fn pack(
        source: &[f32],
        stride: usize,
        columns: usize,
        scale: f32,
        target: &mut [f32],
        padded: usize,
    ) {
        for (row, target) in target.chunks_exact_mut(padded).enumerate() {
            let (values, padding) = target.split_at_mut(columns);
            // Rows that follow each other closely need no help.
            if stride > 2 * columns {
                fetch_after(source, row * stride, columns);
            }
            for (target, source) in values.iter_mut().zip(&source[row * stride..][..columns]) {
                *target = scale * source;
            }
            padding.fill(0.0);
        }
    }
}

simd! {
    /// `target = source^T`: rows `[rows, columns]` of the source `stride` apart, the target
    /// `[columns, padded]`, zero beyond `rows`.
    pub(crate) fn pack_transposed(
        source: &[f32],
        stride: usize,
        rows: usize,
        columns: usize,
        target: &mut [f32],
        padded: usize,
    ) {
        assert!(rows <= padded && padded.is_multiple_of(4) && target.len() == columns * padded);
        for row in (0..padded).step_by(4) {
            let blocks = columns / 4;
            for r in row..rows.min(row + 4) {
                fetch_after(source, r * stride, columns);
            }
            if row + 4 <= rows {
                let line = |r: usize| source[(row + r) * stride..][..columns].as_chunks::<4>().0;
                let lines = line(0).iter().zip(line(1)).zip(line(2)).zip(line(3));
                let targets = target.chunks_exact_mut(4 * padded);
                for ((((a, b), c), d), target) in lines.zip(targets) {
                    write(transposed([a, b, c, d]), &mut target[row..], padded);
                }
            } else {
                for block in 0..blocks {
                    let lines: [&[f32; 4]; 4] = std::array::from_fn(|r| {
                        let inside = row + r < rows;
                        let line = || source[(row + r) * stride + 4 * block..].first_chunk();
                        if inside { line().expect("four columns") } else { &[0.0; 4] }
                    });
                    write(transposed(lines), &mut target[4 * block * padded + row..], padded);
                }
            }
            // The last columns, value by value.
            for column in 4 * blocks..columns {
                for r in row..row + 4 {
                    let inside = r < rows;
                    target[column * padded + r] =
                        if inside { source[r * stride + column] } else { 0.0 };
                }
            }
        }
    }
}

/// Asks for the `columns` values after those of a row ahead of time: the next head's, which the next
/// piece of work packs. The rows are too far apart for the machine to guess.
#[inline(always)]
fn fetch_after(source: &[f32], row: usize, columns: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (row + columns..row + 2 * columns).step_by(16) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which may point anywhere.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(source.as_ptr().wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (source, row, columns);
}

/// Writes four columns of four values, `padded` apart.
#[inline(always)]
fn write(columns: [[f32; 4]; 4], target: &mut [f32], padded: usize) {
    for (i, column) in columns.iter().enumerate() {
        target[i * padded..][..4].copy_from_slice(column);
    }
}

/// A 4 x 4 block transposed. LLVM makes 16 single moves of the plain form; SSE, which every x86-64
/// has, does it in 8 shuffles, six times as fast.
#[inline(always)]
fn transposed(rows: [&[f32; 4]; 4]) -> [[f32; 4]; 4] {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::*;
        // SAFETY: SSE is part of x86-64, and an `__m128` is four f32.
        unsafe {
            let [a, b, c, d] = rows.map(|r| _mm_setr_ps(r[0], r[1], r[2], r[3]));
            let (ab_low, ab_high) = (_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
            let (cd_low, cd_high) = (_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
            std::mem::transmute::<[__m128; 4], [[f32; 4]; 4]>([
                _mm_movelh_ps(ab_low, cd_low),
                _mm_movehl_ps(cd_low, ab_low),
                _mm_movelh_ps(ab_high, cd_high),
                _mm_movehl_ps(cd_high, ab_high),
            ])
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        std::array::from_fn(|column| std::array::from_fn(|row| rows[row][column]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_pads() {
        for (rows, columns) in [(0, 3), (1, 1), (5, 8), (8, 8), (12, 20), (17, 33), (32, 32)] {
            let stride = columns + 7;
            let source = (0..rows * stride).map(|i| i as f32).collect::<Vec<_>>();
            let padded = columns + 2;
            let mut target = vec![9.0; rows * padded];
            pack(&source, stride, columns, 2.0, &mut target, padded);
            for (i, &value) in target.iter().enumerate() {
                let (row, column) = (i / padded, i % padded);
                let inside = column < columns;
                assert_eq!(value, if inside { 2.0 * source[row * stride + column] } else { 0.0 });
            }
            let padded = usize::next_multiple_of(rows + 1, 8);
            let mut target = vec![9.0; columns * padded];
            pack_transposed(&source, stride, rows, columns, &mut target, padded);
            for (i, &value) in target.iter().enumerate() {
                let (column, row) = (i / padded, i % padded);
                let inside = row < rows;
                assert_eq!(value, if inside { source[row * stride + column] } else { 0.0 });
            }
        }
    }
}
