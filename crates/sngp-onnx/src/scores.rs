//! Scores, the detectors behind them, and what they are usually like; `[rows, 1]` in f64 each.

use std::collections::BTreeMap;

use ndarray::{Array2, Axis};
use sngp::detect::{Combination, Detectors, Geometry, Neighbours, Reference, Sense};
use sngp::likelihood::Likelihood;
use sngp::score::Score;
use sngp::{Error, Result};
use sngp_pipeline::Pipeline;

use crate::graph::{Attribute, Element, Graph, Value};
use crate::guard::squared_distances;
use crate::head::{Predicted, adjusted, mean_field_factor};

/// What scores are computed from, each of them once.
pub struct Scores<'a> {
    predicted: &'a Predicted,
    hidden: &'a Value,
    /// Numbers of a hidden vector.
    width: usize,
    classes: usize,
    detectors: Option<&'a Detectors>,
    combination: Option<&'a Combination>,
    /// The place of the most probable class, `[rows, 1]`.
    pub class: Value,
    /// Logits with a column a class, made smaller by the variance.
    pub class_logits: Value,
    plain_logits: Value,
    seen: Option<Value>,
    combined: Option<Combined>,
    made: BTreeMap<String, Value>,
}

/// A combination: the whole, and whether its parts that see distance are the loudest.
#[derive(Clone)]
pub struct Combined {
    /// The sum over its parts.
    pub whole: Value,
    /// Whether distance speaks louder than ambiguity.
    pub far: Value,
}

impl<'a> Scores<'a> {
    /// What a pipeline's scores are computed from.
    pub fn new(
        graph: &mut Graph,
        pipeline: &'a Pipeline,
        predicted: &'a Predicted,
        hidden: &'a Value,
    ) -> Result<Self> {
        let factor = mean_field_factor(pipeline.model().config())?;
        let options = [("axis", Attribute::Integer(1)), ("keepdims", Attribute::Integer(1))];
        let class = graph.op_with("ArgMax", &[&predicted.probabilities], &options);
        let variance = predicted.variance.as_ref();
        let mut plain_logits = predicted.logits.clone();
        let mut class_logits = adjusted(graph, &plain_logits, variance, factor);
        if let Likelihood::Bernoulli(_) = pipeline.model().config().likelihood {
            // One logit `g` of two classes stands for `[-g / 2, g / 2]`.
            let halves = graph.row("sngp/halves", &[-0.5, 0.5]);
            plain_logits = graph.op("Mul", &[&plain_logits, &halves]);
            class_logits = graph.op("Mul", &[&class_logits, &halves]);
        }
        Ok(Self {
            predicted,
            hidden,
            width: pipeline.model().hidden_width(),
            classes: pipeline.labels().len(),
            detectors: pipeline.detectors(),
            combination: pipeline.combination(),
            class,
            class_logits,
            plain_logits,
            seen: None,
            combined: None,
            made: BTreeMap::new(),
        })
    }

    /// Every score that was computed, by name.
    pub fn made(&self) -> &BTreeMap<String, Value> {
        &self.made
    }

    /// A score of every row.
    pub fn score(&mut self, graph: &mut Graph, score: &Score) -> Result<Value> {
        if let Some(known) = self.made.get(&score.to_string()) {
            return Ok(known.clone());
        }
        let predicted = self.predicted;
        let probabilities = &predicted.probabilities;
        let value = match score {
            Score::Combined(_) => self.combined(graph)?.whole,
            Score::Variance(_) => self.variance(graph)?,
            Score::DempsterShafer(_) => {
                // K / (K + exp L) = sigmoid(ln K - L).
                let sum = graph.log_sum_exp(&self.class_logits);
                let count = graph.double((self.classes as f64).ln());
                let less = graph.op("Sub", &[&count, &sum]);
                graph.op("Sigmoid", &[&less])
            }
            Score::MaxProbability(_) => {
                let best = graph.strict("ReduceMax", probabilities);
                let one = graph.double(1.0);
                graph.op("Sub", &[&one, &best])
            }
            Score::Entropy(_) => {
                let (zero, logarithm) = (graph.double(0.0), graph.op("Log", &[probabilities]));
                let term = graph.op("Mul", &[probabilities, &logarithm]);
                let none = graph.op("Equal", &[probabilities, &zero]);
                let term = graph.op("Where", &[&none, &zero, &term]);
                let sum = graph.reduce("ReduceSum", &term);
                graph.op("Neg", &[&sum])
            }
            Score::Energy(_) => {
                let sum = graph.log_sum_exp(&self.plain_logits);
                graph.op("Neg", &[&sum])
            }
            Score::Margin(_) => {
                let count = graph.integers(&[2]);
                let best = graph.several("", "TopK", &[probabilities, &count], &[], 2);
                let signs = graph.row("sngp/lead", &[1.0, -1.0]);
                let lead = graph.op("Mul", &[&best[0], &signs]);
                let lead = graph.reduce("ReduceSum", &lead);
                let one = graph.double(1.0);
                graph.op("Sub", &[&one, &lead])
            }
            Score::Mahalanobis(_) => {
                let distances = self.class_distances(graph)?;
                graph.strict("ReduceMin", &distances)
            }
            Score::RelativeMahalanobis(_) => {
                let near = self.score(graph, &sngp::score::Mahalanobis {}.into())?;
                let background = self.background(graph)?;
                graph.op("Sub", &[&near, &background])
            }
            Score::Density(_) => {
                let distances = self.class_distances(graph)?;
                let half = graph.double(0.5);
                let distances = graph.op("Mul", &[&distances, &half]);
                let shares = self.detectors()?.gaussians()?.log_shares();
                let shares = graph.row("sngp/detectors/log_shares", shares);
                let terms = graph.op("Sub", &[&shares, &distances]);
                let sum = graph.log_sum_exp(&terms);
                graph.op("Neg", &[&sum])
            }
            Score::Knn(_) => self.neighbours(graph)?,
            Score::Vim(_) => {
                let residual = self.residual(graph)?;
                let sum = graph.log_sum_exp(&self.plain_logits);
                graph.op("Sub", &[&residual, &sum])
            }
            Score::Gen(_) | Score::KernelDistance(_) => {
                let message = format!(
                    "the score {score} is not exported; calibrate the model by another one"
                );
                return Err(Error::Unsupported(message));
            }
        };
        self.made.insert(score.to_string(), value.clone());
        Ok(value)
    }

    /// The sum of `-ln p` over the parts of the combination, times their weights.
    pub fn combined(&mut self, graph: &mut Graph) -> Result<Combined> {
        if let Some(known) = &self.combined {
            return Ok(known.clone());
        }
        let combination = self.combination.ok_or_else(|| {
            Error::Unsupported("the model does not know what its scores are like".to_string())
        })?;
        let mut parts: Vec<(Sense, f64, Value)> = Vec::new();
        for part in combination.parts() {
            let value = self.score(graph, &part.score)?;
            let surprise = surprise(graph, &part.score.to_string(), &part.usual, &value);
            let weight = graph.double(part.weight);
            parts.push((part.sense, part.weight, graph.op("Mul", &[&surprise, &weight])));
        }
        let all: Vec<&Value> = parts.iter().map(|(_, _, value)| value).collect();
        let whole = graph.op("Sum", &all);
        let mut by = |sense: Sense| {
            let own = || parts.iter().filter(move |part| part.0 == sense);
            let weight: f64 = own().map(|part| part.1).sum();
            let values: Vec<&Value> = own().map(|part| &part.2).collect();
            if values.is_empty() {
                return graph.double(0.0);
            }
            let (sum, weight) = (graph.op("Sum", &values), graph.double(weight));
            graph.op("Div", &[&sum, &weight])
        };
        let (ambiguity, distance) = (by(Sense::Ambiguity), by(Sense::Distance));
        let ambiguous = graph.op("Greater", &[&ambiguity, &distance]);
        let combined = Combined { whole, far: graph.op("Not", &[&ambiguous]) };
        self.combined = Some(combined.clone());
        Ok(combined)
    }

    fn variance(&mut self, graph: &mut Graph) -> Result<Value> {
        let variance =
            self.predicted.variance.as_ref().ok_or_else(|| {
                Error::Unsupported("the model's output has no variance".to_string())
            })?;
        if self.predicted.variances == 1 {
            return Ok(variance.clone());
        }
        let options = [("axis", Attribute::Integer(1))];
        Ok(graph.op_with("GatherElements", &[variance, &self.class], &options))
    }

    fn detectors(&self) -> Result<&'a Detectors> {
        self.detectors.ok_or_else(|| {
            let message = "the model has no detectors fitted to its hidden vectors";
            Error::Unsupported(message.to_string())
        })
    }

    /// The hidden vectors as the detectors see them, in f32.
    fn seen(&mut self, graph: &mut Graph) -> Result<Value> {
        if let Some(seen) = &self.seen {
            return Ok(seen.clone());
        }
        let detectors = self.detectors()?;
        let seen = match detectors.geometry() {
            Geometry::Plain => self.hidden.clone(),
            Geometry::Direction => graph.direction(self.hidden).1,
            Geometry::Folded => {
                let folding = detectors.geometry().folding(self.width).unwrap_or_default();
                let values: Vec<f32> = folding.iter().copied().collect();
                let folding = graph.weights("sngp/detectors/folding", folding.shape(), &values);
                let narrow = graph.op("MatMul", &[self.hidden, &folding]);
                graph.direction(&narrow).1
            }
        };
        self.seen = Some(seen.clone());
        Ok(seen)
    }

    /// Squared distances to the means of the classes.
    fn class_distances(&mut self, graph: &mut Graph) -> Result<Value> {
        let seen = self.seen(graph)?;
        let gaussians = self.detectors()?.gaussians()?;
        let wide = graph.cast(&seen, Element::Double);
        let whitening = graph.matrix("sngp/detectors/whitening", gaussians.whitening());
        let means = gaussians.white_means();
        let lengths: Vec<f64> = means.axis_iter(Axis(0)).map(|mean| mean.dot(&mean)).collect();
        let turned = means.t().as_standard_layout().into_owned();
        let means = graph.matrix("sngp/detectors/means", &turned);
        let lengths = graph.row("sngp/detectors/lengths", &lengths);
        let white = graph.op("MatMul", &[&wide, &whitening]);
        let distances = squared_distances(graph, &white, &means, &lengths);
        let least = graph.double(gaussians.least_distance());
        Ok(graph.zero_below(&distances, &least))
    }

    /// The squared distance from the mean of all.
    fn background(&mut self, graph: &mut Graph) -> Result<Value> {
        let seen = self.seen(graph)?;
        let (mean, whitening) = self.detectors()?.gaussians()?.overall();
        let wide = graph.cast(&seen, Element::Double);
        let mean = graph.row("sngp/detectors/mean", &mean.to_vec());
        let whitening = graph.matrix("sngp/detectors/overall", whitening);
        let centred = graph.op("Sub", &[&wide, &mean]);
        let white = graph.op("MatMul", &[&centred, &whitening]);
        Ok(graph.reduce("ReduceSumSquare", &white))
    }

    /// The distance to the tenth nearest training vector; products in f32, as the pipeline has them.
    fn neighbours(&mut self, graph: &mut Graph) -> Result<Value> {
        let seen = self.seen(graph)?;
        let neighbours = self.detectors()?.neighbours();
        let kept = neighbours.vectors();
        if kept.is_empty() {
            return Err(Error::Data("there are no neighbours to compare with".to_string()));
        }
        let lengths: Vec<f32> = kept.axis_iter(Axis(0)).map(|row| row.dot(&row)).collect();
        let turned: Array2<f32> = kept.t().as_standard_layout().into_owned();
        let values: Vec<f32> = turned.iter().copied().collect();
        let turned = graph.weights("sngp/detectors/neighbours", turned.shape(), &values);
        let lengths = graph.weights("sngp/detectors/squares", &[1, lengths.len()], &lengths);
        let products = graph.op("MatMul", &[&seen, &turned]);
        let two = graph.float(2.0);
        let twice = graph.op("Mul", &[&products, &two]);
        let to = graph.op("Sub", &[&lengths, &twice]);
        let rank = graph.integers(&[neighbours.rank() as i64]);
        let options = [("largest", Attribute::Integer(0)), ("sorted", Attribute::Integer(1))];
        let nearest = graph.several("", "TopK", &[&to, &rank], &options, 2);
        let last = graph.integers(&[neighbours.rank() as i64 - 1]);
        let found = graph.gather(&nearest[0], &last, 1);
        let own = graph.reduce("ReduceSumSquare", &seen);
        let (own, found) = (graph.cast(&own, Element::Double), graph.cast(&found, Element::Double));
        let square = graph.op("Add", &[&own, &found]);
        let share = graph.double(Neighbours::ROUNDING);
        let least = graph.op("Mul", &[&own, &share]);
        let square = graph.zero_below(&square, &least);
        Ok(graph.op("Sqrt", &[&square]))
    }

    /// The part outside the main directions, as large as a logit.
    fn residual(&mut self, graph: &mut Graph) -> Result<Value> {
        let seen = self.seen(graph)?;
        let detectors = self.detectors()?;
        let factor = detectors.virtual_logit().ok_or_else(|| {
            Error::Unsupported("the residual was never compared with logits".to_string())
        })?;
        let subspace = detectors.subspace()?;
        let wide = graph.cast(&seen, Element::Double);
        let origin = graph.row("sngp/detectors/origin", &subspace.origin().to_vec());
        let outside = graph.matrix("sngp/detectors/outside", subspace.outside());
        let centred = graph.op("Sub", &[&wide, &origin]);
        let rest = graph.op("MatMul", &[&centred, &outside]);
        let square = graph.reduce("ReduceSumSquare", &rest);
        let length = graph.op("Sqrt", &[&square]);
        let factor = graph.double(factor);
        Ok(graph.op("Mul", &[&length, &factor]))
    }
}

/// The share of held-out values that are at least as large.
pub fn p_value(graph: &mut Graph, name: &str, usual: &Reference, value: &Value) -> Value {
    let least = at_least(graph, usual, value);
    share_above(graph, name, usual, &least)
}

/// What values are at least, whatever was rounded.
fn at_least(graph: &mut Graph, usual: &Reference, value: &Value) -> Value {
    let (share, largest) = usual.rounding();
    let (share, largest) = (graph.double(share), graph.double(largest));
    let size = graph.op("Abs", &[value]);
    let slack = graph.op("Mul", &[&size, &share]);
    let slack = graph.op("Add", &[&slack, &largest]);
    let less = graph.op("Sub", &[value, &slack]);
    // Infinity less infinity would be no number.
    let infinite = graph.op("IsInf", &[value]);
    graph.op("Where", &[&infinite, value, &less])
}

fn share_above(graph: &mut Graph, name: &str, usual: &Reference, least: &Value) -> Value {
    let sorted = graph.row(&format!("sngp/usual/{name}"), usual.sorted());
    let less = graph.op("Less", &[&sorted, least]);
    let less = graph.cast(&less, Element::Double);
    let below = graph.reduce("ReduceSum", &less);
    let count = graph.double(1.0 + usual.sorted().len() as f64);
    let above = graph.op("Sub", &[&count, &below]);
    let share = graph.op("Div", &[&above, &count]);
    // Nothing is less than what is no number, which would make it the most usual of all.
    let none = graph.op("IsNaN", &[least]);
    graph.none_where(&none, &share)
}

/// `-ln p`, with an exponential tail.
fn surprise(graph: &mut Graph, name: &str, usual: &Reference, value: &Value) -> Value {
    let least = at_least(graph, usual, value);
    let share = share_above(graph, name, usual, &least);
    let logarithm = graph.op("Log", &[&share]);
    let body = graph.op("Neg", &[&logarithm]);
    let (start, rarity, excess) = usual.tail();
    let (start, rarity, excess) = (graph.double(start), graph.double(rarity), graph.double(excess));
    let beyond = graph.op("Sub", &[&least, &start]);
    let tail = graph.op("Div", &[&beyond, &excess]);
    let tail = graph.op("Add", &[&tail, &rarity]);
    let rare = graph.op("Greater", &[&least, &start]);
    graph.op("Where", &[&rare, &tail, &body])
}
