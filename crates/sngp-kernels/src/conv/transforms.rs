//! The one-dimensional transforms of Winograd's method.
//!
//! `m` outputs of a filter `g` with three taps are `A^T [(G g) * (B^T d)]`, where `d` are the
//! `m + 2` inputs they see: polynomials are multiplied by their values at `m + 1` points and at
//! infinity. In two dimensions each transform is applied to the columns and to the rows.

use crate::gemm::lanes::Lanes;

/// The most inputs of a tile along one side.
pub(super) const MOST: usize = 6;

/// The transforms of one size of tile, on sixteen channels or filters at a time.
///
/// # Safety
/// The methods may only be called where the instructions of `L` are enabled.
pub(super) trait Transform: Sync {
    /// Outputs along a side.
    const OUT: usize;
    /// Inputs along a side.
    const IN: usize = Self::OUT + 2;

    /// `B^T d`.
    unsafe fn input<L: Lanes>(d: [L; MOST]) -> [L; MOST];
    /// `A^T m`.
    unsafe fn output<L: Lanes>(m: [L; MOST]) -> [L; MOST];
    /// `A y`.
    unsafe fn output_adjoint<L: Lanes>(y: [L; MOST]) -> [L; MOST];
    /// `G g`.
    unsafe fn filter<L: Lanes>(g: [L; 3]) -> [L; MOST];
    /// `G^T u`.
    unsafe fn filter_adjoint<L: Lanes>(u: [L; MOST]) -> [L; 3];
}

/// F(2x2, 3x3): sixteen products for four outputs, at the points 0, 1, -1 and infinity.
pub(super) struct Two;

impl Transform for Two {
    const OUT: usize = 2;

    #[inline(always)]
    unsafe fn input<L: Lanes>(d: [L; MOST]) -> [L; MOST] {
        // SAFETY: the caller's promise.
        unsafe {
            let zero = L::zero();
            [d[0].minus(d[2]), d[1].plus(d[2]), d[2].minus(d[1]), d[1].minus(d[3]), zero, zero]
        }
    }

    #[inline(always)]
    unsafe fn output<L: Lanes>(m: [L; MOST]) -> [L; MOST] {
        // SAFETY: the caller's promise.
        unsafe {
            let zero = L::zero();
            let (first, second) = (m[0].plus(m[1]).plus(m[2]), m[1].minus(m[2]).minus(m[3]));
            [first, second, zero, zero, zero, zero]
        }
    }

    #[inline(always)]
    unsafe fn output_adjoint<L: Lanes>(y: [L; MOST]) -> [L; MOST] {
        // SAFETY: the caller's promise.
        unsafe {
            let zero = L::zero();
            [y[0], y[0].plus(y[1]), y[0].minus(y[1]), zero.minus(y[1]), zero, zero]
        }
    }

    #[inline(always)]
    unsafe fn filter<L: Lanes>(g: [L; 3]) -> [L; MOST] {
        // SAFETY: the caller's promise.
        unsafe {
            let zero = L::zero();
            let (even, odd) = (g[0].plus(g[2]).times(0.5), g[1].times(0.5));
            [g[0], even.plus(odd), even.minus(odd), g[2], zero, zero]
        }
    }

    #[inline(always)]
    unsafe fn filter_adjoint<L: Lanes>(u: [L; MOST]) -> [L; 3] {
        // SAFETY: the caller's promise.
        unsafe {
            let (even, odd) = (u[1].plus(u[2]).times(0.5), u[1].minus(u[2]).times(0.5));
            [u[0].plus(even), odd, u[3].plus(even)]
        }
    }
}

/// F(4x4, 3x3): thirty-six products for sixteen outputs, at the points 0, ±P, ±Q and infinity.
pub(super) struct Four;

/// The points other than 0 and infinity. The usual 1 and 2 make for larger numbers on the way,
/// and so for larger errors.
const P: f32 = 0.75;
const Q: f32 = 1.5;
const PP: f32 = P * P;
const QQ: f32 = Q * Q;
/// What the values at 0, ±P and ±Q are divided by: the product of the differences to the other
/// points.
const AT_ZERO: f32 = 1.0 / (PP * QQ);
const AT_P: f32 = 1.0 / (2.0 * PP * (PP - QQ));
const AT_Q: f32 = 1.0 / (2.0 * QQ * (QQ - PP));

impl Transform for Four {
    const OUT: usize = 4;

    #[inline(always)]
    unsafe fn input<L: Lanes>(d: [L; MOST]) -> [L; MOST] {
        // SAFETY: the caller's promise.
        unsafe {
            let zero = d[4].add_scaled(-(PP + QQ), d[2]).add_scaled(PP * QQ, d[0]);
            let even_p = d[4].add_scaled(-QQ, d[2]);
            let odd_p = d[3].add_scaled(-QQ, d[1]);
            let even_q = d[4].add_scaled(-PP, d[2]);
            let odd_q = d[3].add_scaled(-PP, d[1]);
            let infinity = d[5].add_scaled(-(PP + QQ), d[3]).add_scaled(PP * QQ, d[1]);
            [
                zero,
                even_p.add_scaled(P, odd_p),
                even_p.add_scaled(-P, odd_p),
                even_q.add_scaled(Q, odd_q),
                even_q.add_scaled(-Q, odd_q),
                infinity,
            ]
        }
    }

    #[inline(always)]
    unsafe fn output<L: Lanes>(m: [L; MOST]) -> [L; MOST] {
        // SAFETY: the caller's promise.
        unsafe {
            let (even_p, odd_p) = (m[1].plus(m[2]), m[1].minus(m[2]));
            let (even_q, odd_q) = (m[3].plus(m[4]), m[3].minus(m[4]));
            [
                m[0].plus(even_p).plus(even_q),
                odd_p.times(P).add_scaled(Q, odd_q),
                even_p.times(PP).add_scaled(QQ, even_q),
                m[5].add_scaled(P * PP, odd_p).add_scaled(Q * QQ, odd_q),
                L::zero(),
                L::zero(),
            ]
        }
    }

    #[inline(always)]
    unsafe fn output_adjoint<L: Lanes>(y: [L; MOST]) -> [L; MOST] {
        // SAFETY: the caller's promise.
        unsafe {
            let even_p = y[0].add_scaled(PP, y[2]);
            let odd_p = y[1].add_scaled(PP, y[3]);
            let even_q = y[0].add_scaled(QQ, y[2]);
            let odd_q = y[1].add_scaled(QQ, y[3]);
            [
                y[0],
                even_p.add_scaled(P, odd_p),
                even_p.add_scaled(-P, odd_p),
                even_q.add_scaled(Q, odd_q),
                even_q.add_scaled(-Q, odd_q),
                y[3],
            ]
        }
    }

    #[inline(always)]
    unsafe fn filter<L: Lanes>(g: [L; 3]) -> [L; MOST] {
        // SAFETY: the caller's promise.
        unsafe {
            let even_p = g[0].add_scaled(PP, g[2]).times(AT_P);
            let odd_p = g[1].times(P * AT_P);
            let even_q = g[0].add_scaled(QQ, g[2]).times(AT_Q);
            let odd_q = g[1].times(Q * AT_Q);
            [
                g[0].times(AT_ZERO),
                even_p.plus(odd_p),
                even_p.minus(odd_p),
                even_q.plus(odd_q),
                even_q.minus(odd_q),
                g[2],
            ]
        }
    }

    #[inline(always)]
    unsafe fn filter_adjoint<L: Lanes>(u: [L; MOST]) -> [L; 3] {
        // SAFETY: the caller's promise.
        unsafe {
            let (even_p, odd_p) = (u[1].plus(u[2]).times(AT_P), u[1].minus(u[2]).times(AT_P));
            let (even_q, odd_q) = (u[3].plus(u[4]).times(AT_Q), u[3].minus(u[4]).times(AT_Q));
            [
                u[0].times(AT_ZERO).plus(even_p).plus(even_q),
                odd_p.times(P).add_scaled(Q, odd_q),
                u[5].add_scaled(PP, even_p).add_scaled(QQ, even_q),
            ]
        }
    }
}
