//! What every command works with.

use anyhow::{Context as _, Result, bail};
use burn::tensor::Device;
use sngp::train::Interrupter;

use crate::args::Common;
use crate::progress::Progress;

/// More threads than this are a slip of the hand, and take their time to start.
const MOST_THREADS: usize = 1024;

/// Device, threads, output habits and the handle that signals pull.
pub struct Context {
    pub device: Device,
    pub threads: usize,
    pub json: bool,
    pub progress: Progress,
    pub interrupter: Interrupter,
}

impl Context {
    /// Sets up threads.
    pub fn new(common: &Common) -> Result<Self> {
        if let Some(threads) = common.threads {
            if threads > MOST_THREADS {
                bail!("--threads {threads}: more than {MOST_THREADS} make nothing faster");
            }
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build_global()
                .context("the threads cannot be started")?;
        }
        Ok(Self {
            device: crate::device::parse(&common.device)?,
            threads: rayon::current_num_threads(),
            json: common.json,
            progress: Progress::new(common.quiet),
            interrupter: Interrupter::new(),
        })
    }

    /// Stops at signals.
    pub fn watch_signals(&self) -> Result<()> {
        crate::signals::watch(&self.interrupter).context("signals cannot be watched")
    }

    /// Stops between two pieces of work that do not watch the handle themselves.
    pub fn check_interrupted(&self) -> Result<()> {
        Ok(sngp::train::check_interrupted(&self.interrupter)?)
    }
}
