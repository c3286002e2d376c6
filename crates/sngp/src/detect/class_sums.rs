//! Counts, sums and second moments of vectors by class: they add up.

use ndarray::{Array1, Array2, ArrayView2, Axis};

use crate::posterior::FeatureValue;
use crate::{Error, Result};

/// Vectors whose products are taken together.
const BLOCK: usize = 2048;

/// How many vectors of every class there were, their sums, and `sum x x^T` over all classes, in
/// f64. Parts of several shards [`merge`](Self::merge) in any order.
///
/// ```
/// use ndarray::array;
/// use sngp::detect::ClassSums;
///
/// let mut one = ClassSums::new(1, 2);
/// one.add(array![[1.0], [3.0]].view(), &[0, 0])?;
/// let mut other = ClassSums::new(1, 2);
/// other.add(array![[5.0]].view(), &[1])?;
/// one.merge(&other)?;
/// assert_eq!(one.means(), array![[2.0], [5.0]]);
/// assert_eq!(one.within()?, array![[2.0 / 3.0]]);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ClassSums {
    counts: Vec<f64>,
    sums: Array2<f64>,
    /// The lower triangle, column by column; what stands above the diagonal is not read.
    second: Vec<f64>,
}

impl ClassSums {
    /// Empty sums of vectors of a width in a number of classes.
    pub fn new(width: usize, classes: usize) -> Self {
        Self {
            counts: vec![0.0; classes],
            sums: Array2::zeros((classes, width)),
            second: vec![0.0; width * width],
        }
    }

    /// Sums that were saved: counts, sums by class, and the [packed](Self::packed) second moments.
    pub fn from_parts(counts: Vec<f64>, sums: Array2<f64>, packed: &[f64]) -> Result<Self> {
        let width = sums.ncols();
        if sums.nrows() != counts.len() || packed.len() != width * (width + 1) / 2 {
            return Err(Error::Data("sums of different sizes".to_string()));
        }
        let mut second = vec![0.0; width * width];
        let mut values = packed.iter();
        for column in 0..width {
            second[column * width + column..(column + 1) * width]
                .iter_mut()
                .zip(&mut values)
                .for_each(|(place, value)| *place = *value);
        }
        let sound = counts.iter().all(|count| *count >= 0.0 && count.is_finite());
        if !sound || !sums.iter().chain(&second).all(|value| value.is_finite()) {
            return Err(Error::Data("sums that no vectors have".to_string()));
        }
        Ok(Self { counts, sums, second })
    }

    /// Adds vectors of known classes.
    pub fn add(&mut self, vectors: ArrayView2<'_, f32>, classes: &[usize]) -> Result<()> {
        if vectors.nrows() != classes.len() {
            return Err(Error::shape("classes of the vectors", vectors.nrows(), classes.len()));
        }
        if vectors.ncols() != self.width() {
            return Err(Error::shape("width of the vectors", self.width(), vectors.ncols()));
        }
        if let Some(class) = classes.iter().find(|class| **class >= self.counts.len()) {
            return Err(Error::Data(format!("there is no class {class}")));
        }
        if let Some(row) =
            vectors.axis_iter(Axis(0)).position(|row| row.iter().any(|value| !value.is_finite()))
        {
            return Err(Error::Data(format!("vector {row} has a value that is not finite")));
        }
        for (vector, &class) in vectors.axis_iter(Axis(0)).zip(classes) {
            self.counts[class] += 1.0;
            let sum = self.sums.row_mut(class);
            ndarray::Zip::from(sum).and(vector).for_each(|sum, &value| *sum += f64::from(value));
        }
        for block in vectors.axis_chunks_iter(Axis(0), BLOCK) {
            f32::add_square(&mut self.second, block.as_standard_layout().view());
        }
        Ok(())
    }

    /// Adds another part of the same sums.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.sums.dim() != other.sums.dim() {
            return Err(Error::Merge("their classes or widths differ".to_string()));
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, part)| *sum += part);
        self.sums += &other.sums;
        self.second.iter_mut().zip(&other.second).for_each(|(sum, part)| *sum += part);
        Ok(())
    }

    /// Vectors of every class.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// Their sums by class.
    pub fn sums(&self) -> &Array2<f64> {
        &self.sums
    }

    /// The lower triangle of `sum x x^T`, column by column: the saved form.
    pub fn packed(&self) -> Vec<f64> {
        let width = self.width();
        let column = |j: usize| self.second[j * width + j..(j + 1) * width].iter().copied();
        (0..width).flat_map(column).collect()
    }

    fn second(&self) -> Array2<f64> {
        let width = self.width();
        Array2::from_shape_fn((width, width), |(i, j)| self.second[i.min(j) * width + i.max(j)])
    }

    /// Numbers of a vector.
    pub fn width(&self) -> usize {
        self.sums.ncols()
    }

    /// Vectors in all.
    pub fn rows(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// The mean square of their numbers.
    pub fn mean_square(&self) -> f64 {
        let width = self.width();
        let squares: f64 = (0..width).map(|i| self.second[i * width + i]).sum();
        squares / (self.rows() * width as f64).max(1.0)
    }

    /// The mean of all.
    pub fn mean(&self) -> Array1<f64> {
        self.sums.sum_axis(Axis(0)) / self.rows().max(1.0)
    }

    /// The mean of every class that has vectors.
    pub fn means(&self) -> Array2<f64> {
        let present: Vec<usize> =
            (0..self.counts.len()).filter(|&class| self.counts[class] > 0.0).collect();
        let mut means = self.sums.select(Axis(0), &present);
        for (mut mean, &class) in means.axis_iter_mut(Axis(0)).zip(&present) {
            mean /= self.counts[class];
        }
        means
    }

    /// The covariance around the mean of all.
    pub fn total(&self) -> Result<Array2<f64>> {
        let rows = self.some_rows()?;
        let mean = self.mean().insert_axis(Axis(0));
        Ok(self.second() / rows - mean.t().dot(&mean))
    }

    /// The covariance around the means of the classes.
    pub fn within(&self) -> Result<Array2<f64>> {
        let rows = self.some_rows()?;
        let mut scaled = self.sums.clone();
        for (mut sum, &count) in scaled.axis_iter_mut(Axis(0)).zip(&self.counts) {
            sum /= count.max(1.0).sqrt();
        }
        Ok((self.second() - &scaled.t().dot(&scaled)) / rows)
    }

    fn some_rows(&self) -> Result<f64> {
        match self.rows() {
            0.0 => Err(Error::Data("there are no vectors to compare with".to_string())),
            rows => Ok(rows),
        }
    }
}
