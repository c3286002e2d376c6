//! Matrix products with a prepared right operand.
//!
//! A general product packs both operands on every call. Here the right operand, as a rule a
//! layer's weight, is packed once into panels of sixteen columns ([`Packed`]) and kept; the left
//! one is read where it lies; and what follows the product (bias, activation, residual) is
//! applied while the output is still in the cache ([`Finish`]).

pub(crate) mod lanes;
mod packed;
mod tile;

pub(crate) use packed::{PANEL, Packed};

use rayon::prelude::*;

use tile::{Block, compute};

/// The left operand, read in place: any strides, so a transposed matrix needs no copy.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    pub values: &'a [f32],
    pub rows: usize,
    pub inner: usize,
    pub row_stride: usize,
    pub column_stride: usize,
}

impl<'a> Left<'a> {
    /// A row-major matrix.
    pub fn rows(values: &'a [f32], rows: usize, inner: usize) -> Self {
        Self { values, rows, inner, row_stride: inner, column_stride: 1 }
    }

    /// The transpose of a row-major `inner x rows` matrix.
    pub fn transposed(values: &'a [f32], rows: usize, inner: usize) -> Self {
        Self { values, rows, inner, row_stride: 1, column_stride: rows }
    }

    fn reach(&self) -> usize {
        match (self.rows, self.inner) {
            (0, _) | (_, 0) => 0,
            (m, k) => (m - 1) * self.row_stride + (k - 1) * self.column_stride + 1,
        }
    }
}

/// The right operand: a packed matrix, or one that is read where it lies.
#[derive(Clone, Copy)]
pub(crate) struct Right<'a> {
    values: &'a [f32],
    inner: usize,
    columns: usize,
    step: usize,
    panel_stride: usize,
    next: &'a [f32],
}

impl<'a> Right<'a> {
    /// A packed matrix.
    pub fn packed(packed: &'a Packed) -> Self {
        let (inner, columns) = (packed.inner(), packed.columns());
        Self {
            values: packed.panels(),
            inner,
            columns,
            step: PANEL,
            panel_stride: inner * PANEL,
            next: &[],
        }
    }

    /// Panels that lie in any buffer, one after the other, as in a packed matrix.
    pub fn panels(values: &'a [f32], inner: usize, columns: usize) -> Self {
        assert!(values.len() >= columns.div_ceil(PANEL) * inner * PANEL);
        Self { values, inner, columns, step: PANEL, panel_stride: inner * PANEL, next: &[] }
    }

    /// Says what the caller will read after this operand, so that it comes from memory meanwhile.
    pub fn followed_by(self, next: &'a [f32]) -> Self {
        Self { next, ..self }
    }

    /// The panels from `first` on, at most `count` of them, and the first `inner` of their rows.
    pub fn part(self, first: usize, count: usize, inner: usize) -> Self {
        assert!(inner <= self.inner);
        let columns = (self.columns - first * PANEL).min(count * PANEL);
        Self { values: &self.values[first * self.panel_stride..], inner, columns, ..self }
    }

    /// A row-major matrix as it is, if it consists of whole panels. For a product of few rows
    /// packing would cost more than the product.
    pub fn in_place(values: &'a [f32], inner: usize, columns: usize) -> Option<Self> {
        assert!(values.len() >= inner * columns);
        columns.is_multiple_of(PANEL).then_some(Self {
            values,
            inner,
            columns,
            step: columns,
            panel_stride: PANEL,
            next: &[],
        })
    }
}

/// What is done with finished outputs.
pub(crate) trait Finish: Sync {
    /// `values` are the outputs of `row` from `column` on.
    fn finish(&self, row: usize, column: usize, values: &mut [f32]);
}

/// Leaves the product as it is.
pub(crate) struct Plain;

impl Finish for Plain {
    #[inline(always)]
    fn finish(&self, _row: usize, _column: usize, _values: &mut [f32]) {}
}

/// Multiply-adds below which another thread costs more than it saves.
const WORTH_A_THREAD: usize = 150_000;

/// Multiply-adds below which a smaller piece does not even out the threads' work any more.
const WORTH_A_PIECE: usize = 1_000_000;

/// Rows of a block: as many as leave the second-level cache room for a panel.
const BLOCK_ROWS: usize = 96;

/// `out = left right`, or `out += left right`, row-major, on all threads of the current pool.
pub(crate) fn multiply<F: Finish>(
    left: Left<'_>,
    right: Right<'_>,
    out: &mut [f32],
    accumulate: bool,
    finish: &F,
) {
    let threads = rayon::current_num_threads();
    run(left, right, out, right.columns, accumulate, finish, threads);
}

/// As [`multiply`], into rows that are `out_stride` apart, on the calling thread: for kernels that
/// share out their work themselves.
pub(crate) fn multiply_here<F: Finish>(
    left: Left<'_>,
    right: Right<'_>,
    out: &mut [f32],
    out_stride: usize,
    accumulate: bool,
    finish: &F,
) {
    run(left, right, out, out_stride, accumulate, finish, 1);
}

fn run<F: Finish>(
    left: Left<'_>,
    right: Right<'_>,
    out: &mut [f32],
    out_stride: usize,
    accumulate: bool,
    finish: &F,
    threads: usize,
) {
    let (rows, columns) = (left.rows, right.columns);
    if rows == 0 || columns == 0 {
        return;
    }
    assert_eq!(left.inner, right.inner, "the inner dimensions of a product");
    assert!(left.values.len() >= left.reach());
    assert!(out_stride >= columns && out.len() >= (rows - 1) * out_stride + columns);
    let whole = Block {
        left: left.values.as_ptr(),
        row_stride: left.row_stride,
        column_stride: left.column_stride,
        rows,
        inner: left.inner,
        panels: right.values.as_ptr(),
        panel_step: right.step,
        panel_stride: right.panel_stride,
        next: right.next.as_ptr(),
        columns,
        out: out.as_mut_ptr(),
        out_stride,
        accumulate,
        first_row: 0,
        first_column: 0,
    };
    let panels = columns.div_ceil(PANEL);
    let work = rows * columns * left.inner;
    let (row_blocks, column_blocks) = if threads == 1 || work < 2 * WORTH_A_THREAD {
        (rows.div_ceil(BLOCK_ROWS), 1)
    } else {
        let row_blocks = rows.div_ceil(BLOCK_ROWS);
        // Enough pieces that no thread waits long for the last one, each worth its while.
        let wanted = (4 * threads).min(work / WORTH_A_PIECE).max(threads);
        (row_blocks, wanted.div_ceil(row_blocks).min(panels))
    };
    let pieces = row_blocks * column_blocks;
    let block_rows = rows.div_ceil(row_blocks).next_multiple_of(6);
    let block_panels = panels.div_ceil(column_blocks);
    let whole = Shared(whole);
    let piece = |index: usize| {
        let whole = whole.get();
        let row = index / column_blocks * block_rows;
        let panel = index % column_blocks * block_panels;
        if row >= rows || panel >= panels {
            return;
        }
        // SAFETY: the asserts above; pieces write to disjoint parts of the output.
        unsafe {
            let block = Block {
                left: whole.left.add(row * whole.row_stride),
                rows: block_rows.min(rows - row),
                panels: whole.panels.add(panel * whole.panel_stride),
                columns: (block_panels * PANEL).min(columns - panel * PANEL),
                out: whole.out.add(row * out_stride + panel * PANEL),
                first_row: row,
                first_column: panel * PANEL,
                ..whole
            };
            compute(block, finish);
        }
    };
    if pieces == 1 || threads == 1 || work < 2 * WORTH_A_THREAD {
        (0..pieces).for_each(piece);
    } else {
        (0..pieces).into_par_iter().with_max_len(1).for_each(piece);
    }
}

/// A block whose pointers may go to other threads: each of them takes a part of its own.
struct Shared(Block);

impl Shared {
    fn get(&self) -> Block {
        self.0
    }
}

// SAFETY: the left operand and the panels are only read, and the pieces that are made of it write
// to disjoint parts of the output.
unsafe impl Sync for Shared {}
