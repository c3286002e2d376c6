//! Where a result comes from.

/// The commit this binary was built from.
pub fn commit() -> &'static str {
    env!("SNGP_COMMIT")
}

/// The processor's name and how many threads are used.
pub fn cpu(threads: usize) -> String {
    let name = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_string())
    });
    let name = name.unwrap_or_else(|| std::env::consts::ARCH.to_string());
    format!("{name}, {threads} threads")
}
