//! Filters at the points of Winograd's transforms, and their gradients back.

use super::transforms::{Four, MOST, Transform, Two};
use crate::array::uninitialized;
use crate::gemm::PANEL;
use crate::gemm::lanes::Lanes;
use crate::parallel::run_all;
use crate::simd::simd;

/// Outputs of a tile along a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tile {
    /// F(2x2, 3x3): 2.25 times fewer products than the plain sum, nearly as exact.
    Two,
    /// F(4x4, 3x3): four times fewer products, with larger transforms and rounding errors.
    Four,
}

impl Tile {
    /// Points, that is, products of a tile.
    pub fn points(self) -> usize {
        match self {
            Self::Two => Two::IN * Two::IN,
            Self::Four => Four::IN * Four::IN,
        }
    }
}

/// The filters of a 3x3 convolution at the points, `G g G^T`: a matrix `channels x filters` in
/// panels per point. It takes 4 (or 16 / 9) times the memory of the weight.
#[derive(Clone, Debug)]
pub struct WinogradFilters {
    pub(super) tile: Tile,
    pub(super) channels: usize,
    pub(super) filters: usize,
    /// `[panel, point, channel, 16]`, the points `point_stride` apart.
    values: Vec<f32>,
}

impl WinogradFilters {
    /// From a weight `[filters, channels, 3, 3]`.
    pub fn new(weight: &[f32], channels: usize, filters: usize, tile: Tile) -> Self {
        let order = Order { filter: channels * 9, channel: 9, rotated: false };
        Self::ordered(weight, channels, filters, tile, order)
    }

    /// For the gradient of the input: the filters of a weight `[filters, channels, 3, 3]` turned
    /// by 180 degrees, from `filters` channels to `channels` filters.
    pub fn rotated(weight: &[f32], channels: usize, filters: usize, tile: Tile) -> Self {
        let order = Order { filter: 9, channel: channels * 9, rotated: true };
        Self::ordered(weight, filters, channels, tile, order)
    }

    fn ordered(weight: &[f32], channels: usize, filters: usize, tile: Tile, order: Order) -> Self {
        assert_eq!(weight.len(), filters * channels * 9, "the size of a 3x3 weight");
        let panel_len = tile.points() * point_stride(channels);
        let mut values = uninitialized(filters.div_ceil(PANEL) * panel_len);
        let time = values.len() / 4;
        run_all(values.chunks_mut(panel_len.max(1)).enumerate(), time, |(panel, out)| {
            let first = panel * PANEL;
            let width = PANEL.min(filters - first);
            // SAFETY: the panel has room for all points.
            match tile {
                Tile::Two => unsafe {
                    transform::<Two>(weight, order, first, width, channels, out)
                },
                Tile::Four => unsafe {
                    transform::<Four>(weight, order, first, width, channels, out)
                },
            }
        });
        Self { tile, channels, filters, values }
    }

    /// The matrix of a point, sixteen filters of it.
    pub(super) fn panel(&self, panel: usize, point: usize) -> &[f32] {
        let start = (panel * self.tile.points() + point) * point_stride(self.channels);
        &self.values[start..][..self.channels * PANEL]
    }
}

/// From a point to the next one: a cache line between them keeps them from falling into the same
/// sets of the cache.
fn point_stride(channels: usize) -> usize {
    (channels + 1) * PANEL
}

/// How far apart filters and channels are in a weight, and whether its taps go backwards.
#[derive(Clone, Copy)]
struct Order {
    filter: usize,
    channel: usize,
    rotated: bool,
}

/// Column `j` of the taps at the points.
#[inline(always)]
unsafe fn column<L: Lanes, T: Transform>(taps: &[[f32; PANEL]; 9], j: usize) -> [L; MOST] {
    // SAFETY: the caller's promise.
    unsafe {
        T::filter([
            L::load(taps[j].as_ptr()),
            L::load(taps[3 + j].as_ptr()),
            L::load(taps[6 + j].as_ptr()),
        ])
    }
}

simd! {
    /// Takes the filters of a panel to the points.
    ///
    /// # Safety
    /// `out` has room for all points.
    unsafe fn transform<L: Lanes, T: Transform>(
        weight: &[f32],
        order: Order,
        first: usize,
        width: usize,
        channels: usize,
        out: &mut [f32],
    ) {
        let mut taps = [[0.0f32; PANEL]; 9];
        for channel in 0..channels {
            for (lane, filter) in (first..first + width).enumerate() {
                let start = filter * order.filter + channel * order.channel;
                for (tap, value) in weight[start..start + 9].iter().enumerate() {
                    taps[if order.rotated { 8 - tap } else { tap }][lane] = *value;
                }
            }
            // SAFETY: the caller's promise.
            unsafe {
                let a: [L; MOST] = column::<L, T>(&taps, 0);
                let b: [L; MOST] = column::<L, T>(&taps, 1);
                let c: [L; MOST] = column::<L, T>(&taps, 2);
                let out = out.as_mut_ptr().add(channel * PANEL);
                for i in 0..T::IN {
                    let row = T::filter([a[i], b[i], c[i]]);
                    for (j, value) in row[..T::IN].iter().enumerate() {
                        value.store(out.add((i * T::IN + j) * point_stride(channels)));
                    }
                }
            }
        }
    }
}

/// Column `j` of the gradients at the points from `start` on, at the taps.
#[inline(always)]
unsafe fn column_back<L: Lanes, T: Transform>(
    sums: &[f32],
    start: usize,
    stride: usize,
    j: usize,
) -> [L; 3] {
    // SAFETY: the caller's promise.
    unsafe {
        let mut column = [L::zero(); MOST];
        if j < T::IN {
            for (i, value) in column[..T::IN].iter_mut().enumerate() {
                let place = start + (i * T::IN + j) * stride;
                *value = L::load(sums[place..place + PANEL].as_ptr());
            }
        }
        T::filter_adjoint(column)
    }
}

simd! {
    /// Takes gradients at the points, `[point, channel, 16]` with points `stride` apart, to those
    /// of up to sixteen filters `[filter, channel, 3, 3]`: `G^T u G`.
    ///
    /// # Safety
    /// None beyond the instructions, which are looked after here.
    pub(super) unsafe fn transform_back<L: Lanes, T: Transform>(
        sums: &[f32],
        stride: usize,
        channels: usize,
        out: &mut [f32],
    ) {
        for channel in 0..channels {
            let mut taps = [[0.0f32; PANEL]; 9];
            // SAFETY: the caller's promise.
            unsafe {
                let start = channel * PANEL;
                let [a, b, c, d, e, f]: [[L; 3]; MOST] = [
                    column_back::<L, T>(sums, start, stride, 0),
                    column_back::<L, T>(sums, start, stride, 1),
                    column_back::<L, T>(sums, start, stride, 2),
                    column_back::<L, T>(sums, start, stride, 3),
                    column_back::<L, T>(sums, start, stride, 4),
                    column_back::<L, T>(sums, start, stride, 5),
                ];
                for i in 0..3 {
                    let row = T::filter_adjoint([a[i], b[i], c[i], d[i], e[i], f[i]]);
                    for (j, value) in row.iter().enumerate() {
                        value.store(taps[3 * i + j].as_mut_ptr());
                    }
                }
            }
            for (lane, filter) in out.chunks_exact_mut(channels * 9).enumerate() {
                for (value, tap) in filter[channel * 9..][..9].iter_mut().zip(&taps) {
                    *value = tap[lane];
                }
            }
        }
    }
}
