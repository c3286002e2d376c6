//! Files that are wrong, damaged, hostile or huge: one sentence each, and nothing else.

mod networks;

use std::fs;

use networks::*;
use prost::Message;
use sngp_encoder::proto::{Attribute, Model, Opaque, Tensor};
use sngp_encoder::{Encoder, Source, Wanted};

const TEXTS: Wanted = Wanted::Texts { max_tokens: 16, prompt: None };

/// The sentence that a file is refused with.
fn refusal(bytes: &[u8], wanted: Wanted) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    fs::write(&path, bytes).unwrap();
    fs::write(folder.path().join("tokenizer.json"), tokenizer()).unwrap();
    let source = Source::parse(&path).unwrap();
    Encoder::open(&source, wanted, &mut Vec::new()).err().map(|error| error.to_string())
}

fn refused(change: impl FnOnce(&mut Model), sentence: &str) {
    let mut model = texts();
    change(&mut model);
    let error = refusal(&model.encode_to_vec(), TEXTS).expect("such a file is refused");
    assert!(error.contains(sentence), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn files_that_are_no_graph_are_refused() {
    for bytes in [&b""[..], b"no onnx at all", &[0xff; 64], &[0x3a, 0x00]] {
        assert!(refusal(bytes, TEXTS).is_some());
    }
    let missing = Source::parse("nowhere/model.onnx".as_ref()).unwrap();
    assert!(Encoder::open(&missing, TEXTS, &mut Vec::new()).is_err());
}

#[test]
fn a_file_of_another_kind_is_refused() {
    let error = refusal(&images().encode_to_vec(), TEXTS).unwrap();
    assert!(error.contains("`pixels`"), "{error}");
    let error = refusal(&texts().encode_to_vec(), Wanted::Images).unwrap();
    assert!(error.contains("it takes no images"), "{error}");
}

/// Every prefix of a file, and every byte of it changed: an error, or an encoder that works.
#[test]
fn damaged_files_never_crash() {
    for (model, wanted) in [(texts(), TEXTS), (images(), Wanted::Images)] {
        let whole = model.encode_to_vec();
        assert_eq!(refusal(&whole, wanted.clone()), None);
        for end in (0..whole.len()).step_by(7) {
            refusal(&whole[..end], wanted.clone());
        }
        for place in (0..whole.len()).step_by(3) {
            let mut damaged = whole.clone();
            damaged[place] ^= 1 << (place % 8);
            refusal(&damaged, wanted.clone());
        }
    }
}

#[test]
fn a_small_file_cannot_ask_for_all_memory() {
    // A constant of a shape that nobody has room for.
    refused(
        |model| {
            let graph = graph(model);
            graph.initializer.push(integers("shape", &[1_000_000, 1_000_000]));
            graph.node.insert(0, node("ConstantOfShape", &["shape"], "huge"));
            graph.node.insert(1, node("ReduceMax", &["huge"], "one"));
            graph.node[2].output[0] = "looked_up".to_string();
            graph.node.push(node("Add", &["looked_up", "one"], "last_hidden_state"));
        },
        "is of shape [1000000, 1000000]",
    );
    // The same by broadcasting, without any operator that makes something of nothing.
    refused(
        |model| {
            let graph = graph(model);
            graph.initializer.push(weights("column", &[200_000, 1], &vec![0.0; 200_000]));
            graph.initializer.push(weights("row", &[1, 200_000], &vec![0.0; 200_000]));
            graph.node.insert(0, node("Mul", &["column", "row"], "huge"));
            graph.node.insert(1, node("ReduceMax", &["huge"], "one"));
            graph.node[2].output[0] = "looked_up".to_string();
            graph.node.push(node("Add", &["looked_up", "one"], "last_hidden_state"));
        },
        "is of shape [200000, 200000]",
    );
    // A size that depends on what is in the row.
    refused(
        |model| {
            let graph = graph(model);
            graph.node[0].output[0] = "looked_up".to_string();
            graph.node.push(node("Expand", &["looked_up", "input_ids"], "last_hidden_state"));
        },
        "its shapes contradict each other",
    );
}

#[test]
fn what_is_not_read_is_named() {
    refused(|model| model.functions.push(Opaque {}), "functions of its own");
    refused(|model| model.opset_import[0].version = 3, "of version 3");
    refused(|model| graph(model).node[0].op_type = "Loop".into(), "Loop");
    refused(|model| graph(model).node[0].domain = "my.own".into(), "not supported");
    refused(|model| graph(model).initializer[0].data_location = 1, "in another file");
    refused(|model| graph(model).initializer[0].dims[0] = 1 << 40, "not as many numbers");
    refused(|model| graph(model).initializer[0].dims[0] = -1, "not as many numbers");
    refused(
        |model| graph(model).input.push(value("position_ids", INTEGER, &[0, -1])),
        "position_ids",
    );
    refused(
        |model| {
            let graph = graph(model);
            let twice = graph.node[0].clone();
            graph.node.push(twice);
        },
        "two of its tensors",
    );
    refused(
        |model| {
            let inside =
                Attribute { name: "body".into(), g: Some(Opaque {}), ..Default::default() };
            graph(model).node[0].attribute.push(inside);
        },
        "holds a graph",
    );
    // A cycle: neither tensor can be the first.
    refused(
        |model| {
            let graph = graph(model);
            graph.node[0].output[0] = "looked_up".to_string();
            graph.node.push(node("Add", &["looked_up", "last_hidden_state"], "sum"));
            graph.node.push(node("Relu", &["sum"], "last_hidden_state"));
        },
        "nobody can tell how large",
    );
    refused(
        |model| {
            graph(model).input[0] = value("input_ids", INTEGER, &[4, -1]);
        },
        "a dynamic batch",
    );
    refused(
        |model| {
            let none = vec![f32::NAN; WORDS * WIDTH];
            graph(model).initializer[0] = weights("table", &[WORDS as i64, WIDTH as i64], &none);
        },
        "does not become a vector of numbers",
    );
    let texts: Tensor = Tensor { data_type: 8, name: "texts".into(), ..Default::default() };
    refused(|model| graph(model).initializer.push(texts), "elements of type 8");
}
