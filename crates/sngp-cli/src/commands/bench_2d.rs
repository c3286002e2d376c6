//! `sngp bench 2d`: every method on two moons and two ovals.

use anyhow::{Context as _, Result};
use sngp::Error;
use sngp::files::write_whole;
use sngp::method::Method;
use sngp::train::Checkpoints;
use sngp_lab::dataset::PlaneDataset;
use sngp_lab::experiment::{PLANE, PlaneExperiment};
use sngp_lab::plane::{Reference, RunOptions, run as run_method, surface_figure};
use sngp_lab::report::Measurements;
use sngp_report::figure::{Figure, Surface};

use crate::args::Plane;
use crate::context::Context;
use crate::output::{self, outln};

const RESULT: &str = "2d.json";
const OUTPUTS: [&str; 6] =
    [RESULT, "2d.md", "2d-surfaces.png", "2d-surfaces.svg", "2d-margins.png", "2d-margins.svg"];

/// A row of panels: the data set's name and one surface a method.
type SurfaceRows = Vec<(String, Vec<Surface>)>;

pub fn run(args: &Plane, context: &Context) -> Result<()> {
    let experiment = match &args.config {
        None => PlaneExperiment::parse(PLANE)?,
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
            PlaneExperiment::parse(&text).with_context(|| path.display().to_string())?
        }
    };
    output::shared_folder(&args.out, RESULT, &OUTPUTS)?;
    let mut methods = if args.methods.is_empty() { Method::all() } else { args.methods.clone() };
    // Named twice is meant once.
    let named = methods.clone();
    let mut index = 0;
    methods.retain(|method| {
        index += 1;
        !named[..index - 1].contains(method)
    });
    let mut measurements = Measurements::default();
    let (mut own, mut margin): (SurfaceRows, SurfaceRows) = (vec![], vec![]);
    for dataset in PlaneDataset::all() {
        own.push((dataset.name().to_string(), vec![]));
        margin.push((dataset.name().to_string(), vec![]));
        for seed in (args.seeds.first..).take(args.seeds.count) {
            let plane = dataset.draw(seed);
            context.check_interrupted()?;
            let reference = Reference::of(&plane, &experiment.model.exact_gp)?;
            for method in &methods {
                let name = format!("{dataset} {method} seed {seed}");
                let members = method.recipe().members;
                let observe = |member: usize| {
                    let name = match members {
                        1 => name.clone(),
                        _ => format!("{name} member {}", member + 1),
                    };
                    context.progress.observer(name)
                };
                let options = RunOptions {
                    device: &context.device,
                    interrupter: context.interrupter.clone(),
                    observe: &observe,
                    checkpoints: args.checkpoints.as_ref().map(|folder| {
                        let run = format!("{dataset}-{method}-{seed}");
                        Checkpoints::new(folder.join(run))
                    }),
                };
                let run = run_method(&experiment, method, &plane, &reference, seed, options)?;
                run.record(&mut measurements, dataset.name());
                if seed == args.seeds.first {
                    if let Some(row) = own.last_mut() {
                        row.1.push(run.surface);
                    }
                    if let Some(row) = margin.last_mut() {
                        row.1.push(run.margin);
                    }
                }
            }
        }
    }
    for (rows, stem, label) in
        [(own, "2d-surfaces", "variance or margin"), (margin, "2d-margins", "margin")]
    {
        let figure = surface_figure(rows, label);
        figure.save(&args.out.join(stem)).map_err(|error| Error::Data(error.to_string()))?;
    }
    let report = output::report(&measurements, context.threads)?;
    write_whole(&args.out.join(RESULT), report.json()?.as_bytes())?;
    write_whole(&args.out.join("2d.md"), document(&report.markdown()).as_bytes())?;
    if context.json {
        output::print(&report.json()?)?;
    } else {
        output::print(&report.markdown())?;
        outln!(
            "Written: {0}/2d.md, 2d.json, 2d-surfaces.png, 2d-margins.png (and .svg)",
            args.out.display()
        );
    }
    Ok(())
}

/// The table as a page of its own, with its figures.
fn document(tables: &str) -> String {
    format!(
        "# Two moons and two ovals\n\n\
         Mean and standard error over seeds. `test`: fresh points of the training distribution; \
         `ood`: the unseen cluster against them, by the model's score: the variance where there \
         is one and the experiment asks for no other; `grid`: rank correlation of that score with \
         the exact GP's variance (length scale 0.2, where it is below 0.98) and with the distance \
         to the nearest training point, and the mean absolute difference between the surface \
         shown below and the exact GP's.\n\n\
         ![Uncertainty by variance, or by margin where there is none](2d-surfaces.png)\n\n\
         ![Uncertainty by margin](2d-margins.png)\n\n{tables}"
    )
}
