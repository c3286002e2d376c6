//! BERT's family: from tokens to one vector a sentence.

use sngp::Result;
use sngp::backbone::{BertConfig, Pooling, relative_buckets};

use super::{Weights, pooled};
use crate::graph::{Attribute, Graph, Value};

pub fn hidden(
    graph: &mut Graph,
    config: &BertConfig,
    weights: &mut Weights<'_>,
    ids: &Value,
    real: &Value,
) -> Result<Value> {
    let one = graph.integers(&[1]);
    let shape = graph.op("Shape", &[ids]);
    let length = graph.gather(&shape, &one, 0);
    let embedded = embedded(graph, config, weights, ids, &length)?;
    let bias = match config.encoder.relative_buckets {
        Some(count) => Some(relative_bias(graph, config, weights, count, &length)?),
        None => None,
    };
    // ln 1 = 0 and ln 0 = -infinity: what is added to the scores of a key.
    let mask = graph.op("Log", &[real]);
    let axes = graph.integers(&[1, 2]);
    let mask = graph.op("Unsqueeze", &[&mask, &axes]);
    let mut tokens = embedded;
    for layer in 0..config.encoder.transformer.layers {
        tokens = transformer_layer(graph, config, weights, layer, &tokens, &mask, bias.as_ref())?;
    }
    let sentence = match config.pooling {
        Pooling::FirstToken => {
            let first = graph.integer(0);
            graph.gather(&tokens, &first, 1)
        }
        Pooling::Mean => {
            let count = graph.reduce("ReduceSum", real);
            let share = graph.op("Div", &[real, &count]);
            // [rows, 1, tokens] x [rows, tokens, width]
            let share = graph.op("Unsqueeze", &[&share, &one]);
            let mean = graph.op("MatMul", &[&share, &tokens]);
            graph.op("Squeeze", &[&mean, &one])
        }
    };
    pooled(graph, weights, "backbone.pooler", config.pooler.activation, &sentence)
}

fn embedded(
    graph: &mut Graph,
    config: &BertConfig,
    weights: &mut Weights<'_>,
    ids: &Value,
    length: &Value,
) -> Result<Value> {
    let path = "backbone.encoder.embeddings";
    let (_, words) = weights.take(graph, &format!("{path}.words"))?;
    let name = format!("{path}.positions");
    let (shape, mut positions) = weights.values(&name)?;
    let types = format!("{path}.types");
    if weights.contains(&types) {
        let (_, types) = weights.values(&types)?;
        for row in positions.chunks_mut(shape[1]) {
            row.iter_mut().zip(&types).for_each(|(position, kind)| *position += kind);
        }
    }
    let skipped = config.encoder.first_position * shape[1];
    let used = [shape[0] - config.encoder.first_position, shape[1]];
    let positions = graph.weights(&weights.name(&name), &used, &positions[skipped..]);
    let zero = graph.integers(&[0]);
    let positions = graph.op("Slice", &[&positions, &zero, length, &zero]);
    let words = graph.gather(&words, ids, 0);
    let sum = graph.op("Add", &[&words, &positions]);
    layer_norm(graph, config, weights, &format!("{path}.norm"), &sum)
}

/// A term of the scores by the distance of two tokens, `[1, heads, tokens, tokens]`.
fn relative_bias(
    graph: &mut Graph,
    config: &BertConfig,
    weights: &mut Weights<'_>,
    count: usize,
    length: &Value,
) -> Result<Value> {
    let (_, table) = weights.take(graph, "backbone.encoder.relative_bias")?;
    let most = config.encoder.longest();
    let pairs = graph.integers(&relative_buckets(most, count));
    let square = graph.integers(&[most as i64, most as i64]);
    let pairs = graph.op("Reshape", &[&pairs, &square]);
    let zero = graph.integers(&[0]);
    let (ends, starts) = (graph.concat(&[length, length], 0), graph.integers(&[0, 0]));
    let pairs = graph.op("Slice", &[&pairs, &starts, &ends]);
    let bias = graph.gather(&table, &pairs, 0);
    let order = [("perm", Attribute::Integers(vec![2, 0, 1]))];
    let bias = graph.op_with("Transpose", &[&bias], &order);
    Ok(graph.op("Unsqueeze", &[&bias, &zero]))
}

fn transformer_layer(
    graph: &mut Graph,
    config: &BertConfig,
    weights: &mut Weights<'_>,
    layer: usize,
    tokens: &Value,
    mask: &Value,
    bias: Option<&Value>,
) -> Result<Value> {
    let path = format!("backbone.encoder.transformer.layers.{layer}");
    let heads = config.encoder.transformer.heads as i64;
    let width = config.encoder.transformer.width as i64;
    let qkv = weights.dense(graph, &format!("{path}.qkv.linear"), tokens)?;
    // [rows, tokens, 3, heads, head width] to [3, rows, heads, tokens, head width].
    let shape = graph.integers(&[0, 0, 3, heads, width / heads]);
    let qkv = graph.op("Reshape", &[&qkv, &shape]);
    let order = [("perm", Attribute::Integers(vec![2, 0, 3, 1, 4]))];
    let qkv = graph.op_with("Transpose", &[&qkv], &order);
    let [queries, keys, values] = [0, 1, 2].map(|part| {
        let part = graph.integer(part);
        graph.gather(&qkv, &part, 0)
    });
    let order = [("perm", Attribute::Integers(vec![0, 1, 3, 2]))];
    let keys = graph.op_with("Transpose", &[&keys], &order);
    let product = graph.op("MatMul", &[&queries, &keys]);
    let scale = graph.float(1.0 / ((width / heads) as f32).sqrt());
    let mut scores = graph.op("Mul", &[&product, &scale]);
    for term in std::iter::once(mask).chain(bias) {
        scores = graph.op("Add", &[&scores, term]);
    }
    let shares = graph.op_with("Softmax", &[&scores], &[("axis", Attribute::Integer(-1))]);
    let context = graph.op("MatMul", &[&shares, &values]);
    let order = [("perm", Attribute::Integers(vec![0, 2, 1, 3]))];
    let context = graph.op_with("Transpose", &[&context], &order);
    let shape = graph.integers(&[0, 0, width]);
    let context = graph.op("Reshape", &[&context, &shape]);

    let attended = weights.dense(graph, &format!("{path}.context.linear"), &context)?;
    let sum = graph.op("Add", &[&attended, tokens]);
    let hidden = layer_norm(graph, config, weights, &format!("{path}.attention_norm"), &sum)?;
    let inner = weights.dense(graph, &format!("{path}.up.linear"), &hidden)?;
    let inner = gelu(graph, &inner);
    let output = weights.dense(graph, &format!("{path}.down.linear"), &inner)?;
    let sum = graph.op("Add", &[&output, &hidden]);
    layer_norm(graph, config, weights, &format!("{path}.output_norm"), &sum)
}

fn layer_norm(
    graph: &mut Graph,
    config: &BertConfig,
    weights: &mut Weights<'_>,
    path: &str,
    value: &Value,
) -> Result<Value> {
    let (_, gamma) = weights.take(graph, &format!("{path}.gamma"))?;
    let (_, beta) = weights.take(graph, &format!("{path}.beta"))?;
    let epsilon = Attribute::Float(config.encoder.transformer.epsilon as f32);
    Ok(graph.op_with("LayerNormalization", &[value, &gamma, &beta], &[("epsilon", epsilon)]))
}

/// `x (1 + erf(x / sqrt 2)) / 2`.
fn gelu(graph: &mut Graph, value: &Value) -> Value {
    let (root, one, half) =
        (graph.float(std::f32::consts::SQRT_2), graph.float(1.0), graph.float(0.5));
    let scaled = graph.op("Div", &[value, &root]);
    let erf = graph.op("Erf", &[&scaled]);
    let whole = graph.op("Add", &[&erf, &one]);
    let product = graph.op("Mul", &[value, &whole]);
    graph.op("Mul", &[&product, &half])
}
