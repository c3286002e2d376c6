//! Vision transformers: patches as tokens, normalized before each part of a layer.

use serde_json::Value as Json;

use super::positions::{Cubic, resized};
use super::weights::Weights;
use super::{Linear, Network, convolution, count, part};
use crate::writer::{Setting, Writer};

/// What sets a family apart: how its weights are called, and what stands before the patches.
pub struct Family {
    /// What `model_type` calls it.
    pub kinds: &'static [&'static str],
    /// Networks with a head of their own keep the body under one of these.
    prefixes: &'static [&'static str],
    class: &'static str,
    /// A second token with a position of its own, where there is one.
    second: &'static str,
    /// Tokens without a position between the class's and the patches, where there are such.
    registers: &'static str,
    positions: &'static str,
    patches: &'static str,
    biased_patches: bool,
    /// A normalization before the first layer, where there is one.
    first_norm: &'static str,
    last_norm: &'static str,
    layer: Layer,
    /// How positions are resized for images of another size.
    resizing: Cubic,
    /// What a classifier's last layer takes.
    head: Head,
    usual: Usual,
}

/// What a classifier's last layer takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Head {
    /// The class's token.
    Class,
    /// The class's token, and the mean of the patches behind it.
    ClassAndMean,
    /// Something else, so that its answers cannot be kept.
    Unread,
}

/// How the weights of a layer are called.
struct Layer {
    path: &'static str,
    attention_norm: &'static str,
    query: &'static str,
    key: &'static str,
    value: &'static str,
    context: &'static str,
    /// Factors on what attention adds, where there are such.
    attention_scale: &'static str,
    norm: &'static str,
    up: &'static str,
    down: &'static str,
    /// Factors on what the rest of the layer adds, where there are such.
    scale: &'static str,
}

/// What a configuration may leave out.
struct Usual {
    patch: usize,
    epsilon: f64,
    activation: &'static str,
}

const VIT: Family = Family {
    kinds: &["vit"],
    prefixes: &["", "vit."],
    class: "embeddings.cls_token",
    second: "",
    registers: "",
    positions: "embeddings.position_embeddings",
    patches: "embeddings.patch_embeddings.projection",
    biased_patches: true,
    first_norm: "",
    last_norm: "layernorm",
    layer: Layer {
        path: "encoder.layer",
        attention_norm: "layernorm_before",
        query: "attention.attention.query",
        key: "attention.attention.key",
        value: "attention.attention.value",
        context: "attention.output.dense",
        attention_scale: "",
        norm: "layernorm_after",
        up: "intermediate.dense",
        down: "output.dense",
        scale: "",
    },
    resizing: Cubic::Plain,
    head: Head::Class,
    usual: Usual { patch: 16, epsilon: 1e-12, activation: "gelu" },
};

const DINO: Family = Family {
    kinds: &["dinov2"],
    prefixes: &["", "dinov2."],
    layer: Layer {
        attention_norm: "norm1",
        attention_scale: "layer_scale1.lambda1",
        norm: "norm2",
        up: "mlp.fc1",
        down: "mlp.fc2",
        scale: "layer_scale2.lambda1",
        ..VIT.layer
    },
    head: Head::ClassAndMean,
    usual: Usual { patch: 14, epsilon: 1e-6, activation: "gelu" },
    ..VIT
};

/// All that can be read.
pub const FAMILIES: [Family; 5] = [
    VIT,
    Family {
        kinds: &["deit"],
        prefixes: &["", "deit."],
        second: "embeddings.distillation_token",
        ..VIT
    },
    DINO,
    Family {
        kinds: &["dinov2_with_registers"],
        prefixes: &["", "dinov2_with_registers."],
        registers: "embeddings.register_tokens",
        resizing: Cubic::Antialiased,
        ..DINO
    },
    Family {
        kinds: &["clip", "clip_vision_model"],
        prefixes: &["vision_model.", ""],
        class: "embeddings.class_embedding",
        second: "",
        registers: "",
        positions: "embeddings.position_embedding.weight",
        patches: "embeddings.patch_embedding",
        biased_patches: false,
        // So it is called.
        first_norm: "pre_layrnorm",
        last_norm: "post_layernorm",
        layer: Layer {
            path: "encoder.layers",
            attention_norm: "layer_norm1",
            query: "self_attn.q_proj",
            key: "self_attn.k_proj",
            value: "self_attn.v_proj",
            context: "self_attn.out_proj",
            attention_scale: "",
            norm: "layer_norm2",
            up: "mlp.fc1",
            down: "mlp.fc2",
            scale: "",
        },
        resizing: Cubic::Plain,
        // The mean of its patches before the last normalization.
        head: Head::Unread,
        usual: Usual { patch: 32, epsilon: 1e-5, activation: "quick_gelu" },
    },
];

/// Numbers in a table of positions at the most: four times those of the largest published networks.
const MOST_NUMBERS: usize = 1 << 23;

/// Sizes by a configuration.
struct Sizes {
    width: usize,
    heads: usize,
    inner: usize,
    patch: usize,
    epsilon: f32,
    quick: bool,
    /// Whether queries, keys and values have a bias.
    biased: bool,
}

impl Sizes {
    fn read(config: &Json, usual: &Usual) -> Result<Self, String> {
        let width = count(config, "hidden_size", 768)?;
        let heads = count(config, "num_attention_heads", 12)?;
        if !width.is_multiple_of(heads) {
            return Err(format!("{heads} heads do not divide {width} numbers"));
        }
        if config["use_swiglu_ffn"] == true {
            return Err("gated layers (use_swiglu_ffn) are not read; export it to ONNX".to_string());
        }
        let activation = config["hidden_act"].as_str().unwrap_or(usual.activation);
        if !["gelu", "quick_gelu"].contains(&activation) {
            return Err(format!("hidden_act is `{activation}`; known: gelu, quick_gelu"));
        }
        let epsilon = config["layer_norm_eps"].as_f64().unwrap_or(usual.epsilon);
        Ok(Self {
            width,
            heads,
            inner: match config["intermediate_size"].is_null() {
                true => count(config, "mlp_ratio", 4)? * width,
                false => count(config, "intermediate_size", 0)?,
            },
            patch: count(config, "patch_size", usual.patch)?,
            epsilon: epsilon as f32,
            quick: activation == "quick_gelu",
            biased: config["qkv_bias"].as_bool().unwrap_or(true),
        })
    }
}

/// Writes the network.
pub fn write(
    to: &mut Writer<'_>,
    family: &Family,
    whole: &Json,
    weights: &mut Weights<'_>,
    sides: [usize; 2],
) -> Result<Network, String> {
    let config = &part(whole);
    weights.find(family.prefixes, family.class)?;
    let sizes = Sizes::read(config, &family.usual)?;
    let Sizes { width, patch, .. } = sizes;
    let grid = sides.map(|side| side / patch);
    if grid.contains(&0) {
        return Err(format!("images of {sides:?} have no patch of {patch} pixels"));
    }
    let kernel = weights
        .get(&weights.body(&format!("{}.weight", family.patches)), &[width, 3, patch, patch])?;
    let bias = weights.body(&format!("{}.bias", family.patches));
    let bias = match family.biased_patches {
        true => Some(weights.get(&bias, &[width])?),
        false => None,
    };
    let dims = [width, 3, patch, patch];
    let patches = convolution(to, super::INPUT, (&kernel, dims), bias.as_deref(), [patch, 0]);
    let patches = to.reshape(&patches, &[0, width as i64, -1]);
    let patches = to.put("Transpose", &[&patches], &[("perm", Setting::Integers(&[0, 2, 1]))]);
    // Rows of zeros stand for the tokens before the patches: what is added to all is them.
    let (table, before) = table(family, weights, width, grid)?;
    let pads = to.integers(&[6], &[0, before as i64, 0, 0, 0, 0]);
    let tokens = to.put("Pad", &[&patches, &pads], &[]);
    let tokens_count = table.len() / width;
    let table = to.numbers(&[tokens_count, width], &table);
    let mut hidden = to.put("Add", &[&tokens, &table], &[]);
    let network = Body { family, weights, sizes, tokens: tokens_count };
    if !family.first_norm.is_empty() {
        hidden = network.norm(to, &weights.body(family.first_norm), &hidden)?;
    }
    for index in 0..count(config, "num_hidden_layers", 12)? {
        hidden = network.layer(to, index, &hidden)?;
    }
    let normed = network.norm(to, &weights.body(family.last_norm), &hidden)?;
    let first = to.integers(&[], &[0]);
    let features = to.put("Gather", &[&normed, &first], &[("axis", Setting::Integer(1))]);
    let taken = match family.head {
        Head::ClassAndMean => {
            let (from, axis) = (to.integers(&[1], &[before as i64]), to.integers(&[1], &[1]));
            let end = to.integers(&[1], &[tokens_count as i64]);
            let patches = to.put("Slice", &[&normed, &from, &end, &axis], &[]);
            let mean =
                to.put("ReduceMean", &[&patches, &axis], &[("keepdims", Setting::Integer(0))]);
            to.put("Concat", &[&features, &mean], &[("axis", Setting::Integer(1))])
        }
        Head::Class | Head::Unread => features.clone(),
    };
    let kept = family.head != Head::Unread && weights.has("classifier.weight");
    let classifier = kept.then(|| (taken, "classifier".to_string()));
    Ok(Network { features, classifier })
}

/// What is added to the tokens, the ones before the patches included, and how many those are.
fn table(
    family: &Family,
    weights: &Weights<'_>,
    width: usize,
    [rows, columns]: [usize; 2],
) -> Result<(Vec<f32>, usize), String> {
    let name = weights.body(family.positions);
    let shape = weights.shape(&name).unwrap_or_default();
    let given = shape.iter().rev().nth(1).copied().unwrap_or_default();
    let positions = weights
        .get(&name, &[vec![1; shape.len().saturating_sub(2)], vec![given, width]].concat())?;
    let row = |name: &str| {
        let name = weights.body(name);
        let shape = weights.shape(&name).unwrap_or_default();
        // With or without axes of length one before it.
        let ones = vec![1; shape.len().saturating_sub(1)];
        weights.get(&name, &[ones, vec![width]].concat())
    };
    let mut special = row(family.class)?;
    if !family.second.is_empty() {
        special.extend(row(family.second)?);
    }
    let placed = special.len() / width;
    let side = (given.saturating_sub(placed) as f64).sqrt() as usize;
    if side == 0 || side * side + placed != given {
        return Err(format!("`{name}` has {given} positions, which are no square of patches"));
    }
    special.iter_mut().zip(&positions).for_each(|(value, position)| *value += position);
    let registers = weights.body(family.registers);
    if !family.registers.is_empty() && weights.has(&registers) {
        let count = weights.shape(&registers).and_then(|shape| shape.get(1).copied()).unwrap_or(0);
        special.extend(weights.get(&registers, &[1, count, width])?);
    }
    let before = special.len() / width;
    let patches = &positions[placed * width..];
    match [rows, columns] == [side, side] {
        true => special.extend(patches),
        false if rows.saturating_mul(columns).saturating_mul(width) > MOST_NUMBERS => {
            return Err(format!("{rows} x {columns} patches are more than can be computed"));
        }
        false => special.extend(resized(patches, side, width, [rows, columns], family.resizing)),
    }
    Ok((special, before))
}

/// The layers.
struct Body<'a, 'b> {
    family: &'a Family,
    weights: &'a Weights<'b>,
    sizes: Sizes,
    tokens: usize,
}

impl Body<'_, '_> {
    fn norm(&self, to: &mut Writer<'_>, name: &str, x: &str) -> Result<String, String> {
        let width = self.sizes.width;
        let scale = self.weights.get(&format!("{name}.weight"), &[width])?;
        let shift = self.weights.get(&format!("{name}.bias"), &[width])?;
        let (scale, shift) = (to.numbers(&[width], &scale), to.numbers(&[width], &shift));
        let options =
            [("axis", Setting::Integer(-1)), ("epsilon", Setting::Number(self.sizes.epsilon))];
        Ok(to.put("LayerNormalization", &[x, &scale, &shift], &options))
    }

    fn linear(
        &self,
        to: &mut Writer<'_>,
        name: String,
        x: &str,
        sizes: [usize; 2],
        factors: Option<&[f32]>,
        biased: bool,
    ) -> Result<String, String> {
        Linear { name, sizes, factors, biased }.write(to, self.weights, x)
    }

    fn layer(&self, to: &mut Writer<'_>, index: usize, x: &str) -> Result<String, String> {
        let Sizes { width, inner, .. } = self.sizes;
        let names = &self.family.layer;
        let name = |part: &str| self.weights.body(&format!("{}.{index}.{part}", names.path));
        let factors = |part: &str| match part.is_empty() {
            true => Ok(None),
            false => self.weights.get(&name(part), &[width]).map(Some),
        };
        let normed = self.norm(to, &name(names.attention_norm), x)?;
        let context = self.attention(to, &name, &normed)?;
        let factor = factors(names.attention_scale)?;
        let square = [width, width];
        let added =
            self.linear(to, name(names.context), &context, square, factor.as_deref(), true)?;
        let x = to.put("Add", &[x, &added], &[]);
        let normed = self.norm(to, &name(names.norm), &x)?;
        let up = self.linear(to, name(names.up), &normed, [width, inner], None, true)?;
        let active = self.activation(to, &up);
        let factor = factors(names.scale)?;
        let sizes = [inner, width];
        let added = self.linear(to, name(names.down), &active, sizes, factor.as_deref(), true)?;
        Ok(to.put("Add", &[&x, &added], &[]))
    }

    fn attention(
        &self,
        to: &mut Writer<'_>,
        name: &dyn Fn(&str) -> String,
        x: &str,
    ) -> Result<String, String> {
        let Sizes { width, heads, .. } = self.sizes;
        let names = &self.family.layer;
        let shape = [0, self.tokens as i64, heads as i64, (width / heads) as i64];
        let scale = vec![1.0 / ((width / heads) as f32).sqrt(); width];
        let mut heads_of = |layer: &str, factors: Option<&[f32]>, turn: &[i64]| {
            let square = [width, width];
            let all = self.linear(to, name(layer), x, square, factors, self.sizes.biased)?;
            let all = to.reshape(&all, &shape);
            Ok::<_, String>(to.put("Transpose", &[&all], &[("perm", Setting::Integers(turn))]))
        };
        let query = heads_of(names.query, Some(&scale), &[0, 2, 1, 3])?;
        let key = heads_of(names.key, None, &[0, 2, 3, 1])?;
        let value = heads_of(names.value, None, &[0, 2, 1, 3])?;
        let scores = to.put("MatMul", &[&query, &key], &[]);
        let shares = to.put("Softmax", &[&scores], &[("axis", Setting::Integer(-1))]);
        let context = to.put("MatMul", &[&shares, &value], &[]);
        let turn = [("perm", Setting::Integers(&[0, 2, 1, 3]))];
        let context = to.put("Transpose", &[&context], &turn);
        Ok(to.reshape(&context, &[0, self.tokens as i64, width as i64]))
    }

    /// `x Φ(x)`, or `x σ(1.702 x)`.
    fn activation(&self, to: &mut Writer<'_>, x: &str) -> String {
        if self.sizes.quick {
            let steepness = to.numbers(&[], &[1.702]);
            let scaled = to.put("Mul", &[x, &steepness], &[]);
            let gate = to.put("Sigmoid", &[&scaled], &[]);
            return to.put("Mul", &[x, &gate], &[]);
        }
        let (root, one, half) = (
            to.numbers(&[], &[std::f32::consts::SQRT_2]),
            to.numbers(&[], &[1.0]),
            to.numbers(&[], &[0.5]),
        );
        let scaled = to.put("Div", &[x, &root], &[]);
        let error = to.put("Erf", &[&scaled], &[]);
        let share = to.put("Add", &[&error, &one], &[]);
        let twice = to.put("Mul", &[x, &share], &[]);
        to.put("Mul", &[&twice, &half], &[])
    }
}
