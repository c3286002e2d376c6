//! Sixteen columns of a tile, in as many registers as the machine needs.

/// Sixteen f32 in registers.
///
/// # Safety
/// The methods may only be called where the instructions they use are enabled, and pointers have
/// to be valid for sixteen f32.
pub(crate) trait Lanes: Copy {
    /// How many rows of accumulators fit the registers beside the operands.
    const ROWS: usize;

    unsafe fn zero() -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    /// `self + factor * values`.
    unsafe fn add_scaled(self, factor: f32, values: Self) -> Self;
    /// `factor * self`.
    unsafe fn times(self, factor: f32) -> Self;
    /// `self + values`.
    unsafe fn plus(self, values: Self) -> Self;
    /// `self - values`.
    unsafe fn minus(self, values: Self) -> Self;

    /// Has the second-level cache ask for what will be needed soon; the place may lie anywhere.
    #[inline(always)]
    fn prefetch(place: *const f32) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 has the instruction, and it never faults.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T1>(place.cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = place;
    }
}

/// Plain Rust, which the compiler vectorises with what it may assume.
impl Lanes for [f32; 16] {
    const ROWS: usize = 6;

    #[inline(always)]
    unsafe fn zero() -> Self {
        [0.0; 16]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller's promise.
        unsafe { from.cast::<Self>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<Self>().write_unaligned(self) }
    }

    #[inline(always)]
    unsafe fn add_scaled(self, factor: f32, values: Self) -> Self {
        std::array::from_fn(|lane| self[lane] + factor * values[lane])
    }

    #[inline(always)]
    unsafe fn times(self, factor: f32) -> Self {
        self.map(|value| factor * value)
    }

    #[inline(always)]
    unsafe fn plus(self, values: Self) -> Self {
        std::array::from_fn(|lane| self[lane] + values[lane])
    }

    #[inline(always)]
    unsafe fn minus(self, values: Self) -> Self {
        std::array::from_fn(|lane| self[lane] - values[lane])
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Lanes;

    impl Lanes for [__m256; 2] {
        const ROWS: usize = 6;

        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: the caller enabled AVX.
            unsafe { [_mm256_setzero_ps(); 2] }
        }

        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: the caller enabled AVX and promises sixteen f32.
            unsafe { [_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))] }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: as above.
            unsafe {
                _mm256_storeu_ps(to, self[0]);
                _mm256_storeu_ps(to.add(8), self[1]);
            }
        }

        #[inline(always)]
        unsafe fn add_scaled(self, factor: f32, values: Self) -> Self {
            // SAFETY: the caller enabled AVX and FMA.
            unsafe {
                let factor = _mm256_set1_ps(factor);
                [
                    _mm256_fmadd_ps(factor, values[0], self[0]),
                    _mm256_fmadd_ps(factor, values[1], self[1]),
                ]
            }
        }

        #[inline(always)]
        unsafe fn times(self, factor: f32) -> Self {
            // SAFETY: the caller enabled AVX.
            unsafe {
                let factor = _mm256_set1_ps(factor);
                [_mm256_mul_ps(factor, self[0]), _mm256_mul_ps(factor, self[1])]
            }
        }

        #[inline(always)]
        unsafe fn plus(self, values: Self) -> Self {
            // SAFETY: the caller enabled AVX.
            unsafe { [_mm256_add_ps(self[0], values[0]), _mm256_add_ps(self[1], values[1])] }
        }

        #[inline(always)]
        unsafe fn minus(self, values: Self) -> Self {
            // SAFETY: the caller enabled AVX.
            unsafe { [_mm256_sub_ps(self[0], values[0]), _mm256_sub_ps(self[1], values[1])] }
        }
    }

    impl Lanes for __m512 {
        const ROWS: usize = 12;

        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: the caller enabled AVX-512.
            unsafe { _mm512_setzero_ps() }
        }

        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: the caller enabled AVX-512 and promises sixteen f32.
            unsafe { _mm512_loadu_ps(from) }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: as above.
            unsafe { _mm512_storeu_ps(to, self) }
        }

        #[inline(always)]
        unsafe fn add_scaled(self, factor: f32, values: Self) -> Self {
            // SAFETY: the caller enabled AVX-512.
            unsafe { _mm512_fmadd_ps(_mm512_set1_ps(factor), values, self) }
        }

        #[inline(always)]
        unsafe fn times(self, factor: f32) -> Self {
            // SAFETY: the caller enabled AVX-512.
            unsafe { _mm512_mul_ps(_mm512_set1_ps(factor), self) }
        }

        #[inline(always)]
        unsafe fn plus(self, values: Self) -> Self {
            // SAFETY: the caller enabled AVX-512.
            unsafe { _mm512_add_ps(self, values) }
        }

        #[inline(always)]
        unsafe fn minus(self, values: Self) -> Self {
            // SAFETY: the caller enabled AVX-512.
            unsafe { _mm512_sub_ps(self, values) }
        }
    }
}
