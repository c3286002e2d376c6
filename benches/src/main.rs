//! Our side of the benchmark beside the peers: runs a work when asked to, and says how long it
//! took. The protocol is one JSON object a line; `peers/README.md` describes it.

mod data;
mod timing;
mod works;

use std::collections::HashMap;
use std::io::{BufRead, Write};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use sngp_kernels::allocator::{MiMalloc, keep_pages};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Request {
    Info,
    List,
    Prepare { work: String },
    Run { work: String, seconds: f64 },
    Drop { work: String },
}

/// Everything runs inside the thread pool, as in the `sngp` binary.
fn main() -> Result<()> {
    keep_pages();
    rayon::scope(|_| serve())
}

fn serve() -> Result<()> {
    let mut prepared: HashMap<String, works::Work> = HashMap::new();
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = serde_json::from_str(&line)
            .context("no such request")
            .and_then(|request| answer(request, &mut prepared))
            .unwrap_or_else(|error| json!({ "error": format!("{error:#}") }));
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn answer(request: Request, prepared: &mut HashMap<String, works::Work>) -> Result<Value> {
    Ok(match request {
        Request::Info => json!({
            "name": "sngp",
            "version": env!("CARGO_PKG_VERSION"),
            "threads": rayon::current_num_threads(),
        }),
        Request::List => json!({ "works": works::WORKS.map(|(name, _)| name) }),
        Request::Prepare { work } => {
            let (_, make) = works::WORKS
                .iter()
                .find(|(name, _)| *name == work)
                .with_context(|| format!("no work `{work}`"))?;
            prepared.insert(work, make()?);
            json!({ "ok": true, "variants": ["sngp"] })
        }
        Request::Run { work, seconds } => {
            let run = prepared.get_mut(&work).with_context(|| format!("`{work}` not prepared"))?;
            let (milliseconds, iterations) = timing::best(run, seconds)?;
            json!({ "ms": milliseconds, "iterations": iterations })
        }
        Request::Drop { work } => {
            prepared.remove(&work);
            json!({ "ok": true })
        }
    })
}
