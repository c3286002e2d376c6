//! From hidden vectors to logits, their variance, and the probabilities of the classes.

use sngp::likelihood::Likelihood;
use sngp::method::Output;
use sngp::model::ModelConfig;
use sngp::predict::Integration;
use sngp::{Error, Result};

use crate::graph::{Attribute, Element, Graph, Value};
use crate::network::Weights;

/// What is added to a variance before its root, as Burn's layer has it.
const EPSILON: f32 = 1e-5;

/// What one network, or the mean of several, predicts; in f64.
pub struct Predicted {
    /// Mean logits, `[rows, outputs]`.
    pub logits: Value,
    /// Columns of the logits.
    pub outputs: usize,
    /// Their variance, `[rows, variances]`.
    pub variance: Option<Value>,
    /// Columns of the variance: one, or one a logit.
    pub variances: usize,
    /// The probabilities, `[rows, classes]`.
    pub probabilities: Value,
    /// Whether every logit is a finite number, `[rows, 1]`.
    pub finite: Value,
    /// How many features the Gaussian process of the first network has, and what they are, in f32.
    pub features: Option<(usize, Value)>,
}

/// The factor of the mean-field approximation, or an error where another one is used.
pub fn mean_field_factor(config: &ModelConfig) -> Result<f64> {
    match config.integration {
        Integration::MeanField { factor } => Ok(factor),
        Integration::MonteCarlo { .. } => Err(unsupported("draws from the posterior")),
        Integration::Quadrature { .. } => Err(unsupported("quadrature")),
    }
}

fn unsupported(what: &str) -> Error {
    Error::Unsupported(format!(
        "{what} cannot be written as a graph; a model with the mean-field approximation can"
    ))
}

/// What a network predicts of its hidden vectors.
pub fn predicted(
    graph: &mut Graph,
    config: &ModelConfig,
    classes: usize,
    weights: &mut Weights<'_>,
    hidden: &Value,
) -> Result<Predicted> {
    let (logits, variance, variances, features) = match config.method.recipe().output {
        Output::GaussianProcess => {
            let features = features(graph, config, weights, hidden)?;
            let (shape, logits) = gaussian_process(graph, config, weights, &features)?;
            let (columns, variance) = variance(graph, weights, &features)?;
            (logits, Some(variance), columns, Some((shape[0], features)))
        }
        Output::Dense => (weights.dense(graph, "head.Dense", hidden)?, None, 0, None),
        Output::RbfCentroids | Output::ExactGaussianProcess => {
            let method = &config.method;
            let message = format!(
                "{method} is not exported; Gaussian processes on random features \
                                   and dense outputs are"
            );
            return Err(Error::Unsupported(message));
        }
    };
    let logits = graph.cast(&logits, Element::Double);
    let numbers = graph.is_finite(&logits);
    let finite = graph.all(&numbers);
    let variance = variance.map(|variance| graph.cast(&variance, Element::Double));
    let factor = mean_field_factor(config)?;
    let adjusted = adjusted(graph, &logits, variance.as_ref(), factor);
    let (outputs, probabilities) = match config.likelihood {
        Likelihood::Softmax(_) => {
            let options = [("axis", Attribute::Integer(-1))];
            (classes, graph.op_with("Softmax", &[&adjusted], &options))
        }
        Likelihood::Bernoulli(_) => {
            let one = graph.double(1.0);
            let second = graph.op("Sigmoid", &[&adjusted]);
            let first = graph.op("Sub", &[&one, &second]);
            (1, graph.concat(&[&first, &second], 1))
        }
        Likelihood::Gaussian(_) | Likelihood::Poisson(_) => {
            let message = "models of numbers are not exported yet; models of classes are";
            return Err(Error::Unsupported(message.to_string()));
        }
    };
    Ok(Predicted { logits, outputs, variance, variances, probabilities, finite, features })
}

/// The mean of several networks.
pub fn averaged(graph: &mut Graph, mut parts: Vec<Predicted>) -> Result<Predicted> {
    if parts.len() == 1 {
        return Ok(parts.swap_remove(0));
    }
    let count = graph.double(parts.len() as f64);
    let mut mean = |values: Vec<&Value>| {
        let sum = graph.op("Sum", &values);
        graph.op("Div", &[&sum, &count])
    };
    let logits = mean(parts.iter().map(|part| &part.logits).collect());
    let probabilities = mean(parts.iter().map(|part| &part.probabilities).collect());
    let variances: Option<Vec<&Value>> = parts.iter().map(|part| part.variance.as_ref()).collect();
    let variance = variances.map(mean);
    let mut every = parts.iter().map(|part| part.finite.clone());
    let first = every.next();
    let first = first.ok_or_else(|| Error::Data("the model has no network".to_string()))?;
    let finite = every.fold(first, |all, one| graph.op("And", &[&all, &one]));
    let Predicted { features, variances, outputs, .. } = parts.swap_remove(0);
    Ok(Predicted { logits, outputs, variance, variances, probabilities, finite, features })
}

/// `g / sqrt(1 + factor v)`.
pub fn adjusted(graph: &mut Graph, logits: &Value, variance: Option<&Value>, factor: f64) -> Value {
    let Some(variance) = variance else { return logits.clone() };
    let (factor, one) = (graph.double(factor), graph.double(1.0));
    let scaled = graph.op("Mul", &[variance, &factor]);
    let whole = graph.op("Add", &[&scaled, &one]);
    let root = graph.op("Sqrt", &[&whole]);
    graph.op("Div", &[logits, &root])
}

/// `sqrt(2 / D) cos(W h' / sqrt(l) + b)`, and `h'` itself where a linear term is on.
fn features(
    graph: &mut Graph,
    config: &ModelConfig,
    weights: &mut Weights<'_>,
    hidden: &Value,
) -> Result<Value> {
    let options = &config.gaussian_process.features;
    let path = "head.GaussianProcess.features";
    let mut input = hidden.clone();
    if options.layer_norm {
        let (_, gamma) = weights.take(graph, &format!("{path}.norm.gamma"))?;
        let (_, beta) = weights.take(graph, &format!("{path}.norm.beta"))?;
        let epsilon = [("epsilon", Attribute::Float(EPSILON))];
        input = graph.op_with("LayerNormalization", &[&input, &gamma, &beta], &epsilon);
    }
    if options.projection.is_some() {
        let (_, projection) = weights.take(graph, &format!("{path}.projection"))?;
        input = graph.op("MatMul", &[&input, &projection]);
    }
    let (shape, weight) = weights.take(graph, &format!("{path}.weight"))?;
    let (_, bias) = weights.take(graph, &format!("{path}.bias"))?;
    let root = graph.float(options.length_scale.sqrt() as f32);
    let scaled = graph.op("Div", &[&input, &root]);
    let angle = graph.linear(&scaled, &weight, Some(&bias));
    let cosine = graph.op("Cos", &[&angle]);
    let scale = graph.float((2.0 / shape[1] as f64).sqrt() as f32);
    let random = graph.op("Mul", &[&cosine, &scale]);
    if options.linear > 0.0 {
        let factor = graph.float(options.linear as f32);
        let linear = graph.op("Mul", &[&input, &factor]);
        return Ok(graph.concat(&[&random, &linear], 1));
    }
    Ok(random)
}

/// `gain phi beta + b`.
fn gaussian_process(
    graph: &mut Graph,
    config: &ModelConfig,
    weights: &mut Weights<'_>,
    features: &Value,
) -> Result<(Vec<usize>, Value)> {
    let path = "head.GaussianProcess";
    let gain = graph.float(config.gaussian_process.feature_gain as f32);
    let scaled = graph.op("Mul", &[features, &gain]);
    let (shape, beta) = weights.take(graph, &format!("{path}.beta"))?;
    let bias = match config.gaussian_process.bias {
        true => Some(weights.take(graph, &format!("{path}.bias"))?.1),
        false => None,
    };
    Ok((shape, graph.linear(&scaled, &beta, bias.as_ref())))
}

/// `||phi F_k||^2` of every factor, `[rows, factors]`.
fn variance(
    graph: &mut Graph,
    weights: &mut Weights<'_>,
    features: &Value,
) -> Result<(usize, Value)> {
    let name = "posterior.factors";
    let (shape, values) = weights.values(name)?;
    let size = shape[1] * shape[2];
    let mut variances = Vec::new();
    for (index, values) in values.chunks(size).enumerate() {
        let own = weights.name(&format!("{name}.{index}"));
        let factor = graph.weights(&own, &shape[1..], values);
        let image = graph.op("MatMul", &[features, &factor]);
        variances.push(graph.reduce("ReduceSumSquare", &image));
    }
    let variances: Vec<&Value> = variances.iter().collect();
    Ok((variances.len(), graph.concat(&variances, 1)))
}
