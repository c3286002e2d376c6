//! Vectors of positions for images of another size than those a network was trained on.

/// How values in between are made, as `torch.nn.functional.interpolate(mode="bicubic")` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cubic {
    /// Four places each, edges repeated.
    Plain,
    /// As many places as the new one covers, those beyond the edges left out (`antialias=True`).
    Antialiased,
}

/// A square grid of vectors in another size. Corners are not aligned.
pub fn resized(
    grid: &[f32],
    side: usize,
    width: usize,
    [rows, columns]: [usize; 2],
    cubic: Cubic,
) -> Vec<f32> {
    let (down, across) = (taps(side, rows, cubic), taps(side, columns, cubic));
    let mut made = Vec::with_capacity(rows * columns * width);
    for row in &down {
        for column in &across {
            let mut sum = vec![0.0f64; width];
            for &(y, weight_y) in row {
                for &(x, weight_x) in column {
                    let vector = &grid[(y * side + x) * width..][..width];
                    let weight = weight_y * weight_x;
                    sum.iter_mut().zip(vector).for_each(|(s, &v)| *s += weight * f64::from(v));
                }
            }
            made.extend(sum.into_iter().map(|value| value as f32));
        }
    }
    made
}

/// The places that each new one is made of, with their weights.
fn taps(from: usize, to: usize, cubic: Cubic) -> Vec<Vec<(usize, f64)>> {
    let scale = from as f64 / to as f64;
    let last = from.saturating_sub(1) as f64;
    let plain = |place: usize| {
        let at = (place as f64 + 0.5) * scale - 0.5;
        let tap = |tap: i32| {
            let x = at.floor() + f64::from(tap);
            (x.clamp(0.0, last) as usize, weight(at - x, -0.75))
        };
        (-1..=2).map(tap).collect()
    };
    let antialiased = |place: usize| {
        let (center, stretch) = ((place as f64 + 0.5) * scale, scale.max(1.0));
        let first = (center - 2.0 * stretch + 0.5).max(0.0) as usize;
        let end = ((center + 2.0 * stretch + 0.5) as usize).min(from);
        let weight = |x: usize| weight((x as f64 + 0.5 - center) / stretch, -0.5);
        let sum: f64 = (first..end).map(weight).sum();
        (first..end).map(|x| (x, weight(x) / sum)).collect()
    };
    match cubic {
        Cubic::Plain => (0..to).map(plain).collect(),
        Cubic::Antialiased => (0..to).map(antialiased).collect(),
    }
}

/// The kernel of cubic convolution with its constant.
fn weight(x: f64, a: f64) -> f64 {
    match x.abs() {
        x if x < 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
        x if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * a,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_size_is_the_same_grid() {
        let grid: Vec<f32> = (0..18).map(|value| value as f32).collect();
        assert_eq!(resized(&grid, 3, 2, [3, 3], Cubic::Plain), grid);
    }

    #[test]
    fn what_is_constant_stays_so() {
        for cubic in [Cubic::Plain, Cubic::Antialiased] {
            for size in [[7, 2], [3, 9]] {
                let made = resized(&[2.5; 16], 4, 1, size, cubic);
                assert_eq!(made.len(), size[0] * size[1]);
                assert!(made.iter().all(|value| (value - 2.5).abs() < 1e-6));
            }
        }
    }
}
