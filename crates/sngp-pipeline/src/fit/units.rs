//! What a vector's numbers are measured in.

use ndarray::{Array2, ArrayView2, Axis};
use sngp::Result;
use sngp::backbone::{FARTHEST, Shipped, Standardize};

use super::network::normalized;

/// A column that varies by less than this share of its size is constant but for rounding.
const CONSTANT: f64 = 1e-6;

/// How vectors are looked at before anything is computed of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Units {
    /// Every row by itself has mean 0 and variance 1: what embeddings mean is in their direction.
    #[default]
    Direction,
    /// Every column has mean 0 and variance 1: columns have units of their own.
    Columns,
    /// Every column has mean 0, and all have one unit: lengths count, and so do unlike columns.
    Common,
}

impl Units {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Direction, Self::Columns, Self::Common];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direction => "direction",
            Self::Columns => "columns",
            Self::Common => "common",
        }
    }
}

/// Means and deviations of columns.
pub(super) struct Moments {
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Moments {
    pub fn of(rows: ArrayView2<'_, f32>) -> Self {
        let count = rows.nrows().max(1) as f64;
        let columns = || rows.axis_iter(Axis(1));
        let mean: Vec<f64> =
            columns().map(|c| c.iter().map(|&v| f64::from(v)).sum::<f64>() / count).collect();
        let variance = columns().zip(&mean).map(|(column, mean)| {
            column.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / count
        });
        let deviation = variance.map(f64::sqrt).collect();
        Self { mean, deviation }
    }

    /// The factor of every column; none where rows are normalized by themselves.
    fn factors(&self, units: Units) -> Option<Vec<f64>> {
        let squares: f64 = self.deviation.iter().map(|d| d * d).sum();
        let common = (squares / self.deviation.len().max(1) as f64).sqrt();
        let common = if common > 0.0 { common } else { 1.0 };
        match units {
            Units::Direction => None,
            Units::Common => Some(vec![1.0 / common; self.deviation.len()]),
            Units::Columns => {
                let unit = |(&mean, &deviation): (&f64, &f64)| match mean.abs() {
                    size if deviation > CONSTANT * size => deviation,
                    // A constant says nothing; when it changes by as much as it is, that is seen.
                    size if size > 0.0 => size,
                    _ => common,
                };
                Some(self.mean.iter().zip(&self.deviation).map(unit).map(f64::recip).collect())
            }
        }
    }

    /// The rows as the output layer will see them.
    pub fn view(&self, rows: &Array2<f32>, units: Units) -> Array2<f32> {
        let Some(factors) = self.factors(units) else { return normalized(rows) };
        let mut rows = rows.clone();
        for mut row in rows.axis_iter_mut(Axis(0)) {
            for ((value, mean), factor) in row.iter_mut().zip(&self.mean).zip(&factors) {
                let units = (f64::from(*value) - mean) * factor;
                *value = (units as f32).clamp(-FARTHEST, FARTHEST);
            }
        }
        rows
    }

    /// The backbone that does the same; none where the output layer does it.
    pub fn backbone(&self, units: Units, device: &burn::tensor::Device) -> Result<Option<Shipped>> {
        let Some(factors) = self.factors(units) else { return Ok(None) };
        let single = |values: &[f64]| values.iter().map(|&v| v as f32).collect::<Vec<_>>();
        let columns = Standardize::new(&single(&self.mean), &single(&factors), device)?;
        Ok(Some(columns.into()))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn columns_have_units_of_their_own_and_constants_are_seen_when_they_change() {
        let rows = array![[1000.0, 0.001, 7.0, 0.0], [3000.0, 0.003, 7.0, 0.0]];
        let moments = Moments::of(rows.view());
        let seen = moments.view(&rows, Units::Columns);
        let expected = array![[-1.0, -1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]];
        assert!((seen - expected).iter().all(|v: &f32| v.abs() < 1e-4));
        let changed = moments.view(&array![[2000.0, 0.002, 14.0, 1e30]], Units::Columns);
        assert!((changed[[0, 2]] - 1.0).abs() < 1e-4 && changed[[0, 3]] == FARTHEST);
    }

    #[test]
    fn common_units_keep_what_columns_are_like_and_only_directions_forget_lengths() {
        let rows = array![[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]];
        let moments = Moments::of(rows.view());
        let seen = moments.view(&rows, Units::Common);
        assert!((seen[[0, 0]] / seen[[2, 1]] - 3.0).abs() < 1e-5);
        let longer = moments.view(&(&rows * 2.0), Units::Direction);
        assert_eq!(longer, moments.view(&rows, Units::Direction));
    }
}
