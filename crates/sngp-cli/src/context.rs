//! What every command works with.

use anyhow::{Context as _, Result};
use burn::tensor::Device;
use sngp::train::Interrupter;

use crate::args::Common;
use crate::progress::Progress;

/// Device, threads, output habits and the handle that Ctrl-C pulls.
pub struct Context {
    pub device: Device,
    pub threads: usize,
    pub json: bool,
    pub progress: Progress,
    pub interrupter: Interrupter,
}

impl Context {
    /// Sets up threads and the Ctrl-C handler.
    pub fn new(common: &Common) -> Result<Self> {
        if let Some(threads) = common.threads {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build_global()
                .context("the threads cannot be started")?;
        }
        let interrupter = Interrupter::new();
        let handle = interrupter.clone();
        ctrlc::set_handler(move || {
            // A second Ctrl-C does not wait for the step that is being computed.
            if handle.should_stop() {
                std::process::exit(i32::from(crate::INTERRUPTED));
            }
            eprintln!("stopping after this step; once more to stop at once");
            handle.stop(Some("interrupted"));
        })
        .context("the Ctrl-C handler cannot be installed")?;
        Ok(Self {
            device: crate::device::parse(&common.device)?,
            threads: rayon::current_num_threads(),
            json: common.json,
            progress: Progress::new(common.quiet),
            interrupter,
        })
    }

    /// Stops between two pieces of work that do not watch the handle themselves.
    pub fn check_interrupted(&self) -> Result<()> {
        Ok(sngp::train::check_interrupted(&self.interrupter)?)
    }
}
