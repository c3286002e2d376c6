//! One function body compiled for several instruction sets, the best one chosen at run time.

/// Compiles a function for AVX-512, for AVX2 with FMA and for the build's own target, and calls
/// the best one the machine has.
///
/// The body is plain Rust that LLVM vectorises; helpers it calls must be `#[inline(always)]`, or
/// they are compiled for the build's target only. Arguments are plain names (no patterns, no
/// generics). Off x86-64 only the portable version exists. On x86-64 without FMA `mul_add` is a
/// call into libm: right, but slow.
macro_rules! simd {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)?
     $body:block) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name($($arg: $type),*) $(-> $ret)? {
            #[inline(always)]
            fn body($($arg: $type),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f")]
                fn avx512($($arg: $type),*) $(-> $ret)? {
                    body($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $type),*) $(-> $ret)? {
                    body($($arg),*)
                }
                if std::arch::is_x86_feature_detected!("avx512f") {
                    // SAFETY: the machine has the instructions, as just asked.
                    return unsafe { avx512($($arg),*) };
                }
                if std::arch::is_x86_feature_detected!("avx2")
                    && std::arch::is_x86_feature_detected!("fma")
                {
                    // SAFETY: the machine has the instructions, as just asked.
                    return unsafe { avx2($($arg),*) };
                }
            }
            body($($arg),*)
        }
    };

    // Unsafe code on registers: the body has a type parameter `L: Lanes`, whose instructions are
    // enabled in it, and perhaps another one.
    ($(#[$meta:meta])* $vis:vis unsafe fn $name:ident<L: Lanes $(, $param:ident: $bound:path)?>(
     $($arg:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis unsafe fn $name$(<$param: $bound>)?($($arg: $type),*) {
            #[inline(always)]
            unsafe fn body<L: $crate::gemm::lanes::Lanes $(, $param: $bound)?>($($arg: $type),*)
                $body

            #[cfg(target_arch = "x86_64")]
            {
                use std::arch::x86_64::{__m256, __m512};

                #[target_feature(enable = "avx512f")]
                unsafe fn avx512$(<$param: $bound>)?($($arg: $type),*) {
                    // SAFETY: the caller's promise, and the instructions are enabled.
                    unsafe { body::<__m512 $(, $param)?>($($arg),*) }
                }
                #[target_feature(enable = "avx2,fma")]
                unsafe fn avx2$(<$param: $bound>)?($($arg: $type),*) {
                    // SAFETY: the caller's promise, and the instructions are enabled.
                    unsafe { body::<[__m256; 2] $(, $param)?>($($arg),*) }
                }
                if std::arch::is_x86_feature_detected!("avx512f") {
                    // SAFETY: the machine has the instructions; the rest is the caller's promise.
                    return unsafe { avx512$(::<$param>)?($($arg),*) };
                }
                if std::arch::is_x86_feature_detected!("avx2")
                    && std::arch::is_x86_feature_detected!("fma")
                {
                    // SAFETY: as above.
                    return unsafe { avx2$(::<$param>)?($($arg),*) };
                }
            }
            // SAFETY: the caller's promise.
            unsafe { body::<[f32; 16] $(, $param)?>($($arg),*) }
        }
    };
}
pub(crate) use simd;

#[cfg(test)]
mod tests {
    simd! {
        /// Arguments of every kind the kernels use.
        fn every_kind(x: &[f32], y: &mut [f32], n: usize, s: f32, z: Option<&[f32]>) -> f32 {
            let z = z.map_or(0.0, |z| z[n]);
            for (y, x) in y.iter_mut().zip(x) {
                *y = x.mul_add(s, z);
            }
            y[0]
        }
    }

    #[test]
    fn calls_the_body() {
        let mut y = [0.0; 3];
        assert_eq!(every_kind(&[1.0, 2.0, 3.0], &mut y, 1, 2.0, Some(&[0.0, 5.0])), 7.0);
        assert_eq!(y, [7.0, 9.0, 11.0]);
        assert_eq!(every_kind(&[1.0], &mut y, 0, 2.0, None), 2.0);
    }
}
