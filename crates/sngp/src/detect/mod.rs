//! Detectors that are fitted to the hidden vectors of the training examples.
//!
//! A [score](crate::score) that needs more than a prediction (class means, covariances, neighbours)
//! finds it here. Means and covariances are sums, so parts of several machines merge.

mod class_sums;
mod combination;
mod gaussians;
mod neighbours;
mod reference;
mod subspace;

pub use class_sums::ClassSums;
pub use combination::{Combination, HeldOutRows, Part, Sense};
pub use gaussians::ClassGaussians;
pub use neighbours::Neighbours;
pub use reference::Reference;
pub use subspace::Subspace;

use std::sync::OnceLock;

use ndarray::{Array2, ArrayView2, Axis};

use crate::predict::Prediction;
use crate::{Error, Result};

/// What of a hidden vector counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Geometry {
    /// The vector as it is: columns of a table in their standard units.
    Plain,
    /// Its direction: vectors of encoders and deep networks.
    Direction,
    /// Its direction, folded into fewer numbers: vectors of n-grams.
    Folded,
}

/// Numbers that wider vectors are folded into.
const FOLDED: usize = 512;
/// Vectors up to this width have a covariance that can be kept.
const WIDE: usize = 2048;

impl Geometry {
    /// The geometry of vectors whose direction counts, folded where they are too wide for a
    /// covariance.
    pub fn of_directions(width: usize) -> Self {
        if width > WIDE { Self::Folded } else { Self::Direction }
    }

    /// Numbers of a vector as the detectors see it.
    pub fn width(self, width: usize) -> usize {
        match self {
            Self::Plain | Self::Direction => width,
            Self::Folded => FOLDED,
        }
    }

    /// The matrix `[width, places]` that folds vectors of a width, where they are folded.
    ///
    /// ```
    /// use sngp::detect::Geometry;
    ///
    /// assert!(Geometry::Direction.folding(3).is_none());
    /// let matrix = Geometry::Folded.folding(3000).unwrap();
    /// // Every number goes to one place.
    /// assert!(matrix.rows().into_iter().all(|row| row.iter().map(|v| v.abs()).sum::<f32>() == 1.0));
    /// ```
    pub fn folding(self, width: usize) -> Option<Array2<f32>> {
        (self == Self::Folded).then(|| folded(Array2::eye(width).view()))
    }

    /// The vectors as the detectors see them.
    pub fn view(self, vectors: ArrayView2<'_, f32>) -> Array2<f32> {
        let mut vectors = match self {
            Self::Plain | Self::Direction => vectors.to_owned(),
            Self::Folded => folded(vectors),
        };
        if self != Self::Plain {
            for mut row in vectors.axis_iter_mut(Axis(0)) {
                let length = row.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
                row.mapv_inplace(|v| (f64::from(v) / length.max(f64::MIN_POSITIVE)) as f32);
            }
        }
        vectors
    }
}

/// Every number added to or taken from one of fewer places, which keeps products in expectation
/// (count sketch).
fn folded(vectors: ArrayView2<'_, f32>) -> Array2<f32> {
    let mut narrow = Array2::zeros((vectors.nrows(), FOLDED));
    for (row, mut narrow) in vectors.axis_iter(Axis(0)).zip(narrow.axis_iter_mut(Axis(0))) {
        for (index, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            let hash = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
            narrow[(hash >> 32) as usize % FOLDED] += sign * value;
        }
    }
    narrow
}

/// The fitted detectors of a model.
///
/// ```
/// use ndarray::array;
/// use sngp::detect::{Detectors, Geometry};
///
/// let vectors = array![[0.0, 0.1], [0.1, 0.0], [5.0, 5.1], [5.1, 5.0]];
/// let mut detectors = Detectors::new(Geometry::Plain, 2, 2);
/// detectors.add(vectors.view(), &[0, 0, 1, 1])?;
/// let distances = detectors.gaussians()?.mahalanobis(array![[0.0, 0.0], [9.0, -9.0]].view());
/// assert!(distances[1] > distances[0]);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Debug)]
pub struct Detectors {
    geometry: Geometry,
    sums: ClassSums,
    neighbours: Neighbours,
    virtual_logit: Option<f64>,
    // Made of the sums when they are first asked for: most models are never asked for all.
    gaussians: OnceLock<Result<ClassGaussians, String>>,
    subspace: OnceLock<Result<Subspace, String>>,
}

impl Clone for Detectors {
    fn clone(&self) -> Self {
        let parts = (self.sums.clone(), self.neighbours.clone());
        Self {
            virtual_logit: self.virtual_logit,
            ..Self::from_parts(self.geometry, parts.0, parts.1)
        }
    }
}

impl PartialEq for Detectors {
    fn eq(&self, other: &Self) -> bool {
        let parts = |d: &Self| (d.geometry, d.virtual_logit);
        parts(self) == parts(other)
            && self.sums == other.sums
            && self.neighbours == other.neighbours
    }
}

impl Detectors {
    /// Detectors that have seen nothing yet, of vectors of a width and a number of classes.
    pub fn new(geometry: Geometry, width: usize, classes: usize) -> Self {
        let width = geometry.width(width);
        Self::from_parts(geometry, ClassSums::new(width, classes), Neighbours::new(width))
    }

    /// Detectors of parts that were saved.
    pub fn from_parts(geometry: Geometry, sums: ClassSums, neighbours: Neighbours) -> Self {
        let (gaussians, subspace) = (OnceLock::new(), OnceLock::new());
        Self { geometry, sums, neighbours, virtual_logit: None, gaussians, subspace }
    }

    /// Adds training vectors of known classes.
    pub fn add(&mut self, vectors: ArrayView2<'_, f32>, classes: &[usize]) -> Result<()> {
        let vectors = self.geometry.view(vectors);
        self.sums.add(vectors.view(), classes)?;
        self.neighbours.add(vectors.view());
        (self.gaussians, self.subspace) = (OnceLock::new(), OnceLock::new());
        Ok(())
    }

    /// What of a vector they see.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The sums behind means and covariances.
    pub fn sums(&self) -> &ClassSums {
        &self.sums
    }

    /// Training vectors to be near to.
    pub fn neighbours(&self) -> &Neighbours {
        &self.neighbours
    }

    /// A Gaussian a class, and one of all.
    pub fn gaussians(&self) -> Result<&ClassGaussians> {
        let made = self.gaussians.get_or_init(|| {
            ClassGaussians::of(&self.sums, SHRINKAGE).map_err(|error| error.to_string())
        });
        made.as_ref().map_err(|message| Error::Data(message.clone()))
    }

    /// The directions in which the training vectors hardly vary.
    pub fn subspace(&self) -> Result<&Subspace> {
        let made = self
            .subspace
            .get_or_init(|| Subspace::of(&self.sums).map_err(|error| error.to_string()));
        made.as_ref().map_err(|message| Error::Data(message.clone()))
    }

    /// The factor on the [residual](Subspace::residuals) that makes it as large as a logit.
    pub fn virtual_logit(&self) -> Option<f64> {
        self.virtual_logit
    }

    /// The same detectors with the residual as large as the logits of held-out examples, as [`ViM`]
    /// compares them. Without hidden vectors there is nothing to compare.
    ///
    /// [`ViM`]: crate::score::Vim
    pub fn scaled_to(self, prediction: &Prediction) -> Result<Self> {
        let Some(hidden) = &prediction.hidden else { return Ok(self) };
        let hidden = self.geometry.view(hidden.view());
        let residuals: f64 = self.subspace()?.residuals(hidden.view()).iter().sum();
        let tops: f64 = prediction.largest_logits()?.iter().sum();
        let factor = tops / residuals;
        Ok(match factor.is_finite() && factor > 0.0 {
            true => self.with_virtual_logit(factor),
            false => self,
        })
    }

    /// The same detectors with a factor on the residual.
    pub fn with_virtual_logit(self, factor: f64) -> Self {
        Self { virtual_logit: Some(factor), ..self }
    }
}

/// This share of the mean variance is added to covariances, so that they can be inverted.
const SHRINKAGE: f64 = 1e-3;
