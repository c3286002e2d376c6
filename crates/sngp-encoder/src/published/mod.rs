//! Networks of images by their published weights: what lies in a folder as `config.json` and
//! `model.safetensors` becomes the graph that an export of it would be.

mod positions;
mod residual;
mod transformer;
mod weights;

use std::fs;
use std::path::Path;

use serde_json::Value as Json;
use sngp::memory::check_memory;
use sngp::{Error, Result};

use self::weights::Weights;
use crate::file::File;
use crate::pixels::{MOST_SIDE, USUAL_SIDE};
use crate::proto::{Dimension, Graph, Kind, OperatorSet, Shape, TensorKind, ValueInfo};
use crate::source::Source;
use crate::writer::{Setting, Writer};

/// Where a folder keeps the weights.
pub const WEIGHTS: &str = "model.safetensors";
/// The file, the graph's weights, its bytes, and the engine's own; halves take twice as much there.
const COPIES: u128 = 8;
/// The version of the operators that are written, and of the file around them.
const OPSET: i64 = 18;
const IR_VERSION: i64 = 8;
const INPUT: &str = "pixels";
/// The outputs: one that describes the image, and the scores of a classifier's classes.
const FEATURES: &str = "features";
const LOGITS: &str = "logits";

/// What `model_type` of `config.json` may be.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    transformer::FAMILIES.iter().flat_map(|family| family.kinds).chain(&residual::KINDS).copied()
}

/// Whether a folder holds such a network.
pub fn is_here(folder: &Path) -> bool {
    let config = fs::read(folder.join("config.json")).ok();
    let config: Option<Json> = config.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let kind = config.as_ref().and_then(|config| config["model_type"].as_str());
    folder.join(WEIGHTS).is_file() && kind.is_some_and(|kind| kinds().any(|known| known == kind))
}

/// The graph of the network whose weights a source names.
pub fn read(source: &Source) -> Result<File> {
    let path = &source.path;
    let at = |reason: String| Error::corrupt(path, reason);
    let config = source.json("config.json")?.unwrap_or_default();
    let kind = config["model_type"].as_str().unwrap_or_default();
    let size = fs::metadata(path).map_err(Error::io(path))?.len();
    check_memory(u128::from(size) * COPIES, &path.display().to_string())?;
    let bytes = fs::read(path).map_err(Error::io(path))?;
    let mut weights = Weights::read(&bytes).map_err(at)?;
    let sides = sides(source, &config)?;
    let mut graph = Graph { name: kind.to_string(), ..Default::default() };
    graph.input = vec![value(INPUT, &[None, Some(3), Some(sides[0]), Some(sides[1])])];
    let mut to = Writer::new(&mut graph, "network");
    let network = match transformer::FAMILIES.iter().find(|family| family.kinds.contains(&kind)) {
        Some(family) => transformer::write(&mut to, family, &config, &mut weights, sides),
        None => residual::write(&mut to, &config, &mut weights),
    };
    let network = network.map_err(at)?;
    to.put_as("Identity", &[&network.features], &[], FEATURES);
    let mut outputs = vec![FEATURES];
    if let Some((vectors, layer)) = network.classifier {
        let shape = weights.shape(&format!("{layer}.weight")).unwrap_or_default();
        let &[classes, width] = &shape[..] else {
            return Err(at(format!("`{layer}.weight` is no matrix")));
        };
        if classes == 0 || width == 0 {
            return Err(at(format!("`{layer}.weight` is empty")));
        }
        let layer = Linear { name: layer, sizes: [width, classes], factors: None, biased: true };
        let scores = layer.write(&mut to, &weights, &vectors);
        to.put_as("Identity", &[&scores.map_err(at)?], &[], LOGITS);
        outputs.push(LOGITS);
    }
    let output = |name: &&str| ValueInfo { name: name.to_string(), ..Default::default() };
    graph.output = outputs.iter().map(output).collect();
    let operators = vec![OperatorSet { domain: String::new(), version: OPSET }];
    Ok(File { graph, operators, ir_version: IR_VERSION })
}

/// What was written of a network.
struct Network {
    /// The tensor with one vector an image.
    features: String,
    /// The vectors that a classifier's last layer takes, and that layer's name.
    classifier: Option<(String, String)>,
}

/// The size of the images: as the preprocessing beside the weights makes them, or else as the
/// configuration says.
fn sides(source: &Source, config: &Json) -> Result<[usize; 2]> {
    if let Some(pixels) = source.prepared(None)? {
        return Ok([pixels.height, pixels.width]);
    }
    let at = |reason: String| Error::corrupt(&source.path, reason);
    let side = count(&part(config), "image_size", USUAL_SIDE).map_err(at)?;
    match side <= MOST_SIDE {
        true => Ok([side, side]),
        false => Err(at(format!("`image_size` in config.json is {side}"))),
    }
}

/// The part of a configuration that is about images, where it is about texts too. CLIP's older files
/// say some of it twice, and the second place counts.
fn part(config: &Json) -> Json {
    let mut part = match &config["vision_config"] {
        Json::Null => config.clone(),
        part => part.clone(),
    };
    if let (Some(part), Some(second)) =
        (part.as_object_mut(), config["vision_config_dict"].as_object())
    {
        part.extend(second.clone());
    }
    part
}

/// A positive number of a configuration, which leaves out usual ones.
fn count(config: &Json, name: &str, usual: usize) -> Result<usize, String> {
    const MOST: u64 = 1 << 20;
    match &config[name] {
        Json::Null => Ok(usual),
        value => match value.as_u64() {
            Some(count @ 1..=MOST) => Ok(count as usize),
            _ => Err(format!("`{name}` in config.json is {value}, and no count")),
        },
    }
}

/// `x W + b` by a layer's weights `[outputs, inputs]` and bias, outputs times factors.
struct Linear<'a> {
    name: String,
    /// Inputs, outputs.
    sizes: [usize; 2],
    factors: Option<&'a [f32]>,
    /// Whether there has to be a bias.
    biased: bool,
}

impl Linear<'_> {
    fn write(&self, to: &mut Writer<'_>, weights: &Weights<'_>, x: &str) -> Result<String, String> {
        let [inputs, outputs] = self.sizes;
        let factor = |output: usize| self.factors.map_or(1.0, |factors| factors[output]);
        let matrix = weights.get(&format!("{}.weight", self.name), &[outputs, inputs])?;
        let mut turned = vec![0.0; matrix.len()];
        for (output, row) in matrix.chunks_exact(inputs.max(1)).enumerate() {
            for (input, weight) in row.iter().enumerate() {
                turned[input * outputs + output] = weight * factor(output);
            }
        }
        let matrix = to.numbers(&[inputs, outputs], &turned);
        let product = to.put("MatMul", &[x, &matrix], &[]);
        let bias = format!("{}.bias", self.name);
        if !self.biased && !weights.has(&bias) {
            return Ok(product);
        }
        let bias = weights.get(&bias, &[outputs])?;
        let bias: Vec<f32> = bias.iter().enumerate().map(|(k, bias)| bias * factor(k)).collect();
        let bias = to.numbers(&[outputs], &bias);
        Ok(to.put("Add", &[&product, &bias], &[]))
    }
}

/// A convolution with a square kernel.
fn convolution(
    to: &mut Writer<'_>,
    x: &str,
    (kernel, dims): (&[f32], [usize; 4]),
    bias: Option<&[f32]>,
    [stride, padding]: [usize; 2],
) -> String {
    let mut inputs = vec![x.to_string(), to.numbers(&dims, kernel)];
    inputs.extend(bias.map(|bias| to.numbers(&[dims[0]], bias)));
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let sizes = [dims[2] as i64, dims[3] as i64];
    let options = [
        ("kernel_shape", Setting::Integers(&sizes)),
        ("strides", Setting::Integers(&[stride as i64; 2])),
        ("pads", Setting::Integers(&[padding as i64; 4])),
        ("dilations", Setting::Integers(&[1, 1])),
        ("group", Setting::Integer(1)),
    ];
    to.put("Conv", &inputs, &options)
}

fn value(name: &str, sizes: &[Option<usize>]) -> ValueInfo {
    const FLOAT: i32 = 1;
    let dim = |size: &Option<usize>| Dimension {
        dim_value: size.map(|size| size as i64),
        dim_param: size.is_none().then(|| "rows".to_string()),
    };
    let shape = Shape { dim: sizes.iter().map(dim).collect() };
    let tensor_type = Some(TensorKind { elem_type: FLOAT, shape: Some(shape) });
    ValueInfo { name: name.to_string(), kind: Some(Kind { tensor_type }), ..Default::default() }
}
