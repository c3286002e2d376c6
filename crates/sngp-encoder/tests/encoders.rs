//! What encoders give, and which tensor they take it from.

mod networks;

use std::fs;

use networks::*;
use sngp_encoder::{Encoder, Filter, Pixels, Resize, Source, Takes, Wanted};
use sngp_records::image::Picture;

const TEXTS: Wanted = Wanted::Texts { max_tokens: 16, prompt: None };

fn open(path: &std::path::Path, wanted: Wanted) -> sngp::Result<Encoder> {
    Encoder::open(&Source::parse(path).unwrap(), wanted, &mut Vec::new())
}

#[test]
fn texts_are_averaged_over_their_tokens_and_not_over_padding() {
    let (_folder, path) = folder(&texts());
    let encoder = open(&path, TEXTS).unwrap();
    let vectors = encoder.texts(&["a0 a1", "a7", "a1 a2 a3 a4 a5 a6"]).unwrap();
    close(&vectors.row(0).to_vec(), &mean_of(&[2, 4, 5, 3]));
    close(&vectors.row(1).to_vec(), &mean_of(&[2, 11, 3]));
    close(&vectors.row(2).to_vec(), &mean_of(&[2, 5, 6, 7, 8, 9, 10, 3]));
    let alone = encoder.texts(&["a7"]).unwrap();
    close(&alone.row(0).to_vec(), &vectors.row(1).to_vec());
}

#[test]
fn pooling_and_length_are_those_of_the_folder() {
    let (folder, path) = folder(&texts());
    fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    let config = r#"{"word_embedding_dimension": 8, "pooling_mode_cls_token": true,
        "pooling_mode_mean_tokens": false}"#;
    fs::write(folder.path().join("1_Pooling/config.json"), config).unwrap();
    let first = open(&path, TEXTS).unwrap().texts(&["a5"]).unwrap();
    close(&first.row(0).to_vec(), &mean_of(&[2]));
    let modules = r#"[{"type": "sentence_transformers.models.Transformer"},
        {"type": "sentence_transformers.models.Normalize"}]"#;
    fs::write(folder.path().join("modules.json"), modules).unwrap();
    let unit = open(&path, TEXTS).unwrap().texts(&["a5"]).unwrap();
    let length = mean_of(&[2]).iter().map(|v| v * v).sum::<f32>().sqrt();
    let wanted: Vec<f32> = mean_of(&[2]).iter().map(|v| v / length).collect();
    close(&unit.row(0).to_vec(), &wanted);
    fs::write(folder.path().join("modules.json"), r#"[{"type": "x.models.Dense"}]"#).unwrap();
    let error = open(&path, TEXTS).unwrap_err().to_string();
    assert!(error.contains("the module Dense"), "{error}");
}

#[test]
fn long_texts_are_cut_and_a_tokenizer_has_to_fit() {
    let (folder, path) = folder(&texts());
    let encoder = open(&path, Wanted::Texts { max_tokens: 4, prompt: None }).unwrap();
    let vectors = encoder.texts(&["a0 a1 a2 a3"]).unwrap();
    close(&vectors.row(0).to_vec(), &mean_of(&[2, 4, 5, 3]));
    let mut small = texts();
    graph(&mut small).initializer[0] = weights("table", &[10, 8], &numbers(80));
    fs::write(&path, prost::Message::encode_to_vec(&small)).unwrap();
    let error = open(&path, TEXTS).unwrap_err().to_string();
    assert!(error.contains("belongs to another model"), "{error}");
    fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    let error = open(&path, TEXTS).unwrap_err().to_string();
    assert!(error.contains("no tokenizer.json"), "{error}");
}

/// A picture of one colour, and its features by hand.
fn coloured(pixels: &Pixels, colour: [u8; 3]) -> (Picture, Vec<f32>) {
    let bytes = (0..SIDE * SIDE).flat_map(|_| colour).collect();
    let picture = Picture::from_rgb(SIDE as u32, SIDE as u32, bytes).unwrap();
    let channel =
        |c: usize| (f32::from(colour[c]) * pixels.factor - pixels.mean[c]) / pixels.scale[c];
    let mixed = |k: usize| (0..3).map(|c| number(3 * k + c) * channel(c)).sum::<f32>().max(0.0);
    (picture, (0..WIDTH).map(mixed).collect())
}

#[test]
fn a_classifier_of_images_is_cut_before_its_last_layer() {
    let (folder, path) = folder(&images());
    let mut remarks = Vec::new();
    let source = Source::parse(&path).unwrap();
    let encoder = Encoder::open(&source, Wanted::Images, &mut remarks).unwrap();
    assert!(remarks.iter().any(|remark| remark.contains("`flat`")), "{remarks:?}");
    assert!(
        remarks.iter().any(|remark| remark.contains("preprocessor_config.json")),
        "{remarks:?}"
    );
    let Takes::Images(pixels) = encoder.takes() else { panic!("it takes images") };
    let (picture, wanted) = coloured(pixels, [200, 10, 90]);
    let bytes = encoder.resized(&picture).unwrap();
    let vectors = encoder.pixels(&[bytes.clone(), vec![0; bytes.len()], bytes]).unwrap();
    close(&vectors.row(0).to_vec(), &wanted);
    close(&vectors.row(2).to_vec(), &wanted);
    assert!(!encoder.bytes().windows(4).any(|part| part == b"last"), "the last layer is dropped");

    let config = r#"{"do_resize": true, "size": {"height": 6, "width": 6}, "resample": 3,
        "rescale_factor": 0.5, "image_mean": [1.0, 2.0, 3.0], "image_std": [2.0, 2.0, 4.0]}"#;
    fs::write(folder.path().join("preprocessor_config.json"), config).unwrap();
    let encoder = open(&path, Wanted::Images).unwrap();
    let Takes::Images(pixels) = encoder.takes() else { panic!("it takes images") };
    assert_eq!(
        (pixels.filter, pixels.resize, pixels.factor),
        (Filter::Bicubic, Resize::Exactly, 0.5)
    );
    let (picture, wanted) = coloured(pixels, [9, 200, 31]);
    let vectors = encoder.pixels(&[encoder.resized(&picture).unwrap()]).unwrap();
    close(&vectors.row(0).to_vec(), &wanted);
}

#[test]
fn a_padding_that_the_graph_computes_is_followed() {
    let (_folder, path) = folder(&padded_images());
    let encoder = open(&path, Wanted::Images).unwrap();
    let Takes::Images(pixels) = encoder.takes() else { panic!("it takes images") };
    let (picture, wanted) = coloured(pixels, [200, 10, 90]);
    let vectors = encoder.pixels(&[encoder.resized(&picture).unwrap()]).unwrap();
    // The mean is over seven rows and columns, of which six are of the picture.
    let wanted: Vec<f32> = wanted.iter().map(|value| value * 36.0 / 49.0).collect();
    close(&vectors.row(0).to_vec(), &wanted);
}

/// What the last layer of the small network makes of features.
fn scores(features: &[f32]) -> Vec<f32> {
    let score = |class| features.iter().enumerate().map(|(k, f)| f * number(3 * k + class)).sum();
    (0..3).map(score).collect()
}

#[test]
fn a_kept_classifier_gives_its_logits_and_the_direction_of_its_features() {
    let (folder, path) = folder(&images());
    let source = Source::parse(&path).unwrap();
    let mut remarks = Vec::new();
    let encoder = Encoder::open_classifier(&source, Wanted::Images, &mut remarks).unwrap();
    assert!(remarks.iter().any(|remark| remark.contains("`scores`")), "{remarks:?}");
    assert_eq!((encoder.classes(), encoder.width()), (Some(3), 3 + WIDTH));
    let Takes::Images(pixels) = encoder.takes() else { panic!("it takes images") };
    let (picture, features) = coloured(pixels, [200, 10, 90]);
    let bytes = vec![encoder.resized(&picture).unwrap()];
    let length = features.iter().map(|f| f * f).sum::<f32>().sqrt();
    let wanted = |factor: f32| {
        let logits = scores(&features).into_iter().map(|score| factor * score);
        logits.chain(features.iter().map(|f| f / length)).collect::<Vec<_>>()
    };
    close(&encoder.pixels(&bytes).unwrap().row(0).to_vec(), &wanted(1.0));
    let smaller = encoder.with_logit_factor(0.25).unwrap();
    let loaded = Encoder::load(smaller.bytes(), None, smaller.takes()).unwrap();
    close(&loaded.pixels(&bytes).unwrap().row(0).to_vec(), &wanted(0.25));

    let names = |classes| source.class_names(classes).map_err(|error| error.to_string());
    assert_eq!(names(3).unwrap(), ["0", "1", "2"]);
    let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
    write("labels.txt", "cat\ndog\n");
    assert_eq!(names(2).unwrap(), ["cat", "dog"]);
    assert!(names(3).unwrap_err().contains("names 2 classes, and the network has 3"));
    write("labels.txt", "cat\ncat\n");
    assert!(names(2).unwrap_err().contains("two classes"));
    write("config.json", r#"{"id2label": {"1": "b", "0": "a"}}"#);
    assert_eq!(names(2).unwrap(), ["a", "b"]);
    write("config.json", r#"{"id2label": {"0": "LABEL_0", "1": "LABEL_1"}}"#);
    assert_eq!(names(2).unwrap(), ["0", "1"]);
    write("config.json", r#"{"id2label": {"0": "a", "2": "b"}}"#);
    assert!(names(2).unwrap_err().contains("config.json"));
}

#[test]
fn what_is_no_classifier_is_not_kept() {
    let (_folder, path) = folder(&texts());
    let source = Source::parse(&path).unwrap();
    let error = Encoder::open_classifier(&source, TEXTS, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("no classifier"), "{error}");
    let mut several = images();
    graph(&mut several).node[5] = node("Sigmoid", &["scores"], "logits");
    fs::write(&path, prost::Message::encode_to_vec(&several)).unwrap();
    let error = Encoder::open_classifier(&source, Wanted::Images, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("of which one is right"), "{error}");
}

#[test]
fn a_tensor_can_be_named() {
    let (_folder, path) = folder(&images());
    let named = |tensor: &str| {
        let source = Source { path: path.clone(), tensor: Some(tensor.to_string()) };
        Encoder::open(&source, Wanted::Images, &mut Vec::new())
    };
    let (flat, mixed) = (named("flat").unwrap(), named("active").unwrap());
    let black = vec![vec![0; 3 * SIDE * SIDE]];
    close(
        &flat.pixels(&black).unwrap().row(0).to_vec(),
        &mixed.pixels(&black).unwrap().row(0).to_vec(),
    );
    assert_eq!(named("scores").unwrap().width(), 3);
    let error = named("nowhere").unwrap_err().to_string();
    assert!(error.contains("no tensor `nowhere`"), "{error}");
    let given = format!("{}:flat", path.display());
    assert_eq!(Source::parse(given.as_ref()).unwrap().tensor.as_deref(), Some("flat"));
}

#[test]
fn what_is_saved_gives_the_same_vectors() {
    let (_folder, path) = folder(&texts());
    let encoder = open(&path, TEXTS).unwrap();
    let loaded = Encoder::load(encoder.bytes(), Some(tokenizer().as_bytes()), encoder.takes());
    let loaded = loaded.unwrap();
    assert_eq!(loaded, encoder);
    assert_eq!(loaded.texts(&["a1 a9"]).unwrap(), encoder.texts(&["a1 a9"]).unwrap());
}

#[test]
fn the_published_minilm_gives_the_vectors_of_its_own_weights() {
    use burn::tensor::Device;
    use sngp::text::{EncoderOptions, PretrainedEncoder};

    let (Some(onnx), Some(folder)) = (
        prepared("models/onnx/all-MiniLM-L6-v2/onnx/model.onnx"),
        prepared("models/all-MiniLM-L6-v2"),
    ) else {
        return;
    };
    let texts = [
        "transfer 100 dollars to my savings account",
        "weather",
        "what is the meaning of life, the universe and everything, in no more than ten words?",
    ];
    let found =
        open(&onnx, Wanted::Texts { max_tokens: 64, prompt: None }).unwrap().texts(&texts).unwrap();
    let options = EncoderOptions { max_tokens: 64, ..Default::default() };
    let own = PretrainedEncoder::read(folder, &options, &Device::flex()).unwrap();
    let wanted = own.embed(&own.sentences(&texts).unwrap(), &Device::flex());
    let difference = (&found - &wanted).mapv(f32::abs).into_iter().fold(0.0, f32::max);
    assert!(difference < 1e-4, "{difference}");
}
