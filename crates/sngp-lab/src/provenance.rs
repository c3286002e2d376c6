//! Where a result comes from.

use std::sync::OnceLock;

use sngp::hash::sha256;

/// The commit this binary was built from.
pub fn commit() -> &'static str {
    env!("SNGP_COMMIT")
}

/// A hash of the running program: figures that another build measured may be other figures.
pub fn program() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| {
        let program = std::env::current_exe().and_then(std::fs::read);
        program.map_or_else(|_| commit().to_string(), |bytes| sha256(&bytes))
    })
}

/// The processor's name and how many threads are used.
pub fn cpu(threads: usize) -> String {
    let name = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_string())
    });
    let name = name.unwrap_or_else(|| std::env::consts::ARCH.to_string());
    let s = if threads == 1 { "" } else { "s" };
    format!("{name}, {threads} thread{s}")
}
