//! `sngp data`: published data sets, listed and fetched.

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;
use sngp_encoder::{Expected, fetch};
use sngp_lab::dataset::{ORIGINS, Origin, Published};

use crate::args::FetchData;
use crate::context::Context;
use crate::output::{self, outln};

/// How often a download says how far it is.
const EVERY: Duration = Duration::from_secs(5);
const MEGABYTE: f64 = 1e6;

/// `sngp data list`.
pub fn list(context: &Context) -> Result<()> {
    if context.json {
        let sets: Vec<_> = ORIGINS.iter().map(described).collect();
        return output::json(json!({ "sets": sets }));
    }
    for origin in &ORIGINS {
        let Origin { name, summary, licence, page, .. } = origin;
        outln!("{name:10} {:7.1} MB  {summary}", origin.bytes() as f64 / MEGABYTE);
        outln!("{:21}licence: {licence}; {page}", "");
    }
    Ok(())
}

/// `sngp data fetch`.
pub fn run(args: &FetchData, context: &Context) -> Result<()> {
    let origins: Vec<&Origin> =
        args.names.iter().map(|name| Origin::find(name)).collect::<sngp::Result<_>>()?;
    for origin in &origins {
        let Origin { name, licence, page, .. } = origin;
        context.progress.say(&format!("{name}: licence: {licence}; {page}"));
        for file in origin.files {
            get(file, origin, args, context)?;
        }
    }
    let folder = args.out.display();
    if context.json {
        let sets: Vec<_> = origins.into_iter().map(described).collect();
        return output::json(json!({ "folder": folder.to_string(), "sets": sets }));
    }
    outln!("Written: {} in {folder}", args.names.join(", "));
    Ok(())
}

/// Fetches one file that is not there yet, and unpacks it.
fn get(file: &Published, origin: &Origin, args: &FetchData, context: &Context) -> Result<()> {
    let Published { path, bytes, sha256, .. } = file;
    let (into, expected) = (args.out.join(path), Expected { bytes: *bytes, sha256 });
    if file.is_unpacked(&args.out) || expected.is_at(&into) {
        context.progress.say(&format!("{path} is there already"));
    } else {
        let url = match &args.mirror {
            Some(mirror) => format!("{}/{path}", mirror.trim_end_matches('/')),
            None => file.url.to_string(),
        };
        let size = *bytes as f64 / MEGABYTE;
        context.progress.say(&format!("fetching {path} ({size:.1} MB)"));
        let told = Cell::new(Instant::now());
        fetch(&url, &into, &expected, &|done| {
            if told.get().elapsed() > EVERY {
                told.set(Instant::now());
                let done = done as f64 / MEGABYTE;
                context.progress.say(&format!("  {done:.1} of {size:.1} MB"));
            }
            sngp::train::check_interrupted(&context.interrupter)
        })?;
    }
    unpack(file, &args.out, origin, context)
}

fn unpack(file: &Published, folder: &Path, origin: &Origin, context: &Context) -> Result<()> {
    if file.unpacked.is_some() && !file.is_unpacked(folder) {
        context.progress.say(&format!("unpacking {} of {}", file.path, origin.name));
        file.unpack(folder)?;
    }
    Ok(())
}

fn described(origin: &Origin) -> serde_json::Value {
    let files: Vec<_> = origin
        .files
        .iter()
        .map(|file| {
            let path = file.unpacked.unwrap_or(file.path);
            json!({ "url": file.url, "bytes": file.bytes, "sha256": file.sha256, "path": path })
        })
        .collect();
    let Origin { name, summary, licence, page, .. } = origin;
    json!({ "name": name, "summary": summary, "licence": licence, "page": page, "files": files })
}
