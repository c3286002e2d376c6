//! Residual networks for images, channels first.

use sngp::Result;
use sngp::backbone::{Normalization, ResNetConfig, WhitenedResNetConfig, WideResNetConfig};

use super::Weights;
use crate::graph::{Attribute, Graph, Value};

/// What is added to a variance before its root, as Burn's layer has it.
const EPSILON: f32 = 1e-5;

pub fn wide_resnet(
    graph: &mut Graph,
    config: &WideResNetConfig,
    weights: &mut Weights<'_>,
    pixels: &Value,
) -> Result<Value> {
    let pixels = normalized(graph, weights, config.normalization.as_ref(), pixels);
    let mut hidden = convolution(graph, weights, "backbone.first", &pixels, 1)?;
    let group = (config.depth - 4) / 6;
    for block in 0..3 * group {
        let stride = if block > 0 && block % group == 0 { 2 } else { 1 };
        let layer = |name: &str| format!("backbone.blocks.{block}.{name}");
        let active = batch_norm(graph, weights, &layer("norm1"), &hidden)?;
        let active = graph.op("Relu", &[&active]);
        let residual = match weights.contains(&layer("shortcut.conv.weight")) {
            true => convolution(graph, weights, &layer("shortcut"), &active, stride)?,
            false => hidden,
        };
        let inner = convolution(graph, weights, &layer("conv1"), &active, stride)?;
        let inner = batch_norm(graph, weights, &layer("norm2"), &inner)?;
        let inner = graph.op("Relu", &[&inner]);
        let output = convolution(graph, weights, &layer("conv2"), &inner, 1)?;
        hidden = graph.op("Add", &[&output, &residual]);
    }
    let last = batch_norm(graph, weights, "backbone.norm", &hidden)?;
    let last = graph.op("Relu", &[&last]);
    Ok(mean_pool(graph, &last))
}

pub fn resnet(
    graph: &mut Graph,
    config: &ResNetConfig,
    weights: &mut Weights<'_>,
    pixels: &Value,
) -> Result<Value> {
    let pixels = normalized(graph, weights, config.normalization.as_ref(), pixels);
    let first = convolution(graph, weights, "backbone.first", &pixels, 1)?;
    let first = batch_norm(graph, weights, "backbone.norm", &first)?;
    let mut hidden = graph.op("Relu", &[&first]);
    for (group, filters) in [16usize, 32, 64].into_iter().enumerate() {
        for block in 0..(config.depth - 2) / 6 {
            let layer = |name: &str| format!("backbone.layer{}.{block}.{name}", group + 1);
            let widens = group > 0 && block == 0;
            let stride = if widens { 2 } else { 1 };
            let inner = convolution(graph, weights, &layer("conv1"), &hidden, stride)?;
            let inner = batch_norm(graph, weights, &layer("norm1"), &inner)?;
            let inner = graph.op("Relu", &[&inner]);
            let inner = convolution(graph, weights, &layer("conv2"), &inner, 1)?;
            let inner = batch_norm(graph, weights, &layer("norm2"), &inner)?;
            let residual = match widens {
                true => widened(graph, &hidden, filters / 2),
                false => hidden,
            };
            let sum = graph.op("Add", &[&inner, &residual]);
            hidden = graph.op("Relu", &[&sum]);
        }
    }
    Ok(mean_pool(graph, &hidden))
}

pub fn whitened_resnet(
    graph: &mut Graph,
    config: &WhitenedResNetConfig,
    weights: &mut Weights<'_>,
    pixels: &Value,
) -> Result<Value> {
    let pixels = normalized(graph, weights, config.normalization.as_ref(), pixels);
    // The last row and column once more, for the patches over the edge.
    let pads = graph.integers(&[0, 0, 0, 0, 0, 0, 1, 1]);
    let continued = graph.op_with("Pad", &[&pixels, &pads], &[("mode", Attribute::Text("edge"))]);
    let patches = convolution(graph, weights, "backbone.first", &continued, 1)?;
    let [_, height, width] = config.image.map(|length| length as i64);
    let (starts, ends) = (graph.integers(&[0, 0]), graph.integers(&[height, width]));
    let axes = graph.integers(&[2, 3]);
    let patches = graph.op("Slice", &[&patches, &starts, &ends, &axes]);
    let mut hidden = graph.op("Relu", &[&patches]);
    for stage in 0..config.widths.len() {
        let layer = |name: &str| format!("backbone.stages.{stage}.{name}");
        let inner = convolution(graph, weights, &layer("conv"), &hidden, 1)?;
        let window = [
            ("kernel_shape", Attribute::Integers(vec![2; 2])),
            ("strides", Attribute::Integers(vec![2; 2])),
        ];
        let inner = graph.op_with("MaxPool", &[&inner], &window);
        let inner = batch_norm(graph, weights, &layer("norm"), &inner)?;
        hidden = graph.op("Relu", &[&inner]);
        let residual = convolution(graph, weights, &layer("residual"), &hidden, 1)?;
        let residual = batch_norm(graph, weights, &layer("residual_norm"), &residual)?;
        let residual = graph.op("Relu", &[&residual]);
        hidden = graph.op("Add", &[&hidden, &residual]);
    }
    let largest = graph.op("GlobalMaxPool", &[&hidden]);
    Ok(graph.op("Flatten", &[&largest]))
}

/// Every second pixel, with channels of zeros around its own.
fn widened(graph: &mut Graph, images: &Value, more: usize) -> Value {
    let (starts, ends) = (graph.integers(&[0, 0]), graph.integers(&[i64::MAX, i64::MAX]));
    let (axes, steps) = (graph.integers(&[2, 3]), graph.integers(&[2, 2]));
    let sampled = graph.op("Slice", &[images, &starts, &ends, &axes, &steps]);
    let before = (more / 2) as i64;
    let pads = graph.integers(&[0, before, 0, 0, 0, more as i64 - before, 0, 0]);
    graph.op("Pad", &[&sampled, &pads])
}

fn normalized(
    graph: &mut Graph,
    weights: &Weights<'_>,
    units: Option<&Normalization>,
    pixels: &Value,
) -> Value {
    let Some(Normalization { mean, deviation }) = units else { return pixels.clone() };
    let scale: Vec<f32> = deviation.iter().map(|deviation| (1.0 / deviation) as f32).collect();
    let shift = mean.iter().zip(deviation).map(|(mean, deviation)| (-mean / deviation) as f32);
    let name = weights.name("normalization");
    scaled(graph, &name, &scale, &shift.collect::<Vec<_>>(), pixels)
}

/// Channels times their scales, and their shifts added.
fn scaled(graph: &mut Graph, name: &str, scale: &[f32], shift: &[f32], images: &Value) -> Value {
    let shape = [1, scale.len(), 1, 1];
    let scale = graph.weights(&format!("{name}/scale"), &shape, scale);
    let shift = graph.weights(&format!("{name}/shift"), &shape, shift);
    let product = graph.op("Mul", &[images, &scale]);
    graph.op("Add", &[&product, &shift])
}

fn convolution(
    graph: &mut Graph,
    weights: &mut Weights<'_>,
    layer: &str,
    images: &Value,
    stride: i64,
) -> Result<Value> {
    let (shape, weight) = weights.take(graph, &format!("{layer}.conv.weight"))?;
    let around = (shape[2] / 2) as i64;
    let options = [
        ("pads", Attribute::Integers(vec![around; 4])),
        ("strides", Attribute::Integers(vec![stride; 2])),
        ("kernel_shape", Attribute::Integers(vec![shape[2] as i64, shape[3] as i64])),
    ];
    Ok(graph.op_with("Conv", &[images, &weight], &options))
}

/// Batch normalization by the moments of the training.
fn batch_norm(
    graph: &mut Graph,
    weights: &mut Weights<'_>,
    layer: &str,
    images: &Value,
) -> Result<Value> {
    let mut part =
        |name: &str| Ok::<_, sngp::Error>(weights.values(&format!("{layer}.norm.{name}"))?.1);
    let (gamma, beta) = (part("gamma")?, part("beta")?);
    let (mean, variance) = (part("running_mean")?, part("running_var")?);
    let scale: Vec<f32> =
        gamma.iter().zip(&variance).map(|(gamma, v)| gamma / (v + EPSILON).sqrt()).collect();
    let moved = beta.iter().zip(&mean).zip(&scale);
    let shift: Vec<f32> = moved.map(|((beta, mean), scale)| beta - mean * scale).collect();
    let name = weights.name(layer);
    Ok(scaled(graph, &name, &scale, &shift, images))
}

fn mean_pool(graph: &mut Graph, images: &Value) -> Value {
    let mean = graph.op("GlobalAveragePool", &[images]);
    graph.op("Flatten", &[&mean])
}
