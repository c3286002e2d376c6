//! The binary as a user meets it.

mod common;

use std::fs;
use std::path::Path;

use common::{SMALL, experiment, rows, run, sngp, text};

#[test]
fn help_shows_examples_and_exit_codes() {
    let output = run(sngp().arg("--help"), 0);
    for word in
        ["demo", "bench", "predict", "inspect", "list", "--device", "--threads", "Exit codes"]
    {
        assert!(text(&output.stdout).contains(word), "{word}");
    }
    assert!(text(&run(sngp().args(["bench", "2d", "--help"]), 0).stdout).contains("--seeds"));
}

#[test]
fn list_walks_every_registry() {
    let listed = text(&run(sngp().arg("list"), 0).stdout);
    for name in sngp::method::Method::all() {
        assert!(listed.contains(name.name()), "{name}");
    }
    for name in
        ["res_ffn", "wide_resnet", "two_moons", "ece", "auroc", "dempster_shafer", "poisson"]
    {
        assert!(listed.contains(name), "{name}");
    }
    let json: serde_json::Value =
        serde_json::from_slice(&run(sngp().args(["list", "--json"]), 0).stdout).unwrap();
    let methods = json["registries"][0]["entries"].as_array().unwrap();
    assert_eq!((methods.len(), &json["schema"]), (sngp::method::Method::all().len(), &1.into()));
}

#[test]
fn the_demo_trains_draws_and_leaves_models_that_can_be_inspected() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(sngp().current_dir(&folder).arg("demo"), 0);
    let table = text(&output.stdout);
    for word in ["accuracy", "ECE", "OOD AUROC", "exact GP", "deterministic", "sngp", "Look at"] {
        assert!(table.contains(word), "{word} in {table}");
    }
    assert!(text(&output.stderr).contains("epoch"), "plain progress lines in a pipe");
    let png = fs::read(folder.path().join("demo/surface.png")).unwrap();
    assert_eq!(&png[1..4], b"PNG");

    let model = folder.path().join("demo/sngp");
    let inspected = text(&run(sngp().arg("inspect").arg(&model), 0).stdout);
    for word in ["blocks.11", "holds", "lift.weight", "certified", "condition number", "healthy"] {
        assert!(inspected.contains(word), "{word} in {inspected}");
    }
    let json = run(sngp().arg("inspect").arg(&model).arg("--json"), 0).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["members"][0]["spectral"]["layers"].as_array().unwrap().len(), 12);

    let points = folder.path().join("points.csv");
    fs::write(&points, "x,y\n0.5,0.2\n9.0,9.0\n").unwrap();
    let predict = |data: &Path| {
        let mut command = sngp();
        command.arg("predict").arg(&model).arg("--data").arg(data);
        command
    };
    let predicted = text(&run(&mut predict(&points), 0).stdout);
    let lines: Vec<&str> = predicted.lines().collect();
    let header = "x,y,predicted,probability,uncertainty,decision,reason";
    assert_eq!((lines[0], lines.len()), (header, 3), "{predicted}");
    let json = text(&run(predict(&points).arg("--json"), 0).stdout);
    let uncertainty = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        row["uncertainty"].as_f64().unwrap()
    };
    let uncertainty: Vec<f64> = json.lines().map(uncertainty).collect();
    assert!(uncertainty[1] > uncertainty[0], "far from its data it is less certain: {json}");
    for (rows, message) in [
        ("0.5,word\n", "column `x2`: `word` is not a finite number"),
        ("1.0\n", "1 fields where there should be 2"),
        ("1,inf\n", "column `x2`: `inf` is not a finite number"),
    ] {
        fs::write(&points, rows).unwrap();
        let answered = text(&run(&mut predict(&points), 0).stdout);
        assert!(answered.contains(message) && answered.contains("abstain"), "{answered}");
        let failed = text(&run(predict(&points).arg("--strict"), 1).stderr);
        assert!(failed.contains("row 1") && failed.contains(message), "{failed}");
    }
    // The rows of a pipe need no header, and a sentence says what is not a model for text.
    let error = text(&run(sngp().arg("predict").arg(&model).args(["--text", "hello"]), 1).stderr);
    assert!(error.contains("takes 2 columns of numbers"), "{error}");
    assert!(text(&run(&mut predict(Path::new("none.csv")), 1).stderr).contains("none.csv"));

    fs::write(model.join("config.json"), "{}").unwrap();
    let failed = run(sngp().arg("inspect").arg(&model), 1);
    assert!(text(&failed.stderr).contains("SHA-256"), "{}", text(&failed.stderr));
}

#[test]
fn a_folder_that_is_not_ours_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.txt"), "three years").unwrap();
    let failed = run(sngp().args(["demo", "--out"]).arg(folder.path()), 1);
    assert!(text(&failed.stderr).contains("not an sngp folder"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    fs::write(folder.path().join("2d.json"), "mine").unwrap();
    let config = experiment(&folder, SMALL);
    let failed = run(
        sngp().args(["bench", "2d", "--out"]).arg(folder.path()).arg("--config").arg(config),
        1,
    );
    assert!(text(&failed.stderr).contains("not a benchmark's result"));
    assert_eq!(fs::read_to_string(folder.path().join("2d.json")).unwrap(), "mine");
}

#[test]
fn a_benchmark_keeps_one_shape_of_result() {
    let folder = tempfile::tempdir().unwrap();
    let config = experiment(&folder, SMALL);
    let out = folder.path().join("out");
    let mut command = sngp();
    command.args(["bench", "2d", "--methods", "deterministic,sngp", "--seeds", "2", "--json"]);
    let output = run(command.arg("--quiet").arg("--out").arg(&out).arg("--config").arg(config), 0);
    assert!(output.stderr.is_empty(), "quiet means quiet: {}", text(&output.stderr));
    assert_eq!(output.stdout, fs::read(out.join("2d.json")).unwrap());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for key in ["command", "commit", "cpu"] {
        assert!(report[key].is_string(), "{key}");
    }
    assert_eq!(report["schema"], 1);
    let row = &report["rows"][0];
    for key in ["experiment", "method", "split", "metric"] {
        assert!(row[key].is_string(), "{key}");
    }
    assert!(row["mean"].is_number() && row["stderr"].is_number());
    assert_eq!(row["seeds"], 2);
    let files = ["2d.md", "2d-surfaces.png", "2d-surfaces.svg", "2d-margins.png", "2d-margins.svg"];
    assert!(files.iter().all(|name| out.join(name).exists()));
}

#[test]
fn wrong_input_is_told_in_a_sentence_on_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let bad_key = experiment(&folder, "[backbone]\ndeep = 3\n[model]\n");
    let bench = ["bench", "2d", "--config"];
    for (arguments, path, code, cause) in [
        (vec!["bench", "2d", "--methods", "magic"], None, 2, "unknown method `magic`; known:"),
        (vec!["bench", "2d", "--seeds", "0"], None, 2, "at least 1"),
        (vec!["list", "--device", "tpu"], None, 1, "unknown device `tpu`"),
        (vec!["inspect", "nowhere"], None, 1, "no such model folder"),
        (vec!["inspect", "."], None, 1, "no manifest.json"),
        (vec!["fly"], None, 2, "unrecognized subcommand"),
        (bench.to_vec(), Some(bad_key.clone()), 1, "unknown field `deep`"),
        (bench.to_vec(), Some(folder.path().join("missing.toml")), 1, "missing.toml"),
    ] {
        let mut command = sngp();
        command.current_dir(&folder).args(&arguments).args(path);
        let output = run(&mut command, code);
        let said = text(&output.stderr);
        assert!(said.contains(cause), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn the_number_of_threads_changes_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let config = experiment(&folder, SMALL);
    let with = |threads: &str| {
        let mut command = sngp();
        command.args(["bench", "2d", "--methods", "sngp,deep_ensemble", "--json", "--quiet"]);
        command.args(["--threads", threads, "--config"]).arg(&config);
        rows(&run(command.arg("--out").arg(folder.path().join(threads)), 0).stdout)
    };
    for (one, two) in with("1").iter().zip(with("2")) {
        assert!((one - two).abs() < 1e-4, "{one} {two}");
    }
}
