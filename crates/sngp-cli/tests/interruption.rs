//! Ctrl-C and kills: what was done is kept, and the end is the same.
#![cfg(unix)]

mod common;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{SMALL, experiment, rows, run, sngp, text};

/// Long enough to be interrupted in the middle, short enough to finish.
fn long() -> String {
    SMALL.replace("epochs = 3", "epochs = 150")
}

fn bench(folder: &tempfile::TempDir, name: &str) -> Command {
    let mut command = sngp();
    command.args(["bench", "2d", "--methods", "sngp", "--json", "--config"]);
    command.arg(experiment(folder, &long())).arg("--out").arg(folder.path().join(name));
    command.arg("--checkpoints").arg(folder.path().join(format!("{name}-runs")));
    command
}

/// Waits, for a bounded time, until a checkpoint is on disk.
fn wait_for_checkpoint(runs: &Path) {
    let model = |folder: &Path| {
        let entries = std::fs::read_dir(folder).ok()?;
        entries.flatten().find(|e| e.file_name().to_string_lossy().starts_with("model-"))
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        if model(&runs.join("two_moons-sngp-0")).is_some() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("no checkpoint within a minute");
}

fn start(folder: &tempfile::TempDir, name: &str) -> Child {
    let child = bench(folder, name).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_checkpoint(&folder.path().join(format!("{name}-runs")));
    child
}

#[test]
fn ctrl_c_stops_cleanly_and_the_same_command_goes_on_to_the_same_end() {
    let folder = tempfile::tempdir().unwrap();
    let whole = rows(&run(&mut bench(&folder, "whole"), 0).stdout);

    let child = start(&folder, "stopped");
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("checkpoint of epoch"), "{}", text(&output.stderr));
    let left = std::fs::read_dir(folder.path().join("stopped")).unwrap().count();
    assert_eq!(left, 0, "no half result");
    let resumed = run(&mut bench(&folder, "stopped"), 0);
    assert!(text(&resumed.stderr).contains("going on at epoch"), "{}", text(&resumed.stderr));
    assert_eq!(rows(&resumed.stdout), whole);

    let mut killed = start(&folder, "killed");
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(rows(&run(&mut bench(&folder, "killed"), 0).stdout), whole);

    // With everything finished a start trains nothing and gives the same result.
    let again = run(&mut bench(&folder, "killed"), 0);
    assert_eq!(rows(&again.stdout), whole);
}
