//! Processes that are killed, and processes that get in each other's way: a model is the old one or
//! the new one, and nothing is left lying about.
#![cfg(unix)]

mod common;

use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use common::desk::Desk;
use common::{run, text};

/// A given length scale is not searched for, which takes a moment instead of ten seconds.
const TRAIN: &str =
    "train --data flowers.csv --label kind --features 64 --length-scale 1 --out model --force";
const CALIBRATE: &str = "calibrate model --data test.csv --max-abstain 0.1";
const UPDATE: &str = "update model --data fresh.csv";
const PREDICT: &str = "predict model --data test.csv --out answers.csv";
const COMMANDS: [&str; 4] = [TRAIN, CALIBRATE, UPDATE, PREDICT];

/// Rows that an update adds to those of the training.
const ADDED: u64 = 120;

impl Desk {
    fn rows(&self) -> u64 {
        let told = self.run("inspect model --json");
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        told["members"][0]["posterior"]["rows"].as_u64().unwrap_or_else(|| panic!("{told}"))
    }

    /// The hidden files and folders that are there.
    fn leftovers(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with('.')).collect()
    }

    /// Whatever happened: a whole model with a whole number of updates, and whole answers.
    fn check(&self, trained: u64, what: &str) {
        let rows = self.rows();
        assert!(rows >= trained && (rows - trained).is_multiple_of(ADDED), "{what}: {rows} rows");
        if self.path("answers.csv").exists() {
            assert_eq!(self.read("answers.csv").lines().count(), 121, "{what}");
        }
    }

    /// After each command has run to its end, nothing is there that does not belong.
    fn check_swept(&self, trained: u64) {
        COMMANDS.iter().for_each(|command| drop(self.run(command)));
        assert_eq!(self.leftovers(), Vec::<String>::new());
        assert_eq!(self.rows(), trained + ADDED);
    }
}

/// Numbers that look like chance and are the same every time.
fn chance(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 11) as f64 / (1u64 << 53) as f64
}

#[test]
fn killed_at_any_moment_a_model_is_the_old_or_the_new_one() {
    let desk = Desk::new();
    desk.flowers();
    desk.run(TRAIN);
    let trained = desk.rows();
    let mut state = 16;
    let mut killed = 0;
    for command in COMMANDS {
        let started = Instant::now();
        desk.run(command);
        let whole = started.elapsed();
        for _ in 0..13 {
            let delay = whole.mul_f64(chance(&mut state));
            let mut child =
                desk.command(command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(delay);
            child.kill().unwrap();
            killed += usize::from(!child.wait().unwrap().success());
            desk.check(trained, command);
        }
    }
    // Some come too late; were most of them so, nothing would have been shown.
    assert!(killed >= 26, "{killed} of 52 were killed before their end");
    desk.check_swept(trained);
}

#[test]
fn killed_at_any_rename_a_model_is_the_old_or_the_new_one() {
    for exchange in ["", "no-exchange,"] {
        let desk = Desk::new();
        desk.flowers();
        desk.run(TRAIN);
        let trained = desk.rows();
        for command in COMMANDS {
            let mut killed = 0;
            for step in ["rename", "remove"] {
                for count in 1.. {
                    let fault = format!("{exchange}{step}:{count}");
                    let output = desk.command(command).env("SNGP_FAULT", &fault).output().unwrap();
                    desk.check(trained, &format!("{command}, {fault}"));
                    if output.status.success() {
                        break;
                    }
                    assert_eq!(output.status.code(), None, "{}", text(&output.stderr));
                    killed += 1;
                    assert!(count < 100, "{command} does not come to an end");
                }
            }
            assert!(killed > 0, "{command}: no fault struck");
        }
        desk.check_swept(trained);
    }
}

/// Both land, one after the other; an update that is lost is what must not be.
#[test]
fn two_updates_at_once_both_count() {
    let desk = Desk::new();
    desk.flowers();
    desk.run(TRAIN);
    for round in 0..4 {
        let before = desk.rows();
        let start = |file: &str| {
            let line = format!("update model --json --data {file}");
            let mut command = desk.command(&line);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let children = [start("fresh.csv"), start("test.csv")];
        let ended: Vec<Output> = children.map(|child| child.wait_with_output().unwrap()).into();
        let landed = ended.iter().filter(|output| output.status.success()).count() as u64;
        assert!(landed > 0, "round {round}: {}", text(&ended[0].stderr));
        assert_eq!(
            desk.rows(),
            before + landed * ADDED,
            "round {round}: {landed} said they landed"
        );
    }
    assert_eq!(desk.leftovers(), Vec::<String>::new());
}

/// A reader that comes while a model is replaced finds the old or the new one.
#[test]
fn readers_never_find_half_a_model() {
    let desk = Desk::new();
    desk.flowers();
    desk.run(TRAIN);
    let mut writer = desk.command(UPDATE).stdout(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut reads = 0;
    while writer.try_wait().unwrap().is_none() && Instant::now() < deadline {
        run(&mut desk.command("predict model --data test.csv"), 0);
        reads += 1;
    }
    assert!(writer.wait().unwrap().success() && reads > 0);
}
