//! Residual networks of convolutions, as ResNet-50.

use serde_json::Value as Json;

use super::weights::Weights;
use super::{Network, convolution};
use crate::writer::{Setting, Writer};

/// What `model_type` calls them.
pub const KINDS: [&str; 1] = ["resnet"];
const PREFIXES: [&str; 2] = ["", "resnet."];
const FIRST: &str = "embedder.embedder";
/// Of every batch normalization.
const EPSILON: f32 = 1e-5;
const DEPTHS: [usize; 4] = [3, 4, 6, 3];

/// Writes the network.
pub fn write(
    to: &mut Writer<'_>,
    config: &Json,
    weights: &mut Weights<'_>,
) -> Result<Network, String> {
    weights.find(&PREFIXES, &format!("{FIRST}.convolution.weight"))?;
    let basic = match config["layer_type"].as_str() {
        None | Some("bottleneck") => false,
        Some("basic") => true,
        Some(other) => return Err(format!("layer_type is `{other}`; known: basic, bottleneck")),
    };
    if !matches!(config["hidden_act"].as_str(), None | Some("relu")) {
        return Err(format!("hidden_act is {}; known: relu", config["hidden_act"]));
    }
    let depths: Vec<usize> = match &config["depths"] {
        Json::Null => DEPTHS.to_vec(),
        depths => serde_json::from_value(depths.clone())
            .map_err(|_| format!("`depths` in config.json is {depths}"))?,
    };
    let yes = |name: &str| config[name] == true;
    let layers = Layers { weights };
    let embedded = layers.normalized(to, FIRST, super::INPUT, 2)?;
    let embedded = to.put("Relu", &[&embedded], &[]);
    let options = [
        ("kernel_shape", Setting::Integers(&[3, 3])),
        ("strides", Setting::Integers(&[2, 2])),
        ("pads", Setting::Integers(&[1, 1, 1, 1])),
    ];
    let mut hidden = to.put("MaxPool", &[&embedded], &options);
    for (stage, &depth) in depths.iter().enumerate() {
        for layer in 0..depth {
            let smaller = layer == 0 && (stage > 0 || yes("downsample_in_first_stage"));
            let stride = if smaller { 2 } else { 1 };
            // In a bottleneck the middle convolution takes the stride, in the published ones.
            let place = usize::from(!basic && !yes("downsample_in_bottleneck"));
            let path = format!("encoder.stages.{stage}.layers.{layer}");
            let parts = if basic { 2 } else { 3 };
            hidden = layers.layer(to, &path, &hidden, parts, (place, stride))?;
        }
    }
    let pooled = to.put("GlobalAveragePool", &[&hidden], &[]);
    let features = to.put("Flatten", &[&pooled], &[("axis", Setting::Integer(1))]);
    let classifier = "classifier.1".to_string();
    let kept = weights.has("classifier.1.weight");
    let classifier = kept.then(|| (features.clone(), classifier));
    Ok(Network { features, classifier })
}

struct Layers<'a, 'b> {
    weights: &'a Weights<'b>,
}

impl Layers<'_, '_> {
    /// A layer of several convolutions, one of which has a stride, and what goes past them.
    fn layer(
        &self,
        to: &mut Writer<'_>,
        path: &str,
        x: &str,
        parts: usize,
        (place, stride): (usize, usize),
    ) -> Result<String, String> {
        let mut hidden = x.to_string();
        for part in 0..parts {
            let stride = if part == place { stride } else { 1 };
            hidden = self.normalized(to, &format!("{path}.layer.{part}"), &hidden, stride)?;
            if part + 1 < parts {
                hidden = to.put("Relu", &[&hidden], &[]);
            }
        }
        let shortcut = format!("{path}.shortcut");
        let past =
            match self.weights.has(&self.weights.body(&format!("{shortcut}.convolution.weight"))) {
                true => self.normalized(to, &shortcut, x, stride)?,
                false => x.to_string(),
            };
        let sum = to.put("Add", &[&hidden, &past], &[]);
        Ok(to.put("Relu", &[&sum], &[]))
    }

    /// A convolution with its batch normalization, as one convolution.
    fn normalized(
        &self,
        to: &mut Writer<'_>,
        path: &str,
        x: &str,
        stride: usize,
    ) -> Result<String, String> {
        let weights = self.weights;
        let name = weights.body(&format!("{path}.convolution.weight"));
        let shape = weights.shape(&name).ok_or_else(|| format!("it has no tensor `{name}`"))?;
        let &[outputs, inputs, height, width] = &shape[..] else {
            return Err(format!("`{name}` is no convolution"));
        };
        let mut kernel = weights.get(&name, &shape)?;
        let moment = |part: &str| {
            weights.get(&weights.body(&format!("{path}.normalization.{part}")), &[outputs])
        };
        let (scale, shift) = (moment("weight")?, moment("bias")?);
        let (mean, variance) = (moment("running_mean")?, moment("running_var")?);
        let mut bias = Vec::with_capacity(outputs);
        let per_output = (kernel.len() / outputs.max(1)).max(1);
        for (output, kernel) in kernel.chunks_exact_mut(per_output).enumerate() {
            let factor = scale[output] / (variance[output] + EPSILON).sqrt();
            kernel.iter_mut().for_each(|weight| *weight *= factor);
            bias.push(shift[output] - mean[output] * factor);
        }
        let dims = [outputs, inputs, height, width];
        Ok(convolution(to, x, (&kernel, dims), Some(&bias), [stride, height / 2]))
    }
}
