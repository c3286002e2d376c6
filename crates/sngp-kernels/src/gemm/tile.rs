//! The innermost loops of a matrix product.

use super::lanes::Lanes;
use super::{Finish, PANEL};

/// Steps of the inner dimension between two visits of the output: a panel of so many rows stays
/// in the first-level cache while all rows of the left operand pass by.
pub(super) const DEPTH: usize = 384;

/// Bytes of a cache line.
const LINE: usize = 64;

/// The part of a product that one thread computes: some rows of the left operand by some panels.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub left: *const f32,
    pub row_stride: usize,
    pub column_stride: usize,
    pub rows: usize,
    pub inner: usize,
    /// The first panel of the right operand.
    pub panels: *const f32,
    /// From one row of a panel to the next, and from one panel to the next.
    pub panel_step: usize,
    pub panel_stride: usize,
    /// What will be read after the last panel.
    pub next: *const f32,
    /// Columns of the output, less than `PANEL` times the panels in the last one.
    pub columns: usize,
    pub out: *mut f32,
    pub out_stride: usize,
    pub accumulate: bool,
    /// Where the block stands in the whole output.
    pub first_row: usize,
    pub first_column: usize,
}

/// Computes a block on the best instructions the processor has.
///
/// # Safety
/// The pointers are valid for all that the sizes and strides reach, and no one else touches the
/// block's part of the output.
pub(super) unsafe fn compute<F: Finish>(block: Block, finish: &F) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions; the rest is the caller's promise.
            return unsafe { avx512(block, finish) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions; the rest is the caller's promise.
            return unsafe { avx2(block, finish) };
        }
    }
    // SAFETY: the caller's promise.
    unsafe { portable::<[f32; 16], F>(block, finish) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512<F: Finish>(block: Block, finish: &F) {
    // SAFETY: the caller's promise, and the instructions are there.
    unsafe { portable::<std::arch::x86_64::__m512, F>(block, finish) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<F: Finish>(block: Block, finish: &F) {
    // SAFETY: the caller's promise, and the instructions are there.
    unsafe { portable::<[std::arch::x86_64::__m256; 2], F>(block, finish) }
}

/// Every output is summed in the order of the inner dimension, whatever the number of rows, so
/// that a row's result does not depend on the batch it comes in.
#[inline(always)]
unsafe fn portable<L: Lanes, F: Finish>(block: Block, finish: &F) {
    let mut scratch = Vec::new();
    for start in (0..block.inner.max(1)).step_by(DEPTH) {
        let depth = DEPTH.min(block.inner - start);
        let last = start + depth == block.inner;
        let accumulate = block.accumulate || start > 0;
        let panels = block.columns.div_ceil(PANEL);
        // A transposed operand is turned once where several panels will read it.
        let turned = block.column_stride > 1 && panels > 2;
        let (left, row_stride, column_stride) = if turned {
            // SAFETY: within the block.
            unsafe { turn(&block, start, depth, &mut scratch) };
            (scratch.as_ptr(), depth, 1)
        } else {
            // SAFETY: within the block.
            let left = unsafe { block.left.add(start * block.column_stride) };
            (left, block.row_stride, block.column_stride)
        };
        // Few rows leave registers free for several panels at once, which hides the latency of
        // the multiply-adds.
        let group = if block.rows < 2 { 4 } else { 1 };
        let tiles = block.rows.div_ceil(L::ROWS);
        let mut panel = 0;
        while panel < panels {
            // What is read next comes from memory while this panel is worked on, spread over
            // the tiles.
            let ahead = if panel + 1 < panels {
                let next = (panel + 1) * block.panel_stride + start * block.panel_step;
                block.panels.wrapping_add(next)
            } else if last {
                block.next
            } else {
                block.panels.wrapping_add((start + depth) * block.panel_step)
            };
            let ahead_step = LINE / tiles;
            let together = if block.columns - panel * PANEL >= group * PANEL { group } else { 1 };
            let mut row = 0;
            while row < block.rows {
                let rows = L::ROWS.min(block.rows - row);
                // SAFETY: within the block.
                unsafe {
                    let tile = Tile {
                        left: left.add(row * row_stride),
                        row_stride,
                        column_stride,
                        panel: block
                            .panels
                            .add(panel * block.panel_stride + start * block.panel_step),
                        panel_step: block.panel_step,
                        panel_stride: block.panel_stride,
                        depth,
                        out: block.out.add(row * block.out_stride + panel * PANEL),
                        out_stride: block.out_stride,
                        columns: (block.columns - panel * PANEL).min(together * PANEL),
                        accumulate,
                        ahead: ahead.wrapping_byte_add(row / L::ROWS * depth * ahead_step),
                        ahead_step,
                    };
                    tile.run::<L>(rows, together);
                    if last {
                        for r in row..row + rows {
                            let values = std::slice::from_raw_parts_mut(
                                block.out.add(r * block.out_stride + panel * PANEL),
                                tile.columns,
                            );
                            let column = block.first_column + panel * PANEL;
                            finish.finish(block.first_row + r, column, values);
                        }
                    }
                }
                row += rows;
            }
            panel += together;
        }
    }
}

/// Copies `depth` columns of the block's left operand from `start` on into rows.
#[inline(always)]
unsafe fn turn(block: &Block, start: usize, depth: usize, rows: &mut Vec<f32>) {
    rows.resize(block.rows * depth, 0.0);
    // Sixteen columns at a time fill whole cache lines of the rows.
    for first in (0..depth).step_by(16) {
        for (row, out) in rows.chunks_exact_mut(depth).enumerate() {
            for (column, out) in out[first..].iter_mut().take(16).enumerate() {
                let column = start + first + column;
                // SAFETY: within the block.
                *out = unsafe {
                    *block.left.add(row * block.row_stride + column * block.column_stride)
                };
            }
        }
    }
}

struct Tile {
    left: *const f32,
    row_stride: usize,
    column_stride: usize,
    panel: *const f32,
    panel_step: usize,
    panel_stride: usize,
    depth: usize,
    out: *mut f32,
    out_stride: usize,
    columns: usize,
    accumulate: bool,
    /// What to ask for at the first step, and how many bytes further on at each other.
    ahead: *const f32,
    ahead_step: usize,
}

impl Tile {
    #[inline(always)]
    unsafe fn run<L: Lanes>(&self, rows: usize, panels: usize) {
        // SAFETY: the caller's promise about the tile.
        unsafe {
            if panels == 4 {
                return self.product::<L, 1, 4>();
            }
            match rows {
                1 => self.product::<L, 1, 1>(),
                2 => self.product::<L, 2, 1>(),
                3 => self.product::<L, 3, 1>(),
                4 => self.product::<L, 4, 1>(),
                5 => self.product::<L, 5, 1>(),
                6 => self.product::<L, 6, 1>(),
                7 => self.product::<L, 7, 1>(),
                8 => self.product::<L, 8, 1>(),
                9 => self.product::<L, 9, 1>(),
                10 => self.product::<L, 10, 1>(),
                11 => self.product::<L, 11, 1>(),
                _ => self.product::<L, 12, 1>(),
            }
        }
    }

    #[inline(always)]
    unsafe fn product<L: Lanes, const ROWS: usize, const PANELS: usize>(&self) {
        // SAFETY: the caller's promise about the tile; a last, narrow panel is padded to its
        // full width, and only its columns are written.
        unsafe {
            let mut sums = [[L::zero(); PANELS]; ROWS];
            let (mut left, mut panel, mut ahead) = (self.left, self.panel, self.ahead);
            for _ in 0..self.depth {
                // A single row reads its panels so fast that asking for others only costs time.
                if PANELS == 1 {
                    L::prefetch(ahead);
                    ahead = ahead.wrapping_byte_add(self.ahead_step);
                }
                let values: [L; PANELS] =
                    std::array::from_fn(|p| L::load(panel.add(p * self.panel_stride)));
                for (row, sums) in sums.iter_mut().enumerate() {
                    let factor = *left.add(row * self.row_stride);
                    for (sum, values) in sums.iter_mut().zip(values) {
                        *sum = sum.add_scaled(factor, values);
                    }
                }
                left = left.add(self.column_stride);
                panel = panel.add(self.panel_step);
            }
            // Loops short enough to be unrolled: an accumulator that is picked by a running index
            // would have to live in memory, and be written there in every step above.
            if self.columns < PANELS * PANEL {
                let mut full = [[0.0; PANEL]; ROWS];
                for (sums, full) in sums.iter().zip(&mut full) {
                    sums[0].store(full.as_mut_ptr());
                }
                self.store_some(&full);
            } else if self.accumulate {
                for (row, sums) in sums.iter().enumerate() {
                    for (p, sum) in sums.iter().enumerate() {
                        let out = self.out.add(row * self.out_stride + p * PANEL);
                        sum.plus(L::load(out)).store(out);
                    }
                }
            } else {
                for (row, sums) in sums.iter().enumerate() {
                    for (p, sum) in sums.iter().enumerate() {
                        sum.store(self.out.add(row * self.out_stride + p * PANEL));
                    }
                }
            }
        }
    }

    /// Writes the columns that a narrow panel has.
    unsafe fn store_some(&self, rows: &[[f32; PANEL]]) {
        for (row, values) in rows.iter().enumerate() {
            for (column, value) in values[..self.columns].iter().enumerate() {
                // SAFETY: the caller's promise about the tile.
                unsafe {
                    let out = self.out.add(row * self.out_stride + column);
                    *out = if self.accumulate { *out + value } else { *value };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Plain;
    use super::*;

    type Compute = unsafe fn(Block, &Plain);

    /// Every way the processor can compute, not only the best one.
    fn ways() -> Vec<(&'static str, Compute)> {
        let mut ways: Vec<(&str, Compute)> = vec![("portable", portable::<[f32; 16], Plain>)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                ways.push(("avx2", avx2::<Plain>));
            }
            if is_x86_feature_detected!("avx512f") {
                ways.push(("avx512", avx512::<Plain>));
            }
        }
        ways
    }

    /// What stands between the rows of an output, and has to stay.
    const GAP: usize = 3;

    struct Product {
        rows: usize,
        inner: usize,
        columns: usize,
        transposed: bool,
        left: Vec<f32>,
        right: Vec<f32>,
        before: Vec<f32>,
    }

    impl Product {
        fn new(rows: usize, inner: usize, columns: usize, transposed: bool) -> Self {
            let values = |count: usize, turn: f32| -> Vec<f32> {
                (0..count).map(|i| (i as f32 * turn).sin()).collect()
            };
            let left = values(rows * inner, 0.7);
            let right = values(columns.div_ceil(PANEL) * inner * PANEL, 0.3);
            let before = values(rows * (columns + GAP), 1.1);
            Self { rows, inner, columns, transposed, left, right, before }
        }

        /// From a row and from a column of the left operand to the next.
        fn strides(&self) -> [usize; 2] {
            if self.transposed { [1, self.rows] } else { [self.inner, 1] }
        }

        fn run(&self, compute: Compute, accumulate: bool) -> Vec<f32> {
            let mut out = self.before.clone();
            let [row_stride, column_stride] = self.strides();
            let block = Block {
                left: self.left.as_ptr(),
                row_stride,
                column_stride,
                rows: self.rows,
                inner: self.inner,
                panels: self.right.as_ptr(),
                panel_step: PANEL,
                panel_stride: self.inner * PANEL,
                next: self.right.as_ptr(),
                columns: self.columns,
                out: out.as_mut_ptr(),
                out_stride: self.columns + GAP,
                accumulate,
                first_row: 0,
                first_column: 0,
            };
            // SAFETY: the sizes are those of the buffers, and the processor has the instructions.
            unsafe { compute(block, &Plain) };
            out
        }

        /// The definition.
        fn expected(&self, row: usize, column: usize, accumulate: bool) -> f64 {
            let before = self.before[row * (self.columns + GAP) + column];
            if column >= self.columns {
                return before.into();
            }
            let [row_stride, column_stride] = self.strides();
            let panel = column / PANEL * self.inner * PANEL + column % PANEL;
            let terms = (0..self.inner).map(|k| {
                let left = self.left[row * row_stride + k * column_stride];
                f64::from(left) * f64::from(self.right[panel + k * PANEL])
            });
            terms.sum::<f64>() + if accumulate { before.into() } else { 0.0 }
        }
    }

    /// Whole and narrow panels, whole and partial tiles, either order of the left operand, and more
    /// steps than one visit of the output takes.
    #[test]
    fn all_instructions_compute_the_product() {
        for rows in [1, 2, 5, 6, 11, 12, 13, 29] {
            for (inner, columns) in [(1, 16), (7, 32), (40, 5), (DEPTH + 3, 70)] {
                for (transposed, accumulate) in
                    [(false, false), (false, true), (true, false), (true, true)]
                {
                    let product = Product::new(rows, inner, columns, transposed);
                    for (name, compute) in ways() {
                        let out = product.run(compute, accumulate);
                        for (place, &value) in out.iter().enumerate() {
                            let (row, column) = (place / (columns + GAP), place % (columns + GAP));
                            let expected = product.expected(row, column, accumulate);
                            let error = (f64::from(value) - expected).abs();
                            assert!(error < 1e-4, "{name} {rows} x {inner} x {columns}: {error}");
                        }
                    }
                }
            }
        }
    }
}
