//! Products of matrices small enough for the cache, as attention has them.

use crate::simd::simd;

/// Columns of `b` and `c` are a multiple of this.
pub(crate) const COLUMNS: usize = 8;
/// Rows of a tile. Six rows of two vectors fill the 16 registers of AVX2 with 12 sums, two vectors
/// of `b` and one value of `a`.
const ROWS: usize = 6;

simd! {
    /// `c = a b`: `a` `[rows, depth]`, `b` `[depth, columns]`, `c` `[rows, columns]`, all by rows,
    /// the rows `a_stride`, `b_stride` and `c_stride` apart.
    pub(crate) fn product(
        a: &[f32],
        a_stride: usize,
        b: &[f32],
        b_stride: usize,
        c: &mut [f32],
        c_stride: usize,
        rows: usize,
        columns: usize,
        depth: usize,
    ) {
        tiles::<false>(a, a_stride, b, b_stride, c, c_stride, rows, columns, depth);
    }
}

simd! {
    /// `c = a^T b`: as [`product`], but `a` is `[depth, rows]`.
    pub(crate) fn product_transposed(
        a: &[f32],
        a_stride: usize,
        b: &[f32],
        b_stride: usize,
        c: &mut [f32],
        c_stride: usize,
        rows: usize,
        columns: usize,
        depth: usize,
    ) {
        tiles::<true>(a, a_stride, b, b_stride, c, c_stride, rows, columns, depth);
    }
}

#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn tiles<const TRANSPOSED: bool>(
    a: &[f32],
    a_stride: usize,
    b: &[f32],
    b_stride: usize,
    c: &mut [f32],
    c_stride: usize,
    rows: usize,
    columns: usize,
    depth: usize,
) {
    assert!(columns.is_multiple_of(COLUMNS) && columns <= b_stride && columns <= c_stride);
    if rows == 0 || columns == 0 {
        return;
    }
    let (a_rows, a_columns) = if TRANSPOSED { (depth, rows) } else { (rows, depth) };
    // With the tiles inside the matrices, these two make every access below one inside the slices.
    assert!(depth == 0 || a_columns <= a_stride && a.len() >= (a_rows - 1) * a_stride + a_columns);
    assert!(depth == 0 || b.len() >= (depth - 1) * b_stride + columns);
    // Tiles of nearly equal heights: a last tile of one row would run at a fraction of the speed.
    let count = rows.div_ceil(ROWS);
    let mut column = 0;
    while column < columns {
        let wide = column + 2 * COLUMNS <= columns;
        let b = &b[column.min(b.len())..];
        for i in 0..count {
            let (start, end) = (rows * i / count, rows * (i + 1) / count);
            let a = &a[(if TRANSPOSED { start } else { start * a_stride }).min(a.len())..];
            let c = &mut c[start * c_stride + column..];
            macro_rules! tile {
                ($($rows:literal)*) => {
                    match (end - start, wide) {
                        // SAFETY: the tile lies inside both matrices, which lie inside the slices.
                        $(($rows, true) => unsafe {
                            tile::<$rows, 16, TRANSPOSED>(a, a_stride, b, b_stride, c, c_stride, depth)
                        },
                        ($rows, false) => unsafe {
                            tile::<$rows, 8, TRANSPOSED>(a, a_stride, b, b_stride, c, c_stride, depth)
                        },)*
                        _ => unreachable!("tiles have 1 to {ROWS} rows"),
                    }
                };
            }
            tile!(1 2 3 4 5 6);
        }
        column += if wide { 2 * COLUMNS } else { COLUMNS };
    }
}

/// One tile of `R` rows and `N` columns, its sums in registers.
///
/// # Safety
/// `a` and `b` hold the tile's values: `a[r * a_stride + p]` (transposed: `a[p * a_stride + r]`) and
/// `b[p * b_stride + n]` for `r < R`, `n < N`, `p < depth`. Checked access halves the speed.
// Plain counted loops over the arrays are what LLVM turns into registers.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
unsafe fn tile<const R: usize, const N: usize, const TRANSPOSED: bool>(
    a: &[f32],
    a_stride: usize,
    b: &[f32],
    b_stride: usize,
    c: &mut [f32],
    c_stride: usize,
    depth: usize,
) {
    let mut sums = [[0.0_f32; N]; R];
    for p in 0..depth {
        // SAFETY: as the caller promises; `[f32; N]` is aligned like f32.
        let b = unsafe { &*b.as_ptr().add(p * b_stride).cast::<[f32; N]>() };
        for r in 0..R {
            let place = if TRANSPOSED { p * a_stride + r } else { r * a_stride + p };
            // SAFETY: as the caller promises.
            let a = unsafe { *a.get_unchecked(place) };
            for n in 0..N {
                sums[r][n] = a.mul_add(b[n], sums[r][n]);
            }
        }
    }
    for r in 0..R {
        c[r * c_stride..][..N].copy_from_slice(&sums[r]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn are_products() {
        let value = |i: usize| (i * 37 % 19) as f32 - 9.0;
        for rows in (0..14).chain([32]) {
            for (columns, depth) in [(0, 3), (8, 0), (8, 1), (16, 5), (24, 12), (40, 33)] {
                let (b_stride, c_stride) = (columns + 3, columns + 5);
                let b = (0..depth * b_stride).map(value).collect::<Vec<_>>();
                for transposed in [false, true] {
                    let (a_rows, a_columns) =
                        if transposed { (depth, rows) } else { (rows, depth) };
                    let a_stride = a_columns + 2;
                    let a = (0..a_rows * a_stride).map(value).collect::<Vec<_>>();
                    let mut c = vec![0.5; rows * c_stride];
                    let f = if transposed { product_transposed } else { product };
                    f(&a, a_stride, &b, b_stride, &mut c, c_stride, rows, columns, depth);
                    for row in 0..rows {
                        for column in 0..c_stride {
                            let expected = (0..depth).map(|p| {
                                let a = if transposed {
                                    a[p * a_stride + row]
                                } else {
                                    a[row * a_stride + p]
                                };
                                a * b[p * b_stride + column.min(columns)]
                            });
                            let expected = if column < columns { expected.sum() } else { 0.5 };
                            assert_eq!(c[row * c_stride + column], expected);
                        }
                    }
                }
            }
        }
    }
}
