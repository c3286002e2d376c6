//! Hidden mappings: from what a network takes to its hidden vectors `[rows, width]`.

mod bert;
mod images;

use sngp::backbone::{FARTHEST, PoolerActivation, ShippedConfig};
use sngp::model::Parameters;
use sngp::{Error, Result};

use crate::graph::{Graph, Value};
use crate::input::Inputs;

/// The parameters of one network.
pub struct Weights<'a> {
    /// Those of all.
    pub parameters: &'a mut Parameters,
    /// Which network.
    pub member: usize,
}

impl Weights<'_> {
    /// A parameter as part of the graph, with its shape.
    pub fn take(&mut self, graph: &mut Graph, name: &str) -> Result<(Vec<usize>, Value)> {
        let (shape, values) = self.values(name)?;
        let value = graph.weights(&self.name(name), &shape, &values);
        Ok((shape, value))
    }

    /// A parameter's shape and values.
    pub fn values(&mut self, name: &str) -> Result<(Vec<usize>, Vec<f32>)> {
        self.parameters.take(&format!("members.{}.{name}", self.member))
    }

    /// What a parameter is called in the graph.
    pub fn name(&self, name: &str) -> String {
        format!("sngp/members.{}.{name}", self.member)
    }

    /// Whether there is one of a name.
    pub fn contains(&self, name: &str) -> bool {
        self.parameters.contains(&format!("members.{}.{name}", self.member))
    }

    /// `value W + b` of a dense layer.
    pub fn dense(&mut self, graph: &mut Graph, layer: &str, value: &Value) -> Result<Value> {
        let (_, weight) = self.take(graph, &format!("{layer}.weight"))?;
        let bias = format!("{layer}.bias");
        let bias = match self.contains(&bias) {
            true => Some(self.take(graph, &bias)?.1),
            false => None,
        };
        Ok(graph.linear(value, &weight, bias.as_ref()))
    }
}

/// The hidden vectors of a shipped backbone, in f32.
pub fn hidden(
    graph: &mut Graph,
    config: &ShippedConfig,
    weights: &mut Weights<'_>,
    inputs: &Inputs,
) -> Result<Value> {
    match (config, inputs) {
        (ShippedConfig::Identity(_), Inputs::Vectors(vectors)) => Ok(vectors.clone()),
        (ShippedConfig::Standardize(_), Inputs::Vectors(vectors)) => {
            let (_, mean) = weights.take(graph, "backbone.mean")?;
            let (_, factor) = weights.take(graph, "backbone.factor")?;
            let centred = graph.op("Sub", &[vectors, &mean]);
            let scaled = graph.op("Mul", &[&centred, &factor]);
            let (least, most) = (graph.float(-FARTHEST), graph.float(FARTHEST));
            Ok(graph.op("Clip", &[&scaled, &least, &most]))
        }
        (ShippedConfig::ResFfn(config), Inputs::Vectors(vectors)) => {
            let mut hidden = weights.dense(graph, "backbone.lift", vectors)?;
            for block in 0..config.depth {
                let layer = format!("backbone.blocks.{block}");
                let residual = weights.dense(graph, &layer, &hidden)?;
                let residual = graph.op("Relu", &[&residual]);
                hidden = graph.op("Add", &[&hidden, &residual]);
            }
            Ok(hidden)
        }
        (ShippedConfig::Pooler(config), Inputs::Vectors(vectors)) => {
            pooled(graph, weights, "backbone", config.activation, vectors)
        }
        (ShippedConfig::WideResNet(config), Inputs::Images(pixels)) => {
            images::wide_resnet(graph, config, weights, pixels)
        }
        (ShippedConfig::ResNet(config), Inputs::Images(pixels)) => {
            images::resnet(graph, config, weights, pixels)
        }
        (ShippedConfig::WhitenedResNet(config), Inputs::Images(pixels)) => {
            images::whitened_resnet(graph, config, weights, pixels)
        }
        (ShippedConfig::Bert(config), Inputs::Tokens { ids, real }) => {
            bert::hidden(graph, config, weights, ids, real)
        }
        _ => Err(Error::Unsupported("the network takes another kind of input".to_string())),
    }
}

/// The dense layer on an encoder's vectors.
fn pooled(
    graph: &mut Graph,
    weights: &mut Weights<'_>,
    path: &str,
    activation: PoolerActivation,
    vectors: &Value,
) -> Result<Value> {
    let output = weights.dense(graph, &format!("{path}.dense.linear"), vectors)?;
    Ok(match activation {
        PoolerActivation::Identity => output,
        PoolerActivation::Tanh => graph.op("Tanh", &[&output]),
    })
}
