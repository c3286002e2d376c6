//! Folders, files and the stream that results go to.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use sngp::Error;
use sngp_lab::report::Report;

/// The version of the objects that `--json` prints.
pub const SCHEMA: u32 = 1;

/// Prints a line of the result. A reader that has gone, or a full disk, is an error and no panic.
macro_rules! outln {
    ($($part:tt)*) => { $crate::output::print(&format!("{}\n", format_args!($($part)*)))? };
}
pub(crate) use outln;

/// Prints text to standard output.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Prints one object, with the version of its shape.
pub fn json(mut value: serde_json::Value) -> Result<()> {
    if let Some(object) = value.as_object_mut() {
        object.insert("schema".to_string(), SCHEMA.into());
    }
    print(&format!("{}\n", serde_json::to_string_pretty(&value)?))
}

/// Says what was done where it is done already: nobody is served by calling that a failure.
pub fn done(result: Result<()>) -> Result<()> {
    if let Err(error) = result
        && !is_closed_pipe(&error)
    {
        eprintln!("the work is done, but it could not be reported: {error:#}");
    }
    Ok(())
}

/// Whether a reader of our output has gone, as `head` does when it has enough.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let own = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let records = match cause.downcast_ref::<sngp_records::RecordsError>() {
            Some(sngp_records::RecordsError::Write { cause, .. }) => Some(cause.kind()),
            _ => None,
        };
        own.or(records) == Some(io::ErrorKind::BrokenPipe)
    })
}

/// The command line as it was typed.
pub fn command_line() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    format!("sngp {}", arguments.join(" "))
}

/// A report's rows with where they come from.
pub fn report(measurements: &sngp_lab::report::Measurements, threads: usize) -> Result<Report> {
    Ok(Report {
        schema: SCHEMA,
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

/// Before hours of work, not after: a model's folder has to be free or a model's, replaced only
/// where that was asked for, and writable.
pub fn claim_model_folder(out: &Path, force: bool) -> Result<()> {
    let occupied = out.is_dir() && fs::read_dir(out).is_ok_and(|mut dir| dir.next().is_some());
    let model = out.join("manifest.json").is_file();
    if (out.exists() && !out.is_dir()) || (occupied && !model) {
        return Err(Error::NotOurs(out.to_path_buf()).into());
    }
    if occupied && !force {
        anyhow::bail!("{} is a model already; --force replaces it", out.display());
    }
    if occupied {
        sngp::model::check_replaceable(out)?;
    }
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(Error::io(parent))?;
    // A file that is gone again at once: the folder can be written to.
    sngp_records::files::WholeFile::create(parent.join(".sngp-writable"))
        .map(drop)
        .map_err(Error::io(parent))?;
    Ok(())
}
