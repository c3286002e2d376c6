//! Batches in a seeded order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use burn::data::dataloader::{DataLoader, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::tensor::Device;
use rand::seq::SliceRandom;

use crate::data::{Labelled, TargetBatch};
use crate::seed::{Purpose, derive, stream};

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

/// Row indices in batches of at most `size`.
pub(crate) fn batches(rows: usize, size: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..rows)
        .step_by(size)
        .map(move |start| (start..start.saturating_add(size).min(rows)).collect())
}

/// Burn's data loader over our data.
///
/// The order of an epoch is a function of the seed and the epoch alone, not of the epochs before
/// it, so that a resumed training sees what an uninterrupted one would have.
pub(super) struct EpochLoader<B> {
    pub data: Option<Labelled<B>>,
    pub batch_size: usize,
    /// The seed of the shuffles; validation data keeps its order.
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
        if let Some(seed) = self.shuffle {
            order.shuffle(&mut stream(seed, Purpose::Shuffle, epoch as u64));
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
