//! Sentences through the binary: the benchmark from data to a model that abstains.

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{run, sngp, text};
use serde_json::{Value, json};

/// A folder with sentences, an encoder of two small layers, and an experiment on them.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new(data: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tiny =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../sngp/tests/golden/encoders/tiny-bert");
        let encoder = folder.path().join("encoder");
        fs::create_dir(&encoder).unwrap();
        for file in ["config.json", "model.safetensors", "tokenizer.json"] {
            fs::copy(tiny.join(file), encoder.join(file)).unwrap();
        }
        let bench = Self { folder };
        bench.write("clinc.json", &clinc().to_string());
        bench.experiment("everything", data);
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    fn experiment(&self, trained: &str, data: &str) {
        let text = format!(
            "[data]\n{data}\n\
             [encoder]\nfolder = 'encoder'\nmax_tokens = 16\ntrain = '{trained}'\ndropout = 0.1\n\
             [tuning]\nfactors = [0.4, 5.0]\nabstain = 0.2\n\
             [model.gaussian_process.features]\ncount = 32\nlayer_norm = true\nlength_scale = 16.0\n\
             [model.training]\nepochs = 2\nbatch_size = 4\nlearning_rate = 1e-3\n\
             [methods.deep_ensemble.method]\nmembers = 2\n\
             [head_first]\nepochs = 2\nbatch_size = 4\n"
        );
        let text = match trained {
            "nothing" => text.replace("[head_first]\nepochs = 2\nbatch_size = 4\n", ""),
            _ => text,
        };
        self.write("tiny.toml", &text);
    }

    fn command(&self, methods: &str) -> Command {
        let mut command = sngp();
        command.current_dir(&self.folder).env_remove("SNGP_DATA");
        command.args(["bench", "clinc", "--config", "tiny.toml", "--data", ".", "--out", "out"]);
        if !methods.is_empty() {
            command.args(["--methods", methods]);
        }
        command
    }

    fn report(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("out/tiny.json")).unwrap()).unwrap()
    }
}

const CLINC: &str = "kind = 'clinc'\nfile = 'clinc.json'";

fn clinc() -> Value {
    let cats = ["the cat sat", "a cat", "cats on a mat", "the red cat", "the cats", "a red cat"];
    let dogs = ["dog", "the dog runs", "dogs", "a red dog", "dogs on the mat", "running dog"];
    let pairs: Vec<[&str; 2]> =
        cats.map(|text| [text, "cat"]).into_iter().chain(dogs.map(|text| [text, "dog"])).collect();
    json!({
        "train": pairs, "val": pairs, "test": pairs,
        "oos_train": [], "oos_val": [], "oos_test": [["zebra!", "oos"], ["", "oos"]],
    })
}

/// Everything of a report but how long things took.
fn figures(report: &Value) -> Vec<Value> {
    let rows = report["rows"].as_array().unwrap();
    rows.iter().filter(|row| row["metric"] != "latency_ms").cloned().collect()
}

#[test]
fn every_published_method_is_trained_once_and_measured() {
    let bench = Bench::new(CLINC);
    let output = run(&mut bench.command(""), 0);
    let page = text(&output.stdout);
    for method in sngp_lab::published::clinc().keys() {
        assert!(page.contains(&format!("| `{method}` |")), "{method}: {page}");
    }
    for word in ["paper: AUROC", "combined NLL", "0.969", "energy", "**", "mean-field factor"] {
        assert!(page.contains(word), "{word}: {page}");
    }
    // The ensemble's second network, and no folder for methods that share their networks.
    for (folder, there) in
        [("deterministic-1", true), ("sngp-0", true), ("mc_dropout-0", false), ("sngp-1", false)]
    {
        assert_eq!(bench.path("runs/tiny").join(folder).exists(), there, "{folder}");
    }
    let first = figures(&bench.report());
    let again = run(&mut bench.command(""), 0);
    assert!(!text(&again.stderr).contains("epoch"), "trained again: {}", text(&again.stderr));
    assert_eq!(figures(&bench.report()), first);

    // Networks of another configuration are not mistaken for these.
    let original = fs::read_to_string(bench.path("tiny.toml")).unwrap();
    for (from, to) in [
        ("learning_rate = 1e-3", "learning_rate = 2e-3"),
        ("'everything'", "'layers'"),
        ("[head_first]\nepochs = 2", "[head_first]\nepochs = 3"),
    ] {
        assert!(original.contains(from), "{from}");
        bench.write("tiny.toml", &original.replacen(from, to, 1));
        let message = text(&run(&mut bench.command("sngp"), 1).stderr);
        assert!(message.contains("another configuration"), "{to}: {message}");
    }
    // What needs no training is chosen anew.
    let again = |changed: String| {
        bench.write("tiny.toml", &changed);
        let output = run(&mut bench.command("sngp"), 0);
        assert!(!text(&output.stderr).contains("epoch"), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let page = again(original.replacen("factors = [0.4, 5.0]", "factors = [7.0]", 1));
    assert!(page.contains("mean-field factor 7.000"), "{page}");
    let network = bench.path("runs/tiny/sngp-0");
    let by = |score: &str| format!("{original}[methods.sngp.score]\nname = '{score}'\n");
    for (score, changed) in [
        ("variance", by("variance")),
        ("entropy", by("entropy")),
        ("dempster_shafer", original.clone()),
    ] {
        again(changed);
        let saved = text(&run(sngp().arg("inspect").arg(&network), 0).stdout);
        assert!(saved.contains(&format!("score         {score}")), "{saved}");
        assert!(saved.contains(&format!("it answers when {score} is at most")), "{saved}");
    }
    let untuned = original.replacen("factors = [0.4, 5.0]", "factors = []", 1);
    let saved = || -> Value {
        serde_json::from_slice(&fs::read(network.join("config.json")).unwrap()).unwrap()
    };
    for (integration, expected) in [
        ("kind = 'mean_field'\nfactor = 3.5", json!({"kind": "mean_field", "factor": 3.5})),
        (
            "kind = 'monte_carlo'\nsamples = 7\nseed = 1",
            json!({"kind": "monte_carlo", "samples": 7, "seed": 1}),
        ),
    ] {
        again(format!("{untuned}[model.integration]\n{integration}\n"));
        assert_eq!(saved()["model"]["integration"], expected);
    }
    let sampled = "[model.integration]\nkind = 'monte_carlo'\nsamples = 7\nseed = 1\n";
    let ridges = untuned.replacen("factors = []", "factors = []\nridges = [3.5]", 1);
    again(format!("{ridges}{sampled}"));
    assert_eq!(saved()["model"]["integration"]["kind"], "monte_carlo");
    assert_eq!(saved()["posteriors"][0]["ridge"], 3.5);
    again(format!("{untuned}[methods.sngp.posterior]\nridge = 2.5\n"));
    assert_eq!(saved()["posteriors"][0]["ridge"], 2.5);
    bench.write("tiny.toml", &format!("{original}{sampled}"));
    let message = text(&run(&mut bench.command("sngp"), 1).stderr);
    assert!(message.contains("leave `factors` of `tuning` empty"), "{message}");
    // Options that could have no effect are refused.
    bench.write("tiny.toml", &format!("{original}[methods.mc_dropout.training]\nepochs = 5\n"));
    let message = text(&run(&mut bench.command("sngp"), 1).stderr);
    assert!(message.contains("no effect"), "{message}");
}

#[test]
fn an_encoder_that_is_not_trained_gives_a_model_that_takes_text() {
    let bench = Bench::new(CLINC);
    bench.experiment("nothing", CLINC);
    run(&mut bench.command("sngp,mc_dropout"), 0);
    let model = bench.path("runs/tiny/sngp-0");
    let predicted = |arguments: &[&str]| {
        let output = run(sngp().arg("predict").arg(&model).args(arguments), 0);
        text(&output.stdout)
    };
    let csv = predicted(&["--text", "a cat, on the mat", "--text", "", "--text", "🐈"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "text,predicted,probability,uncertainty,decision,reason");
    assert_eq!(lines.len(), 4, "{csv}");
    assert!(lines[2].ends_with(",abstain,empty_input"), "{csv}");
    assert!(lines[3].ends_with(",abstain,empty_input"), "{csv}");
    let long = "cat ".repeat(2500);
    let json: Value = serde_json::from_str(&predicted(&["--json", "--text", &long])).unwrap();
    assert!(json["probability"].as_f64().unwrap() <= 1.0 && json["decision"].is_string());

    bench.write("sentences.txt", "the cat\r\n\na dog\n");
    let data = bench.path("sentences.txt");
    let lines = predicted(&["--data", data.to_str().unwrap()]);
    assert_eq!(lines.lines().count(), 4, "one answer a line, an empty one too: {lines}");
    let inspected = text(&run(sngp().arg("inspect").arg(&model), 0).stdout);
    for word in ["bert", "pooler.dense", "decision"] {
        assert!(inspected.contains(word), "{word}: {inspected}");
    }
}

fn predict_bytes(model: &Path, input: &[u8]) -> Output {
    let mut command = sngp();
    command.arg("predict").arg(model).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn what_is_wrong_is_named() {
    let bench = Bench::new(CLINC);
    run(&mut bench.command("deterministic"), 0);
    let model = bench.path("runs/tiny/deterministic-0");
    let output = predict_bytes(&model, b"fine\nnot \xff fine\n");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let answers = text(&output.stdout);
    assert!(answers.contains("invalid_input: line 2: not valid UTF-8"), "{answers}");
    assert!(text(&output.stderr).contains("1 of 2 rows could not be used"));

    let table = "kind = 'tables'\ntrain = 'train.csv'\nvalidation = 'train.csv'\n\
                 test = 'test.csv'\nout_of_scope = 'strange.txt'\ntext = 'text'\nlabel = 'intent'";
    let bench = Bench::new(table);
    let rows = "text,intent\nthe cat,cat\na cat,cat\ncats,cat\nthe dog,dog\na dog,dog\ndogs,dog\n";
    bench.write("train.csv", rows);
    bench.write("strange.txt", "zebra\n中\n");
    let refused = |test: &str, hint: &str| {
        bench.write("test.csv", test);
        let message = text(&run(&mut bench.command("deterministic"), 1).stderr);
        assert!(message.contains(hint), "{hint}: {message}");
    };
    refused("text,label\nthe cat,cat\n", "intent");
    refused("text,intent\nthe cat,cat\nthe fox,fox\n", "fox");
    refused("text,intent\nthe cat,cat,more\n", "test.csv");
    bench.write("test.csv", rows);
    run(&mut bench.command("deterministic"), 0);

    let missing = run(sngp().env_remove("SNGP_DATA").args(["bench", "clinc"]), 1);
    assert!(text(&missing.stderr).contains("--data"), "{}", text(&missing.stderr));
    let unknown = run(sngp().args(["bench", "clinc", "--config", "no-such", "--data", "."]), 1);
    assert!(text(&unknown.stderr).contains("clinc-minilm"), "{}", text(&unknown.stderr));
    let other = bench.path("runs/tiny/deterministic-0");
    fs::remove_file(other.join("tokenizer.json")).unwrap();
    let damaged = run(sngp().arg("predict").arg(&other).args(["--text", "x"]), 1);
    assert!(text(&damaged.stderr).contains("tokenizer.json"), "{}", text(&damaged.stderr));
}
