//! `sngp completions` and `sngp man`: what a shell and `man` need to know of the command.

use std::path::Path;

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;
use sngp::Error;

use crate::args::Args;
use crate::output::{self, outln};

pub fn completions(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "sngp", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// A page for the command and one for each of its commands.
pub fn man_pages(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
    clap_mangen::generate_to(Args::command(), folder).map_err(Error::io(folder))?;
    outln!("Written: {}", folder.display());
    Ok(())
}
