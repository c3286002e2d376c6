//! A pipeline as an ONNX graph: prediction, uncertainty, and the decision to abstain.
//!
//! Everything that decides is in the graph: the preparation of a row, the network, the posterior's
//! variance, the detectors, the guard, the distance rule and the threshold. What a graph cannot say
//! is an error with its reason, never a graph that accepts more than the pipeline does.
//!
//! ```
//! use ndarray::Array2;
//! use sngp_pipeline::{Options, Pipeline};
//!
//! let vectors = Array2::from_shape_fn((60, 3), |(i, j)| (i % 2 * 3 + j) as f32 + 0.01 * i as f32);
//! let labels: Vec<usize> = (0..60).map(|i| i % 2).collect();
//! let options = Options { features: 32, ..Default::default() };
//! let pipeline = Pipeline::fit_vectors(vectors.view(), &labels, &options)?;
//! let model = sngp_onnx::export(&pipeline)?;
//! assert!(model.outputs.contains(&"decision".to_string()));
//! std::fs::write(std::env::temp_dir().join("sngp-example.onnx"), &model.bytes).unwrap();
//! # Ok::<(), sngp::Error>(())
//! ```
//!
//! - `graph`: nodes and values;
//! - `input`: the graph's inputs become what the network takes;
//! - `network`: hidden vectors; `head`: mean, variance, probabilities;
//! - `scores`: what a row is uncertain by; `guard`: how far its input is;
//! - `verdict`: accepted or not, in the order of `sngp-pipeline/src/decide.rs`.
#![warn(missing_docs)]

mod graph;
mod guard;
mod head;
mod input;
mod network;
mod scores;
mod upgrade;
mod verdict;

use std::collections::HashSet;

use prost::Message;
use serde_json::json;
use sngp::backbone::{Backbone, Shipped};
use sngp::{Error, Result};
use sngp_encoder::proto;
use sngp_pipeline::{Pipeline, Task};

use graph::{Element, Graph, MACHINE_LEARNING, Size, Value};
use input::Inputs;
use network::Weights;
use scores::Scores;
use verdict::Evidence;

/// The version of the standard operators the graphs are written in.
pub const OPSET: i64 = 18;
/// That of the operators for categories.
const MACHINE_LEARNING_OPSET: i64 = 3;
/// The version of the file format that came with them.
const IR_VERSION: i64 = 8;
/// A protobuf message cannot be larger.
const LARGEST: usize = i32::MAX as usize;

/// A model as an ONNX file.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The file.
    pub bytes: Vec<u8>,
    /// The names of its inputs.
    pub inputs: Vec<String>,
    /// The names of its outputs.
    pub outputs: Vec<String>,
}

/// Writes a pipeline as a graph.
pub fn export(pipeline: &Pipeline) -> Result<Exported> {
    check(pipeline)?;
    let mut graph = Graph::default();
    let prepared = input::prepared(&mut graph, pipeline)?;
    let model = pipeline.model();
    let (config, recipe) = (model.config(), model.config().method.recipe());
    let (name, saved) = model.saved_backbone()?;
    let backbone = Shipped::read_config(name, saved)
        .map_err(|error| Error::Unsupported(format!("only shipped backbones: {error}")))?;
    let (classes, mut parameters) = (pipeline.labels().len(), model.parameters());
    let mut hidden: Option<Value> = None;
    let mut parts = Vec::new();
    for member in 0..recipe.members {
        let mut weights = Weights { parameters: &mut parameters, member };
        let own = network::hidden(&mut graph, &backbone, &mut weights, &prepared.inputs)?;
        parts.push(head::predicted(&mut graph, config, classes, &mut weights, &own)?);
        hidden.get_or_insert(own);
    }
    let hidden = hidden.ok_or_else(|| Error::Data("the model has no network".to_string()))?;
    let predicted = head::averaged(&mut graph, parts)?;
    let measured = pipeline.guard().map(|limits| {
        let looked_at = match &prepared.inputs {
            Inputs::Vectors(inputs) | Inputs::Images(inputs) => inputs,
            Inputs::Tokens { .. } => &hidden,
        };
        guard::measured(&mut graph, limits, looked_at)
    });
    let mut scores = Scores::new(&mut graph, pipeline, &predicted, &hidden)?;
    let evidence =
        Evidence { prepared: &prepared, predicted: &predicted, measured: measured.as_ref() };
    verdict::decide(&mut graph, pipeline, &evidence, &mut scores)?;
    if let Some((count, features)) = &predicted.features {
        let shape = [Size::Rows, Size::Of(*count)];
        let meaning = "the Gaussian process's features";
        graph.output("features", features, Element::Float, &shape, meaning);
    }
    finish(graph, pipeline)
}

/// Refuses what cannot be written before any of it is.
fn check(pipeline: &Pipeline) -> Result<()> {
    let config = pipeline.model().config();
    let recipe = config.method.recipe();
    if let Task::Regression { .. } = pipeline.card().task {
        let message = "models of numbers are not exported yet; models of classes are";
        return Err(Error::Unsupported(message.to_string()));
    }
    if recipe.passes > 1 {
        return Err(Error::Unsupported(format!(
            "{} draws what it drops anew in every pass, which a graph cannot repeat; export \
             another method",
            config.method
        )));
    }
    if pipeline.card().minimax.is_some() {
        let message = "probabilities that go to uniform out of domain are not exported yet; let the \
                       model say its own first (`Pipeline::use_own_probabilities`)";
        return Err(Error::Unsupported(message.to_string()));
    }
    if pipeline.decision().is_some_and(|decision| !decision.by_class.is_empty()) {
        let message = "a threshold for each class is not exported yet; choose one for all";
        return Err(Error::Unsupported(message.to_string()));
    }
    head::mean_field_factor(config).map(drop)
}

fn finish(graph: Graph, pipeline: &Pipeline) -> Result<Exported> {
    let own = [("", OPSET), (MACHINE_LEARNING, MACHINE_LEARNING_OPSET)];
    let (opset_import, ir_version) = graph.operators(&own, IR_VERSION);
    let graph = graph.finish("sngp");
    let inputs: Vec<String> = graph.input.iter().map(|input| input.name.clone()).collect();
    let outputs: Vec<String> = graph.output.iter().map(|output| output.name.clone()).collect();
    let mut names = HashSet::new();
    if let Some(twice) = inputs.iter().chain(&outputs).find(|name| !names.insert(name.as_str())) {
        return Err(Error::Unsupported(format!(
            "`{twice}` is the name of an input and of an output, which a graph cannot have; rename \
             the column and train again"
        )));
    }
    if inputs.iter().any(|name| name.is_empty() || name.starts_with("sngp/")) {
        let message = "a column without a name, or of a name that begins with `sngp/`, cannot be \
                       an input; rename it and train again";
        return Err(Error::Unsupported(message.to_string()));
    }
    let model = proto::Model {
        ir_version,
        producer_name: "sngp".to_string(),
        producer_version: env!("CARGO_PKG_VERSION").to_string(),
        doc_string: format!(
            "a classifier that abstains; it takes {}",
            pipeline.card().preparation.describe()
        ),
        graph: Some(graph),
        opset_import,
        metadata_props: metadata(pipeline),
        ..Default::default()
    };
    let size = model.encoded_len();
    if size > LARGEST {
        return Err(Error::Unsupported(format!(
            "the file would have {size} bytes, and an ONNX file has at most {LARGEST}; train with \
             fewer random features"
        )));
    }
    Ok(Exported { bytes: model.encode_to_vec(), inputs, outputs })
}

/// What a program needs to know beside the graph.
fn metadata(pipeline: &Pipeline) -> Vec<proto::Property> {
    let decision = pipeline.decision();
    let mut properties = vec![
        ("sngp.labels", json!(pipeline.labels()).to_string()),
        ("sngp.reasons", json!(&input::reasons()[1..]).to_string()),
        ("sngp.score", pipeline.score().to_string()),
        ("sngp.signature", json!(pipeline.signature()).to_string()),
        ("sngp.preparation", json!(pipeline.card().preparation).to_string()),
        ("sngp.uncalibrated", pipeline.card().uncalibrated.to_string()),
    ];
    if let Some(decision) = decision {
        properties.push(("sngp.threshold", decision.threshold.to_string()));
        properties.push(("sngp.decision", json!(decision).to_string()));
    }
    let property = |(key, value): (&str, String)| proto::Property { key: key.to_string(), value };
    properties.into_iter().map(property).collect()
}
