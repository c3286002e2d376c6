//! Every leaf of every JSON in a model folder replaced by extreme values, the hashes put right. No
//! panic, no abort, no hang, no gigabyte of memory.
//!
//! Folders are scanned by processes of their own, which may take a gigabyte more than they start
//! with: an allocation beyond that aborts, and the next process goes on after the edit to blame.
//! By default a sample of the edits is tried; with `SNGP_SCAN=all`, every one.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use sngp_fuzz::folder::Folder;

use super::common::problems;

/// What a process may take beyond what it has after its first model.
const MEMORY: u64 = 1 << 30;
/// Longer than this is a hang. The first model takes longer to come up on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);
const START: Duration = Duration::from_secs(120);
/// One edit in so many is tried where not all are asked for.
const SAMPLED: usize = 13;

const FOLDER: &str = "SNGP_SCAN_FOLDER";
const FROM: &str = "SNGP_SCAN_FROM";
const STEP: &str = "SNGP_SCAN_STEP";

/// Kinds of data and methods whose folders are scanned: together they write every field.
const MODELS: [(&str, &[&str]); 6] = [
    ("table", &["sngp", "deterministic", "exact_gp", "duq", "deep_ensemble"]),
    ("regression", &["sngp", "deterministic", "mc_dropout"]),
    ("vectors", &["sngp", "mc_dropout"]),
    ("texts", &["sngp"]),
    ("sentences", &["sngp"]),
    ("images", &["sngp", "deterministic"]),
];

fn extremes() -> Vec<Value> {
    vec![
        json!(-1),
        json!(0),
        json!(0.5),
        json!(1e308),
        json!(-1e308),
        json!(u32::MAX),
        json!(1u64 << 53),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(""),
        json!("\u{0}x/../y"),
        json!([]),
        json!({}),
        json!(null),
        json!(true),
    ]
}

/// The places of a document, leaves and containers. Of a long list the first two and the last are
/// as good as all.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_string());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if index < 2 || index + 1 == items.len() {
                    places(item, &format!("{at}/{index}"), found);
                }
            }
        }
        Value::Object(fields) => {
            let many = fields.len() > 40;
            for (index, (name, field)) in fields.iter().enumerate() {
                if !many || index % 20 == 0 {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    places(field, &format!("{at}/{name}"), found);
                }
            }
        }
        _ => {}
    }
}

/// The JSON in a file and what follows it: all of a `.json`, the header of a `.safetensors`.
fn document(name: &str, content: &[u8]) -> Option<(Value, Vec<u8>)> {
    if name.ends_with(".json") {
        return Some((serde_json::from_slice(content).unwrap(), Vec::new()));
    }
    let length = u64::from_le_bytes(content.get(..8)?.try_into().ok()?) as usize;
    let header = serde_json::from_slice(content.get(8..8 + length)?).ok()?;
    Some((header, content[8 + length..].to_vec()))
}

/// The file that a changed document makes.
fn content(name: &str, document: &Value, rest: &[u8]) -> Vec<u8> {
    let text = document.to_string().into_bytes();
    if name.ends_with(".json") {
        return text;
    }
    [&(text.len() as u64).to_le_bytes(), text.as_slice(), rest].concat()
}

/// A change: the file, the place and the value.
type Edit = (String, String, Value);

fn edits(folder: &Folder) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (name, bytes) in &folder.files {
        let Some((document, _)) = document(name, bytes) else { continue };
        let mut found = Vec::new();
        places(&document, "", &mut found);
        for place in found {
            for value in extremes() {
                if document.pointer(&place) != Some(&value) {
                    edits.push((name.clone(), place.clone(), value));
                }
            }
        }
    }
    edits
}

fn edited(folder: &Folder, (name, place, value): &Edit) -> Folder {
    let (mut document, rest) = document(name, &folder.files[name]).unwrap();
    *document.pointer_mut(place).unwrap() = value.clone();
    folder.with(name, &content(name, &document, &rest))
}

fn told((name, place, value): &Edit) -> String {
    format!("{name}{place} = {value}")
}

/// Not a test of its own: what the child processes run.
#[test]
#[ignore = "run by another test in a process of its own"]
fn scan_in_a_child() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let number = |name: &str| env::var(name).unwrap().parse::<usize>().unwrap();
    let (from, step) = (number(FROM), number(STEP));
    let folder = Folder::read(Path::new(&folder));
    // So that all threads and buffers are there already.
    folder.exercise();
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
    let limit = Rlimit { current: Some(4096 * pages + MEMORY), ..getrlimit(Resource::As) };
    setrlimit(Resource::As, limit).unwrap();
    let say = |line: String| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "\nscan {line}").unwrap();
        out.flush().unwrap();
    };
    std::panic::set_hook(Box::new(|_| {}));
    for (index, edit) in edits(&folder).iter().enumerate().skip(from).step_by(step) {
        say(format!("at {index}"));
        let changed = edited(&folder, edit);
        if catch_unwind(AssertUnwindSafe(|| changed.exercise())).is_err() {
            say(format!("panic {index}"));
        }
    }
    say("end".to_string());
}

struct Scanner {
    child: Child,
    lines: Receiver<String>,
}

impl Scanner {
    fn start(folder: &Path, from: usize, step: usize) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "scan::scan_in_a_child", "--ignored", "--nocapture"])
            .env(FOLDER, folder)
            .env(FROM, from.to_string())
            .env(STEP, step.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let lines = out.lines().map_while(Result::ok);
            for line in lines.filter_map(|line| line.strip_prefix("scan ").map(str::to_string)) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines }
    }
}

impl Drop for Scanner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Scans a folder to its end; what went wrong, and how many edits were tried.
fn scan(path: &Path, step: usize) -> (Vec<String>, usize) {
    let folder = Folder::read(path);
    let edits = edits(&folder);
    let (mut faults, mut tried, mut from) = (Vec::new(), 0, 0);
    let mut fault = |what: &str, index: usize| {
        let fault = format!("{}: {what}: {}", folder.name, told(&edits[index]));
        eprintln!("{fault}");
        faults.push(fault);
    };
    'processes: while from < edits.len() {
        let scanner = Scanner::start(path, from, step);
        let mut at: Option<usize> = None;
        loop {
            let patience = if at.is_none() { START } else { PATIENCE };
            let line = scanner.lines.recv_timeout(patience);
            let line = line.as_deref().map(|line| line.split_once(' ').unwrap_or((line, "")));
            let (what, index) = match line {
                Ok(("end", _)) => break 'processes,
                Ok(("at", index)) => {
                    at = Some(index.parse().unwrap());
                    tried += 1;
                    continue;
                }
                Ok((what, index)) => {
                    fault(what, index.parse().unwrap());
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => ("hang", at),
                Err(RecvTimeoutError::Disconnected) => ("abort", at),
            };
            let index = index.unwrap_or_else(|| panic!("{}: {what} at the start", folder.name));
            fault(what, index);
            from = index + step;
            break;
        }
    }
    (faults, tried)
}

#[test]
fn no_leaf_of_a_model_folder_brings_a_process_down() {
    let step = if env::var("SNGP_SCAN").is_ok_and(|all| all == "all") { 1 } else { SAMPLED };
    let place = tempfile::tempdir().unwrap();
    let problems = problems();
    let mut folders = Vec::new();
    for (kind, methods) in MODELS {
        let problem = problems.iter().find(|problem| problem.name == kind).unwrap();
        for method in methods {
            let path = place.path().join(format!("{kind}-{method}"));
            problem.fit(method).pipeline.save(&path).unwrap();
            folders.push(path);
        }
    }
    // A network of a benchmark has other files.
    let plain = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/folders/models/plain-rows");
    folders.push(plain);
    let (first, second) = folders.split_at(folders.len() / 2);
    let scan_all = |paths: &[std::path::PathBuf]| -> Vec<(Vec<String>, usize)> {
        paths.iter().map(|path| scan(path, step)).collect()
    };
    let found = std::thread::scope(|scope| {
        let first = scope.spawn(|| scan_all(first));
        let second = scan_all(second);
        [first.join().unwrap(), second].concat()
    });
    let tried: usize = found.iter().map(|(_, tried)| tried).sum();
    let faults: Vec<String> = found.into_iter().flat_map(|(faults, _)| faults).collect();
    println!("{tried} edits of {} folders", folders.len());
    assert!(tried > 1000, "{tried} edits are no scan");
    assert!(faults.is_empty(), "{} of {tried}:\n{}", faults.len(), faults.join("\n"));
}
