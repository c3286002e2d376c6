//! A posterior that learns, forgets, and comes from several machines.

use std::path::{Path, PathBuf};

use sngp::posterior::Precision;
use sngp::train::{Interrupter, check_interrupted};
use sngp::{Error, Result};
use sngp_records::Records;

use crate::input::{Dataset, Place, Prepared, is_arrays};
use crate::pipeline::Pipeline;
use crate::seen::{NOTHING_KEPT, hashes};

/// Rows accumulated together; memory does not grow with the set.
const CHUNK: usize = 4096;

/// The part of a posterior that some rows are.
#[derive(Clone, Debug)]
pub struct Part {
    /// One for each network with a Gaussian process.
    pub precisions: Vec<Precision>,
    hashes: Vec<u64>,
}

impl Part {
    /// Rows in it.
    pub fn rows(&self) -> u64 {
        self.precisions.first().map_or(0, Precision::rows)
    }

    fn add(&mut self, other: Self) -> Result<()> {
        merge_into(&mut self.precisions, &other.precisions)?;
        self.hashes.extend(other.hashes);
        Ok(())
    }
}

impl Pipeline {
    /// The part of the posterior that a set's rows are. A row that cannot be used is an error.
    pub fn accumulate(&self, set: &Dataset) -> Result<Part> {
        let rows: Vec<usize> = (0..set.rows()).collect();
        let mut sum: Option<Part> = None;
        for rows in rows.chunks(CHUNK) {
            let part = self.accumulate_prepared(&self.card.preparation.prepare_all(set, rows)?)?;
            match &mut sum {
                None => sum = Some(part),
                Some(sum) => sum.add(part)?,
            }
        }
        sum.ok_or_else(|| Error::Data(format!("{} has no rows", set.file)))
    }

    /// The same of a file, which is read in pieces: memory does not grow with it.
    pub fn accumulate_file(&self, place: &Place, interrupter: &Interrupter) -> Result<Part> {
        let path = &place.path;
        if path.is_dir() || is_arrays(path) {
            return self.accumulate(&Dataset::read(place, None, false)?);
        }
        let mut records = Records::open(path)?;
        let names = records.columns().to_vec();
        let folder = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let (mut sum, mut done): (Option<Part>, usize) = (None, 0);
        while let Some(rows) = records.next_cells(CHUNK)? {
            check_interrupted(interrupter)?;
            let count = rows.len();
            let set = Dataset { folder: folder.clone(), ..Dataset::of_cells(names.clone(), rows)? };
            let all: Vec<usize> = (0..count).collect();
            let prepared = self.card.preparation.prepare(&set, &all)?.all();
            let prepared = prepared.map_err(|(row, bad)| {
                let (row, file) = (done + row + 1, path.display());
                Error::Data(format!("{file}, row {row}, column `{}`: {}", bad.column, bad.reason))
            })?;
            let part = self.accumulate_prepared(&prepared)?;
            match &mut sum {
                None => sum = Some(part),
                Some(sum) => sum.add(part)?,
            }
            done += count;
        }
        sum.ok_or_else(|| Error::Data(format!("{} has no rows", path.display())))
    }

    fn accumulate_prepared(&self, inputs: &Prepared) -> Result<Part> {
        let precisions = self.with_inputs(inputs, |inputs| self.model.accumulate_any(inputs))?;
        if precisions.is_empty() {
            return Err(self.no_posterior());
        }
        Ok(Part { precisions, hashes: hashes(inputs) })
    }

    /// Lets the variance know about more rows; what it knew fades by a factor first, where one is
    /// given. The decision is chosen anew.
    pub fn update(&mut self, part: &Part, decay: Option<f64>) -> Result<()> {
        self.change(|sums| {
            for (sum, part) in sums.iter_mut().zip(&part.precisions) {
                if let Some(factor) = decay {
                    sum.fade(factor)?;
                }
                sum.merge(part)?;
            }
            Ok(())
        })?;
        if let Some(seen) = &mut self.seen {
            if decay.is_some_and(|factor| factor < 1.0) {
                seen.fade();
            }
            seen.add(&part.hashes);
        }
        Ok(())
    }

    /// Lets the variance forget rows that it knows. Rows that were held out are not among them, nor are
    /// those from before a decay, of which a part is left. The decision is chosen anew. A model that does
    /// not keep what it has seen forgets nothing: it could not tell rows that it never knew.
    pub fn forget(&mut self, part: &Part) -> Result<()> {
        let Some(mut seen) = self.seen.clone() else {
            return Err(Error::Data(format!("nothing can be forgotten: {NOTHING_KEPT}")));
        };
        if let Err(unknown) = seen.remove(&part.hashes) {
            return Err(Error::Data(format!(
                "{unknown} of {} rows are not in the posterior (never learned from, held out, or faded \
                 since), so they cannot be forgotten",
                part.hashes.len()
            )));
        }
        self.change(|sums| {
            for (sum, part) in sums.iter_mut().zip(&part.precisions) {
                sum.remove(part)?;
            }
            Ok(())
        })?;
        self.seen = Some(seen);
        Ok(())
    }

    /// Replaces the posterior by the sum of the parts of several machines. The decision is chosen
    /// anew.
    pub fn merge(&mut self, parts: &[Vec<Precision>]) -> Result<u64> {
        let (first, rest) = parts
            .split_first()
            .ok_or_else(|| Error::Data("there is nothing to merge".to_string()))?;
        for (index, part) in parts.iter().enumerate() {
            let twice = parts[..index].iter().any(|other| same(other, part));
            if twice {
                let number = index + 1;
                let message = format!("part {number} is there twice: its rows would count twice");
                return Err(Error::Merge(message));
            }
        }
        let mut sums = first.clone();
        for part in rest {
            merge_into(&mut sums, part)?;
        }
        let rows = sums.first().map_or(0, Precision::rows);
        self.change(|own| {
            if own.len() != sums.len() {
                return Err(Error::shape("networks of the parts", own.len(), sums.len()));
            }
            *own = sums;
            Ok(())
        })?;
        // Nobody knows which rows the parts are of.
        self.seen = None;
        Ok(rows)
    }

    /// Rows the posterior knows of.
    pub fn posterior_rows(&self) -> Option<u64> {
        self.model.precisions().first().map(Precision::rows)
    }

    fn change(&mut self, change: impl FnOnce(&mut Vec<Precision>) -> Result<()>) -> Result<()> {
        let mut sums = self.model.precisions();
        if sums.is_empty() {
            return Err(self.no_posterior());
        }
        change(&mut sums)?;
        self.model.set_precisions(sums)?;
        self.settle()
    }

    fn no_posterior(&self) -> Error {
        let method = &self.model.config().method;
        Error::Unsupported(format!(
            "{method} has no posterior: only methods with a Gaussian process do"
        ))
    }
}

fn merge_into(sums: &mut [Precision], parts: &[Precision]) -> Result<()> {
    if sums.len() != parts.len() {
        return Err(Error::shape("networks of a part", sums.len(), parts.len()));
    }
    sums.iter_mut().zip(parts).try_for_each(|(sum, part)| sum.merge(part))
}

fn same(one: &[Precision], other: &[Precision]) -> bool {
    let packed = |parts: &[Precision]| parts.iter().map(Precision::packed).collect::<Vec<_>>();
    one.len() == other.len() && packed(one) == packed(other)
}
