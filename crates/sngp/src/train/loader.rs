//! Batches in a seeded order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

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

/// Batches that are made before they are asked for.
const AHEAD: usize = 2;

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
        let rows = if self.data.is_some() { order.len() } else { 0 };
        let (sender, examples) = sync_channel(AHEAD);
        let worker = self.data.clone().map(|data| {
            let maker = Maker {
                data,
                order,
                batch_size: self.batch_size,
                augment: self.shuffle.is_some(),
                seed,
                epoch,
                device: self.device.clone(),
            };
            std::thread::spawn(move || maker.run(&sender))
        });
        Box::new(EpochIterator { examples, worker, done: 0, rows })
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

/// Makes the batches of an epoch on a thread of its own, a few ahead of the training.
struct Maker<B> {
    data: Labelled<B>,
    order: Vec<usize>,
    batch_size: usize,
    /// Whether inputs are seen as a training step does.
    augment: bool,
    seed: u64,
    epoch: usize,
    device: Device,
}

impl<B> Maker<B> {
    fn run(&self, sender: &SyncSender<Example<B>>) {
        for (index, rows) in self.order.chunks(self.batch_size).enumerate() {
            let Labelled { inputs, targets } = &self.data;
            let seed = self.seed.wrapping_add((index * self.batch_size) as u64);
            let example = Example {
                inputs: match self.augment {
                    true => inputs.training_batch(rows, seed, &self.device),
                    false => inputs.batch(rows, &self.device),
                },
                targets: targets.batch(rows, &self.device),
                rows: rows.len(),
                seed,
                epoch: self.epoch,
            };
            // Nobody waits for it where the training was stopped.
            if sender.send(example).is_err() {
                return;
            }
        }
    }
}

struct EpochIterator<B> {
    examples: Receiver<Example<B>>,
    worker: Option<JoinHandle<()>>,
    done: usize,
    rows: usize,
}

impl<B> Iterator for EpochIterator<B> {
    type Item = Result<Example<B>, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.examples.recv() {
            Ok(example) => {
                self.done += example.rows;
                Some(Ok(example))
            }
            Err(_) => {
                // It has made everything, or it panicked: then so does the training.
                if let Some(Err(panic)) = self.worker.take().map(JoinHandle::join) {
                    std::panic::resume_unwind(panic);
                }
                None
            }
        }
    }
}

impl<B: Send> DataLoaderIterator<Example<B>> for EpochIterator<B> {
    fn progress(&self) -> Progress {
        Progress::new(self.done, self.rows, Some("items".to_string()))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Tensor;

    use super::*;
    use crate::data::Targets;

    /// Batches that say which seed they were drawn with; the last row cannot be made.
    struct Seeded;

    impl Inputs<Tensor<1>> for Seeded {
        fn rows(&self) -> usize {
            7
        }

        fn batch(&self, _: &[usize], device: &Device) -> Tensor<1> {
            Tensor::zeros([1], device)
        }

        fn training_batch(&self, rows: &[usize], seed: u64, device: &Device) -> Tensor<1> {
            assert!(!rows.contains(&6), "row 6 cannot be made");
            Tensor::full([1], (seed % 1000 + 1) as f32, device)
        }
    }

    fn loader(shuffle: Option<u64>, rows: usize) -> EpochLoader<Tensor<1>> {
        let targets = Targets::classes((0..7).map(|row| row % 2).collect(), 2).unwrap();
        let data = Labelled::new(Seeded, targets).unwrap();
        let mut loader = EpochLoader::new(Some(data), 2, shuffle, 0, &Device::flex());
        loader.range = 0..rows;
        loader
    }

    #[test]
    fn training_draws_from_the_step_and_validation_draws_nothing() {
        let drawn = |loader: &EpochLoader<Tensor<1>>| -> Vec<f32> {
            loader.iter().map(|example| example.unwrap().inputs.into_scalar()).collect()
        };
        let (first, again) = (loader(Some(3), 6), loader(Some(3), 6));
        let epoch = drawn(&first);
        assert_eq!((epoch.len(), epoch.contains(&0.0)), (3, false));
        assert_eq!(epoch, drawn(&again));
        assert_ne!(epoch, drawn(&again), "another epoch");
        assert_eq!(drawn(&loader(None, 7)), [0.0; 4]);
    }

    #[test]
    #[should_panic(expected = "row 6 cannot be made")]
    fn what_goes_wrong_while_a_batch_is_made_is_not_lost() {
        loader(Some(3), 7).iter().for_each(drop);
    }

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
