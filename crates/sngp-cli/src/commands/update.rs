//! `sngp update`: a variance that knows more, or less.

use anyhow::{Result, bail};
use serde_json::json;
use sngp_lab::own::{OwnModel, Place, precision};

use super::evaluate::load;
use crate::args::Update;
use crate::context::Context;

pub fn run(args: &Update, context: &Context) -> Result<()> {
    let mut model = load(&args.model, context)?;
    let before = rows(&model);
    if before.is_empty() {
        bail!("{} has no posterior to update", model.any().config().method);
    }
    let parts = precision(&model, &Place::parse(&args.data))?;
    let mut sums = model.any().precisions();
    for (sum, part) in sums.iter_mut().zip(&parts) {
        if let Some(factor) = args.decay {
            sum.fade(factor)?;
        }
        match args.forget {
            true => sum.remove(part)?,
            false => sum.merge(part)?,
        }
    }
    model.set_precisions(sums)?;
    let out = args.out.as_ref().unwrap_or(&args.model);
    model.save(out)?;
    let after = rows(&model);
    if context.json {
        println!("{}", json!({ "model": out, "rows_before": before, "rows": after }));
    } else {
        let what = if args.forget { "forgotten" } else { "added" };
        println!(
            "{} rows {what}; the posterior now has {} (before: {}). Written: {}",
            parts[0].rows(),
            after[0],
            before[0],
            out.display()
        );
    }
    Ok(())
}

fn rows(model: &OwnModel) -> Vec<u64> {
    model.any().precisions().iter().map(|precision| precision.rows()).collect()
}
