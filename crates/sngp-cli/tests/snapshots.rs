//! What the command line says, to the letter. Numbers that another CPU rounds differently are left
//! out. `INSTA_UPDATE=always cargo test --release --workspace --test snapshots` takes over what it
//! says now.

mod common;

use common::desk::Desk;
use common::{sngp, text};
use insta::{assert_snapshot, with_settings};

const COMMANDS: [&str; 17] = [
    "",
    "demo",
    "bench",
    "bench 2d",
    "bench clinc",
    "bench cifar10",
    "tune",
    "list",
    "train",
    "evaluate",
    "calibrate",
    "update",
    "precision",
    "merge",
    "predict",
    "export",
    "inspect",
];

/// Figures, times and hashes, which are not the same everywhere.
const NUMBERS: [(&str, &str); 4] = [
    (r"-?\d+\.\d+(e-?\d+)?", "[number]"),
    (r"\[number\] s\b", "[time]"),
    (r"solved in \d+ iterations", "solved in [count] iterations"),
    (r"(directions settled +)\d+", "$1[count]"),
];

fn told(desk: &Desk, line: &str) -> String {
    let output = desk.command(line).output().unwrap();
    let code = output.status.code().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    format!("$ sngp {line}\n{out}-- standard error\n{err}-- exit code {code}\n")
}

#[test]
fn help_of_every_command() {
    for command in COMMANDS {
        let mut process = sngp();
        process.args(command.split_whitespace()).arg("--help").env("COLUMNS", "100");
        // Help shows what variables are set to.
        process.env_remove("SNGP_DATA");
        let help = text(&process.output().unwrap().stdout);
        assert_snapshot!(format!("help {command}").trim().replace(' ', "-"), help);
    }
}

#[test]
fn a_session_with_a_table() {
    let desk = Desk::new();
    desk.flowers();
    desk.write("few.csv", desk.read("test.csv").lines().take(4).collect::<Vec<_>>().join("\n"));
    let session = [
        "train --data flowers.csv --label kind --features 64 --out model",
        "predict model --data few.csv",
        "predict model --data few.csv --json",
        "calibrate model --data test.csv --max-abstain 0.1",
        "calibrate model --data test.csv --max-error 0.1",
        "evaluate model --data fresh.csv --out report",
        "inspect model",
        "update model --data fresh.csv",
        "precision model --data fresh.csv --out part.precision",
        "merge model part.precision --out merged",
    ];
    with_settings!({ filters => NUMBERS.to_vec() }, {
        for line in session {
            let name: Vec<&str> = line.split(' ').filter(|word| !word.contains('.')).collect();
            assert_snapshot!(format!("table {}", name.join(" ")).replace([' ', '-'], "_"), told(&desk, line));
        }
    });
}

#[test]
fn what_is_said_when_something_is_wrong() {
    let desk = Desk::new();
    desk.trained();
    desk.write("short.csv", "length,kind\n1.0,daisy\n");
    desk.write("empty.csv", "");
    let lines = [
        "train --data flowers.csv --label kind --out model",
        "train --data flowers.csv --label knid --out other",
        "train --data nowhere.csv --label kind --out other",
        "train --data empty.csv --label kind --out other",
        "train --data flowers.csv --label kind --ignore colur --out other",
        "train --data flowers.csv --label kind --length-scale nan --out other",
        "predict model --data short.csv",
        "predict model --data flowers.csv --strict --format lines",
        "predict flowers.csv --data flowers.csv",
        "calibrate model --data flowers.csv --max-error 0.1",
        "calibrate model --data test.csv",
        "calibrate model --data test.csv --max-error 0.0001",
        "update model --data test.csv --forget",
        "merge model flowers.csv --out merged",
        "evaluate model --data nowhere.csv --out report",
        "list --threads 5000",
    ];
    let all: String = lines.iter().map(|line| told(&desk, line)).collect();
    with_settings!({ filters => NUMBERS.to_vec() }, { assert_snapshot!("errors", all) });
}
