//! How the cost of fitting grows, and how fast the binary starts:
//! `cargo build --release --workspace && target/release/sngp-scaling`.
//!
//! Every case is fitted in a process of its own, so that its peak memory is its own. Writes
//! `docs/scaling.json` and the tables between the marks in `docs/performance.md`.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use burn::tensor::Device;
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use sngp::backbone::{ResFfn, ResFfnConfig};
use sngp::data::{Labelled, Table, Targets};
use sngp::method::Sngp;
use sngp::model::{Estimator, FitOptions, ModelConfig};
use sngp::posterior::Curvature;
use sngp_kernels::allocator::{MiMalloc, keep_pages};
use sngp_lab::provenance;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// What is fitted: SNGP on ResFFN-12-128, one epoch in batches of 128.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Case {
    rows: usize,
    features: usize,
    classes: usize,
    per_class: bool,
}

/// What it took.
#[derive(Serialize, Deserialize)]
struct Cost {
    seconds: f64,
    peak_mib: f64,
}

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    case: Case,
    #[serde(flatten)]
    cost: Cost,
}

#[derive(Serialize)]
struct StartUp {
    runs: usize,
    best_ms: f64,
    median_ms: f64,
    goal_ms: f64,
}

#[derive(Serialize)]
struct Report {
    command: &'static str,
    commit: &'static str,
    cpu: String,
    rows: Vec<Row>,
    start_up: StartUp,
}

const COMMAND: &str = "cargo build --release --workspace && target/release/sngp-scaling";

fn main() -> Result<()> {
    keep_pages();
    if let Some(case) = std::env::args().nth(1) {
        let case = serde_json::from_str(&case)?;
        let cost = rayon::scope(|_| fit(case))?;
        println!("{}", serde_json::to_string(&cost)?);
        return Ok(());
    }
    let base = Case { rows: 10_000, features: 1024, classes: 2, per_class: false };
    let by_rows = [10_000, 100_000, 1_000_000].map(|rows| Case { rows, ..base });
    let by_features = [512, 1024, 2048, 4096].map(|features| Case { features, ..base });
    let classes = [2, 10, 100, 1000];
    let by_classes = [false, true]
        .map(|per_class| classes.map(|classes| Case { classes, per_class, features: 512, ..base }));
    let cases = by_rows.into_iter().chain(by_features).chain(by_classes.concat());
    let rows = cases.map(measure).collect::<Result<Vec<Row>>>()?;
    let report = Report {
        command: COMMAND,
        commit: provenance::commit(),
        cpu: provenance::cpu(rayon::current_num_threads()),
        rows,
        start_up: start_up()?,
    };
    std::fs::write("docs/scaling.json", serde_json::to_string_pretty(&report)? + "\n")?;
    insert(Path::new("docs/performance.md"), &render(&report))
}

fn fit(case: Case) -> Result<Cost> {
    let inputs =
        Array2::from_shape_fn((case.rows, 2), |(i, j)| ((i * (j + 3)) as f32 * 0.618).sin() * 3.0);
    let labels = (0..case.rows).map(|i| i % case.classes).collect();
    let targets = Targets::classes(labels, case.classes)?;
    let data = Labelled::new(Table::new(inputs.view())?, targets)?;
    let mut config = ModelConfig::new(Sngp {});
    config.training.epochs = 1;
    config.training.batch_size = 128;
    config.gaussian_process.features.count = case.features;
    let curvature = if case.per_class { Curvature::PerClass } else { Curvature::Gaussian };
    config.posterior.curvature = Some(curvature);
    let start = Instant::now();
    let estimator = Estimator::<ResFfn>::new(config, ResFfnConfig::default());
    estimator.fit(&data, FitOptions::new(&Device::flex()))?;
    Ok(Cost { seconds: start.elapsed().as_secs_f64(), peak_mib: peak_mib()? })
}

/// The most memory this process ever had.
fn peak_mib() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("no /proc: Linux only")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}

fn measure(case: Case) -> Result<Row> {
    let argument = serde_json::to_string(&case)?;
    eprintln!("{argument}");
    let output =
        Command::new(std::env::current_exe()?).arg(&argument).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("the case {argument} failed");
    }
    Ok(Row { case, cost: serde_json::from_slice(&output.stdout)? })
}

/// From the start of `sngp predict` to its end, for one row and a saved ResFFN-12-128.
fn start_up() -> Result<StartUp> {
    let folder = std::env::temp_dir().join(format!("sngp-start-up-{}", std::process::id()));
    let binary = std::env::current_exe()?.with_file_name("sngp");
    let status = Command::new(&binary)
        .args(["demo", "--quiet", "--out"])
        .arg(&folder)
        .stdout(Stdio::null())
        .status()
        .context("the sngp binary beside this one; build the workspace first")?;
    if !status.success() {
        bail!("sngp demo failed");
    }
    let mut times = Vec::new();
    for _ in 0..31 {
        let start = Instant::now();
        let mut child = Command::new(&binary)
            .arg("predict")
            .arg(folder.join("sngp"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        child.stdin.take().context("its input")?.write_all(b"0.5,0.2\n")?;
        let output = child.wait_with_output()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        if !output.status.success() {
            bail!("sngp predict failed");
        }
    }
    std::fs::remove_dir_all(folder)?;
    times.sort_by(f64::total_cmp);
    Ok(StartUp {
        runs: times.len(),
        best_ms: times[0],
        median_ms: times[times.len() / 2],
        goal_ms: 50.0,
    })
}

fn render(report: &Report) -> String {
    let start_up = &report.start_up;
    let mut text = format!(
        "`{}`, commit {}, {}.\n\n\
         Start of `sngp predict` to the end of its first prediction with a saved ResFFN-12-128: \
         {:.0} ms at best, {:.0} ms in the middle of {} runs (goal: {:.0} ms).\n\n\
         Fitting SNGP on ResFFN-12-128, one epoch in batches of 128, posterior included:\n\n\
         | rows | features | classes | covariance | seconds | us a row | peak memory |\n\
         | ---: | ---: | ---: | --- | ---: | ---: | ---: |\n",
        report.command,
        report.commit,
        report.cpu,
        start_up.best_ms,
        start_up.median_ms,
        start_up.runs,
        start_up.goal_ms,
    );
    for Row { case, cost } in &report.rows {
        text += &format!(
            "| {} | {} | {} | {} | {:.2} | {:.0} | {:.0} MiB |\n",
            case.rows,
            case.features,
            case.classes,
            if case.per_class { "per class" } else { "shared" },
            cost.seconds,
            cost.seconds / case.rows as f64 * 1e6,
            cost.peak_mib,
        );
    }
    text
}

/// Puts the tables between their marks.
fn insert(path: &Path, text: &str) -> Result<()> {
    const MARKS: [&str; 2] = ["<!-- scaling:begin -->", "<!-- scaling:end -->"];
    let page = std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    let (Some((before, _)), Some((_, after))) =
        (page.split_once(MARKS[0]), page.split_once(MARKS[1]))
    else {
        bail!("{} has no {} .. {}", path.display(), MARKS[0], MARKS[1]);
    };
    std::fs::write(path, format!("{before}{}\n{text}{}{after}", MARKS[0], MARKS[1]))?;
    Ok(())
}
