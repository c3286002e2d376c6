//! Folders and files that results go to.

use std::fs;
use std::path::Path;

use anyhow::Result;
use sngp::Error;
use sngp_lab::report::Report;

/// The command line as it was typed.
pub fn command_line() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    format!("sngp {}", arguments.join(" "))
}

/// A report's rows with where they come from.
pub fn report(measurements: &sngp_lab::report::Measurements, threads: usize) -> Result<Report> {
    Ok(Report {
        rows: measurements.rows()?,
        command: command_line(),
        commit: sngp_lab::provenance::commit().to_string(),
        cpu: sngp_lab::provenance::cpu(threads),
    })
}

/// Creates an output folder. One that exists has to be empty or hold `marker`, an earlier result
/// of the same command; anything else is somebody's and is left alone.
pub fn own_folder(folder: &Path, marker: &str) -> Result<()> {
    if folder.exists() {
        let mut entries = fs::read_dir(folder).map_err(Error::io(folder))?;
        let occupied = entries.next().is_some();
        if occupied && !is_report(&folder.join(marker)) {
            return Err(Error::NotOurs(folder.to_path_buf()).into());
        }
    }
    Ok(fs::create_dir_all(folder).map_err(Error::io(folder))?)
}

/// Creates a folder that several benchmarks share, before any work is done for it. Files of these
/// names are replaced where `marker` among them is an earlier report; otherwise they are
/// somebody's.
pub fn shared_folder(folder: &Path, marker: &str, names: &[&str]) -> Result<()> {
    fs::create_dir_all(folder).map_err(Error::io(folder))?;
    if is_report(&folder.join(marker)) {
        return Ok(());
    }
    match names.iter().map(|name| folder.join(name)).find(|path| path.exists()) {
        None => Ok(()),
        Some(path) => {
            let reason =
                "it exists and is not a benchmark's result; choose another folder with --out";
            Err(Error::corrupt(path, reason).into())
        }
    }
}

fn is_report(path: &Path) -> bool {
    let text = fs::read_to_string(path).ok();
    text.is_some_and(|text| serde_json::from_str::<Report>(&text).is_ok())
}
