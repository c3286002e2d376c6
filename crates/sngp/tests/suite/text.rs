//! Text encoders against known answers, and models that take text.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::tensor::Device;
use ndarray::Array2;
use serde::Deserialize;
use sngp::Pass;
use sngp::backbone::{Bert, Pooler, Pooling};
use sngp::data::{Inputs, Labelled, Table, Targets};
use sngp::method::Method;
use sngp::model::{Decision, Estimator, FitOptions, Model, ModelConfig, load_any};
use sngp::text::{EncoderOptions, PretrainedEncoder, TextModel};

use crate::common::{
    assert_sentence, contents, device, largest_difference, parameters, small_methods,
};

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
    EncoderOptions { pooling, max_tokens: 24, ..Default::default() }
}

fn encoder(name: &str) -> PretrainedEncoder {
    PretrainedEncoder::read(folder(name), &options(Pooling::Mean), &Device::flex()).unwrap()
}

fn matrix(rows: &[Vec<f64>]) -> Array2<f64> {
    Array2::from_shape_fn((rows.len(), rows[0].len()), |(i, j)| rows[i][j])
}

#[test]
fn encoders_give_the_published_vectors() {
    for name in ["tiny-bert", "tiny-mpnet"] {
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
        let width = expected.pooler[0].len();
        close(
            "pooler",
            &Array2::from_shape_vec((expected.texts.len(), width), pooled).unwrap(),
            &expected.pooler,
        );

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

const TEXTS: [&str; 8] = [
    "the cat sat on the mat.",
    "a cat",
    "cats on a mat",
    "the red cat",
    "dog",
    "the dog runs, running on!",
    "dogs",
    "a red dog",
];

fn labelled(encoder: &PretrainedEncoder) -> Labelled<sngp::text::TokenBatch> {
    let targets = Targets::classes(vec![0, 0, 0, 0, 1, 1, 1, 1], 2).unwrap();
    Labelled::new(encoder.sentences(&TEXTS).unwrap(), targets).unwrap()
}

fn config(method: Method) -> ModelConfig {
    let mut config = ModelConfig::new(method);
    config.gaussian_process.features.count = 32;
    config.gaussian_process.features.layer_norm = true;
    config.training.epochs = 2;
    config.training.batch_size = 4;
    config.training.layer_decay = Some(0.8);
    config.training.clip_norm = Some(1.0);
    config
}

fn fitted(encoder: &PretrainedEncoder, method: Method) -> Model<Bert> {
    let estimator = Estimator::<Bert>::new(config(method), encoder.config.clone())
        .with_pretrained(encoder.network.clone());
    let options = FitOptions {
        labels: Some(vec!["cat".to_string(), "dog".to_string()]),
        ..FitOptions::new(&device())
    };
    estimator.fit(&labelled(encoder), options).unwrap()
}

#[test]
fn every_network_method_takes_text_and_survives_saving() {
    let encoder = encoder("tiny-bert");
    let strange = "unable running zebra, on a red mat - on the cat's mat!";
    let texts: Vec<&str> = TEXTS.into_iter().chain([strange, ""]).collect();
    for method in small_methods().into_iter().filter(|method| method.name() != "exact_gp") {
        let model = fitted(&encoder, method.clone());
        let model = TextModel::new(model, encoder.tokenizer.clone()).unwrap();
        let together = model.predict(&texts).unwrap();
        for (row, text) in texts.iter().enumerate() {
            // Neither its neighbours nor the padding they cause change what a sentence gets.
            let alone = model.predict(&[text]).unwrap();
            let (alone, row) = (
                alone.probabilities().unwrap(),
                together.probabilities().unwrap().row(row).to_owned(),
            );
            let error = largest_difference(&alone.to_owned(), &row.insert_axis(ndarray::Axis(0)));
            assert!(error < 1e-5, "{method}, `{text}`: {error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        model.save(&path).unwrap();
        let loaded = TextModel::load(&path, &device()).unwrap();
        assert_eq!(loaded.predict(&texts).unwrap(), together, "{method}");
        assert!(load_any(&path, &device()).unwrap().inspect().is_ok(), "{method}");
        // Saving over it is replacing a model, attachments and all.
        loaded.save(&path).unwrap();
    }
}

#[test]
fn the_same_seed_gives_the_same_folder() {
    let encoder = encoder("tiny-mpnet");
    let save = || {
        let model = fitted(&encoder, "sngp".parse().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let model = TextModel::new(model, encoder.tokenizer.clone()).unwrap();
        model.save(folder.path().join("model")).unwrap();
        contents(&folder.path().join("model"))
    };
    let first = save();
    assert!(first.keys().any(|name| name.ends_with("tokenizer.json")), "{:?}", first.keys());
    assert_eq!(first, save());
}

#[test]
fn a_head_on_frozen_vectors_becomes_a_model_that_takes_text() {
    let encoder = encoder("tiny-bert");
    let sentences = encoder.sentences(&TEXTS).unwrap();
    let vectors = Table::new(encoder.embed(&sentences, &device()).view()).unwrap();
    let targets = Targets::classes(vec![0, 0, 0, 0, 1, 1, 1, 1], 2).unwrap();
    let data = Labelled::new(vectors.clone(), targets).unwrap();
    let estimator =
        Estimator::<Pooler>::new(config("sngp".parse().unwrap()), encoder.config.pooler.clone());
    let head = estimator.fit(&data, FitOptions::new(&device())).unwrap();
    let by_vectors = head.predict(&vectors).unwrap();
    let network = &encoder.network;
    let whole = head
        .behind(encoder.config.clone(), |pooler| Bert { encoder: network.encoder.clone(), pooler })
        .unwrap();
    let by_text =
        TextModel::new(whole, encoder.tokenizer.clone()).unwrap().predict(&TEXTS).unwrap();
    let error = largest_difference(&by_text.logits, &by_vectors.logits);
    assert!(error < 1e-4, "logits: {error}");
    let (a, b) = (by_text.variance.unwrap(), by_vectors.variance.unwrap());
    assert!(largest_difference(&a, &b) < 1e-4);
}

#[test]
fn single_networks_make_an_ensemble_and_a_sampled_one() {
    let encoder = encoder("tiny-bert");
    let single = fitted(&encoder, "deterministic".parse().unwrap());
    let ensemble = config(sngp::method::DeepEnsemble { members: 2 }.into());
    let parts = vec![single.clone(), single.clone()];
    let whole = Model::assemble(ensemble.clone(), parts).unwrap();
    let data = labelled(&encoder);
    let difference = largest_difference(
        &whole.predict(&*data.inputs).unwrap().logits,
        &single.predict(&*data.inputs).unwrap().logits,
    );
    assert!(difference < 1e-12, "a network averaged with itself: {difference}");
    let sampled = Model::assemble(config("mc_dropout".parse().unwrap()), vec![single.clone()]);
    let sampled = sampled.unwrap().predict(&*data.inputs).unwrap().logits;
    assert_ne!(sampled, single.predict(&*data.inputs).unwrap().logits);
    let gp = fitted(&encoder, "sngp".parse().unwrap());
    let pair = config(sngp::method::SngpEnsemble { members: 2 }.into());
    let pair = Model::assemble(pair, vec![gp.clone(), gp.clone()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    pair.save(folder.path().join("pair")).unwrap();
    let loaded = Model::<Bert>::load(folder.path().join("pair"), &device()).unwrap();
    let predict = |model: &Model<Bert>| model.predict(&*data.inputs).unwrap();
    assert_eq!(predict(&loaded), predict(&pair));
    let mut wider = config("sngp".parse().unwrap());
    wider.gaussian_process.features.length_scale = 3.0;
    assert_sentence(&Model::assemble(wider, vec![gp]).unwrap_err(), "sngp");

    let too_few = Model::assemble(ensemble, vec![single.clone()]).unwrap_err();
    assert_sentence(&too_few, "expected 2, found 1");
    let other = Model::assemble(config("sngp".parse().unwrap()), vec![single]).unwrap_err();
    assert_sentence(&other, "deterministic");
}

/// How far parameters moved in a training, by path.
fn moved(encoder: &PretrainedEncoder, estimator: Estimator<Bert>) -> Vec<(String, f32)> {
    let model = estimator.fit(&labelled(encoder), FitOptions::new(&device())).unwrap();
    let (before, after) =
        (parameters(&encoder.network), parameters(&model.networks().next().unwrap().backbone));
    let distance = |name: &String| {
        let pairs = before[name].1.iter().zip(&after[name].1);
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    };
    before.keys().map(|name| (name.clone(), distance(name))).collect()
}

fn of(moved: &[(String, f32)], part: &str) -> f32 {
    let chosen = moved.iter().filter(|(name, _)| name.contains(part));
    chosen.map(|(_, distance)| *distance).fold(0.0, f32::max)
}

#[test]
fn layers_further_down_move_less_and_frozen_ones_not_at_all() {
    let encoder = encoder("tiny-bert");
    let mut config = config("deterministic".parse().unwrap());
    config.training.layer_decay = Some(0.1);
    let estimator = Estimator::<Bert>::new(config, encoder.config.clone());
    let all = moved(&encoder, estimator.clone().with_pretrained(encoder.network.clone()));
    // AdamW's steps are as long as the rate, whatever the gradient.
    let [embeddings, first, second, pooler] =
        ["embeddings", "layers.0", "layers.1", "pooler"].map(|part| of(&all, part));
    assert!(embeddings * 5.0 < first && first * 5.0 < second && second * 5.0 < pooler, "{all:?}");
    assert!(embeddings > 0.0);

    let mut frozen = encoder.network.clone();
    frozen.encoder.embeddings = frozen.encoder.embeddings.no_grad();
    let some = moved(&encoder, estimator.with_pretrained(frozen));
    assert_eq!(of(&some, "embeddings"), 0.0);
    assert!(of(&some, "layers.1") > 0.0);
}

#[test]
fn a_trained_head_is_started_from_and_has_to_fit() {
    let encoder = encoder("tiny-bert");
    let trained = fitted(&encoder, "sngp".parse().unwrap());
    let head = trained.networks().next().unwrap().head.clone();
    let mut config = config("sngp".parse().unwrap());
    config.training.learning_rate = 1e-12;
    let estimator = Estimator::<Bert>::new(config.clone(), encoder.config.clone())
        .with_pretrained(trained.networks().next().unwrap().backbone.clone())
        .with_head(head.clone());
    let data = labelled(&encoder);
    let again = estimator.fit(&data, FitOptions::new(&device())).unwrap();
    let logits = |model: &Model<Bert>| model.predict(&*data.inputs).unwrap().logits;
    let error = largest_difference(&logits(&again), &logits(&trained));
    assert!(error < 1e-4, "nothing was trained, but logits differ by {error}");

    config.method = "deterministic".parse().unwrap();
    let other = Estimator::<Bert>::new(config, encoder.config.clone()).with_head(head);
    let error = other.fit(&data, FitOptions::new(&device())).unwrap_err();
    assert_sentence(&error, "output layer");
}

#[test]
fn another_ridge_is_the_one_it_would_have_been_fitted_with() {
    let encoder = encoder("tiny-bert");
    let data = labelled(&encoder);
    let variance = |model: &Model<Bert>| model.predict(&*data.inputs).unwrap().variance.unwrap();
    let model = fitted(&encoder, "sngp".parse().unwrap());
    let wider = model.clone().with_ridge(10.0).unwrap();
    assert!(variance(&wider).mean() > variance(&model).mean());
    let back = wider.with_ridge(1.0).unwrap();
    assert_eq!(variance(&back), variance(&model));
    assert!(back.with_ridge(0.0).is_err());
}

#[test]
fn a_decision_and_attachments_survive_saving() {
    let encoder = encoder("tiny-bert");
    let model = fitted(&encoder, "sngp".parse().unwrap());
    let score = model.config().method.recipe().score;
    let held_out: Vec<f64> = (0..50).map(f64::from).collect();
    let decision = Decision::turning_away_at_most(0.1, score.clone(), &held_out).unwrap();
    assert_eq!(decision.threshold, 45.0);
    assert!(Decision::turning_away_at_most(0.01, score, &held_out).is_err(), "50 are too few");
    for name in ["", "config.json", "../escape", ".hidden", "a/b"] {
        assert!(model.clone().with_attachment(name, vec![]).is_err(), "{name}");
    }
    let model = model
        .with_decision(decision.clone())
        .with_attachment("note.txt", b"hello".to_vec())
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    model.save(&path).unwrap();
    let loaded = Model::<Bert>::load(&path, &device()).unwrap();
    assert_eq!(loaded.decision(), Some(&decision));
    assert_eq!(loaded.attachment("note.txt"), Some(&b"hello"[..]));
    // It has no tokenizer: it takes tokens, and says so.
    assert_sentence(&TextModel::load(&path, &device()).unwrap_err(), "tokenizer.json");
    fs::write(path.join("note.txt"), b"other").unwrap();
    let message = Model::<Bert>::load(&path, &device()).unwrap_err().to_string();
    assert!(message.contains("note.txt"), "{message}");
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
