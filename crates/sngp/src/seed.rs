//! Our own seeded randomness.
//!
//! Burn's generator is one global state per device, so what it yields depends on which thread
//! asks first. Frozen weights, dropout masks, shuffles and Monte Carlo draws therefore come from
//! streams that are a pure function of `(seed, purpose, index)`.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The generator behind every draw of the library.
pub type Rng = ChaCha8Rng;

/// What a stream of random numbers is for; streams of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Initial weights of the network.
    Weights = 1,
    /// Frozen random features.
    Features = 2,
    /// The order of the training examples in an epoch.
    Shuffle = 3,
    /// Dropout masks while training.
    Training = 4,
    /// Dropout masks of one sampled network at prediction time.
    Sampling = 5,
    /// Monte Carlo draws from the posterior of the logits.
    MonteCarlo = 6,
    /// Start vectors of the power iteration.
    PowerIteration = 7,
    /// Members of an ensemble.
    Member = 8,
    /// Crops and flips of images while training.
    Augmentation = 9,
}

/// The stream of `purpose` number `index` under `seed`.
///
/// ```
/// use rand::RngExt;
/// use sngp::seed::{stream, Purpose};
///
/// let draw = |index| stream(7, Purpose::Features, index).random::<u64>();
/// assert_eq!(draw(0), draw(0));
/// assert_ne!(draw(0), draw(1));
/// ```
pub fn stream(seed: u64, purpose: Purpose, index: u64) -> Rng {
    let mut rng = Rng::seed_from_u64(seed ^ (purpose as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    rng.set_stream(index);
    rng
}

/// A seed derived from another one, e.g. that of an ensemble's member.
pub fn derive(seed: u64, purpose: Purpose, index: u64) -> u64 {
    use rand::RngExt;
    stream(seed, purpose, index).random()
}
