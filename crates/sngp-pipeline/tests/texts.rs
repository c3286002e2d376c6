//! Texts without an encoder, as people have them.

mod common;

use burn::tensor::Device;
use common::{CLASSES, sentence, texts};
use sngp_pipeline::calibrate::Goal;
use sngp_pipeline::input::{Dataset, Kind, Preparation};
use sngp_pipeline::{Fitted, Options, Outcome, Pipeline, Target};

fn options() -> Options<'static> {
    let kind = Some(Kind::Text("text".to_string()));
    Options { kind, label: "kind".to_string(), features: 128, ..Default::default() }
}

fn fit(texts: &[String], labels: &[String]) -> sngp::Result<Fitted> {
    let data = Dataset::of_texts(texts.iter().cloned()).with_labels(labels.iter().cloned())?;
    Pipeline::fit(&data, None, &Options { many_classes: true, ..options() })
}

fn labels(pipeline: &Pipeline, texts: &[&str]) -> Vec<String> {
    let answers = pipeline.answer(&Dataset::of_texts(texts.iter().copied())).unwrap();
    let label = |outcome: Option<Outcome>| match outcome {
        Some(Outcome::Class { label, .. }) => label,
        other => panic!("{other:?}"),
    };
    answers.into_iter().map(|answer| label(answer.outcome)).collect()
}

#[test]
fn forty_texts_of_two_classes() {
    let texts: Vec<String> = (0..40)
        .map(|i| match i % 2 {
            0 => format!("transfer {i} dollars to my savings account"),
            _ => format!("play song number {i} of the new album"),
        })
        .collect();
    let names: Vec<String> = (0..40).map(|i| ["bank", "music"][i % 2].to_string()).collect();
    let pipeline = fit(&texts, &names).unwrap().pipeline;
    let wanted = ["music", "bank"];
    assert_eq!(labels(&pipeline, &["play the new song", "move money to savings"]), wanted);
    let odd = pipeline.answer(&Dataset::of_texts(["qwzx vrrk", "?!", ""])).unwrap();
    let reasons: Vec<_> = odd.iter().map(|answer| answer.reason().unwrap().to_string()).collect();
    assert_eq!(reasons, ["unknown_words", "empty_input", "empty_input"]);
}

#[test]
fn scripts_without_spaces_and_from_right_to_left() {
    let pairs = [
        ("我想查询我的账户余额", "balance"),
        ("请告诉我余额还有多少", "balance"),
        ("我的账户余额是多少钱", "balance"),
        ("明天的天气怎么样", "weather"),
        ("今天会下雨吗天气如何", "weather"),
        ("北京的天气好不好", "weather"),
        ("ما هو رصيد حسابي الآن", "balance"),
        ("أريد معرفة رصيد الحساب", "balance"),
        ("كيف حال الطقس غدا", "weather"),
        ("هل الطقس ممطر اليوم", "weather"),
    ];
    let many = || (0..6).flat_map(|_| pairs.iter());
    let texts: Vec<String> = many().map(|(text, _)| text.to_string()).collect();
    let names: Vec<String> = many().map(|(_, name)| name.to_string()).collect();
    let pipeline = fit(&texts, &names).unwrap().pipeline;
    let asked = ["账户余额多少", "后天天气怎么样", "رصيد حسابي", "الطقس في القاهرة"];
    assert_eq!(labels(&pipeline, &asked), ["balance", "weather", "balance", "weather"]);
}

#[test]
fn odd_sets_are_learned_from_or_refused_with_a_reason() {
    // All the same text.
    let same = vec!["the same words every time".to_string(); 60];
    let names: Vec<String> = (0..60).map(|i| CLASSES[i % 2].to_string()).collect();
    let pipeline = fit(&same, &names).unwrap().pipeline;
    labels(&pipeline, &["the same words every time", "other words"]);
    // A label of one example, a very long text and one of a single letter.
    let mut texts: Vec<String> = (0..90).map(sentence).collect();
    let mut names: Vec<String> = (0..90).map(|i| CLASSES[i % 3].to_string()).collect();
    texts.extend([
        "unparalleled zebra".to_string(),
        "rain and hail ".repeat(50_000),
        "a".to_string(),
    ]);
    names.extend(["single", "birch", "birch"].map(str::to_string));
    let pipeline = fit(&texts, &names).unwrap().pipeline;
    assert_eq!(pipeline.labels().len(), 4);
    let long = "send five euros to my landlord ".repeat(20_000);
    assert_eq!(labels(&pipeline, &[&long, "send 7 euros to my landlord"]), ["ash", "ash"]);
    // No text has a letter: nothing can be known, and nothing is answered.
    let pipeline = fit(&vec!["?!".to_string(); 30], &names[..30]).unwrap().pipeline;
    let answers = pipeline.answer(&Dataset::of_texts(["?!", "will it rain"])).unwrap();
    assert!(answers.iter().all(|answer| !answer.is_accepted()));
}

#[test]
fn numbers_are_predicted_from_texts() {
    let text =
        |i: usize| format!("{} and {}", ["good", "bad"][i % 2], ["cheap", "dear"][i / 2 % 2]);
    let number =
        |i: usize| 10.0 * (i % 2) as f64 + 3.0 * (i / 2 % 2) as f64 + 0.01 * (i % 7) as f64;
    let data = Dataset::of_texts((0..200).map(text))
        .with_labels((0..200).map(|i| number(i).to_string()))
        .unwrap();
    let options = Options { target: Target::Numbers, ..options() };
    let pipeline = Pipeline::fit(&data, None, &options).unwrap().pipeline;
    let answers = pipeline.answer(&Dataset::of_texts(["bad and dear", "good and cheap"])).unwrap();
    for (answer, wanted) in answers.iter().zip([13.0, 0.0]) {
        let Some(Outcome::Number { value, .. }) = answer.outcome else { panic!("{answer:?}") };
        assert!((value - wanted).abs() < 1.0, "{value} {wanted}");
    }
}

/// The posterior is of the training rows as they are seen when they come again, not as they were
/// cross-fitted: what is forgotten is what was added.
#[test]
fn training_texts_are_forgotten_exactly() {
    let (data, other) = (texts(150), 150..210);
    let validation = Dataset::of_texts(other.clone().map(sentence))
        .with_labels(other.map(|i| CLASSES[i % 3]))
        .unwrap();
    let mut pipeline = Pipeline::fit(&data, Some(&validation), &options()).unwrap().pipeline;
    let packed =
        |precision: &sngp::posterior::Precision| -> Vec<f64> { precision.packed().to_vec() };
    let own = packed(&pipeline.model().precisions()[0]);
    let again = packed(&pipeline.accumulate(&data).unwrap().precisions[0]);
    let largest = own.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let off = own.iter().zip(&again).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off < 1e-5 * largest, "{off} of {largest}");
    let some = pipeline.accumulate(&Dataset::of_texts((0..5).map(sentence))).unwrap();
    pipeline.forget(&some).unwrap();
    assert_eq!(pipeline.posterior_rows(), Some(145));
    let unknown = pipeline.accumulate(&Dataset::of_texts(["never seen before"])).unwrap();
    assert!(pipeline.forget(&unknown).is_err());
}

/// Held-out texts are known, too: the map has learned from them, so that nothing is promised on them.
#[test]
fn held_out_texts_are_known_when_they_come_again() {
    let mut pipeline = Pipeline::fit(&texts(150), None, &options()).unwrap().pipeline;
    let goal = Goal::MaxAbstain { share: 0.1 };
    let error = pipeline.calibrate(&texts(150), &goal, None).unwrap_err().to_string();
    assert!(error.contains("learned from all its rows"), "{error}");
}

#[test]
fn a_folder_without_its_terms_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let mut pipeline = Pipeline::fit(&texts(90), None, &options()).unwrap().pipeline;
    pipeline.save(&path).unwrap();
    assert!(path.join("texts.safetensors").exists());
    let loaded = Pipeline::load(&path, &Device::flex()).unwrap();
    let Preparation::Texts(preparation) = &loaded.card().preparation else { panic!() };
    assert_eq!(preparation.width(), 3 + 512);
    // A card alone, without the file beside it.
    let mut model = sngp::model::load(&path, &Device::flex()).unwrap();
    sngp::model::AnyModel::detach(&mut model, "texts.safetensors");
    let error = Pipeline::of_model(Box::new(model)).err().unwrap().to_string();
    assert!(error.contains("texts.safetensors"), "{error}");
}

/// Held-out texts are seen as new ones are: what is chosen on them holds for new texts.
#[test]
fn about_as_many_new_texts_are_rejected_as_is_said() {
    let noisy = |from: usize, to: usize| {
        let text = |i: usize| format!("{} {}", sentence(i), sentence(i * 7 + 11));
        let label = |i: usize| CLASSES[if i.is_multiple_of(9) { (i + 1) % 3 } else { i % 3 }];
        Dataset::of_texts((from..to).map(text)).with_labels((from..to).map(label)).unwrap()
    };
    let pipeline = Pipeline::fit(&noisy(0, 1500), None, &options()).unwrap().pipeline;
    let answers = pipeline.answer(&noisy(5000, 6000)).unwrap();
    let rejected = answers.iter().filter(|answer| !answer.is_accepted()).count();
    assert!(rejected < 120, "{rejected} of 1000 where 5 % were said");
}
