//! Ctrl-C and requests to end.
//!
//! Files and folders appear whole or not at all, and a training goes on from its last checkpoint:
//! so nothing is lost by stopping at once. What is being computed gets a moment to end by itself.

use std::io;
use std::time::Duration;

use sngp::train::Interrupter;

/// How long a step may take until the process ends without it.
const PATIENCE: Duration = Duration::from_millis(700);

/// 128 and the signal's number, as the shell reports it.
pub const INTERRUPTED: i32 = 130;

fn stop(interrupter: &Interrupter, code: i32) {
    eprintln!("stopping");
    interrupter.stop(Some("interrupted"));
    std::thread::sleep(PATIENCE);
    std::process::exit(code);
}

/// Watches for the signals that ask to stop. The one that says that the terminal is gone keeps its
/// usual effect: a program started with `nohup` goes on.
#[cfg(unix)]
pub fn watch(interrupter: &Interrupter) -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let handle = interrupter.clone();
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            stop(&handle, 128 + signal);
        }
    });
    Ok(())
}

/// The same where there is only Ctrl-C.
#[cfg(not(unix))]
pub fn watch(interrupter: &Interrupter) -> io::Result<()> {
    let handle = interrupter.clone();
    ctrlc::set_handler(move || stop(&handle, INTERRUPTED)).map_err(io::Error::other)
}
