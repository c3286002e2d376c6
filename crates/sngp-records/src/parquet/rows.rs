use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::cells::Kind;
use crate::cell::Row;
use crate::original::Original;

/// Makes rows of one record batch after another.
pub(super) struct BatchRows {
    pub(super) columns: Vec<String>,
    pub(super) kinds: Vec<Kind>,
    /// The rows of the last batch that have not been handed out.
    pending: VecDeque<Row>,
    kept: Option<Kept>,
}

/// The batches themselves, to be written again.
struct Kept {
    schema: SchemaRef,
    /// The last batch.
    last: Option<RecordBatch>,
    /// As many of its rows have been asked for.
    taken: usize,
    /// Parts of earlier batches that have not been asked for.
    before: Vec<RecordBatch>,
}

impl BatchRows {
    /// For batches of the columns of `schema` that are read.
    pub(super) fn new(schema: &Schema, kinds: Vec<Kind>, keep: bool) -> Self {
        let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
        let kept = keep.then(|| {
            let fields =
                schema.fields().iter().zip(&kinds).map(|(field, kind)| match kind.is_read() {
                    true => field.clone(),
                    false => Arc::new(Field::new(field.name(), DataType::Utf8, true)),
                });
            let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
            Kept { schema, last: None, taken: 0, before: Vec::new() }
        });
        Self { columns, kinds, pending: VecDeque::new(), kept }
    }

    pub(super) fn next(&mut self) -> Option<Row> {
        self.pending.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Takes the next batch, once all rows of the last have been handed out.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let arrays = self.arrays(batch)?;
        let cells = |(kind, array): (&Kind, &ArrayRef)| kind.cells(array);
        let columns = self.kinds.iter().zip(&arrays).map(cells).collect::<Result<Vec<_>, _>>()?;
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        let row = |_| Row::Cells(columns.iter_mut().filter_map(Iterator::next).collect());
        self.pending.extend((0..batch.num_rows()).map(row));
        if let Some(kept) = &mut self.kept {
            kept.finish_last();
            kept.last = Some(RecordBatch::try_new(kept.schema.clone(), arrays)?);
            kept.taken = 0;
        }
        Ok(())
    }

    /// One array per column; text in place of those that are not read.
    fn arrays(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>, ArrowError> {
        let mut arrays = batch.columns().iter();
        let arrays = self.kinds.iter().map(|kind| match kind.is_read() {
            true => arrays.next().cloned().ok_or_else(|| {
                ArrowError::SchemaError("a column is missing from a row group".to_owned())
            }),
            false => {
                let stand_in = kind.stand_in().to_field().into_owned();
                Ok(Arc::new(StringArray::from(vec![stand_in; batch.num_rows()])) as ArrayRef)
            }
        });
        arrays.collect()
    }

    pub(super) fn take_original(&mut self) -> Option<Original> {
        let kept = self.kept.as_mut()?;
        if let Some(last) = &kept.last {
            kept.take_up_to(last.num_rows() - self.pending.len());
        }
        Some(Original::Batches(std::mem::take(&mut kept.before)))
    }

    pub(super) fn warnings(&self, path: &Path) -> Vec<String> {
        let warning = |(name, kind): (&String, &Kind)| {
            let found = kind.unsupported()?;
            Some(format!(
                "{}: column {name:?} has the unsupported type {found}; convert it to numbers, \
                 booleans, strings or lists of numbers",
                path.display()
            ))
        };
        self.columns.iter().zip(&self.kinds).filter_map(warning).collect()
    }
}

impl Kept {
    fn finish_last(&mut self) {
        if let Some(last) = &self.last {
            self.take_up_to(last.num_rows());
        }
    }

    /// Puts the rows of the last batch before `end` to those to be asked for.
    fn take_up_to(&mut self, end: usize) {
        if let Some(last) = self.last.as_ref().filter(|_| end > self.taken) {
            self.before.push(last.slice(self.taken, end - self.taken));
            self.taken = end;
        }
    }
}
