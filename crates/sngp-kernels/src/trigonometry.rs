//! Sine and cosine of many numbers at once.

use rayon::prelude::*;

/// Beyond this the reduction of the fast path loses digits, and f64 takes over. Below, the number
/// of quarter turns has 19 bits, and its products with the first two parts of `pi/2` (8 and 11
/// bits) are exact.
const REDUCIBLE: f32 = 500_000.0;

/// Rows of one piece of work.
const ROWS: usize = 16;

/// Elements below which another thread costs more than it saves.
const WORTH_A_THREAD: usize = 1 << 14;

/// Replaces each `x` by `scale * cos(x + phase)`, and writes `scale * sin(x + phase)` where
/// `sines` has room for it. Phases repeat with every row.
pub(crate) fn scaled_cosine(values: &mut [f32], sines: &mut [f32], phases: &[f32], scale: f32) {
    let columns = phases.len();
    if values.is_empty() {
        return;
    }
    let piece = |values: &mut [f32], sines: Option<&mut [f32]>| {
        let mut unwanted = vec![0.0; if sines.is_some() { 0 } else { columns }];
        let mut sines = sines.map(|sines| sines.chunks_exact_mut(columns));
        for row in values.chunks_exact_mut(columns) {
            add(row, phases);
            let sines = sines.as_mut().and_then(Iterator::next).unwrap_or(&mut unwanted);
            row_sin_cos(row, sines, scale);
        }
    };
    let small = values.len() < 2 * WORTH_A_THREAD;
    match (small, sines.is_empty()) {
        (true, true) => piece(values, None),
        (true, false) => piece(values, Some(sines)),
        (false, true) => {
            values.par_chunks_mut(ROWS * columns).for_each(|values| piece(values, None));
        }
        (false, false) => values
            .par_chunks_mut(ROWS * columns)
            .zip(sines.par_chunks_mut(ROWS * columns))
            .for_each(|(values, sines)| piece(values, Some(sines))),
    }
}

fn add(row: &mut [f32], phases: &[f32]) {
    for (x, phase) in row.iter_mut().zip(phases) {
        *x += phase;
    }
}

/// One row, on the best instructions the processor has.
fn row_sin_cos(row: &mut [f32], sines: &mut [f32], scale: f32) {
    // A NaN is not reducible either, and stays one.
    if !row.iter().all(|x| x.abs() <= REDUCIBLE) {
        return exact(row, sines, scale);
    }
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions.
            return unsafe { reduced_avx512(row, sines, scale) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions.
            return unsafe { reduced_avx2(row, sines, scale) };
        }
        exact(row, sines, scale)
    }
    // Here fused multiply-add is part of the base instruction set.
    #[cfg(target_arch = "aarch64")]
    reduced(row, sines, scale);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    exact(row, sines, scale);
}

/// The portable path: any magnitude, one number at a time.
fn exact(row: &mut [f32], sines: &mut [f32], scale: f32) {
    for (x, sine) in row.iter_mut().zip(sines) {
        let (s, c) = f64::from(*x).sin_cos();
        *x = scale * c as f32;
        *sine = scale * s as f32;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn reduced_avx512(row: &mut [f32], sines: &mut [f32], scale: f32) {
    reduced(row, sines, scale);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn reduced_avx2(row: &mut [f32], sines: &mut [f32], scale: f32) {
    reduced(row, sines, scale);
}

/// Branch-free, so that the compiler vectorises it with whatever the caller enables.
#[inline(always)]
fn reduced(row: &mut [f32], sines: &mut [f32], scale: f32) {
    for (x, sine) in row.iter_mut().zip(sines) {
        let (s, c) = sin_cos(*x);
        *x = scale * c;
        *sine = scale * s;
    }
}

/// Reduction to `[-pi/4, pi/4]` by a three-part `pi/2` (Cody and Waite), then the minimax
/// polynomials of the Cephes library.
#[inline(always)]
fn sin_cos(x: f32) -> (f32, f32) {
    let quarter = (x * std::f32::consts::FRAC_2_PI).round_ties_even();
    let r = quarter.mul_add(-1.570_312_5, x);
    let r = quarter.mul_add(-4.837_513e-4, r);
    let r = quarter.mul_add(-7.549_79e-8, r);
    let square = r * r;
    let sine = (-1.951_529_6e-4f32).mul_add(square, 8.332_161e-3).mul_add(square, -1.666_665_5e-1);
    let sine = (sine * square).mul_add(r, r);
    let cosine =
        2.443_315_7e-5_f32.mul_add(square, -1.388_731_6e-3).mul_add(square, 4.166_664_6e-2);
    let cosine = cosine.mul_add(square * square, (-0.5f32).mul_add(square, 1.0));
    let turn = quarter as i32;
    let (s, c) = if turn & 1 == 0 { (sine, cosine) } else { (cosine, sine) };
    // The sign bits by quadrant.
    let s = f32::from_bits(s.to_bits() ^ (((turn & 2) as u32) << 30));
    let c = f32::from_bits(c.to_bits() ^ ((((turn + 1) & 2) as u32) << 30));
    (s, c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sine_and_cosine_are_right_to_the_last_digits() {
        let inputs: Vec<f32> = (-400_000..400_000).map(|i| i as f32 * 0.0204).collect();
        let large: Vec<f32> = inputs.iter().map(|x| x * 61.0).collect();
        let parts =
            [(&inputs[..], "all"), (&inputs[399_000..401_000], "near zero"), (&large, "large")];
        for (chunk, name) in parts {
            let (mut cosines, mut sines) = (chunk.to_vec(), vec![0.0; chunk.len()]);
            row_sin_cos(&mut cosines, &mut sines, 1.0);
            for ((x, c), s) in chunk.iter().zip(&cosines).zip(&sines) {
                let (exact_s, exact_c) = f64::from(*x).sin_cos();
                assert!((f64::from(*c) - exact_c).abs() < 2e-7, "{name}: cos {x}");
                assert!((f64::from(*s) - exact_s).abs() < 2e-7, "{name}: sin {x}");
            }
        }
    }

    #[test]
    fn huge_and_non_finite_numbers_take_the_exact_path() {
        let (mut row, mut sines) = (vec![1e8, 3.0, f32::NAN], vec![0.0; 3]);
        row_sin_cos(&mut row, &mut sines, 1.0);
        assert!((f64::from(row[0]) - 1e8f64.cos()).abs() < 1e-6);
        assert!((row[1] - 3f32.cos()).abs() < 1e-6 && row[2].is_nan());
    }
}
