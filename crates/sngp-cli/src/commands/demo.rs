//! `sngp demo`: the main idea in under a minute.

use anyhow::Result;
use sngp::Error;
use sngp::files::write_whole;
use sngp::method::{Deterministic, Method, Sngp};
use sngp_lab::dataset::{PlaneDataset, TwoMoons};
use sngp_lab::experiment::{PLANE, PlaneExperiment};
use sngp_lab::plane::{Reference, RunOptions, run as run_method, surface_figure};
use sngp_lab::report::Measurements;
use sngp_report::figure::Figure;

use crate::args::Demo;
use crate::context::Context;
use crate::output::{self, outln};

const RESULT: &str = "demo.json";

/// The columns of the table: `(title, split, metric)`.
const COLUMNS: [(&str, &str, &str); 4] = [
    ("accuracy", "test", "accuracy"),
    ("ECE", "test", "ece"),
    ("OOD AUROC", "ood", "auroc"),
    ("agreement with exact GP", "grid", "exact_gp_rank_correlation"),
];

pub fn run(demo: &Demo, context: &Context) -> Result<()> {
    output::own_folder(&demo.out, RESULT)?;
    let experiment = PlaneExperiment::parse(PLANE)?;
    let dataset = PlaneDataset::from(TwoMoons {});
    let plane = dataset.draw(demo.seed);
    context.progress.say("two moons: 1,000 training points, and a cluster nobody has seen");
    let reference = Reference::of(&plane, &experiment.model.exact_gp)?;
    let methods: [Method; 2] = [Deterministic {}.into(), Sngp {}.into()];
    let mut measurements = Measurements::default();
    let (mut panels, mut models, mut lines) = (vec![], vec![], vec![]);
    for method in &methods {
        let options = RunOptions {
            device: &context.device,
            interrupter: context.interrupter.clone(),
            observe: &|_| context.progress.observer(method.name().to_string()),
            checkpoints: None,
        };
        let run = run_method(&experiment, method, &plane, &reference, demo.seed, options)?;
        run.record(&mut measurements, dataset.name());
        let cells = COLUMNS.map(|(title, split, metric)| {
            let found = run.measurements.iter().find(|(s, m, _)| *s == split && m == metric);
            let value = found.map_or("–".to_string(), |(_, _, value)| format!("{value:.3}"));
            format!("{value:>width$}", width = title.len())
        });
        lines.push(format!("{:15} {}", method.name(), cells.join("  ")));
        panels.push(run.surface);
        models.push(run.model);
    }
    // The result first: it marks the folder as a demo's, whatever happens to the rest.
    let report = output::report(&measurements, context.threads)?;
    write_whole(&demo.out.join(RESULT), report.json()?.as_bytes())?;
    for (method, model) in methods.iter().zip(&models) {
        model.save(demo.out.join(method.name()))?;
    }
    let figure = surface_figure(vec![("two moons".to_string(), panels)], "uncertainty");
    let stem = demo.out.join("surface");
    figure.save(&stem).map_err(|error| Error::Data(error.to_string()))?;
    if context.json {
        return output::print(&report.json()?);
    }
    outln!("{:15} {}", "method", COLUMNS.map(|(title, ..)| title).join("  "));
    outln!("{}", lines.join("\n"));
    outln!(
        "\nLook at {}: away from the points the deterministic network stays certain (dark) on \
         either side of its boundary, while SNGP turns uncertain (bright) wherever there is no data.",
        stem.with_extension("png").display()
    );
    outln!("Next: sngp inspect {}", demo.out.join("sngp").display());
    Ok(())
}
