//! Networks of images by their published weights, beside what transformers makes of the same ones.

mod networks;

use std::fs;
use std::path::{Path, PathBuf};

use networks::close;
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};
use serde::Deserialize;
use serde_json::{Value, json};
use sngp_encoder::{Encoder, Source, Takes, Wanted, image_kinds};

const NETWORKS: [&str; 8] =
    ["vit", "vit-body", "deit", "dinov2", "registers", "clip", "resnet", "resnet-basic"];

#[derive(Deserialize)]
struct Expected {
    images: Vec<Vec<u8>>,
    vectors: Vec<Vec<f32>>,
    logits: Option<Vec<Vec<f32>>>,
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/images").join(name)
}

fn expected(name: &str) -> Expected {
    serde_json::from_slice(&fs::read(golden(name).join("expected.json")).unwrap()).unwrap()
}

fn open(folder: &Path) -> sngp::Result<Encoder> {
    Encoder::open(&Source::parse(folder).unwrap(), Wanted::Images, &mut Vec::new())
}

/// A copy of a network that may be changed.
fn copy(name: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors", "preprocessor_config.json"] {
        fs::copy(golden(name).join(file), copy.path().join(file)).unwrap();
    }
    copy
}

fn change(folder: &Path, name: &str, value: Value) {
    let path = folder.join("config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    config[name] = value;
    fs::write(path, config.to_string()).unwrap();
}

#[test]
fn images_become_the_published_vectors() {
    for name in NETWORKS {
        let Expected { images, vectors, .. } = expected(name);
        let encoder = open(&golden(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = encoder.pixels(&images).unwrap();
        for (found, wanted) in found.outer_iter().zip(&vectors) {
            let size = wanted.iter().fold(1.0f32, |most, value| most.max(value.abs()));
            for (found, wanted) in found.iter().zip(wanted) {
                assert!((found - wanted).abs() < 1e-5 * size, "{name}: {found} for {wanted}");
            }
        }
        let loaded = Encoder::load(encoder.bytes(), None, encoder.takes()).unwrap();
        assert_eq!(loaded.pixels(&images[..1]).unwrap().row(0), found.row(0), "{name}");
    }
}

#[test]
fn classifiers_keep_their_logits() {
    for name in NETWORKS {
        let Expected { images, logits, .. } = expected(name);
        let source = Source::parse(&golden(name)).unwrap();
        let kept = Encoder::open_classifier(&source, Wanted::Images, &mut Vec::new());
        let Some(logits) = logits else {
            assert!(kept.unwrap_err().to_string().contains("no classifier"), "{name}");
            continue;
        };
        let kept = kept.unwrap();
        assert_eq!(source.class_names(3).unwrap(), ["oak", "elm", "ash"]);
        for (found, wanted) in kept.pixels(&images).unwrap().outer_iter().zip(&logits) {
            let size = wanted.iter().fold(1.0f32, |most, value| most.max(value.abs()));
            let scaled = |values: &[f32]| values.iter().map(|v| v / size).collect::<Vec<_>>();
            close(&scaled(&found.to_vec()[..3]), &scaled(wanted));
        }
    }
    let copy = copy("vit");
    change(copy.path(), "problem_type", json!("multi_label_classification"));
    let source = Source::parse(copy.path()).unwrap();
    let error = Encoder::open_classifier(&source, Wanted::Images, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("of which one is right"), "{error}");
}

#[test]
fn the_folder_says_how_images_are_prepared() {
    let copy = copy("resnet");
    let config = r#"{"crop_pct": 0.875, "size": 28, "resample": 3}"#;
    fs::write(copy.path().join("preprocessor_config.json"), config).unwrap();
    let encoder = open(copy.path()).unwrap();
    let Takes::Images(pixels) = encoder.takes() else { panic!("it takes images") };
    assert_eq!((pixels.height, pixels.width), (28, 28));
    assert_eq!(pixels.resize, sngp_encoder::Resize::ShorterSide { side: 32 });
    // Without it, the configuration of the network says the size.
    fs::remove_file(copy.path().join("preprocessor_config.json")).unwrap();
    let encoder = open(copy.path()).unwrap();
    let Takes::Images(pixels) = encoder.takes() else { panic!("it takes images") };
    assert_eq!((pixels.height, pixels.width), (224, 224));
}

/// The weights of a network, some of them changed or left out.
fn rewrite(folder: &Path, change: impl Fn(&str, &mut Vec<usize>, &mut Vec<u8>) -> bool) {
    let path = folder.join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let mut kept: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    for (name, view) in SafeTensors::deserialize(&bytes).unwrap().tensors() {
        let (mut shape, mut data) = (view.shape().to_vec(), view.data().to_vec());
        if change(&name, &mut shape, &mut data) {
            kept.push((name, shape, data));
        }
    }
    let views = kept.iter().map(|(name, shape, data)| {
        (name.as_str(), TensorView::new(Dtype::F32, shape.clone(), data).unwrap())
    });
    fs::write(&path, serialize(views, None).unwrap()).unwrap();
}

#[test]
fn what_is_missing_or_empty_is_not_made_up() {
    let cut = copy("vit");
    rewrite(cut.path(), |name, _, _| !name.ends_with("query.bias"));
    let error = open(cut.path()).unwrap_err().to_string();
    assert!(error.contains("query.bias"), "{error}");
    let empty = copy("vit");
    rewrite(empty.path(), |name, shape, data| {
        if name == "classifier.weight" {
            (shape[1], *data) = (0, Vec::new());
        }
        true
    });
    let error = open(empty.path()).unwrap_err().to_string();
    assert!(error.contains("classifier.weight"), "{error}");
    // Positions for more patches than fit memory.
    let huge = copy("vit-body");
    fs::remove_file(huge.path().join("preprocessor_config.json")).unwrap();
    for side in [1u64 << 20, 1 << 40] {
        change(huge.path(), "image_size", json!(side));
        let error = open(huge.path()).unwrap_err().to_string();
        assert!(error.contains("image_size"), "{error}");
    }
    change(huge.path(), "image_size", json!(4096));
    assert!(open(huge.path()).is_err());
}

#[test]
fn a_head_that_is_not_read_is_not_kept() {
    // CLIP's classifiers take something else than what describes the image.
    let clip = copy("clip");
    let path = clip.path().join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let whole = SafeTensors::deserialize(&bytes).unwrap();
    let (weight, bias) = (vec![0; 3 * 16 * 4], vec![0; 3 * 4]);
    let mut tensors = whole.tensors();
    tensors.push((
        "classifier.weight".into(),
        TensorView::new(Dtype::F32, vec![3, 16], &weight).unwrap(),
    ));
    tensors.push(("classifier.bias".into(), TensorView::new(Dtype::F32, vec![3], &bias).unwrap()));
    let written = serialize(tensors, None).unwrap();
    fs::write(&path, written).unwrap();
    let source = Source::parse(clip.path()).unwrap();
    let error = Encoder::open_classifier(&source, Wanted::Images, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("no classifier"), "{error}");
}

#[test]
fn half_precision_is_read() {
    for (dtype, most) in [(Dtype::F16, 0.02), (Dtype::BF16, 0.2)] {
        let copy = copy("vit");
        let path = copy.path().join("model.safetensors");
        let bytes = fs::read(&path).unwrap();
        let whole = SafeTensors::deserialize(&bytes).unwrap();
        let halves = |data: &[u8]| -> Vec<u8> {
            let values = data.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b));
            match dtype {
                Dtype::F16 => values.flat_map(|v| half::f16::from_f32(v).to_le_bytes()).collect(),
                _ => values.flat_map(|v| half::bf16::from_f32(v).to_le_bytes()).collect(),
            }
        };
        let cut: Vec<(String, Vec<usize>, Vec<u8>)> = whole
            .tensors()
            .into_iter()
            .map(|(name, view)| (name, view.shape().to_vec(), halves(view.data())))
            .collect();
        let views = cut.iter().map(|(name, shape, data)| {
            (name.as_str(), TensorView::new(dtype, shape.clone(), data).unwrap())
        });
        fs::write(&path, serialize(views, None).unwrap()).unwrap();
        let Expected { images, vectors, .. } = expected("vit");
        let found = open(copy.path()).unwrap().pixels(&images).unwrap();
        for (found, wanted) in found.iter().zip(vectors.iter().flatten()) {
            assert!((found - wanted).abs() < most, "{dtype:?}: {found} for {wanted}");
        }
    }
}

#[test]
fn what_contradicts_itself_is_refused_with_a_sentence() {
    let cases = [
        ("hidden_size", json!(24), "config.json says"),
        ("num_attention_heads", json!(3), "do not divide"),
        ("num_attention_heads", json!(0), "no count"),
        ("num_hidden_layers", json!(1000), "no tensor"),
        ("num_hidden_layers", json!("two"), "no count"),
        ("intermediate_size", json!(u64::MAX), "no count"),
        ("patch_size", json!(1 << 19), "no patch"),
        ("hidden_act", json!("gelu_fast"), "hidden_act"),
    ];
    for (name, value, wanted) in cases {
        let copy = copy("vit");
        change(copy.path(), name, value);
        let error = open(copy.path()).unwrap_err().to_string();
        assert!(error.contains(wanted), "{name}: {error}");
    }
    for (name, value, wanted) in [
        ("layer_type", json!("dense"), "layer_type"),
        ("depths", json!("many"), "depths"),
        ("depths", json!([3, 1]), "no tensor"),
    ] {
        let copy = copy("resnet");
        change(copy.path(), name, value);
        let error = open(copy.path()).unwrap_err().to_string();
        assert!(error.contains(wanted), "{name}: {error}");
    }
    let copy = copy("dinov2");
    let path = copy.path().join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    for length in [0, 7, 100, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&path, &bytes[..length]).unwrap();
        let error = open(copy.path()).unwrap_err().to_string();
        assert!(error.contains("safetensors"), "{length}: {error}");
    }
}

#[test]
fn kinds_are_known_by_their_configuration() {
    assert!(image_kinds().any(|kind| kind == "dinov2"));
    let copy = copy("clip");
    assert!(Source::parse(copy.path()).is_some());
    change(copy.path(), "model_type", json!("swin"));
    assert_eq!(Source::parse(copy.path()), None, "weights of something else");
}
