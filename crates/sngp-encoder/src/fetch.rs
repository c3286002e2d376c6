//! One file of an address, whole and as it is known to be, or not at all.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use sngp::{Error, Result};

use crate::receive::{Ask, Failure, Watch, agent, sha256_of};

/// What a file is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected<'a> {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its hash, in small hexadecimal digits.
    pub sha256: &'a str,
}

impl Expected<'_> {
    /// Whether a file is there and is this one.
    pub fn is_at(&self, path: &Path) -> bool {
        let size = fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() == self.bytes);
        size && sha256_of(path).is_ok_and(|found| found == self.sha256)
    }
}

/// Fetches a file that is not there yet. `watch` is told how many bytes have come; its error stops, and
/// what has come is gone on with the next time.
///
/// ```no_run
/// use sngp_encoder::{Expected, fetch};
///
/// let sha256 = "36923c3705a59e08fe9c3883d8bc2dd966ef93e22cb78ac41171782a698d56e0";
/// let url = "https://raw.githubusercontent.com/clinc/oos-eval/master/data/data_full.json";
/// fetch(url, "clinc/data_full.json".as_ref(), &Expected { bytes: 2_495_390, sha256 }, &|_| Ok(()))?;
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn fetch(url: &str, into: &Path, expected: &Expected<'_>, watch: &Watch<'_>) -> Result<()> {
    if expected.is_at(into) {
        return Ok(());
    }
    let mut name = into.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".incomplete");
    let part = into.with_file_name(name);
    let agent = agent();
    let ask = Ask { agent: &agent, url: url.to_string(), token: None };
    ask.receive(&part, expected.bytes, Some(expected.bytes), watch).map_err(
        |failure| match failure {
            Failure::Stopped(error) => error,
            Failure::Unreachable(reason) | Failure::Refused(reason) => Error::Unsupported(format!(
                "it cannot be fetched: {reason}; download {} by other means and put it at {}",
                ask.shown(),
                into.display()
            )),
        },
    )?;
    if !expected.is_at(&part) {
        let size = fs::metadata(&part).map_or(0, |data| data.len());
        if size < expected.bytes {
            let reason = format!("{size} of {} bytes came; try again to go on", expected.bytes);
            return Err(Error::corrupt(part, reason));
        }
        let _ = fs::remove_file(&part);
        let reason = format!("what {} gives is not the published file", ask.shown());
        return Err(Error::corrupt(into, reason));
    }
    fs::rename(&part, into).map_err(Error::io(into))
}
