//! Images mixed with chains of operations on them (Hendrycks et al. 2020, arXiv:1912.02781).

mod operations;

use self::operations::OPERATIONS;
use crate::seed::Rng;
use crate::{Error, Result};
use rand::RngExt;
use rand_distr::Gamma;
use serde::{Deserialize, Serialize};

/// The operations of a chain where nothing else is given, at least and at most.
const DEPTH: [usize; 2] = [1, 3];

/// The least level of an operation, out of ten.
const LEAST_LEVEL: f32 = 0.1;

/// How an image `x` is mixed with chains of operations on it:
///
/// `(1 - m) x + m (w_1 chain_1(x) + .. + w_k chain_k(x))`
///
/// with weights `w` from a Dirichlet and `m` from a Beta distribution, both symmetric. It is the
/// augmentation only: the authors also train for like answers to differently mixed images.
///
/// ```
/// use sngp::augment::AugMix;
///
/// // As published, and what the published code does where nothing else is asked for.
/// let AugMix { width, depth, severity, alpha } = AugMix::default();
/// assert_eq!((width, depth, severity, alpha), (3, None, 3, 1.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AugMix {
    /// Chains, `k`.
    pub width: usize,
    /// Operations of a chain; one to three, at random, where it is not given.
    pub depth: Option<usize>,
    /// How strong they are at most, out of ten.
    pub severity: usize,
    /// The parameter of both distributions: large ones mix evenly, small ones choose.
    pub alpha: f64,
}

impl Default for AugMix {
    fn default() -> Self {
        Self { width: 3, depth: None, severity: 3, alpha: 1.0 }
    }
}

impl AugMix {
    /// The names of the operations that chains are made of. None is a corruption of CIFAR-10-C.
    ///
    /// ```
    /// use sngp::augment::AugMix;
    ///
    /// assert_eq!(AugMix::operations().next(), Some("autocontrast"));
    /// assert_eq!(AugMix::operations().count(), 9);
    /// ```
    pub fn operations() -> impl Iterator<Item = &'static str> {
        OPERATIONS.iter().map(|operation| operation.name)
    }

    /// Refuses a mix of nothing, and strengths and parameters that there are not.
    pub(super) fn check(&self) -> Result<()> {
        if self.width == 0 {
            return Err(Error::config(
                "augmix.width",
                0,
                "there is nothing to mix without a chain",
            ));
        }
        if self.depth == Some(0) {
            let rule = "a chain has an operation; leave it out for one to three at random";
            return Err(Error::config("augmix.depth", 0, rule));
        }
        if !(1..=10).contains(&self.severity) {
            return Err(Error::config("augmix.severity", self.severity, "it is one of 1 to 10"));
        }
        // Draws for far smaller ones vanish and for far larger ones overflow, all of them at once.
        if !(0.1..=1000.0).contains(&self.alpha) {
            return Err(Error::config("augmix.alpha", self.alpha, "it is from 0.1 to 1000"));
        }
        Ok(())
    }

    /// Appends the mix of an image of bytes `[channels, height, width]`, as pixels from 0 to 1.
    pub(super) fn append(
        &self,
        image: &[u8],
        size: [usize; 2],
        rng: &mut Rng,
        values: &mut Vec<f32>,
    ) {
        let weights = self.shares(self.width, rng);
        let mix = self.shares(2, rng);
        let start = values.len();
        values.extend(image.iter().map(|&pixel| mix[0] * f32::from(pixel)));
        let mut chain = Vec::with_capacity(image.len());
        for weight in weights {
            chain.clear();
            chain.extend_from_slice(image);
            self.run(&mut chain, size, rng);
            let sums = values[start..].iter_mut().zip(&chain);
            sums.for_each(|(sum, &pixel)| *sum += mix[1] * weight * f32::from(pixel));
        }
        // Weights with a sum of one, but for rounding.
        values[start..].iter_mut().for_each(|value| *value = (*value / 255.0).min(1.0));
    }

    /// Does the operations of a chain.
    fn run(&self, image: &mut [u8], size: [usize; 2], rng: &mut Rng) {
        let [least, most] = DEPTH;
        let depth = self.depth.unwrap_or_else(|| rng.random_range(least..=most));
        for _ in 0..depth {
            let operation = &OPERATIONS[rng.random_range(0..OPERATIONS.len())];
            let level = rng.random_range(LEAST_LEVEL..=self.severity as f32);
            let backwards = operation.has_direction && rng.random::<bool>();
            operation.apply(image, size, if backwards { -level } else { level });
        }
    }

    /// Weights with a sum of one, from a symmetric Dirichlet distribution; of two of them, each is
    /// from a Beta distribution.
    fn shares(&self, count: usize, rng: &mut Rng) -> Vec<f32> {
        let gamma = Gamma::new(self.alpha, 1.0).expect("alpha was checked");
        let draws: Vec<f64> = (0..count).map(|_| rng.sample(gamma)).collect();
        let sum: f64 = draws.iter().sum();
        draws.iter().map(|draw| (draw / sum) as f32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Purpose, stream};

    fn mixed(augmix: AugMix, image: &[u8], size: [usize; 2], seed: u64) -> Vec<f32> {
        let mut values = Vec::new();
        augmix.append(image, size, &mut stream(seed, Purpose::Augmentation, 0), &mut values);
        values
    }

    fn waves(channels: usize, [height, width]: [usize; 2]) -> Vec<u8> {
        (0..channels * height * width).map(|place| (place * place % 256) as u8).collect()
    }

    #[test]
    fn mixes_of_every_size_are_between_black_and_white() {
        let strong = AugMix { severity: 10, depth: Some(5), ..AugMix::default() };
        for size @ [height, width] in [[1, 1], [1, 7], [5, 3], [32, 32]] {
            for channels in [1, 3] {
                for seed in 0..20 {
                    for augmix in [AugMix::default(), strong] {
                        let values = mixed(augmix, &waves(channels, size), size, seed);
                        assert_eq!(values.len(), channels * height * width);
                        assert!(values.iter().all(|value| (0.0..=1.0).contains(value)));
                    }
                }
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_mix() {
        let (size, augmix) = ([8, 8], AugMix::default());
        let image = waves(3, size);
        assert_eq!(mixed(augmix, &image, size, 1), mixed(augmix, &image, size, 1));
        assert_ne!(mixed(augmix, &image, size, 1), mixed(augmix, &image, size, 2));
    }

    #[test]
    fn black_stays_black() {
        for seed in 0..50 {
            assert_eq!(mixed(AugMix::default(), &[0; 3 * 16], [4, 4], seed), [0.0; 3 * 16]);
        }
    }

    #[test]
    fn weights_are_shares_of_one() {
        let mut rng = stream(3, Purpose::Augmentation, 0);
        for alpha in [0.1, 1.0, 1000.0] {
            let augmix = AugMix { alpha, ..AugMix::default() };
            let (draws, mut mean, mut square) = (4000, 0.0, 0.0);
            for _ in 0..draws {
                let shares = augmix.shares(3, &mut rng);
                assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-6);
                mean += f64::from(shares[0]) / f64::from(draws);
                square += f64::from(shares[0]).powi(2) / f64::from(draws);
            }
            // The moments of a symmetric Dirichlet distribution of three.
            let variance = 2.0 / 9.0 / (3.0 * alpha + 1.0);
            assert!((mean - 1.0 / 3.0).abs() < 0.03, "{mean}");
            assert!((square - mean * mean - variance).abs() < 0.1 * variance, "alpha {alpha}");
        }
    }

    #[test]
    fn what_cannot_be_mixed_is_refused() {
        let default = AugMix::default();
        assert!(default.check().is_ok());
        let refused = [
            ("augmix.width is 0", AugMix { width: 0, ..default }),
            ("augmix.depth is 0", AugMix { depth: Some(0), ..default }),
            ("augmix.severity is 11", AugMix { severity: 11, ..default }),
            ("augmix.severity is 0", AugMix { severity: 0, ..default }),
            ("augmix.alpha is 0", AugMix { alpha: 0.0, ..default }),
            ("augmix.alpha is NaN", AugMix { alpha: f64::NAN, ..default }),
        ];
        for (expected, augmix) in refused {
            let error = augmix.check().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error:?}");
        }
    }
}
