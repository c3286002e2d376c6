//! Models that take text.

use std::fs;

use burn::module::Module;
use sngp::backbone::{Bert, Pooler, Shipped, ShippedBatch, ShippedConfig};
use sngp::data::{Labelled, Table, Targets};
use sngp::method::Method;
use sngp::model::{Decision, Estimator, FitOptions, Model, ModelConfig, load_any};
use sngp::text::{PretrainedEncoder, TextModel};

use crate::common::{
    assert_sentence, contents, device, largest_difference, parameters, small_methods,
};
use crate::text_encoders::encoder;

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

fn labelled(encoder: &PretrainedEncoder) -> Labelled<ShippedBatch> {
    let targets = Targets::classes(vec![0, 0, 0, 0, 1, 1, 1, 1], 2).unwrap();
    Labelled::new(Shipped::inputs(encoder.sentences(&TEXTS).unwrap()), targets).unwrap()
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

fn fitted(encoder: &PretrainedEncoder, method: Method) -> Model<Shipped> {
    let estimator = Estimator::new(config(method), ShippedConfig::from(encoder.config.clone()))
        .with_pretrained(Shipped::from(encoder.network.clone()));
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
fn a_prompt_is_saved_with_the_model() {
    let encoder = encoder("tiny-bert");
    let tokenizer = encoder.tokenizer.clone().with_prompt("the ").unwrap();
    let model = TextModel::new(fitted(&encoder, "sngp".parse().unwrap()), tokenizer).unwrap();
    let folder = tempfile::tempdir().unwrap();
    model.save(folder.path().join("model")).unwrap();
    let loaded = TextModel::load(folder.path().join("model"), &device()).unwrap();
    let ids = |model: &TextModel, text: &str| model.sentences(&[text]).unwrap().ids(0).to_vec();
    assert_eq!(ids(&loaded, "dog"), ids(&model, "dog"));
    let plain = TextModel::new(model.model().clone(), encoder.tokenizer).unwrap();
    assert_eq!(ids(&loaded, "dog"), ids(&plain, "the dog"));
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
        .behind(ShippedConfig::from(encoder.config.clone()), |pooler| {
            Shipped::from(Bert { encoder: network.encoder.clone(), pooler })
        })
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
    let loaded = Model::<Shipped>::load(folder.path().join("pair"), &device()).unwrap();
    let predict = |model: &Model<Shipped>| model.predict(&*data.inputs).unwrap();
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
fn moved(encoder: &PretrainedEncoder, estimator: Estimator<Shipped>) -> Vec<(String, f32)> {
    let model = estimator.fit(&labelled(encoder), FitOptions::new(&device())).unwrap();
    let (before, after) = (
        parameters(&Shipped::from(encoder.network.clone())),
        parameters(&model.networks().next().unwrap().backbone),
    );
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
    let estimator = Estimator::new(config, ShippedConfig::from(encoder.config.clone()));
    let all =
        moved(&encoder, estimator.clone().with_pretrained(Shipped::from(encoder.network.clone())));
    // AdamW's steps are as long as the rate, whatever the gradient.
    let [embeddings, first, second, pooler] =
        ["embeddings", "layers.0", "layers.1", "pooler"].map(|part| of(&all, part));
    assert!(embeddings * 5.0 < first && first * 5.0 < second && second * 5.0 < pooler, "{all:?}");
    assert!(embeddings > 0.0);

    let mut frozen = encoder.network.clone();
    frozen.encoder.embeddings = frozen.encoder.embeddings.no_grad();
    let some = moved(&encoder, estimator.with_pretrained(Shipped::from(frozen)));
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
    let estimator = Estimator::new(config.clone(), ShippedConfig::from(encoder.config.clone()))
        .with_pretrained(trained.networks().next().unwrap().backbone.clone())
        .with_head(head.clone());
    let data = labelled(&encoder);
    let again = estimator.fit(&data, FitOptions::new(&device())).unwrap();
    let logits = |model: &Model<Shipped>| model.predict(&*data.inputs).unwrap().logits;
    let error = largest_difference(&logits(&again), &logits(&trained));
    assert!(error < 1e-4, "nothing was trained, but logits differ by {error}");

    config.method = "deterministic".parse().unwrap();
    let other = Estimator::<Shipped>::new(config, ShippedConfig::from(encoder.config.clone()))
        .with_head(head);
    let error = other.fit(&data, FitOptions::new(&device())).unwrap_err();
    assert_sentence(&error, "output layer");
}

#[test]
fn another_ridge_is_the_one_it_would_have_been_fitted_with() {
    let encoder = encoder("tiny-bert");
    let data = labelled(&encoder);
    let variance = |model: &Model<Shipped>| model.predict(&*data.inputs).unwrap().variance.unwrap();
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
    let decision = Decision::rejecting_at_most(0.1, score.clone(), &held_out).unwrap();
    assert_eq!(decision.threshold, 45.0);
    assert!(Decision::rejecting_at_most(0.01, score, &held_out).is_err(), "50 are too few");
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
    let loaded = Model::<Shipped>::load(&path, &device()).unwrap();
    assert_eq!(loaded.decision(), Some(&decision));
    assert_eq!(loaded.attachment("note.txt"), Some(&b"hello"[..]));
    // It has no tokenizer: it takes tokens, and says so.
    assert_sentence(&TextModel::load(&path, &device()).unwrap_err(), "tokenizer.json");
    fs::write(path.join("note.txt"), b"other").unwrap();
    let message = Model::<Shipped>::load(&path, &device()).unwrap_err().to_string();
    assert!(message.contains("note.txt"), "{message}");
}
