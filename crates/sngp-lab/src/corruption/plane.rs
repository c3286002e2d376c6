/// What lies beyond the edge of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// The edge goes on: `aaa|abc|ccc`.
    Nearest,
    /// A mirror in the edge pixel: `cb|abc|ba`.
    Mirror,
    /// A mirror behind the edge pixel: `cba|abc|cba`.
    Symmetric,
}

impl Border {
    /// The pixel of `0..size` that stands at `position`.
    fn index(self, position: isize, size: usize) -> usize {
        let last = size as isize - 1;
        let folded = match self {
            Self::Nearest => position,
            Self::Mirror if last == 0 => 0,
            Self::Mirror => last - (position.rem_euclid(2 * last) - last).abs(),
            Self::Symmetric => {
                let place = position.rem_euclid(2 * last + 2);
                place.min(2 * last + 1 - place)
            }
        };
        folded.clamp(0, last) as usize
    }
}

/// One pixel a filter looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tap {
    /// Rows down from the pixel that is computed.
    pub down: isize,
    /// Columns to the right of it.
    pub right: isize,
    /// What its value is multiplied by.
    pub weight: f32,
}

/// One channel of a picture, or a layer to be laid over it.
///
/// ```
/// use sngp_lab::corruption::{Border, Plane};
///
/// let ramp = Plane::from_fn(1, 3, |_, x| x as f32);
/// assert_eq!(ramp.sample(0.0, 1.5, Border::Nearest), 1.5);
/// assert!(ramp.box_blur().at(0, 0) > 0.6, "the border mirrors the 1");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// Row by row.
    pub values: Vec<f32>,
}

impl Plane {
    /// The plane of `value(row, column)`, called row by row.
    pub fn from_fn(
        height: usize,
        width: usize,
        mut value: impl FnMut(usize, usize) -> f32,
    ) -> Self {
        let mut values = Vec::with_capacity(height * width);
        for y in 0..height {
            values.extend((0..width).map(|x| value(y, x)));
        }
        Self { height, width, values }
    }

    /// Replaces every value.
    pub fn map(mut self, mut change: impl FnMut(f32) -> f32) -> Self {
        self.values.iter_mut().for_each(|value| *value = change(*value));
        self
    }

    /// The value at a row and a column.
    pub fn at(&self, y: usize, x: usize) -> f32 {
        self.values[y * self.width + x]
    }

    fn beyond(&self, y: isize, x: isize, border: Border) -> f32 {
        self.at(border.index(y, self.height), border.index(x, self.width))
    }

    /// The value between pixels, by bilinear interpolation.
    pub fn sample(&self, y: f32, x: f32, border: Border) -> f32 {
        let (top, left) = (y.floor(), x.floor());
        let (down, right) = (y - top, x - left);
        let (top, left) = (top as isize, left as isize);
        let row = |y| {
            let (a, b) = (self.beyond(y, left, border), self.beyond(y, left + 1, border));
            a + right * (b - a)
        };
        let (upper, lower) = (row(top), row(top + 1));
        upper + down * (lower - upper)
    }

    /// The weighted sum of the taps around every pixel.
    pub fn filter(&self, taps: &[Tap], border: Border) -> Self {
        Self::from_fn(self.height, self.width, |y, x| {
            let at = |tap: &Tap| self.beyond(y as isize + tap.down, x as isize + tap.right, border);
            taps.iter().map(|tap| tap.weight * at(tap)).sum()
        })
    }

    /// Blurs by a Gaussian that is cut off `truncate` standard deviations from its centre.
    pub fn gaussian_blur(&self, sigma: f32, truncate: f32, border: Border) -> Self {
        let reach = (truncate * sigma + 0.5) as isize;
        if reach == 0 {
            return self.clone();
        }
        let weights = gaussian_weights(sigma, reach);
        let offsets = -reach..=reach;
        let along: Vec<Tap> =
            offsets.zip(weights).map(|(right, weight)| Tap { down: 0, right, weight }).collect();
        let across: Vec<Tap> =
            along.iter().map(|tap| Tap { down: tap.right, right: 0, ..*tap }).collect();
        self.filter(&along, border).filter(&across, border)
    }

    /// The mean of the 3 x 3 pixels around every pixel.
    pub fn box_blur(&self) -> Self {
        let around = (-1..=1).flat_map(|down| (-1..=1).map(move |right| (down, right)));
        let taps: Vec<Tap> =
            around.map(|(down, right)| Tap { down, right, weight: 1.0 / 9.0 }).collect();
        self.filter(&taps, Border::Mirror)
    }

    /// Enlarges the middle by `factor` (at least 1) and keeps the size.
    ///
    /// The part that is enlarged is cut out at whole pixels, and its corners stay corners.
    pub fn zoom(&self, factor: f32) -> Self {
        let axis = |size: usize| {
            let kept = (size as f32 / factor).ceil();
            let enlarged = (kept * factor).round().max(size as f32);
            let start = ((size as f32 - kept) / 2.0).floor();
            let trimmed = ((enlarged - size as f32) / 2.0).floor();
            let step = (kept - 1.0) / (enlarged - 1.0).max(1.0);
            move |position: usize| start + (position as f32 + trimmed) * step
        };
        let (row, column) = (axis(self.height), axis(self.width));
        Self::from_fn(self.height, self.width, |y, x| {
            self.sample(row(y), column(x), Border::Nearest)
        })
    }
}

/// The weights of a Gaussian from `-reach` to `reach`, with sum 1.
pub(super) fn gaussian_weights(sigma: f32, reach: isize) -> Vec<f32> {
    let density = |offset: isize| (-0.5 * (offset as f32 / sigma).powi(2)).exp();
    normalized((-reach..=reach).map(density).collect())
}

pub(super) fn normalized(mut weights: Vec<f32>) -> Vec<f32> {
    let sum: f32 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_continue_as_drawn() {
        let around =
            |border: Border| (-4..7).map(|position| border.index(position, 3)).collect::<Vec<_>>();
        assert_eq!(around(Border::Nearest), [0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2]);
        assert_eq!(around(Border::Mirror), [0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2]);
        assert_eq!(around(Border::Symmetric), [2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0]);
        for border in [Border::Nearest, Border::Mirror, Border::Symmetric] {
            assert_eq!(border.index(-3, 1), 0);
        }
    }

    #[test]
    fn blurs_keep_the_mean_of_a_dot() {
        let dot = Plane::from_fn(15, 15, |y, x| if (y, x) == (7, 7) { 1.0 } else { 0.0 });
        for blurred in [dot.gaussian_blur(1.5, 4.0, Border::Nearest), dot.box_blur()] {
            assert!((blurred.values.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert_eq!(blurred.at(7, 6), blurred.at(6, 7));
            assert!(blurred.at(7, 7) < 0.2);
        }
        assert_eq!(dot.gaussian_blur(0.05, 4.0, Border::Nearest), dot);
    }

    #[test]
    fn zoom_by_one_changes_nothing_and_by_two_enlarges_the_middle() {
        let ramp = Plane::from_fn(8, 8, |_, x| x as f32);
        assert_eq!(ramp.zoom(1.0), ramp);
        let zoomed = ramp.zoom(2.0);
        assert_eq!((zoomed.at(0, 0), zoomed.at(0, 7)), (2.0, 5.0));
    }
}
