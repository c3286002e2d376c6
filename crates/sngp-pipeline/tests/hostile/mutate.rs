//! What fuzzing starts from, changed by chance: damage that needs no build of its own to be tried.

use std::fs;
use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use rand::RngExt;
use sngp::seed::{Purpose, Rng, stream};

/// Changed inputs for each target, unless `SNGP_MUTATE` says how many.
const INPUTS: u64 = 150;
const LONGEST: Duration = Duration::from_secs(10);
/// Of the whole process, in KiB.
const MOST_MEMORY: u64 = 1 << 20;
/// As large as fuzzing makes them.
const MOST_BYTES: usize = 1 << 16;
/// What readers are often wrong about.
const WORDS: [&[u8]; 12] = [
    b"-1",
    b"0",
    b"1e39",
    b"NaN",
    b"null",
    b"99999999999999999999",
    b"[[[[[[[[",
    b"\"",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x00",
    b"\x7f\xff\xff\xff\xff\xff\xff\xff",
    b"\xf0\x9f\x94\xa5",
];

/// One change.
fn change(bytes: &mut Vec<u8>, others: &[Vec<u8>], rng: &mut Rng) {
    let length = bytes.len();
    let from = rng.random_range(0..=length);
    let to = (from + rng.random_range(0..=64)).min(length);
    match rng.random_range(0..8) {
        0 if from < length => bytes[from] ^= 1 << rng.random_range(0..8),
        1 if from < length => bytes[from] = [0, 1, 0x7f, 0x80, 0xff][rng.random_range(0..5)],
        2 => drop(bytes.drain(from..to)),
        3 => {
            let again = bytes[from..to].to_vec();
            bytes.splice(from..from, again);
        }
        4 => {
            let word = WORDS[rng.random_range(0..WORDS.len())];
            bytes.splice(from..from, word.iter().copied());
        }
        5 => {
            let word = WORDS[rng.random_range(0..WORDS.len())];
            let end = (from + word.len()).min(length);
            bytes.splice(from..end, word.iter().copied());
        }
        6 => bytes.truncate(from),
        _ => {
            let other = &others[rng.random_range(0..others.len())];
            let at = rng.random_range(0..=other.len());
            let end = (at + 256).min(other.len());
            bytes.splice(from..to, other[at..end].iter().copied());
        }
    }
    bytes.truncate(MOST_BYTES);
}

/// The most memory that was ever in use, in KiB, where the system says it.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

#[test]
fn seeds_changed_by_chance_end_well() {
    let inputs = std::env::var("SNGP_MUTATE").ok().map(|count| count.parse().unwrap());
    let inputs = inputs.unwrap_or(INPUTS);
    for (target, body) in sngp_fuzz::targets() {
        let files = [super::files("seeds", target), super::files("findings", target)].concat();
        let seeds: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
        let started = Instant::now();
        for input in 0..inputs {
            let mut rng = stream(input, Purpose::Shuffle, 5);
            let mut bytes = seeds[rng.random_range(0..seeds.len())].clone();
            for _ in 0..rng.random_range(1..=6) {
                change(&mut bytes, &seeds, &mut rng);
            }
            let begun = Instant::now();
            let ended = catch_unwind(|| body(&bytes)).is_ok();
            if !ended || begun.elapsed() > LONGEST || peak() > MOST_MEMORY {
                let kept = std::env::temp_dir().join(format!("sngp-{target}-{input}"));
                fs::write(&kept, &bytes).unwrap();
                let (after, memory) = (begun.elapsed(), peak());
                panic!("{target}: {}, after {after:?}, {memory} KiB", kept.display());
            }
        }
        eprintln!("{target}: {inputs} inputs in {:.1} s", started.elapsed().as_secs_f64());
    }
}
