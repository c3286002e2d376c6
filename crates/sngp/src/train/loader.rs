//! Batches in a seeded order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use burn::data::dataloader::{DataLoader, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::tensor::Device;
use rand::seq::SliceRandom;

use crate::data::{Inputs, Labelled, TargetBatch};
use crate::seed::{Purpose, Rng, derive, stream};

/// One step's examples.
pub(super) struct Example<B> {
    pub inputs: B,
    pub targets: TargetBatch,
    pub rows: usize,
    /// Determines the step's dropout.
    pub seed: u64,
    /// The epoch it belongs to, from 1.
    pub epoch: usize,
}

/// Batches whose examples are sorted by length together while training.
const WINDOW: usize = 50;

/// All row indices in batches of at most `size`, examples of like length together.
pub(crate) fn batches<B>(inputs: &dyn Inputs<B>, size: usize) -> Vec<Vec<usize>> {
    let mut rows: Vec<usize> = (0..inputs.rows()).collect();
    rows.sort_by_key(|&row| inputs.length(row));
    rows.chunks(size).map(<[usize]>::to_vec).collect()
}

/// Puts examples of like length into one batch and keeps the order random otherwise: each window
/// of the shuffled rows is sorted, cut into batches, and those are shuffled. A last batch that is
/// not full stays the last one.
fn bucket(order: &mut Vec<usize>, batch: usize, rng: &mut Rng, length: impl Fn(usize) -> usize) {
    let Some(&first) = order.first() else { return };
    let usual = length(first);
    if order.iter().all(|&row| length(row) == usual) {
        return;
    }
    for window in order.chunks_mut(batch.saturating_mul(WINDOW)) {
        window.sort_by_key(|&row| length(row));
    }
    let full = order.len() - order.len() % batch;
    let mut batches: Vec<&[usize]> = order[..full].chunks(batch).collect();
    batches.shuffle(rng);
    *order = [batches.concat(), order[full..].to_vec()].concat();
}

/// Burn's data loader over our data.
///
/// The order of an epoch is a function of the seed and the epoch alone, not of the epochs before
/// it, so that a resumed training sees what an uninterrupted one would have.
pub(super) struct EpochLoader<B> {
    pub data: Option<Labelled<B>>,
    pub batch_size: usize,
    /// The seed of the shuffles; validation data is sorted by length.
    pub shuffle: Option<u64>,
    /// Epochs already handed out.
    pub epoch: AtomicUsize,
    pub device: Device,
    pub range: std::ops::Range<usize>,
}

impl<B> EpochLoader<B> {
    /// Over all the data, or none where there is no validation data.
    pub fn new(
        data: Option<Labelled<B>>,
        batch_size: usize,
        shuffle: Option<u64>,
        epochs_done: usize,
        device: &Device,
    ) -> Self {
        let rows = data.as_ref().map_or(0, Labelled::rows);
        Self {
            data,
            batch_size,
            shuffle,
            epoch: AtomicUsize::new(epochs_done),
            device: device.clone(),
            range: 0..rows,
        }
    }

    fn with(&self, device: Device, range: std::ops::Range<usize>) -> Self {
        Self {
            data: self.data.clone(),
            batch_size: self.batch_size,
            shuffle: self.shuffle,
            epoch: AtomicUsize::new(self.epoch.load(Ordering::SeqCst)),
            device,
            range,
        }
    }
}

impl<B: Send + 'static> DataLoader<Example<B>> for EpochLoader<B> {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<Example<B>> + 'a> {
        let epoch = self.epoch.fetch_add(1, Ordering::SeqCst) + 1;
        let mut order: Vec<usize> = self.range.clone().collect();
        if let (Some(seed), Some(data)) = (self.shuffle, &self.data) {
            let mut rng = stream(seed, Purpose::Shuffle, epoch as u64);
            order.shuffle(&mut rng);
            bucket(&mut order, self.batch_size, &mut rng, |row| data.inputs.length(row));
        } else if let Some(data) = &self.data {
            order.sort_by_key(|&row| data.inputs.length(row));
        }
        let seed = derive(self.shuffle.unwrap_or(0), Purpose::Training, epoch as u64);
        Box::new(EpochIterator { loader: self, order, done: 0, seed, epoch })
    }

    fn num_items(&self) -> usize {
        self.range.len()
    }

    fn to_device(&self, device: &Device) -> Arc<dyn DataLoader<Example<B>>> {
        Arc::new(self.with(device.clone(), self.range.clone()))
    }

    fn slice(&self, start: usize, end: usize) -> Arc<dyn DataLoader<Example<B>>> {
        let range = self.range.start + start..self.range.start + end;
        Arc::new(self.with(self.device.clone(), range))
    }
}

struct EpochIterator<'a, B> {
    loader: &'a EpochLoader<B>,
    order: Vec<usize>,
    done: usize,
    seed: u64,
    epoch: usize,
}

impl<B> Iterator for EpochIterator<'_, B> {
    type Item = Result<Example<B>, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let data = self.loader.data.as_ref()?;
        let end = self.done.saturating_add(self.loader.batch_size).min(self.order.len());
        let rows = &self.order[self.done..end];
        if rows.is_empty() {
            return None;
        }
        let example = Example {
            inputs: data.inputs.batch(rows, &self.loader.device),
            targets: data.targets.batch(rows, &self.loader.device),
            rows: rows.len(),
            seed: self.seed.wrapping_add(self.done as u64),
            epoch: self.epoch,
        };
        self.done = end;
        Some(Ok(example))
    }
}

impl<B> DataLoaderIterator<Example<B>> for EpochIterator<'_, B> {
    fn progress(&self) -> Progress {
        Progress::new(self.done, self.order.len(), Some("items".to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_every_row_once_and_rows_alike_together() {
        let lengths: Vec<usize> = (0..1003).map(|row| row * 7919 % 31).collect();
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        let mut rng = stream(3, Purpose::Shuffle, 1);
        order.shuffle(&mut rng);
        bucket(&mut order, 10, &mut rng, |row| lengths[row]);
        let padding = |order: &[usize]| -> usize {
            let batch = |rows: &[usize]| {
                let longest = rows.iter().map(|&row| lengths[row]).max().unwrap_or(0);
                rows.iter().map(|&row| longest - lengths[row]).sum::<usize>()
            };
            order.chunks(10).map(batch).sum()
        };
        assert!(padding(&order) * 10 < padding(&(0..1003).collect::<Vec<_>>()), "{order:?}");
        order.sort_unstable();
        assert_eq!(order, (0..1003).collect::<Vec<_>>());
    }
}
