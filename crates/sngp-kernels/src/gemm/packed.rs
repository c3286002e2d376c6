//! A right operand in panels.

use rayon::prelude::*;

/// Columns of a panel.
pub(crate) const PANEL: usize = 16;

/// Entries below which packing on one thread is faster.
const WORTH_A_THREAD: usize = 1 << 16;

/// A matrix `inner x columns` as panels of sixteen columns, each row by row, the last one filled
/// up with zeros: what a tile of the product reads is one stream.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    panels: Vec<f32>,
    inner: usize,
    columns: usize,
}

impl Packed {
    /// Packs a row-major matrix.
    pub fn rows(values: &[f32], inner: usize, columns: usize) -> Self {
        assert!(values.len() >= inner * columns);
        Self::fill(inner, columns, |first, width, panel| {
            for (row, out) in panel.chunks_exact_mut(PANEL).enumerate() {
                let from = &values[row * columns + first..][..width];
                if width == PANEL {
                    out.copy_from_slice(from);
                } else {
                    out[..width].copy_from_slice(from);
                    out[width..].fill(0.0);
                }
            }
        })
    }

    /// Packs the transpose of a row-major `columns x inner` matrix.
    pub fn transposed(values: &[f32], inner: usize, columns: usize) -> Self {
        assert!(values.len() >= inner * columns);
        Self::fill(inner, columns, |first, width, panel| {
            if width < PANEL {
                panel.fill(0.0);
            }
            // Blocks of rows keep the lines that are written to in the cache.
            for start in (0..inner).step_by(64) {
                let end = (start + 64).min(inner);
                for column in 0..width {
                    let from = &values[(first + column) * inner..][start..end];
                    let out = panel[start * PANEL + column..].iter_mut().step_by(PANEL);
                    for (out, value) in out.zip(from) {
                        *out = *value;
                    }
                }
            }
        })
    }

    /// Lets `panel` write every panel: its first column, its width and its values.
    pub fn fill(
        inner: usize,
        columns: usize,
        panel: impl Fn(usize, usize, &mut [f32]) + Sync,
    ) -> Self {
        let size = columns.div_ceil(PANEL) * inner * PANEL;
        let mut panels = crate::array::uninitialized(size);
        if inner > 0 {
            let one = |(index, out): (usize, &mut [f32])| {
                let first = index * PANEL;
                panel(first, PANEL.min(columns - first), out);
            };
            if size < WORTH_A_THREAD {
                panels.chunks_exact_mut(inner * PANEL).enumerate().for_each(one);
            } else {
                let at_least = WORTH_A_THREAD.div_ceil(2 * inner * PANEL);
                panels
                    .par_chunks_exact_mut(inner * PANEL)
                    .enumerate()
                    .with_min_len(at_least)
                    .for_each(one);
            }
        }
        Self { panels, inner, columns }
    }

    pub fn inner(&self) -> usize {
        self.inner
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    pub fn panels(&self) -> &[f32] {
        &self.panels
    }
}
