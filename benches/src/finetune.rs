//! Our side of `peers/finetune.py`: one epoch of fine-tuning MiniLM on CLINC's sentences.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Context, Result};
use burn::tensor::Device;
use serde_json::json;
use sngp::backbone::Bert;
use sngp::data::{Inputs, Labelled, Targets};
use sngp::method::Deterministic;
use sngp::model::{Estimator, FitOptions, ModelConfig};
use sngp::text::{PretrainedEncoder, Sentences, TokenBatch};
use sngp::train::{Decay, EpochSummary, Observer, Schedule};
use sngp_kernels::allocator::{MiMalloc, keep_pages};
use sngp_lab::dataset::text::Clinc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Sentences that count the padded tokens they are made into.
struct Counted {
    sentences: Sentences,
    tokens: Arc<AtomicUsize>,
}

impl Inputs<TokenBatch> for Counted {
    fn rows(&self) -> usize {
        self.sentences.rows()
    }

    fn batch(&self, rows: &[usize], device: &Device) -> TokenBatch {
        let batch = self.sentences.batch(rows, device);
        self.tokens.fetch_add(batch.ids().dims().iter().product(), Ordering::Relaxed);
        batch
    }

    fn length(&self, row: usize) -> usize {
        self.sentences.length(row)
    }
}

/// Times the epoch alone: neither reading nor what follows the training.
struct Stopwatch {
    started: Instant,
    tokens: Arc<AtomicUsize>,
    epoch: Arc<Mutex<Option<(f64, f64)>>>,
}

impl Observer for Stopwatch {
    fn start(&mut self, _: usize, _: usize) {
        // Checking the data before has made a batch of its own.
        self.tokens.store(0, Ordering::Relaxed);
        self.started = Instant::now();
    }

    fn epoch(&mut self, summary: EpochSummary) {
        let mut epoch = self.epoch.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *epoch = Some((self.started.elapsed().as_secs_f64(), summary.loss));
    }

    fn finish(&mut self) {}
}

fn main() -> Result<()> {
    keep_pages();
    rayon::scope(|_| run())
}

fn run() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let data: PathBuf = arguments.next().context("usage: sngp-finetune DATA SENTENCES")?.into();
    let count: usize = arguments.next().context("how many sentences?")?.parse()?;
    let device = Device::flex();
    let clinc = Clinc::read(data.join("clinc/data_full.json"))?;
    let folder = data.join("models/all-MiniLM-L6-v2");
    let encoder = PretrainedEncoder::read(folder, &Default::default(), &device)?;
    let names = clinc.train.label_names();
    let labels: Vec<usize> = clinc.train.indices(&names)?;
    // Spread over the file, which is sorted by class.
    let step = (clinc.train.len() / count.max(1)).max(1);
    let rows: Vec<usize> = (0..clinc.train.len()).step_by(step).take(count).collect();
    let texts: Vec<&String> = rows.iter().map(|&row| &clinc.train.texts[row]).collect();
    let tokens = Arc::new(AtomicUsize::new(0));
    let sentences = encoder.sentences(&texts)?;
    let targets = Targets::classes(rows.iter().map(|&row| labels[row]).collect(), names.len())?;
    let data = Labelled::new(Counted { sentences, tokens: tokens.clone() }, targets)?;

    let mut config = ModelConfig::new(Deterministic {});
    config.training.epochs = 1;
    config.training.batch_size = 32;
    config.training.learning_rate = 1e-4;
    config.training.weight_decay = 0.01;
    config.training.clip_norm = Some(1.0);
    config.training.schedule = Schedule { warm_up: 0.1, decay: Decay::Linear };
    let epoch = Arc::new(Mutex::new(None));
    let observe = |_| -> Box<dyn Observer> {
        let (tokens, epoch) = (tokens.clone(), epoch.clone());
        Box::new(Stopwatch { started: Instant::now(), tokens, epoch })
    };
    let options = FitOptions { observe: &observe, ..FitOptions::new(&device) };
    Estimator::<Bert>::new(config, encoder.config.clone())
        .with_pretrained(encoder.network.clone())
        .fit(&data, options)?;
    let epoch = epoch.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (seconds, loss) = epoch.context("no epoch was finished")?;
    let tokens = tokens.load(Ordering::Relaxed);
    println!("{}", json!({ "seconds": seconds, "loss": loss, "tokens": tokens }));
    Ok(())
}
