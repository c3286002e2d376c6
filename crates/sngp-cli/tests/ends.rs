//! How commands end that are stopped, or whose output nobody takes: at once, with the code a shell expects,
//! and with the model as it was.
#![cfg(unix)]

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::desk::Desk;
use common::text;

/// A model, and rows that keep every command busy for seconds.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.flowers();
    desk.run("train --data flowers.csv --label kind --length-scale 1 --out model --quiet");
    let mut rows = "length,width,colour,kind\n".to_string();
    for i in 0..150_000 {
        let kind = i % 2;
        let length = 1.0 + 3.0 * kind as f64 + 0.5 * (i as f64 * 0.61).sin();
        let (width, colour) = (3.0 + (i as f64 * 0.37).cos(), ["red", "blue", "white"][i % 3]);
        rows += &format!("{length},{width},{colour},{}\n", ["daisy", "tulip"][kind]);
    }
    desk.write("many.csv", rows);
    desk
}

/// Every file of the model with its bytes.
fn model(desk: &Desk) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(desk.path("model"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().to_string_lossy().into(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn what_is_stopped_changes_nothing_and_says_how_it_ended() {
    let desk = desk();
    let before = model(&desk);
    let commands = [
        "calibrate model --data many.csv --max-abstain 0.1",
        "update model --data many.csv",
        "evaluate model --data many.csv --out report",
        "precision model --data many.csv --out part.precision",
        "predict model --data many.csv --out answers.csv",
    ];
    for (index, command) in commands.into_iter().enumerate() {
        let (signal, code) = [("-TERM", 143), ("-INT", 130)][index % 2];
        let mut process = desk.command(command);
        let child = process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(200));
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{command}: {said}");
        assert!(said.contains("stop"), "{command}: {said}");
    }
    assert_eq!(model(&desk), before);
    for left in ["report/report.html", "part.precision", "answers.csv"] {
        assert!(!desk.path(left).exists(), "{left}");
    }
    let hidden = fs::read_dir(desk.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    assert_eq!(hidden.filter(|name| name.starts_with('.')).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let desk = desk();
    for command in ["predict model --data many.csv", "predict model --data many.csv --json"] {
        let mut process = desk.command(command);
        let mut child = process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty());
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{command}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_and_no_change_is_hidden_behind_it() {
    let desk = desk();
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ends = |command: &str| {
        let output = desk.command(command).stdout(full()).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let (code, said) = ends("predict model --data test.csv");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("No space left"), "{said}");
    // Saved and reported as done, or neither.
    for command in
        ["calibrate model --data test.csv --max-abstain 0.2", "update model --data fresh.csv"]
    {
        let before = model(&desk);
        let (code, said) = ends(command);
        assert!(!said.contains("panicked"), "{said}");
        assert_eq!(code == Some(0), model(&desk) != before, "{command}: {code:?} {said}");
    }
}
