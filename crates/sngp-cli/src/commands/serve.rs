//! `sngp serve` and `sngp loadtest`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use sngp_serve::batching::Limits;
use sngp_serve::loadtest::{Load, Outcome};
use sngp_serve::model::pipelines;
use sngp_serve::ops::log::LogFormat;
use sngp_serve::{Server, Settings};

use crate::args::{LoadTest, LogName, Serve};
use crate::context::Context;
use crate::output::{self, outln};

pub fn run(args: &Serve, context: &Context) -> Result<()> {
    let folders = folders(&args.models)?;
    let load = pipelines(context.device.clone());
    Server::load(&folders, load, settings(args, context.threads))?.run()?;
    Ok(())
}

/// `NAME=MODEL`, or a folder that goes by its own name.
fn folders(given: &[String]) -> Result<Vec<(String, PathBuf)>> {
    let mut folders: Vec<(String, PathBuf)> = Vec::new();
    for text in given {
        let (name, folder) = match text.split_once('=') {
            Some((name, folder)) if !Path::new(text).exists() => (name, Path::new(folder)),
            _ => {
                let folder = Path::new(text);
                let name = folder.file_name().and_then(|name| name.to_str());
                let name = name.with_context(|| format!("{text} has no name; give NAME={text}"))?;
                (name, folder)
            }
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            bail!(
                "`{name}` is no name for a model: letters, digits, `-`, `_` and `.`; give NAME={text}"
            );
        }
        if folders.iter().any(|(other, _)| other == name) {
            bail!("two models are called `{name}`; give NAME=MODEL");
        }
        folders.push((name.to_string(), folder.to_path_buf()));
    }
    Ok(folders)
}

fn settings(args: &Serve, threads: usize) -> Settings {
    let limits = Limits {
        max_batch: args.max_batch,
        max_tokens: args.max_batch_tokens,
        max_delay: Duration::from_millis(args.max_delay),
        queue_rows: args.max_queue,
        replicas: args.replicas,
        threads: (threads / args.replicas).max(1),
    };
    Settings {
        host: args.host,
        port: args.port,
        grpc_port: (!args.no_grpc).then_some(args.grpc_port),
        limits,
        max_in_flight: args.max_requests,
        max_connections: args.max_connections,
        max_body: args.max_body,
        max_memory: args.max_memory << 20,
        max_rows: args.max_rows,
        header_timeout: Duration::from_secs(args.read_timeout),
        body_timeout: Duration::from_secs(args.read_timeout),
        timeout: Duration::from_secs(args.timeout),
        drain: Duration::from_secs(args.drain),
        watch: args.watch.map(Duration::from_secs),
        key: args.api_key.clone(),
        tls: args.tls_cert.clone().zip(args.tls_key.clone()),
        log: match args.log {
            LogName::Text => LogFormat::Text,
            LogName::Json => LogFormat::Json,
            LogName::Quiet => LogFormat::Quiet,
        },
    }
}

pub fn load_test(args: &LoadTest, context: &Context) -> Result<()> {
    let load = Load {
        url: args.url.clone(),
        bodies: bodies(&args.body)?,
        headers: args.headers.iter().map(|header| parsed(header)).collect::<Result<_>>()?,
        clients: args.clients,
        time: Duration::from_secs(args.seconds),
    };
    let outcome = load.run()?;
    if context.json {
        return output::json(serde_json::json!({
            "requests": outcome.requests(),
            "requests_per_second": outcome.per_second(),
            "rows_per_second": outcome.per_second() * args.rows as f64,
            "codes": outcome.codes,
            "failed": outcome.failed,
            "milliseconds": { "p50": outcome.millis(0.5), "p95": outcome.millis(0.95),
                "p99": outcome.millis(0.99), "max": outcome.millis(1.0) },
        }));
    }
    report(&outcome, args.rows)
}

fn report(outcome: &Outcome, rows: usize) -> Result<()> {
    let (requests, speed) = (outcome.requests(), outcome.per_second());
    outln!("{requests} answered with 200, {speed:.1} a second");
    if rows > 1 {
        outln!("{:.0} rows a second", speed * rows as f64);
    }
    for (code, count) in &outcome.codes {
        outln!("{count} with {code}");
    }
    if outcome.failed > 0 {
        outln!("{} without an answer", outcome.failed);
    }
    let [half, most, nearly, all] = [0.5, 0.95, 0.99, 1.0].map(|share| outcome.millis(share));
    outln!("milliseconds: median {half:.2}, p95 {most:.2}, p99 {nearly:.2}, longest {all:.2}");
    Ok(())
}

fn bodies(path: &Path) -> Result<Vec<Vec<u8>>> {
    if path == Path::new("-") {
        let mut body = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut body)?;
        return Ok(vec![body]);
    }
    let body = std::fs::read(path).map_err(sngp::Error::io(path))?;
    if path.extension().is_none_or(|ending| ending != "jsonl") {
        return Ok(vec![body]);
    }
    let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        bail!("{} has no line", path.display());
    }
    Ok(lines)
}

fn parsed(header: &str) -> Result<(String, String)> {
    let (name, value) =
        header.split_once(':').with_context(|| format!("`{header}` is not `NAME: VALUE`"))?;
    Ok((name.trim().to_string(), value.trim().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_names() {
        let given = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| text.to_string()).collect();
            folders(&texts)
        };
        let found = given(&["a/intents-model", "trees=b/model", "two=c=d"]).unwrap();
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["intents-model", "trees", "two"]);
        assert_eq!(found[1].1, Path::new("b/model"));
        assert_eq!(found[2].1, Path::new("c=d"));
        for wrong in [&["x", "y/x"][..], &["a b"], &["=x"], &["a/b=c"], &[".."]] {
            assert!(given(wrong).is_err(), "{wrong:?}");
        }
    }
}
