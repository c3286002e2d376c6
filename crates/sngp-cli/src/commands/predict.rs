//! `sngp predict`: from table to table, with an answer to every row.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use sngp_pipeline::input::{Body, Dataset, Place, Preparation, PreparedRows, is_arrays};
use sngp_pipeline::{Answer, Detail, Flags, Pipeline};
use sngp_records::{Cell, Format, Header, ReadOptions, Records, Row, Writer};
use tempfile::NamedTempFile;

use crate::args::Predict;
use crate::context::Context;
use crate::schema::Schema;

/// Rows read and written at a time.
const CHUNK: usize = 4096;

pub fn run(args: &Predict, context: &Context) -> Result<()> {
    let pipeline = Pipeline::load(&args.model, &context.device)?;
    let schema = Schema::of(&pipeline, args.probabilities, args.top_k, args.fdr.is_some())?;
    let pass = Pass::Write(None);
    let mut run = Run { args, context, pipeline: &pipeline, schema, pass, invalid: 0, rows: 0 };
    let started = Instant::now();
    match args.fdr {
        Some(rate) => run.flagged(rate)?,
        None => run.over(&args.data)?,
    }
    run.account(started.elapsed().as_secs_f64());
    Ok(())
}

/// What becomes of the answers.
enum Pass {
    /// Their p-values are kept, to flag rows by all of them.
    PValues(Vec<f64>),
    /// They are written, with the flags where there are any.
    Write(Option<Flags>),
}

struct Run<'a> {
    args: &'a Predict,
    context: &'a Context,
    pipeline: &'a Pipeline,
    schema: Schema,
    pass: Pass,
    invalid: usize,
    rows: usize,
}

impl Run<'_> {
    /// Goes over the rows twice: what is flagged depends on all of them.
    fn flagged(&mut self, rate: f64) -> Result<()> {
        // What cannot be promised is said before anything is read.
        self.pipeline.flags_of(rate, &[])?;
        let given = self.args.data.as_path();
        let piped = self.args.text.is_empty() && given == Path::new("-");
        let spooled = piped.then(spooled).transpose()?;
        let data = spooled.as_ref().map_or(given, |file| file.path());
        self.pass = Pass::PValues(Vec::new());
        self.over(data)?;
        if let Pass::PValues(p_values) = std::mem::replace(&mut self.pass, Pass::Write(None)) {
            let flags = self.pipeline.flags_of(rate, &p_values)?;
            self.context.progress.say(&flags.basis);
            self.pass = Pass::Write(Some(flags));
        }
        self.over(data)
    }

    fn over(&mut self, data: &Path) -> Result<()> {
        match (&self.args.text[..], Place::parse(&data.to_string_lossy())) {
            ([], place) if place.path.is_dir() || is_arrays(&place.path) => self.whole(&place),
            ([], place) => self.stream(&place.path),
            (texts, _) => self.texts(texts),
        }
    }

    fn answers(&self, rows: PreparedRows) -> sngp::Result<Vec<Answer>> {
        answers(self.pipeline, rows, self.detail(), self.flags())
    }

    fn flags(&self) -> Option<&Flags> {
        match &self.pass {
            Pass::Write(flags) => flags.as_ref(),
            Pass::PValues(_) => None,
        }
    }

    /// Sentences of the command line.
    fn texts(&mut self, texts: &[String]) -> Result<()> {
        let preparation = &self.pipeline.card().preparation;
        if !preparation.takes_text() {
            bail!("{} takes {}", self.args.model.display(), preparation.describe());
        }
        let column = preparation.columns()[0].to_string();
        let rows = texts.iter().map(|text| vec![Cell::Text(text.clone())]).collect();
        let set = Dataset::of_cells(vec![column.clone()], rows)?;
        self.write_set(&set, &[column])
    }

    /// A table, read and written in pieces however long it is.
    fn stream(&mut self, path: &Path) -> Result<()> {
        let preparation = &self.pipeline.card().preparation;
        let mut records = Records::open_with(path, self.read_options(path, preparation))?;
        let names = records.columns().to_vec();
        let folder = self.args.data.parent().map_or_else(PathBuf::new, PathBuf::from);
        let located = preparation.locate(&names, folder).map_err(|bad| {
            anyhow::anyhow!("{}, column `{}`: {}", path.display(), bad.column, bad.reason)
        })?;
        let mut writer = self.writer(&names)?;
        while let Some(chunk) = records.next_chunk(CHUNK)? {
            self.context.check_interrupted()?;
            let good: Vec<&[Cell]> = chunk
                .rows
                .iter()
                .filter_map(|row| match row {
                    Row::Cells(cells) => Some(cells.as_slice()),
                    Row::Bad { .. } => None,
                })
                .collect();
            let mut answers = self.answers(located.prepare(&good))?.into_iter();
            let answers = chunk.rows.iter().map(|row| match row {
                Row::Bad { reason, .. } => Answer::unreadable(reason.clone()),
                Row::Cells(_) => {
                    answers.next().unwrap_or_else(|| Answer::unreadable("not predicted"))
                }
            });
            let answers: Vec<Answer> = answers.collect();
            let Some(writer) = &mut writer else {
                self.keep(&answers);
                continue;
            };
            let cells = self.cells(&answers, chunk.first_row)?;
            writer.write_beside(&chunk, &cells)?;
        }
        finish(writer)
    }

    /// How a table is read: models of numbers in their order and of text take files without a
    /// header too.
    fn read_options(&self, path: &Path, preparation: &Preparation) -> ReadOptions {
        let columns: Vec<String> = preparation.columns().iter().map(|c| c.to_string()).collect();
        let named = Format::of_path(path).ok();
        let lines = path.extension().is_some_and(|ending| ending == "txt");
        let piped = named.is_none() && self.args.format.is_none();
        let format = match self.args.format.or(named) {
            _ if preparation.takes_text() && (lines || piped) => Format::Lines,
            Some(format) => format,
            None => Format::Csv,
        };
        let header = match preparation {
            Preparation::Numbers { .. } => Header::Auto { columns },
            _ if format == Format::Lines => Header::None { columns },
            _ => Header::Named,
        };
        ReadOptions { format: Some(format), header, keep_originals: true }
    }

    /// Arrays and folders, which are read by place and not line by line.
    fn whole(&mut self, place: &Place) -> Result<()> {
        let set = Dataset::read(place, None, false)?;
        if let Body::Rows { names, .. } = &set.body {
            return self.write_set(&set, names);
        }
        let mut writer = self.writer(&["row".to_string()])?;
        let mut answered: Option<(usize, Vec<Answer>)> = None;
        for start in (0..set.rows()).step_by(CHUNK) {
            self.context.check_interrupted()?;
            let rows: Vec<usize> = (start..set.rows().min(start + CHUNK)).collect();
            // The answers of one piece are written while the next one is predicted.
            let (done, flags) = (answered.take(), self.flags().cloned());
            let (pipeline, detail) = (self.pipeline, self.detail());
            let (next, written) = rayon::join(
                || -> sngp::Result<Vec<Answer>> {
                    let prepared = pipeline.card().preparation.prepare(&set, &rows)?;
                    answers(pipeline, prepared, detail, flags.as_ref())
                },
                || done.map_or(Ok(()), |(start, done)| self.numbered(start, &done, &mut writer)),
            );
            written?;
            answered = Some((start, next?));
        }
        if let Some((start, answers)) = answered {
            self.numbered(start, &answers, &mut writer)?;
        }
        finish(writer)
    }

    /// Writes the answers to rows that have only a number.
    fn numbered(
        &mut self,
        start: usize,
        answers: &[Answer],
        writer: &mut Option<Writer>,
    ) -> Result<()> {
        let Some(writer) = writer else {
            self.keep(answers);
            return Ok(());
        };
        let cells = self.cells(answers, start)?.into_iter().enumerate();
        let rows = cells.map(|(index, cells)| {
            std::iter::once(Cell::Number((start + index + 1) as f64)).chain(cells).collect()
        });
        Ok(writer.write(&rows.collect::<Vec<_>>())?)
    }

    fn write_set(&mut self, set: &Dataset, names: &[String]) -> Result<()> {
        let Body::Rows { rows, .. } = &set.body else { return Ok(()) };
        let mut writer = self.writer(names)?;
        let all: Vec<usize> = (0..rows.len()).collect();
        for some in all.chunks(CHUNK) {
            self.context.check_interrupted()?;
            let prepared = self.pipeline.card().preparation.prepare(set, some)?;
            let answers = self.answers(prepared)?;
            let Some(writer) = &mut writer else {
                self.keep(&answers);
                continue;
            };
            let cells = self.cells(&answers, some[0])?;
            let lines =
                some.iter().zip(cells).map(|(&row, cells)| [rows[row].clone(), cells].concat());
            writer.write(&lines.collect::<Vec<_>>())?;
        }
        finish(writer)
    }

    /// Keeps what the second time over the rows needs of the first.
    fn keep(&mut self, answers: &[Answer]) {
        if let Pass::PValues(p_values) = &mut self.pass {
            p_values.extend(answers.iter().filter_map(|answer| answer.p_value));
        }
    }

    /// The cells of answers; with `--strict`, an error at the first row that cannot be used.
    fn cells(&mut self, answers: &[Answer], first_row: usize) -> Result<Vec<Vec<Cell>>> {
        self.rows += answers.len();
        if let (true, Some(row)) = (self.args.strict, answers.iter().position(Answer::is_invalid)) {
            let reason = answers[row].reason().unwrap_or_default();
            bail!("row {}: {reason}", first_row + row + 1);
        }
        self.invalid += answers.iter().filter(|answer| answer.is_invalid()).count();
        Ok(answers.iter().map(|answer| self.schema.cells(answer)).collect())
    }

    fn detail(&self) -> Detail {
        Detail { probabilities: self.schema.needs_probabilities(), ..Detail::default() }
    }

    /// Where answers are written, the time that they are.
    fn writer(&self, names: &[String]) -> Result<Option<Writer>> {
        if let Pass::PValues(_) = self.pass {
            return Ok(None);
        }
        let columns = self.schema.beside(names);
        for (old, new) in names.iter().zip(&columns).filter(|(old, new)| old != new) {
            let progress = &self.context.progress;
            progress.say(&format!("the column `{old}` of the input is `{new}` beside the answers"));
        }
        let chosen = self.args.format.filter(|format| *format != Format::Lines);
        let format = match (&self.args.out, self.context.json) {
            (Some(out), _) => chosen.map_or_else(|| Format::of_path(out), Ok)?,
            (None, true) => Format::JsonLines,
            (None, false) => chosen.unwrap_or(Format::Csv),
        };
        let path = self.args.out.clone().unwrap_or_else(|| PathBuf::from("-"));
        Ok(Some(Writer::create(path, format, &columns)?))
    }

    /// What became of the rows, on standard error.
    fn account(&self, seconds: f64) {
        let say = |text: String| self.context.progress.say(&text);
        if self.invalid > 0 {
            say(format!("{} of {} rows could not be used", self.invalid, self.rows));
        }
        if self.rows > CHUNK {
            let speed = self.rows as f64 / seconds;
            say(format!("{} rows in {seconds:.1} s, {speed:.0} a second", self.rows));
        }
    }
}

/// The answers to rows, flagged where flags are known.
fn answers(
    pipeline: &Pipeline,
    rows: PreparedRows,
    detail: Detail,
    flags: Option<&Flags>,
) -> sngp::Result<Vec<Answer>> {
    match flags {
        Some(flags) => pipeline.answer_flagged(rows, detail, flags),
        None => pipeline.answer_prepared(rows, detail),
    }
}

fn finish(writer: Option<Writer>) -> Result<()> {
    writer.map_or(Ok(()), |writer| Ok(writer.finish()?))
}

/// Standard input as a file, to be read twice.
fn spooled() -> Result<NamedTempFile> {
    let mut file = NamedTempFile::new().map_err(sngp::Error::io("a temporary file"))?;
    io::copy(&mut io::stdin().lock(), &mut file).map_err(sngp::Error::io("standard input"))?;
    Ok(file)
}
