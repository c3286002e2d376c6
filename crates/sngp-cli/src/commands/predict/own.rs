//! Raw rows of somebody's own data: in and out as tables, in pieces, in order.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use sngp::predict::{Prediction, Predictive};
use sngp::score::Score;
use sngp_lab::own::{Body, Recipe};
use sngp_lab::own::{Dataset, Located, OwnModel, Place, Task, evidence, is_arrays};
use sngp_lab::records::{Cell, Format, Records, Row, Writer};

use crate::args::Predict;
use crate::context::Context;

/// Rows predicted together; memory does not grow with the file.
const CHUNK: usize = 8192;
/// Rows of arrays, which need no parsing, predicted together.
const PIECE: usize = 2048;

/// Columns that are added to those of the input.
const CLASSES: [&str; 5] = ["predicted", "probability", "uncertainty", "decision", "reason"];
const NUMBERS: [&str; 6] = ["predicted", "low", "high", "uncertainty", "decision", "reason"];

pub fn run(args: &Predict, context: &Context) -> Result<()> {
    let model = OwnModel::load(&args.model, &context.device)?;
    let answers = Answers::new(&model);
    if !args.text.is_empty() {
        return texts(args, context, &model, &answers);
    }
    let place = Place::parse(&args.data.to_string_lossy());
    if place.path.is_dir() || is_arrays(&place.path) {
        return whole(args, context, &place, &model, &answers);
    }
    let mut records = match (place.path.as_path() == Path::new("-"), args.tables.format) {
        (true, format) => Records::open_as("-", format.unwrap_or(Format::Csv))?,
        (false, Some(format)) => Records::open_as(&place.path, format)?,
        (false, None) => Records::open(&place.path)?,
    };
    let names = records.columns().to_vec();
    let folder = place.path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let located = match model.card.recipe.locate(&names, folder) {
        Ok(located) => located,
        Err(bad) => bail!("{}, column `{}`: {}", place.path.display(), bad.column, bad.reason),
    };
    let mut writer = writer(args, context, &names, &answers)?;
    while let Some(chunk) = records.next_chunk(CHUNK)? {
        context.check_interrupted()?;
        if args.tables.strict
            && let Some((index, Row::Bad { reason, .. })) =
                chunk.rows.iter().enumerate().find(|(_, row)| matches!(row, Row::Bad { .. }))
        {
            let row = chunk.first_row + index + 1;
            bail!("{}, row {row}: {reason}", place.path.display());
        }
        let rows = answer(&chunk.rows, names.len(), &located, &model, &answers)?;
        if args.tables.strict
            && let Some(index) = rows.iter().position(|row| is_invalid(row))
        {
            let row = chunk.first_row + index + 1;
            bail!(
                "{}, row {row}: {}",
                place.path.display(),
                rows[index][names.len() + 4].to_field()
            );
        }
        writer.write(&rows)?;
    }
    for warning in records.warnings() {
        context.progress.say(&warning);
    }
    Ok(writer.finish()?)
}

fn is_invalid(row: &[Cell]) -> bool {
    matches!(row.last(), Some(Cell::Text(reason)) if reason.starts_with("invalid_input"))
}

/// The rows of a chunk with their answers; a bad one says why it has none.
fn answer(
    rows: &[Row],
    columns: usize,
    located: &Located<'_>,
    model: &OwnModel,
    answers: &Answers,
) -> Result<Vec<Vec<Cell>>> {
    let good: Vec<&[Cell]> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Cells(cells) => Some(cells.as_slice()),
            Row::Bad { .. } => None,
        })
        .collect();
    let (prepared, bad) = located.prepare(&good);
    let found = match prepared.rows() {
        0 => Vec::new(),
        _ => answers.of(&model.predict(&prepared)?)?,
    };
    let (mut found, mut bad) = (found.into_iter(), bad.into_iter());
    let complete = |row: &Row| {
        let (mut cells, reason) = match row {
            Row::Bad { reason, raw } => {
                let mut cells: Vec<Cell> =
                    raw.iter().map(|field| Cell::from_field(field)).collect();
                cells.resize(columns, Cell::Missing);
                (cells, Some(reason.clone()))
            }
            Row::Cells(cells) => {
                let reason = bad.next().flatten();
                let reason = reason.map(|bad| format!("column `{}`: {}", bad.column, bad.reason));
                (cells.clone(), reason)
            }
        };
        match reason {
            Some(reason) => cells.extend(answers.invalid(&reason)),
            None => cells.extend(found.next().unwrap_or_else(|| answers.invalid("not predicted"))),
        }
        cells
    };
    Ok(rows.iter().map(complete).collect())
}

/// Sentences of the command line.
fn texts(args: &Predict, context: &Context, model: &OwnModel, answers: &Answers) -> Result<()> {
    let (Recipe::Ngrams(_) | Recipe::Sentences { .. }) = &model.card.recipe else {
        bail!("{} takes {}", args.model.display(), model.card.recipe.describe());
    };
    let names: Vec<String> = model.card.recipe.columns().iter().map(|c| c.to_string()).collect();
    let rows: Vec<Row> =
        args.text.iter().map(|text| Row::Cells(vec![Cell::Text(text.clone())])).collect();
    let located = model.card.recipe.locate(&names, PathBuf::new());
    let located = located.map_err(|bad| anyhow::anyhow!(bad.reason))?;
    let mut writer = writer(args, context, &names, answers)?;
    writer.write(&answer(&rows, 1, &located, model, answers)?)?;
    Ok(writer.finish()?)
}

/// Arrays and folders, which are read by place and not line by line.
fn whole(
    args: &Predict,
    context: &Context,
    place: &Place,
    model: &OwnModel,
    answers: &Answers,
) -> Result<()> {
    let set = Dataset::read(place, None, false)?;
    let started = Instant::now();
    if let Body::Rows { names, rows } = &set.body {
        let located = model.card.recipe.locate(names, set.folder.clone());
        let located = located.map_err(|bad| anyhow::anyhow!("{}: {}", bad.column, bad.reason))?;
        let mut writer = writer(args, context, names, answers)?;
        for rows in rows.chunks(CHUNK) {
            let rows: Vec<Row> = rows.iter().map(|row| Row::Cells(row.clone())).collect();
            writer.write(&answer(&rows, names.len(), &located, model, answers)?)?;
        }
        return Ok(writer.finish()?);
    }
    let names = ["row".to_string()];
    let mut writer = writer(args, context, &names, answers)?;
    let mut predicted: Option<(usize, Prediction)> = None;
    let mut write = |(start, prediction): (usize, Prediction)| -> Result<()> {
        let numbered = answers.of(&prediction)?.into_iter().enumerate().map(|(index, answer)| {
            std::iter::once(Cell::Number((start + index + 1) as f64)).chain(answer).collect()
        });
        Ok(writer.write(&numbered.collect::<Vec<_>>())?)
    };
    for start in (0..set.rows()).step_by(PIECE) {
        context.check_interrupted()?;
        let rows: Vec<usize> = (start..set.rows().min(start + PIECE)).collect();
        // The answers of one piece are written while the next one is predicted.
        let done = predicted.take();
        let (next, written) = rayon::join(
            || -> Result<Prediction> {
                let prepared = sngp_lab::own::prepare(&model.card.recipe, &set, &rows)?;
                Ok(model.predict(&prepared)?)
            },
            || done.map_or(Ok(()), &mut write),
        );
        written?;
        predicted = Some((start, next?));
    }
    predicted.map_or(Ok(()), &mut write)?;
    writer.finish()?;
    let (rows, seconds) = (set.rows(), started.elapsed().as_secs_f64());
    context
        .progress
        .say(&format!("{rows} rows in {seconds:.1} s, {:.0} a second", rows as f64 / seconds));
    Ok(())
}

fn writer(
    args: &Predict,
    context: &Context,
    names: &[String],
    answers: &Answers,
) -> Result<Writer> {
    // A column of the input keeps its name; an answer of the same name gets another one.
    let mut columns = names.to_vec();
    for name in answers.columns {
        let mut name = name.to_string();
        while columns.contains(&name) {
            name.push('_');
        }
        columns.push(name);
    }
    let chosen = args.tables.format.filter(|_| args.tables.out.is_none());
    let format = match (&args.tables.out, context.json) {
        (Some(out), _) => Format::of_path(out)?,
        (None, true) => Format::JsonLines,
        (None, false) => chosen.unwrap_or(Format::Csv),
    };
    let path = args.tables.out.clone().unwrap_or_else(|| PathBuf::from("-"));
    Ok(Writer::create(path, format, &columns)?)
}

/// How predictions are told.
struct Answers {
    columns: &'static [&'static str],
    labels: Vec<String>,
    task: Task,
    decision: Option<sngp::model::Decision>,
    score: Score,
}

impl Answers {
    fn new(model: &OwnModel) -> Self {
        let any = model.any();
        let decision = any.decision().cloned();
        let score = decision.as_ref().map_or_else(|| any.config().score(), |d| d.score.clone());
        let task = model.card.task.clone();
        let columns: &[&str] = match task {
            Task::Classification { .. } => &CLASSES,
            Task::Regression { .. } => &NUMBERS,
        };
        Self { columns, labels: any.labels().to_vec(), task, decision, score }
    }

    fn of(&self, prediction: &Prediction) -> Result<Vec<Vec<Cell>>> {
        let uncertainty = self.score.evaluate(prediction).ok();
        let uncertain = |row: usize| uncertainty.as_ref().map(|all| all[row]);
        match (&prediction.predictive, &self.task) {
            (Predictive::Classes(probabilities), Task::Classification { least_evidence }) => {
                let tops = evidence(prediction)?;
                let rows = prediction.labels()?.into_iter().enumerate().map(|(row, label)| {
                    let mut cells = vec![
                        Cell::Text(self.labels[label].clone()),
                        Cell::Number(probabilities[[row, label]]),
                    ];
                    cells.extend(self.verdict(uncertain(row), tops[row] < *least_evidence));
                    cells
                });
                Ok(rows.collect())
            }
            (
                Predictive::Normal { mean, variance },
                Task::Regression { mean: centre, scale, interval, .. },
            ) => {
                let rows = mean.iter().zip(variance).enumerate().map(|(row, (mean, variance))| {
                    let middle = mean * scale + centre;
                    let half = interval * variance.sqrt() * scale;
                    let values = [middle, middle - half, middle + half];
                    let mut cells: Vec<Cell> = values.map(Cell::Number).to_vec();
                    cells.extend(self.verdict(uncertain(row), true));
                    cells
                });
                Ok(rows.collect())
            }
            _ => bail!("the model and its card do not agree on what is predicted"),
        }
    }

    /// Uncertainty, decision and the reason to abstain.
    fn verdict(&self, uncertainty: Option<f64>, far: bool) -> [Cell; 3] {
        let accepted = match (&self.decision, uncertainty) {
            (Some(decision), Some(uncertainty)) => decision.accepts(uncertainty),
            _ => true,
        };
        let word = |word: &str| Cell::Text(word.to_string());
        [
            uncertainty.map_or(Cell::Missing, Cell::Number),
            word(if accepted { "accept" } else { "abstain" }),
            match (accepted, far) {
                (true, _) => Cell::Missing,
                (false, true) => word("far_from_data"),
                (false, false) => word("ambiguous"),
            },
        ]
    }

    /// The answer to a row that cannot be used.
    fn invalid(&self, reason: &str) -> Vec<Cell> {
        let mut cells = vec![Cell::Missing; self.columns.len() - 2];
        cells.push(Cell::Text("abstain".to_string()));
        cells.push(Cell::Text(format!("invalid_input: {reason}")));
        cells
    }
}
