//! A file's part of a posterior.

use std::path::{Path, PathBuf};

use sngp::posterior::Precision;
use sngp::{Error, Result};

use super::dataset::{Dataset, Place, data, is_arrays};
use super::model::OwnModel;
use super::recipe::Prepared;
use super::train::prepare;
use crate::records::Records;

/// Rows accumulated together; memory does not grow with the file.
const CHUNK: usize = 4096;

/// The precision of a file's rows under the model's features, one for each network. The file is
/// read in pieces.
pub fn precision(model: &OwnModel, place: &Place) -> Result<Vec<Precision>> {
    let mut sum: Option<Vec<Precision>> = None;
    let mut add = |inputs: &Prepared| -> Result<()> {
        let parts = model.accumulate(inputs)?;
        match &mut sum {
            None => sum = Some(parts),
            Some(sums) => {
                for (sum, part) in sums.iter_mut().zip(&parts) {
                    sum.merge(part)?;
                }
            }
        }
        Ok(())
    };
    let path = &place.path;
    let recipe = &model.card.recipe;
    if path.is_dir() || is_arrays(path) {
        let set = Dataset::read(place, None, false)?;
        let rows: Vec<usize> = (0..set.rows()).collect();
        for rows in rows.chunks(CHUNK) {
            add(&prepare(recipe, &set, rows)?)?;
        }
    } else {
        let mut records = Records::open(path).map_err(data)?;
        let folder = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let located = recipe.locate(records.columns(), folder).map_err(|bad| {
            Error::Data(format!("{}, column `{}`: {}", path.display(), bad.column, bad.reason))
        })?;
        let mut done = 0;
        while let Some(rows) = records.next_cells(CHUNK).map_err(data)? {
            let cells: Vec<&[_]> = rows.iter().map(Vec::as_slice).collect();
            let (prepared, bad) = located.prepare(&cells);
            if let Some((index, bad)) =
                bad.iter().enumerate().find_map(|(index, bad)| Some((index, bad.as_ref()?)))
            {
                return Err(Error::Data(format!(
                    "{}, row {}, column `{}`: {}",
                    path.display(),
                    done + index + 1,
                    bad.column,
                    bad.reason
                )));
            }
            add(&prepared)?;
            done += rows.len();
        }
    }
    sum.ok_or_else(|| Error::Data(format!("{} has no rows", path.display())))
}
