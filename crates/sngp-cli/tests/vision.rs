//! Images through the binary: the benchmark and the search on a few made-up ones.

mod common;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use common::{run, sngp, text};

const NAMES: [&str; 10] =
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

const EXPERIMENT: &str = "
[data]
source = { kind = 'cifar10', path = 'cifar-10-batches-bin' }
validation = 20
[augmentation]
padding = 4
flip = true
[[ood]]
source = { kind = 'cifar100', path = 'cifar-100-binary' }
[shift]
kind = 'own'
rows = 2
[network]
kind = 'wide_resnet'
depth = 10
widen = 1
[tuning]
factors = [0.4, 5.0]
ridges = [0.5, 1.0]
abstain = 0.2
[model.gaussian_process]
feature_gain = 4.0
[model.gaussian_process.features]
count = 32
length_scale = 64.0
[model.posterior]
curvature = 'gaussian'
[model.training]
epochs = 1
batch_size = 20
optimizer = { kind = 'sgd', momentum = 0.9 }
learning_rate = 0.02
[methods.deep_ensemble.method]
members = 2
[methods.sngp_ensemble.method]
members = 2
";

/// A folder with images in CIFAR's formats, and an experiment on them.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["cifar-10-batches-bin", "cifar-100-binary"] {
            fs::create_dir(bench.path(folder)).unwrap();
        }
        let ten = |name: &str, first: usize| {
            let records: Vec<u8> =
                (first..first + 10).flat_map(|row| record(&[row % 10], row)).collect();
            fs::write(bench.path("cifar-10-batches-bin").join(name), records).unwrap();
        };
        for batch in 1..=5 {
            ten(&format!("data_batch_{batch}.bin"), 10 * batch);
        }
        ten("test_batch.bin", 100);
        let names = NAMES.join("\n") + "\n";
        fs::write(bench.path("cifar-10-batches-bin/batches.meta.txt"), names).unwrap();
        let hundred: Vec<u8> =
            (200..210).flat_map(|row| record(&[row % 20, row % 100], row)).collect();
        let numbered = |count: usize| (0..count).map(|n| format!("class{n}\n")).collect::<String>();
        for (name, content) in [
            ("train.bin", hundred.clone()),
            ("test.bin", hundred),
            ("fine_label_names.txt", numbered(100).into_bytes()),
            ("coarse_label_names.txt", numbered(20).into_bytes()),
        ] {
            fs::write(bench.path("cifar-100-binary").join(name), content).unwrap();
        }
        fs::write(bench.path("tiny.toml"), EXPERIMENT).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = sngp();
        command.current_dir(&self.folder).env_remove("SNGP_DATA").args(arguments);
        command.args(["--data", "."]);
        command
    }
}

/// Labels, and a picture that depends on them and a little on the row.
fn record(labels: &[usize], row: usize) -> Vec<u8> {
    let pixel = |place: usize| ((labels[0] * 25 + place / 97 + row * 7 + place % 13) % 256) as u8;
    labels.iter().map(|&label| label as u8).chain((0..3072).map(pixel)).collect()
}

const BENCH: [&str; 6] = ["bench", "cifar10", "--config", "tiny.toml", "--out", "out"];

#[test]
fn a_second_start_trains_nothing_and_writes_the_same_table() {
    let bench = Bench::new();
    let arguments = [&BENCH[..], &["--methods", "deterministic,deep_ensemble,sngp"]].concat();
    let output = run(&mut bench.command(&arguments), 0);
    let page = text(&output.stdout);
    for word in ["| `sngp` |", "corrupted ECE", "cifar100 AUPR", "paper: cifar100 AUPR", "0.905"] {
        assert!(page.contains(word), "{word}: {page}");
    }
    for file in ["tiny.md", "tiny.json", "tiny.csv", "tiny-reliability.png", "tiny-scores.svg"] {
        assert!(bench.path("out").join(file).exists(), "{file}");
    }
    let table = || fs::read_to_string(bench.path("out/tiny.csv")).unwrap();
    let first = table();
    assert!(first.lines().any(|line| line.contains("sngp,corrupted,ece")), "{first}");
    let again = run(&mut bench.command(&arguments), 0);
    assert!(!text(&again.stderr).contains("epoch"), "trained again: {}", text(&again.stderr));
    assert_eq!(table(), first, "latencies included");

    // Ridge and factor may be chosen on corrupted images too, without training.
    let corrupted = EXPERIMENT.replacen("= 20\n", "= 20\ncorrupted_validation = 3\n", 1);
    fs::write(bench.path("tiny.toml"), corrupted).unwrap();
    let settled = run(&mut bench.command(&arguments), 0);
    assert!(!text(&settled.stderr).contains("epoch"), "trained: {}", text(&settled.stderr));
    let page = text(&settled.stdout);
    assert!(page.contains("20 training images held out, 3 of them also corrupted"), "{page}");

    // A network is a model folder like any other.
    let inspected = text(&run(sngp().arg("inspect").arg(bench.path("runs/tiny/sngp-0")), 0).stdout);
    assert!(inspected.contains("wide_resnet"), "{inspected}");
}

#[test]
fn the_search_writes_an_experiment_that_runs() {
    let bench = Bench::new();
    let arguments =
        ["tune", "tiny.toml", "--bounds", "0.5", "--length-scales", "16", "--out", "found.toml"];
    let output = text(&run(&mut bench.command(&arguments), 0).stdout);
    assert_eq!(output.lines().filter(|line| line.contains("<-")).count(), 1, "{output}");
    let found = fs::read_to_string(bench.path("found.toml")).unwrap();
    assert!(found.contains("[methods.sngp.spectral]\nconvolution_bound = "), "{found}");
    // Bounds 0.5 and 6, and the second length scale under one of them.
    assert_eq!(fs::read_dir(bench.path("runs/tiny-tune")).unwrap().count(), 3);
    let message = text(&run(&mut bench.command(&arguments), 1).stderr);
    assert!(message.contains("it exists"), "{message}");
    // Methods that are made of the tuned one's networks take them as they are.
    let methods = "sngp,sngp_ensemble";
    let arguments =
        ["bench", "cifar10", "--config", "found.toml", "--methods", methods, "--out", "out"];
    run(&mut bench.command(&arguments), 0);
    let message =
        text(&run(&mut bench.command(&["tune", "tiny.toml", "--out", "x.toml"]), 1).stderr);
    assert!(message.contains("nothing to try"), "{message}");
}

#[test]
fn what_is_wrong_is_named() {
    let bench = Bench::new();
    let refused = |change: (&str, &str), hint: &str| {
        assert!(EXPERIMENT.contains(change.0), "{}", change.0);
        fs::write(bench.path("tiny.toml"), EXPERIMENT.replacen(change.0, change.1, 1)).unwrap();
        let message = text(&run(&mut bench.command(&BENCH), 1).stderr);
        assert!(message.contains(hint), "{hint}: {message}");
    };
    refused(("validation = 20", "validation = 50"), "50 are held out");
    refused(("validation = 20", "validation = 0"), "held-out");
    let more = "validation = 20\ncorrupted_validation = 21";
    refused(("validation = 20", more), "more than are held out");
    refused(("depth = 10", "depth = 11"), "6 n + 4");
    refused(("padding = 4", "pading = 4"), "pading");
    refused(("path = 'cifar-10-batches-bin'", "path = 'gone'"), "gone");
    let pretrained = "[network]\nkind = 'resnet'\ndepth = 8\n[pretrained]\nfile = 'tiny.toml'\n\
                      keys = 'resnet'\ntrain = 'output'\n[tuning]";
    let network = "[network]\nkind = 'wide_resnet'\ndepth = 10\nwiden = 1\n[tuning]";
    refused((network, pretrained), "not a safetensors file");
    refused((network, &pretrained.replace("'resnet'\ntrain", "'vgg'\ntrain")), "vgg");
    let missing = run(sngp().env_remove("SNGP_DATA").args(["bench", "cifar10"]), 1);
    assert!(text(&missing.stderr).contains("--data"), "{}", text(&missing.stderr));
    fs::write(bench.path("tiny.toml"), EXPERIMENT).unwrap();
    let other = run(&mut bench.command(&["bench", "cifar100", "--config", "tiny.toml"]), 1);
    assert!(text(&other.stderr).contains("sngp bench cifar10"), "{}", text(&other.stderr));
    let wrong = run(&mut bench.command(&["tune", "tiny.toml", "--bounds=0"]), 2);
    assert!(text(&wrong.stderr).contains("--bounds"), "{}", text(&wrong.stderr));
}
