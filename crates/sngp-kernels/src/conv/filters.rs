//! Filters at the points of Winograd's transforms, and their gradients back.

use super::transforms::{Four, MOST, Transform, Two};
use crate::array::uninitialized;
use crate::gemm::PANEL;
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

    /// Outputs along a side.
    pub fn size(self) -> usize {
        match self {
            Self::Two => Two::OUT,
            Self::Four => Four::OUT,
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
    /// `[panel, point, channel, 16]`.
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
        let panel_len = tile.points() * channels * PANEL;
        let mut values = uninitialized(filters.div_ceil(PANEL) * panel_len);
        let time = values.len() / 4;
        run_all(values.chunks_mut(panel_len.max(1)).enumerate(), time, |(panel, out)| {
            let first = panel * PANEL;
            let width = PANEL.min(filters - first);
            // SAFETY: the panel holds `[point, channel, 16]`.
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
        let size = self.channels * PANEL;
        &self.values[(panel * self.tile.points() + point) * size..][..size]
    }
}

/// How far apart filters and channels are in a weight, and whether its taps go backwards.
#[derive(Clone, Copy)]
struct Order {
    filter: usize,
    channel: usize,
    rotated: bool,
}

simd! {
    /// Takes the filters of a panel to the points.
    ///
    /// # Safety
    /// `out` has room for `[point, channel, 16]`.
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
            for lane in 0..width {
                let start = (first + lane) * order.filter + channel * order.channel;
                let filter = &weight[start..start + 9];
                for tap in 0..9 {
                    taps[if order.rotated { 8 - tap } else { tap }][lane] = filter[tap];
                }
            }
            // SAFETY: the caller's promise.
            unsafe {
                let mut half = [[L::zero(); 3]; MOST];
                for j in 0..3 {
                    let column = T::filter([0, 1, 2].map(|i| L::load(taps[3 * i + j].as_ptr())));
                    for i in 0..T::IN {
                        half[i][j] = column[i];
                    }
                }
                let out = out.as_mut_ptr().add(channel * PANEL);
                for (i, row) in half[..T::IN].iter().enumerate() {
                    let row = T::filter(*row);
                    for (j, value) in row[..T::IN].iter().enumerate() {
                        value.store(out.add((i * T::IN + j) * channels * PANEL));
                    }
                }
            }
        }
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
                let mut half = [[L::zero(); MOST]; 3];
                for j in 0..T::IN {
                    let mut column = [L::zero(); MOST];
                    for (i, value) in column[..T::IN].iter_mut().enumerate() {
                        let place = (i * T::IN + j) * stride + channel * PANEL;
                        *value = L::load(sums[place..place + PANEL].as_ptr());
                    }
                    let column = T::filter_adjoint(column);
                    for i in 0..3 {
                        half[i][j] = column[i];
                    }
                }
                for (i, row) in half.iter().enumerate() {
                    for (j, value) in T::filter_adjoint(*row).iter().enumerate() {
                        value.store(taps[3 * i + j].as_mut_ptr());
                    }
                }
            }
            for (lane, filter) in out.chunks_exact_mut(channels * 9).enumerate() {
                let filter = &mut filter[channel * 9..][..9];
                for tap in 0..9 {
                    filter[tap] = taps[tap][lane];
                }
            }
        }
    }
}
