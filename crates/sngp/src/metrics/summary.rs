//! A figure over several seeds.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::input;
use crate::{Error, Result};

/// A mean with its standard error, the sample standard deviation over `sqrt(n)`.
///
/// ```
/// use sngp::metrics::MeanStderr;
///
/// let accuracy = MeanStderr::of(&[0.90, 0.92, 0.94])?;
/// assert_eq!(accuracy.n, 3);
/// assert_eq!(format!("{accuracy:.3}"), "0.920 ± 0.012");
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanStderr {
    /// The mean.
    pub mean: f64,
    /// Its standard error; 0 when `n` is 1, where nothing is known about the spread.
    pub stderr: f64,
    /// How many values it was taken over.
    pub n: usize,
}

impl MeanStderr {
    /// The mean and standard error of `values`, of which there has to be at least one.
    ///
    /// ```
    /// let one = sngp::metrics::MeanStderr::of(&[0.5])?;
    /// assert_eq!((one.mean, one.stderr, one.n), (0.5, 0.0, 1));
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn of(values: &[f64]) -> Result<Self> {
        input::finite("values", values)?;
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let stderr = match values.len() {
            1 => 0.0,
            _ => {
                let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
                (squares / (n - 1.0) / n).sqrt()
            }
        };
        if !mean.is_finite() || !stderr.is_finite() {
            return Err(Error::Data(
                "the values are too large to average; scale them down first".into(),
            ));
        }
        Ok(Self { mean, stderr, n: values.len() })
    }
}

/// `mean ± stderr`, to four decimals unless the format says otherwise.
impl fmt::Display for MeanStderr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(4);
        write!(f, "{:.decimals$} ± {:.decimals$}", self.mean, self.stderr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_the_sample_standard_deviation() {
        let summary = MeanStderr::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(summary.mean, 2.5);
        assert!((summary.stderr - (5.0f64 / 3.0).sqrt() / 2.0).abs() < 1e-15);
    }

    #[test]
    fn bad_input_is_an_error() {
        assert!(MeanStderr::of(&[]).is_err());
        assert!(MeanStderr::of(&[1.0, f64::NAN]).is_err());
        assert!(MeanStderr::of(&[f64::MAX, f64::MAX]).is_err());
    }

    #[test]
    fn survives_a_file() {
        let summary = MeanStderr::of(&[0.25, 0.5]).unwrap();
        let text = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<MeanStderr>(&text).unwrap(), summary);
    }
}
