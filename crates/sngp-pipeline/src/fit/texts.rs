//! What the terms of texts tell, learned from the texts.
//!
//! A map that has learned from a text knows it too well. So every text that something else is
//! learned from or chosen on is seen through a map that was learned without it (cross-fitting); new
//! texts are seen through the map of all.

use std::sync::Arc;

use ndarray::{Array2, Axis, s};
use rand::seq::SliceRandom;
use rayon::prelude::*;
use sngp::Result;
use sngp::convex::sparse::{LinearMap, LinearProblem, LinearSolution, SparseRows, fit_linear};
use sngp::data::Targets;
use sngp::seed::{Purpose, stream};
use sngp::train::check_interrupted;

use super::examples::TrainInputs;
use super::network::logit_factor;
use super::options::Options;
use crate::input::{KnownPieces, TextMap, TextPreparation, Vocabulary, is_blank};
use crate::limits::check_memory;

/// Parts of the texts that are seen through maps of the other parts.
const FOLDS: usize = 5;
/// How large the weights of a map may get: what is tried, and what is taken for few texts.
const STRENGTHS: [f32; 3] = [3.0, 10.0, 30.0];
const USUAL: f32 = 10.0;
/// Texts that choose among them, at the least and at the most.
const CHOOSING: std::ops::RangeInclusive<usize> = 200..=5000;
/// Factors on what a map tells under which it is judged: they are chosen anew later.
const FACTORS: [f32; 7] = [0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0];
/// Texts, and dual variables, that a map is learned from at the most.
const MOST_TEXTS: usize = 250_000;
const MOST_DUALS: usize = 1 << 24;

/// Texts and their targets; some of them held out.
pub(super) struct TextExamples<'a> {
    pub column: &'a str,
    pub train: (Vec<String>, &'a Targets),
    pub held_out: (Vec<String>, &'a Targets),
    /// Whether the held-out texts are training data, and the final map may learn from them too.
    pub learn_held_out: bool,
}

/// Texts as a model takes them.
pub(super) struct LearnedTexts {
    pub preparation: TextPreparation,
    pub train: TrainInputs,
    /// The held-out texts as new ones would be seen.
    pub held_out: Array2<f32>,
    /// The same through the final map, where it has learned from them.
    pub learned_held_out: Option<Array2<f32>>,
}

impl TextExamples<'_> {
    pub fn learn(self, options: &Options<'_>, remarks: &mut Vec<String>) -> Result<LearnedTexts> {
        let Self { column, train: (mut texts, targets), held_out, learn_held_out } = self;
        let (train, (held_texts, held_targets)) = (texts.len(), held_out);
        remarks.extend(blank_remark(&texts));
        let mut targets = targets.clone();
        let mut others = held_texts;
        if learn_held_out {
            texts.append(&mut others);
            targets = joined(targets, held_targets);
        }
        let outputs = match &targets {
            Targets::Classes { classes, .. } => *classes,
            Targets::Values(_) => 1,
        };
        let vocabulary = Vocabulary::learn(&texts, outputs);
        let mut known = KnownPieces::default();
        texts.iter().for_each(|text| known.learn(text));
        let (rows, mut vectors) = encode(&vocabulary, &texts, outputs)?;
        drop(texts);
        let folds = Folds::new(&targets, train, outputs, options.seed);
        let strength = folds.strength(&rows, &targets, train, options)?;
        // Where the output layer takes what the map tells as it is, only texts that are held out need
        // a map of their own.
        let wanted = match (options.takes_logits(), learn_held_out) {
            (false, _) => FOLDS,
            (true, held_out) => usize::from(held_out),
        };
        let (mut map, apart) = folds.solve(&rows, &targets, strength, wanted, options)?;
        let all: Vec<usize> = (0..rows.rows()).collect();
        let squares = match wanted {
            0 => mean_square(told(&map, &rows, &all).iter()),
            _ => mean_square(apart.iter().filter(|value| **value != 0.0)),
        };
        let factor = logit_factor(outputs as f32 * squares);
        map.weights.mapv_inplace(|weight| weight * factor);
        vectors.slice_mut(s![.., ..outputs]).assign(&told(&map, &rows, &all));
        let mut cross_fitted = vectors.clone();
        for row in (0..rows.rows()).filter(|&row| folds.fold[row] < wanted) {
            let apart = apart.row(row).mapv(|value| value * factor);
            cross_fitted.slice_mut(s![row, ..outputs]).assign(&apart);
        }
        let terms = vocabulary.len();
        remarks.push(format!(
            "{terms} words, pairs of words and pieces of words; what they tell is learned with \
             strength {strength}"
        ));
        let text_map = TextMap { vocabulary, map };
        let (held_out, learned_held_out) = if learn_held_out {
            let own = cross_fitted.slice(s![train.., ..]).to_owned();
            (own, Some(vectors.slice(s![train.., ..]).to_owned()))
        } else {
            let encoded: Vec<Vec<f32>> =
                others.par_iter().map(|text| text_map.encode(text)).collect();
            let mut own = Array2::zeros((others.len(), text_map.width()));
            own.iter_mut().zip(encoded.into_iter().flatten()).for_each(|(to, from)| *to = from);
            (own, None)
        };
        let cut =
            |all: Array2<f32>| all.slice_move(s![..train, ..]).as_standard_layout().into_owned();
        let train = match options.takes_logits() {
            true => TrainInputs::Logits { vectors: cut(vectors), factor },
            false => {
                TrainInputs::CrossFitted { cross_fitted: cut(cross_fitted), vectors: cut(vectors) }
            }
        };
        let map = Some(Arc::new(text_map));
        let preparation = TextPreparation { text: column.to_string(), known, map };
        Ok(LearnedTexts { preparation, train, held_out, learned_held_out })
    }
}

fn mean_square<'a>(values: impl Iterator<Item = &'a f32>) -> f32 {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, n), value| (sum + value * value, n + 1));
    sum / count.max(1) as f32
}

fn blank_remark(texts: &[String]) -> Option<String> {
    let blank = texts.iter().filter(|text| is_blank(text)).count();
    let all = texts.len();
    (blank > 0)
        .then(|| format!("{blank} of {all} texts to learn from have no letter or digit in them"))
}

fn joined(first: Targets, second: &Targets) -> Targets {
    match (first, second) {
        (Targets::Classes { mut labels, classes }, Targets::Classes { labels: more, .. }) => {
            labels.extend_from_slice(more);
            Targets::Classes { labels, classes }
        }
        (Targets::Values(mut values), Targets::Values(more)) => {
            values.extend_from_slice(more);
            Targets::Values(values)
        }
        (first, _) => first,
    }
}

/// The known terms of every text, and vectors with the folded terms behind room for what is told.
fn encode(
    vocabulary: &Vocabulary,
    texts: &[String],
    outputs: usize,
) -> Result<(SparseRows, Array2<f32>)> {
    const CHUNK: usize = 4096;
    let width = outputs + Vocabulary::FOLDED;
    // Vectors twice, and their random features.
    let bytes = texts.len() as u128 * width as u128 * 4 * 3;
    check_memory(bytes, &format!("{} texts", texts.len()))?;
    let mut rows = SparseRows::new(vocabulary.len());
    let mut vectors = Array2::zeros((texts.len(), width));
    let chunks = texts.chunks(CHUNK).zip(vectors.axis_chunks_iter_mut(Axis(0), CHUNK));
    for (texts, mut vectors) in chunks {
        let encoded: Vec<_> = texts.par_iter().map(|text| vocabulary.encode(text)).collect();
        for ((known, folded), mut vector) in encoded.into_iter().zip(vectors.rows_mut()) {
            rows.push(&known)?;
            vector.iter_mut().skip(outputs).zip(folded).for_each(|(to, from)| *to = from);
        }
    }
    Ok((rows, vectors))
}

/// What a map tells of some rows.
fn told(map: &LinearMap, rows: &SparseRows, some: &[usize]) -> Array2<f32> {
    let width = map.outputs();
    let mut told = vec![0.0; some.len() * width];
    told.par_chunks_mut(width).zip(some).for_each(|(told, &row)| {
        let (places, values) = rows.row(row);
        map.apply(places, values, told);
    });
    Array2::from_shape_vec((some.len(), width), told).expect("a row of outputs for each")
}

/// Which rows a map is learned from, and by which fold's map a row is seen.
struct Folds {
    fold: Vec<usize>,
    learned: Vec<bool>,
    outputs: usize,
}

impl Folds {
    /// Folds with even shares of every class; rows from `train` on, which are held out, are the first.
    fn new(targets: &Targets, train: usize, outputs: usize, seed: u64) -> Self {
        let rows = targets.rows();
        let mut order: Vec<usize> = (0..train).collect();
        order.shuffle(&mut stream(seed, Purpose::Shuffle, u64::MAX - 1));
        if let Targets::Classes { labels, .. } = targets {
            order.sort_by_key(|&row| labels[row]);
        }
        let first = usize::from(rows > train);
        let mut fold = vec![0; rows];
        for (rank, row) in order.into_iter().enumerate() {
            fold[row] = first + rank % (FOLDS - first);
        }
        let step = rows.div_ceil(MOST_TEXTS.min(MOST_DUALS / outputs)).max(1);
        let learned = (0..rows).map(|row| row % step == 0).collect();
        Self { fold, learned, outputs }
    }

    fn learned(&self, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.fold.len()).filter(|&row| self.learned[row] && wanted(row)).collect()
    }

    /// The strength whose map tells most about training texts it has not learned from.
    fn strength(
        &self,
        rows: &SparseRows,
        targets: &Targets,
        train: usize,
        options: &Options<'_>,
    ) -> Result<f32> {
        let step = train.div_ceil(*CHOOSING.end()).max(1);
        let some: Vec<usize> = (0..train).step_by(step).collect();
        if some.len() < *CHOOSING.start() {
            return Ok(USUAL);
        }
        check_interrupted(&options.interrupter)?;
        let last = FOLDS - 1;
        let (own, judged): (Vec<usize>, Vec<usize>) =
            some.into_iter().partition(|&row| self.fold[row] != last);
        let loss = |&strength: &f32| -> Result<f64> {
            let problem = LinearProblem { rows, some: &own, targets, strength };
            let map = fit_linear(&problem, None)?.map;
            Ok(loss(&told(&map, rows, &judged), targets, &judged))
        };
        let losses = STRENGTHS.par_iter().map(loss).collect::<Result<Vec<f64>>>()?;
        let best = losses.iter().zip(STRENGTHS).min_by(|a, b| a.0.total_cmp(b.0));
        Ok(best.map_or(USUAL, |(_, strength)| strength))
    }

    /// The map of all learned rows, and what is told of the rows of the first folds by maps that have
    /// not learned from them.
    fn solve(
        &self,
        rows: &SparseRows,
        targets: &Targets,
        strength: f32,
        wanted: usize,
        options: &Options<'_>,
    ) -> Result<(LinearMap, Array2<f32>)> {
        let count = self.fold.len();
        let others: Vec<Vec<usize>> = (0..wanted)
            .map(|fold| (0..count).filter(|&row| self.fold[row] == fold).collect())
            .collect();
        let solved = |fold: usize| -> Result<(Vec<usize>, Array2<f32>, Array2<f32>)> {
            check_interrupted(&options.interrupter)?;
            let some = self.learned(|row| self.fold[row] != fold);
            let problem = LinearProblem { rows, some: &some, targets, strength };
            let LinearSolution { map, duals, .. } = fit_linear(&problem, None)?;
            Ok((some, duals, told(&map, rows, &others[fold])))
        };
        let parts = (0..wanted).into_par_iter().map(solved).collect::<Result<Vec<_>>>()?;
        let mut apart = Array2::zeros((count, self.outputs));
        let mut duals = Array2::zeros((count, self.outputs));
        for (own, (some, part_duals, part)) in others.iter().zip(parts) {
            own.iter().zip(part.rows()).for_each(|(&row, part)| apart.row_mut(row).assign(&part));
            for (row, dual) in some.into_iter().zip(part_duals.rows()) {
                // A row is learned from by all folds but its own.
                let times = wanted - usize::from(self.fold[row] < wanted);
                duals.row_mut(row).scaled_add(1.0 / times as f32, &dual);
            }
        }
        check_interrupted(&options.interrupter)?;
        let some = self.learned(|_| true);
        let start = Some(duals.select(Axis(0), &some));
        let problem = LinearProblem { rows, some: &some, targets, strength };
        Ok((fit_linear(&problem, start)?.map, apart))
    }
}

/// The mean loss of what is told of some rows, at the factor that suits it best.
fn loss(told: &Array2<f32>, targets: &Targets, rows: &[usize]) -> f64 {
    let one = |factor: f32| -> f64 {
        let each = told.rows().into_iter().zip(rows).map(|(told, &row)| match targets {
            Targets::Classes { labels, .. } => {
                let largest = told.iter().copied().fold(f32::MIN, f32::max);
                let sum: f32 = told.iter().map(|z| (factor * (z - largest)).exp()).sum();
                f64::from(sum.ln() - factor * (told[labels[row]] - largest))
            }
            Targets::Values(values) => f64::from(factor * told[0] - values[row]).powi(2),
        });
        each.sum()
    };
    FACTORS.into_iter().map(one).fold(f64::INFINITY, f64::min)
}
