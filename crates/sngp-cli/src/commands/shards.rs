//! `sngp precision` and `sngp merge`: one posterior from many machines.

use anyhow::{Context as _, Result, bail};
use sngp::posterior::{load_precisions, save_precisions};
use sngp_lab::own::{Place, precision};

use super::evaluate::load;
use crate::args::{Merge, PrecisionArgs};
use crate::context::Context;

pub fn accumulate(args: &PrecisionArgs, context: &Context) -> Result<()> {
    let model = load(&args.model, context)?;
    let parts = precision(&model, &Place::parse(&args.data))?;
    save_precisions(&args.out, &parts)?;
    println!("{} rows accumulated. Written: {}", parts[0].rows(), args.out.display());
    Ok(())
}

pub fn merge(args: &Merge, context: &Context) -> Result<()> {
    let mut model = load(&args.model, context)?;
    let mut parts = args.parts.iter();
    let Some(first) = parts.next() else { bail!("there is nothing to merge") };
    let mut sums = load_precisions(first)?;
    for path in parts {
        let more = load_precisions(path)?;
        if more.len() != sums.len() {
            bail!(
                "{}: it has parts of {} networks, not {}",
                path.display(),
                more.len(),
                sums.len()
            );
        }
        for (sum, part) in sums.iter_mut().zip(&more) {
            sum.merge(part).with_context(|| path.display().to_string())?;
        }
    }
    let rows = sums[0].rows();
    model.set_precisions(sums)?;
    model.save(&args.out)?;
    println!("{} parts, {rows} rows. Written: {}", args.parts.len(), args.out.display());
    Ok(())
}
