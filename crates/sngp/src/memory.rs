//! Work that would not fit is refused before it begins.

use crate::{Error, Result};

/// Refuses an allocation that memory has no room for.
pub fn check_memory(needed: u128, what: &str) -> Result<()> {
    match available() {
        Some(available) if needed > u128::from(available) => {
            let gib = |bytes: u128| bytes as f64 / f64::from(1u32 << 30);
            Err(Error::Data(format!(
                "{what} take about {:.1} GiB, and {:.1} GiB are free",
                gib(needed),
                gib(u128::from(available))
            )))
        }
        _ => Ok(()),
    }
}

/// Free memory in bytes, where the system tells.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_fit_is_refused_with_its_size() {
        check_memory(1, "the images").unwrap();
        if available().is_some() {
            let error = check_memory(u128::MAX, "the images").unwrap_err().to_string();
            assert!(error.contains("the images take about"), "{error}");
        }
    }
}
