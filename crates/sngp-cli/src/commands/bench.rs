//! What the benchmarks that train networks share.

use std::path::Path;

use anyhow::{Context as _, Result};
use sngp::Error;
use sngp::files::write_whole;
use sngp::method::Method;
use sngp_lab::bench::RunOptions;
use sngp_lab::report::Report;

use crate::args::Trainings;
use crate::context::Context;
use crate::output::{self, outln};

/// The text of a built-in experiment by name, or of a file; and its name.
pub fn experiment<T>(
    config: &Path,
    built_in: &[(&str, &str)],
    parse: impl Fn(&str) -> sngp::Result<T>,
) -> Result<(String, T)> {
    if let Some((name, text)) = built_in.iter().find(|(name, _)| config == Path::new(name)) {
        return Ok((name.to_string(), parse(text)?));
    }
    let known: Vec<&str> = built_in.iter().map(|(name, _)| *name).collect();
    let text = std::fs::read_to_string(config).map_err(Error::io(config)).with_context(|| {
        format!("no experiment file, and none of the built-in ones ({})", known.join(", "))
    })?;
    let name = config.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let experiment = parse(&text).with_context(|| config.display().to_string())?;
    Ok((name, experiment))
}

impl Trainings {
    /// The data folder, or what to say where none was given.
    pub fn folder(&self, holds: &str) -> Result<&Path> {
        self.data.as_deref().with_context(|| {
            format!("where is the data? --data FOLDER (or SNGP_DATA) names the folder that holds {holds}")
        })
    }

    /// Runs `measure` for every method and seed.
    pub fn each(
        &self,
        default: Vec<Method>,
        context: &Context,
        mut measure: impl FnMut(&Method, u64) -> sngp::Result<()>,
    ) -> Result<()> {
        let methods = if self.methods.is_empty() { &default } else { &self.methods };
        for method in methods {
            // Ensembles of successive seeds would share most of their networks.
            let seeds = if method.recipe().members > 1 { 1 } else { self.seeds.count };
            for seed in (self.seeds.first..).take(seeds) {
                context.check_interrupted()?;
                measure(method, seed)?;
            }
        }
        Ok(())
    }
}

impl Context {
    /// Where and how networks are trained.
    pub fn run_options<'a>(
        &'a self,
        observe: &'a (dyn Fn(String) -> Box<dyn sngp::train::Observer> + Sync),
        say: &'a (dyn Fn(&str) + Sync),
        runs: &'a Path,
    ) -> RunOptions<'a> {
        let interrupter = self.interrupter.clone();
        RunOptions { device: &self.device, interrupter, observe, runs, say }
    }
}

/// The files of a benchmark's result.
pub struct Results<'a> {
    pub folder: &'a Path,
    pub name: &'a str,
}

impl Results<'_> {
    /// Creates the folder before any work is done for it.
    pub fn claim(&self) -> Result<()> {
        let files = self.files();
        output::shared_folder(self.folder, &files[0], &files.each_ref().map(String::as_str))
    }

    fn files(&self) -> [String; 3] {
        ["json", "md", "csv"].map(|ending| format!("{}.{ending}", self.name))
    }

    /// Writes a report, and shows it.
    pub fn write(&self, report: &Report, page: &str, runs: &Path, context: &Context) -> Result<()> {
        let contents = [report.json()?, page.to_string(), report.csv()?];
        let files = self.files();
        for (file, content) in files.iter().zip(&contents) {
            write_whole(&self.folder.join(file), content.as_bytes())?;
        }
        if context.json {
            return output::print(&contents[0]);
        }
        let (folder, [json, page_file, csv]) = (self.folder.display(), files);
        output::print(page)?;
        outln!("Written: {folder}/{page_file}, {json}, {csv}; models in {}", runs.display());
        Ok(())
    }
}
