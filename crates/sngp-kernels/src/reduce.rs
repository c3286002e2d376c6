//! Sums that do not depend on the number of threads.

use rayon::prelude::*;

/// Rows of one partial sum. Fixed, so that the order of additions is.
const ROWS: usize = 128;

/// The sums of the columns of a row-major matrix.
pub(crate) fn column_sums(values: &[f32], columns: usize) -> Vec<f32> {
    let mut sums = vec![0.0; columns];
    if columns == 0 {
        return sums;
    }
    let partial = |block: &[f32]| {
        let mut sums = vec![0.0; columns];
        for row in block.chunks_exact(columns) {
            add(&mut sums, row);
        }
        sums
    };
    let blocks = values.chunks(ROWS * columns);
    let partials: Vec<Vec<f32>> = if values.len() < 1 << 16 {
        blocks.map(partial).collect()
    } else {
        values.par_chunks(ROWS * columns).map(partial).collect()
    };
    for partial in &partials {
        add(&mut sums, partial);
    }
    sums
}

/// `sums += values`.
pub(crate) fn add(sums: &mut [f32], values: &[f32]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}
