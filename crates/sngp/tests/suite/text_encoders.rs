//! Text encoders against known answers, and folders that do not fit.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use ndarray::Array2;
use serde::Deserialize;
use sngp::Pass;
use sngp::backbone::Pooling;
use sngp::data::Inputs;
use sngp::text::{EncoderOptions, PretrainedEncoder};

use crate::common::{assert_sentence, device, largest_difference};

/// Answers of the published implementation.
#[derive(Deserialize)]
struct Expected {
    texts: Vec<String>,
    ids: Vec<Vec<u32>>,
    last_hidden_state: Vec<Vec<Vec<f64>>>,
    mean: Vec<Vec<f64>>,
    cls: Vec<Vec<f64>>,
    pooler: Vec<Vec<f64>>,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/encoders").join(name)
}

fn expected(name: &str) -> Expected {
    serde_json::from_slice(&fs::read(folder(name).join("expected.json")).unwrap()).unwrap()
}

fn options(pooling: Pooling) -> EncoderOptions {
    EncoderOptions { pooling: Some(pooling), max_tokens: 24, ..Default::default() }
}

/// An encoder small enough to be trained in a test.
pub fn encoder(name: &str) -> PretrainedEncoder {
    PretrainedEncoder::read(folder(name), &options(Pooling::Mean), &Device::flex()).unwrap()
}

fn matrix(rows: &[Vec<f64>]) -> Array2<f64> {
    Array2::from_shape_fn((rows.len(), rows[0].len()), |(i, j)| rows[i][j])
}

#[test]
fn encoders_give_the_published_vectors() {
    for name in ["tiny-bert", "tiny-mpnet", "tiny-roberta", "tiny-xlm-roberta", "tiny-distilbert"] {
        let expected = expected(name);
        let close = |what: &str, found: &Array2<f32>, wanted: &[Vec<f64>]| {
            let error = largest_difference(&found.mapv(f64::from), &matrix(wanted));
            assert!(error < 1e-5, "{name}, {what}: {error}");
        };
        let mean = encoder(name);
        let sentences = mean.sentences(&expected.texts).unwrap();
        for (row, ids) in expected.ids.iter().enumerate() {
            assert_eq!(sentences.ids(row), ids, "{name}, {:?}", expected.texts[row]);
        }
        close("mean", &mean.embed(&sentences, &device()), &expected.mean);

        let first = PretrainedEncoder::read(folder(name), &options(Pooling::FirstToken), &device())
            .unwrap();
        close("first token", &first.embed(&sentences, &device()), &expected.cls);
        let batch = sentences.batch(&(0..expected.texts.len()).collect::<Vec<_>>(), &device());
        let pooled =
            sngp::backbone::Backbone::forward(&first.network, batch, &mut Pass::evaluate());
        let pooled: Vec<f32> = pooled.into_data().iter::<f32>().collect();
        let width = expected.mean[0].len();
        let pooled = Array2::from_shape_vec((expected.texts.len(), width), pooled).unwrap();
        // Where there is no pooler, the first token's vector is what comes out.
        let poolers = if expected.pooler.is_empty() { &expected.cls } else { &expected.pooler };
        close("pooler", &pooled, poolers);

        // Alone, without padding: every token.
        for (row, tokens) in expected.last_hidden_state.iter().enumerate() {
            let batch = sentences.batch(&[row], &device());
            assert!(batch.real().is_none());
            let found = mean.network.encoder.tokens(&batch, &mut Pass::evaluate());
            let found: Vec<f32> = found.into_data().iter::<f32>().collect();
            let found = Array2::from_shape_vec((tokens.len(), width), found).unwrap();
            close("tokens", &found, tokens);
        }
    }
}

/// The folder of prepared data, or a loud remark that a test is skipped.
fn prepared(parts: &str) -> Option<PathBuf> {
    let found = std::env::var_os("SNGP_DATA").map(|data| PathBuf::from(data).join(parts));
    let found = found.filter(|path| path.exists());
    if found.is_none() {
        // Not `eprintln!`, which a passing test keeps to itself.
        let _ = writeln!(std::io::stderr(), "skipped: SNGP_DATA names no folder with {parts}");
    }
    found
}

fn cosine_distance(a: ndarray::ArrayView1<'_, f64>, b: ndarray::ArrayView1<'_, f64>) -> f64 {
    1.0 - a.dot(&b) / (a.dot(&a) * b.dot(&b)).sqrt()
}

#[test]
fn minilm_gives_the_golden_vectors() {
    let (Some(model), Some(golden)) =
        (prepared("models/all-MiniLM-L6-v2"), prepared("embeddings/golden64_texts.json"))
    else {
        return;
    };
    let texts: Vec<String> = serde_json::from_slice(&fs::read(&golden).unwrap()).unwrap();
    let bytes = fs::read(golden.with_file_name("golden64_minilm_f32.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let values = file.tensor("x").unwrap();
    let values = values.data().as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_le_bytes(*b)));
    let golden = Array2::from_shape_vec((64, 384), values.collect()).unwrap();
    // Longer than any of the sentences: the golden vectors are of whole ones.
    let options = EncoderOptions { max_tokens: 128, ..Default::default() };
    let encoder = PretrainedEncoder::read(model, &options, &device()).unwrap();
    let found = encoder.embed(&encoder.sentences(&texts).unwrap(), &device()).mapv(f64::from);
    for (row, (found, golden)) in found.outer_iter().zip(golden.outer_iter()).enumerate() {
        let distance = cosine_distance(found, golden);
        assert!(distance < 1e-4, "sentence {row}: cosine distance {distance}");
    }
}

#[test]
fn mpnet_gives_the_published_vectors() {
    let Some(model) = prepared("models/all-mpnet-base-v2") else { return };
    #[derive(Deserialize)]
    struct Golden {
        texts: Vec<String>,
        mean: Vec<Vec<f64>>,
    }
    let golden: Golden =
        serde_json::from_slice(&fs::read(folder("mpnet_golden.json")).unwrap()).unwrap();
    let encoder = PretrainedEncoder::read(model, &Default::default(), &device()).unwrap();
    let found = encoder.embed(&encoder.sentences(&golden.texts).unwrap(), &device());
    let error = largest_difference(&found.mapv(f64::from), &matrix(&golden.mean));
    assert!(error < 1e-4, "{error}");
}

#[test]
fn odd_sentences_have_defined_answers() {
    let encoder = encoder("tiny-bert");
    let long = "cat ".repeat(2500);
    let texts = [long.as_str(), "", "🐈‍⬛🔥", "\u{0}\u{202e}\u{feff}", "   \t\n"];
    let sentences = encoder.sentences(&texts).unwrap();
    assert_eq!(sentences.ids(0).len(), 24, "cut at max_tokens");
    assert_eq!(sentences.ids(1), [2, 3], "the two tokens at the ends");
    let vectors = encoder.embed(&sentences, &device());
    assert!(vectors.iter().all(|value| value.is_finite()));
    assert!(encoder.sentences::<&str>(&[]).is_err());
}

#[test]
fn a_folder_says_how_sentences_are_pooled_and_what_they_begin_with() {
    let copy = changed("tiny-bert", "config.json", |bytes| bytes);
    fs::create_dir(copy.path().join("1_Pooling")).unwrap();
    let write = |file: &str, json: &str| fs::write(copy.path().join(file), json).unwrap();
    write("1_Pooling/config.json", r#"{"pooling_mode_cls_token": true}"#);
    let options = EncoderOptions { max_tokens: 24, ..Default::default() };
    let read = |options: &EncoderOptions| PretrainedEncoder::read(copy.path(), options, &device());
    let Expected { texts, cls, .. } = expected("tiny-bert");
    let encoder = read(&options).unwrap();
    let rows = (0..texts.len()).collect::<Vec<_>>();
    let batch = encoder.sentences(&texts).unwrap().batch(&rows, &device());
    // Not through the pretrained pooler, which sentence encoders do not use.
    let found = sngp::backbone::Backbone::forward(&encoder.network, batch, &mut Pass::evaluate());
    let found: Vec<f64> = found.into_data().iter::<f64>().collect();
    let found = Array2::from_shape_vec((texts.len(), cls[0].len()), found).unwrap();
    assert!(largest_difference(&found, &matrix(&cls)) < 1e-5);

    let ids = |options: &EncoderOptions, text: &str| {
        read(options).unwrap().sentences(&[text]).unwrap().ids(0).to_vec()
    };
    let whole = ids(&options, "the dog sat");
    write(
        "config_sentence_transformers.json",
        r#"{"prompts": {"query": "the "}, "default_prompt_name": "query"}"#,
    );
    assert_eq!(ids(&options, "dog sat"), whole);
    let prompted = |prompt: &str| EncoderOptions { prompt: Some(prompt.into()), ..options.clone() };
    assert_eq!(ids(&prompted(""), "the dog sat"), whole, "what is asked for goes first");
    assert_eq!(ids(&prompted("the dog "), "sat"), whole);
    // What is not known does not become known by its prompt.
    let tokenizer = read(&options).unwrap().tokenizer;
    assert_eq!(tokenizer.all_unknown(&["qqq", "dog"]).unwrap(), [true, false]);
    assert_sentence(&read(&prompted(&"cat ".repeat(30))).unwrap_err(), "prompt");
    write("1_Pooling/config.json", r#"{"pooling_mode_max_tokens": true}"#);
    assert_sentence(&read(&options).unwrap_err(), "1_Pooling");
}

#[test]
fn a_space_and_what_is_unknown_are_nothing_known() {
    let tokenizer = encoder("tiny-xlm-roberta").tokenizer;
    assert_eq!(
        tokenizer.all_unknown(&["QQQ", "the cat", "\u{1f525}"]).unwrap(),
        [true, false, true]
    );
}

/// A copy of an encoder folder with one file changed.
fn changed(name: &str, file: &str, change: impl Fn(Vec<u8>) -> Vec<u8>) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        fs::copy(folder(name).join(file), copy.path().join(file)).unwrap();
    }
    let path = copy.path().join(file);
    let bytes = change(fs::read(&path).unwrap());
    fs::write(path, bytes).unwrap();
    copy
}

#[test]
fn folders_that_do_not_fit_are_refused_with_a_reason() {
    let read = |folder: &Path| PretrainedEncoder::read(folder, &options(Pooling::Mean), &device());
    let cases = [
        // A tokenizer with more tokens than the weights have rows.
        ("tokenizer.json", "\"blue\":39", "\"blue\":39,\"green\":40", "another model"),
        ("tokenizer.json", "\"blue\":39", "\"blue\":400", "another model"),
        ("config.json", "\"model_type\": \"bert\"", "\"model_type\": \"gpt2\"", "gpt2"),
        ("config.json", "\"hidden_act\": \"gelu\"", "\"hidden_act\": \"swish\"", "swish"),
        ("config.json", "\"hidden_size\": 16", "\"hidden_size\": 20", "config.json"),
        ("config.json", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3", "layer.2"),
        ("config.json", "{", "", "config.json"),
        ("tokenizer.json", "{", "", "tokenizer.json"),
    ];
    for (file, from, to, hint) in cases {
        let copy = changed("tiny-bert", file, |bytes| {
            let text = String::from_utf8(bytes).unwrap();
            let found = [from.to_string(), from.replace("\":", "\": ")];
            let from = found.iter().find(|from| text.contains(from.as_str()));
            let from = from.unwrap_or_else(|| panic!("{file} has no {found:?}"));
            text.replacen(from, to, 1).into_bytes()
        });
        assert_sentence(&read(copy.path()).unwrap_err(), hint);
    }
    let cut = changed("tiny-bert", "model.safetensors", |bytes| bytes[..bytes.len() / 2].to_vec());
    assert_sentence(&read(cut.path()).unwrap_err(), "model.safetensors");
    assert_sentence(&read(Path::new("nowhere")).unwrap_err(), "nowhere");
    let too_long = EncoderOptions { max_tokens: 100, ..options(Pooling::Mean) };
    let error = PretrainedEncoder::read(folder("tiny-bert"), &too_long, &device()).unwrap_err();
    assert_sentence(&error, "at most 24");
    let too_short = EncoderOptions { max_tokens: 2, ..options(Pooling::Mean) };
    assert!(PretrainedEncoder::read(folder("tiny-bert"), &too_short, &device()).is_err());
}
