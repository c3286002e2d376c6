//! Who is told how a training goes.

/// What is known at the end of an epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpochSummary {
    /// The epoch, from 1.
    pub epoch: usize,
    /// How many there will be.
    pub epochs: usize,
    /// Mean training loss.
    pub loss: f64,
    /// Mean validation loss, if there is validation data.
    pub validation_loss: Option<f64>,
}

/// Follows the training of one network.
pub trait Observer: Send + Sync {
    /// Training starts, or goes on, at `first_epoch` of `epochs`.
    fn start(&mut self, first_epoch: usize, epochs: usize);
    /// So many of an epoch's examples have been trained on.
    fn examples(&mut self, _done: usize, _of: usize) {}
    /// An epoch is over.
    fn epoch(&mut self, summary: EpochSummary);
    /// Training is over, finished or not.
    fn finish(&mut self);
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn start(&mut self, _: usize, _: usize) {}
    fn epoch(&mut self, _: EpochSummary) {}
    fn finish(&mut self) {}
}
