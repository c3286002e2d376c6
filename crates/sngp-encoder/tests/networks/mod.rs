//! Small ONNX networks whose answers can be told by hand.
#![allow(dead_code, reason = "every test file uses some of them")]

use std::fs;
use std::path::{Path, PathBuf};

use prost::Message;
use sngp_encoder::proto::{
    Attribute, Dimension, Graph, Kind, Model, Node, OperatorSet, Shape, Tensor, TensorKind,
    ValueInfo,
};

pub const FLOAT: i32 = 1;
pub const INTEGER: i32 = 7;
/// Tokens of the small tokenizer, and numbers of each token's vector.
pub const WORDS: usize = 40;
pub const WIDTH: usize = 8;
/// Sides of the small network's images.
pub const SIDE: usize = 6;

pub fn value(name: &str, element: i32, dims: &[i64]) -> ValueInfo {
    let dim = |&size: &i64| Dimension {
        dim_value: (size > 0).then_some(size),
        dim_param: (size <= 0).then(|| format!("n{}", -size)),
    };
    let shape = Shape { dim: dims.iter().map(dim).collect() };
    let tensor_type = Some(TensorKind { elem_type: element, shape: Some(shape) });
    ValueInfo { name: name.into(), kind: Some(Kind { tensor_type }), doc_string: String::new() }
}

pub fn node(operator: &str, inputs: &[&str], output: &str) -> Node {
    Node {
        input: inputs.iter().map(|name| name.to_string()).collect(),
        output: vec![output.to_string()],
        name: output.to_string(),
        op_type: operator.to_string(),
        ..Default::default()
    }
}

pub fn with(mut node: Node, option: &str, value: i64) -> Node {
    let name = option.to_string();
    node.attribute.push(Attribute { name, i: Some(value), kind: 2, ..Default::default() });
    node
}

pub fn weights(name: &str, dims: &[i64], values: &[f32]) -> Tensor {
    Tensor {
        dims: dims.to_vec(),
        data_type: FLOAT,
        name: name.into(),
        raw_data: Some(values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        ..Default::default()
    }
}

pub fn integers(name: &str, values: &[i64]) -> Tensor {
    Tensor {
        dims: vec![values.len() as i64],
        data_type: INTEGER,
        name: name.into(),
        raw_data: Some(values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        ..Default::default()
    }
}

pub fn model(graph: Graph) -> Model {
    let opset_import = vec![OperatorSet { domain: String::new(), version: 13 }];
    Model { ir_version: 8, graph: Some(graph), opset_import, ..Default::default() }
}

/// A number between -1 and 1 for each place.
pub fn number(place: usize) -> f32 {
    ((place * 37 + 11) % 101) as f32 / 50.5 - 1.0
}

pub fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(number).collect()
}

/// A table of vectors, one a token, as a last hidden state.
pub fn texts() -> Model {
    model(Graph {
        node: vec![node("Gather", &["table", "input_ids"], "last_hidden_state")],
        initializer: vec![weights("table", &[WORDS as i64, WIDTH as i64], &numbers(WORDS * WIDTH))],
        input: vec![
            value("input_ids", INTEGER, &[0, -1]),
            value("attention_mask", INTEGER, &[0, -1]),
        ],
        output: vec![value("last_hidden_state", FLOAT, &[0, -1, WIDTH as i64])],
        ..Default::default()
    })
}

/// A classifier of images: channels mixed, averaged over the image, and three logits.
pub fn images() -> Model {
    let flat = with(node("Flatten", &["pooled"], "flat"), "axis", 1);
    model(Graph {
        node: vec![
            node("Conv", &["pixels", "mix"], "mixed"),
            node("Relu", &["mixed"], "active"),
            node("GlobalAveragePool", &["active"], "pooled"),
            flat,
            node("Gemm", &["flat", "last"], "scores"),
            with(node("Softmax", &["scores"], "logits"), "axis", 1),
        ],
        initializer: vec![
            weights("mix", &[WIDTH as i64, 3, 1, 1], &numbers(WIDTH * 3)),
            weights("last", &[WIDTH as i64, 3], &numbers(WIDTH * 3)),
        ],
        input: vec![value("pixels", FLOAT, &[0, 3, SIDE as i64, SIDE as i64])],
        output: vec![value("logits", FLOAT, &[0, 3])],
        ..Default::default()
    })
}

/// The same, its images padded with a row and a column of zeros. PyTorch's exporter computes by how much:
/// a list of pairs from the last axis on becomes a table, is turned round, and is a list again.
pub fn padded_images() -> Model {
    let mut model = images();
    let graph = graph(&mut model);
    let mut transpose = node("Transpose", &["backwards"], "turned");
    let (name, ints) = ("perm".to_string(), vec![1, 0]);
    transpose.attribute.push(Attribute { name, ints, kind: 7, ..Default::default() });
    let padding = [
        with(node("Concat", &["pairs", "nothing"], "list"), "axis", 0),
        node("Reshape", &["list", "two columns"], "table"),
        node("Slice", &["table", "minus one", "before first", "rows", "minus one"], "backwards"),
        transpose,
        node("Reshape", &["turned", "minus one"], "pads long"),
        with(node("Cast", &["pads long"], "pads"), "to", INTEGER.into()),
        node("Pad", &["pixels", "pads"], "padded"),
    ];
    graph.node[0].input[0] = "padded".into();
    graph.node.splice(0..0, padding);
    graph.initializer.extend([
        integers("pairs", &[0, 1, 0, 1]),
        integers("nothing", &[0; 4]),
        integers("two columns", &[-1, 2]),
        integers("minus one", &[-1]),
        integers("before first", &[i64::MIN + 1]),
        integers("rows", &[0]),
    ]);
    model
}

pub fn graph(model: &mut Model) -> &mut Graph {
    model.graph.as_mut().unwrap()
}

/// Words `a0`, `a1`, .. behind BERT's own tokens.
pub fn tokenizer() -> String {
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];
    let words = (special.len()..WORDS).map(|id| (format!("a{}", id - special.len()), id));
    let vocabulary: serde_json::Map<String, serde_json::Value> = special
        .iter()
        .map(|token| token.to_string())
        .zip(0..)
        .chain(words)
        .map(|(token, id)| (token, id.into()))
        .collect();
    let added = special.iter().enumerate().map(|(id, content)| {
        serde_json::json!({"id": id, "content": content, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true})
    });
    let end = |id: &str| serde_json::json!({"SpecialToken": {"id": id, "type_id": 0}});
    let ends = |token: &str, id: usize| {
        (token.to_string(), serde_json::json!({"id": token, "ids": [id], "tokens": [token]}))
    };
    let named: serde_json::Map<_, _> = [ends("[CLS]", 2), ends("[SEP]", 3)].into_iter().collect();
    let sequence = |id: &str| serde_json::json!({"Sequence": {"id": id, "type_id": 0}});
    serde_json::json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": added.collect::<Vec<_>>(),
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing",
            "single": [end("[CLS]"), sequence("A"), end("[SEP]")],
            "pair": [end("[CLS]"), sequence("A"), end("[SEP]"), sequence("B"), end("[SEP]")],
            "special_tokens": named},
        "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary},
    })
    .to_string()
}

/// A folder with a network, and a tokenizer beside it.
pub fn folder(model: &Model) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    fs::write(&path, model.encode_to_vec()).unwrap();
    fs::write(folder.path().join("tokenizer.json"), tokenizer()).unwrap();
    (folder, path)
}

/// The mean of the vectors of tokens, special ones included.
pub fn mean_of(ids: &[usize]) -> Vec<f32> {
    let sum = |j: usize| ids.iter().map(|id| number(id * WIDTH + j)).sum::<f32>();
    (0..WIDTH).map(|j| sum(j) / ids.len() as f32).collect()
}

pub fn close(found: &[f32], wanted: &[f32]) {
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - wanted).abs() < 1e-5, "{found} for {wanted}");
    }
}

/// A file of the prepared data, where it is there.
pub fn prepared(part: &str) -> Option<PathBuf> {
    let found = std::env::var_os("SNGP_DATA").map(|data| Path::new(&data).join(part));
    let found = found.filter(|path| path.exists());
    if found.is_none() {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: SNGP_DATA names no folder with {part}");
    }
    found
}
