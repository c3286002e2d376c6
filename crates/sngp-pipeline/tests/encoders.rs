//! Pipelines whose rows go through somebody else's ONNX network first.

#[path = "../../sngp-encoder/tests/networks/mod.rs"]
mod networks;

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use networks::{SIDE, folder, images, texts};
use sngp_encoder::{Encoder, Source, Wanted};
use sngp_pipeline::calibrate::Goal;
use sngp_pipeline::input::{Dataset, Kind};
use sngp_pipeline::{Options, Outcome, Pipeline};
use sngp_records::image::Picture;

/// Sentences of two kinds, by their words.
fn sentence(row: usize) -> String {
    let words = |first: usize| {
        (0..2 + row % 3).map(|k| format!("a{}", first + (row * 5 + k * 3) % 16)).collect::<Vec<_>>()
    };
    words(if row.is_multiple_of(2) { 0 } else { 16 }).join(" ")
}

fn sentences(rows: std::ops::Range<usize>) -> Dataset {
    let labels = rows.clone().map(|row| ["low", "high"][row % 2]);
    Dataset::of_texts(rows.map(sentence)).with_labels(labels).unwrap()
}

fn options(encoder: &Path, kind: Kind) -> Options<'static> {
    let encoder = Some(encoder.to_path_buf());
    Options { encoder, kind: Some(kind), features: 64, ..Default::default() }
}

fn of_texts(path: &Path) -> Pipeline {
    let options = options(path, Kind::Text("text".to_string()));
    Pipeline::fit(&sentences(0..200), None, &options).unwrap().pipeline
}

fn answered(pipeline: &Pipeline, data: &Dataset) -> Vec<String> {
    let answers = pipeline.answer(data).unwrap();
    answers.iter().map(|answer| format!("{:?} {:?}", answer.verdict, answer.outcome)).collect()
}

#[test]
fn a_saved_model_answers_raw_texts_as_before() {
    let (folder, path) = folder(&texts());
    let mut pipeline = of_texts(&path);
    let accuracy = pipeline.card().held_out.metrics.iter().find(|(name, _)| name == "accuracy");
    assert!(accuracy.unwrap().1 > 0.8, "{accuracy:?}");
    let saved = folder.path().join("saved");
    pipeline.save(&saved).unwrap();
    fs::remove_file(&path).unwrap();
    let loaded = Pipeline::load(&saved, &Device::flex()).unwrap();
    let new = sentences(300..340);
    assert_eq!(answered(&loaded, &new), answered(&pipeline, &new));
    let odd = Dataset::of_texts(["?!", "qwzx vrrk"]);
    let reasons: Vec<String> =
        loaded.answer(&odd).unwrap().iter().map(|answer| answer.reason().unwrap()).collect();
    assert_eq!(reasons, ["empty_input", "unknown_words"]);
    // Saving what was loaded writes the same files again.
    let mut loaded = loaded;
    let again = folder.path().join("again");
    loaded.save(&again).unwrap();
    for file in ["encoder.onnx", "tokenizer.json", "card.json", "manifest.json"] {
        assert_eq!(
            fs::read(saved.join(file)).unwrap(),
            fs::read(again.join(file)).unwrap(),
            "{file}"
        );
    }
}

#[test]
fn the_vectors_path_applies_rows_are_known_and_an_update_keeps_the_decision() {
    let (_folder, path) = folder(&texts());
    let mut pipeline = of_texts(&path);
    // Other company gives a vector other last digits; the row is known all the same.
    let known = sentences(7..17);
    let error =
        pipeline.calibrate(&known, &Goal::MaxAbstain { share: 0.2 }, None).map(drop).unwrap_err();
    assert!(error.to_string().contains("learned from all its rows"), "{error}");
    // Longer than any sentence of the training: those come again and again.
    let fresh = Dataset::of_texts((0..40).map(|row| sentence(row) + " a1 a2 a3"));
    let part = pipeline.accumulate(&fresh).unwrap();
    pipeline.update(&part, None).unwrap();
    assert!(!pipeline.card().uncalibrated && pipeline.decision().is_some());
    pipeline.forget(&part).unwrap();
    assert!(pipeline.forget(&part).is_err(), "what is forgotten is gone");
}

fn picture(row: usize) -> Picture {
    let shade = |place: usize| {
        ((place * 31 + row * 7) % 60) as u8 + if row.is_multiple_of(2) { 20 } else { 150 }
    };
    let bytes =
        (0..3 * SIDE * SIDE).map(|place| if place % 3 == row % 2 { shade(place) } else { 40 });
    Picture::from_rgb(SIDE as u32, SIDE as u32, bytes.collect()).unwrap()
}

#[test]
fn images_go_through_a_classifier_without_its_last_layer() {
    let (folder, path) = folder(&images());
    let pictures = (0..120).map(picture).collect();
    let labels = (0..120).map(|row| ["red", "green"][row % 2]);
    let data = Dataset::of_pictures(pictures).with_labels(labels).unwrap();
    let options = options(&path, Kind::Images("image".to_string()));
    let fitted = Pipeline::fit(&data, None, &options).unwrap();
    assert!(fitted.remarks.iter().any(|remark| remark.contains("`flat`")), "{:?}", fitted.remarks);
    let mut pipeline = fitted.pipeline;
    let saved = folder.path().join("saved");
    pipeline.save(&saved).unwrap();
    let loaded = Pipeline::load(&saved, &Device::flex()).unwrap();
    let new = Dataset::of_pictures((200..240).map(picture).collect());
    let answers = loaded.answer(&new).unwrap();
    assert_eq!(answered(&loaded, &new), answered(&pipeline, &new));
    let right = answers.iter().enumerate().filter(|(row, answer)| {
        format!("{:?}", answer.outcome).contains(["red", "green"][row % 2])
    });
    assert!(right.count() >= 36);
}

fn shade(row: usize) -> Picture {
    let colour = [(row * 53) % 256, (row * 97 + 40) % 256, (row * 29 + 90) % 256];
    let bytes = (0..SIDE * SIDE).flat_map(|_| colour.map(|channel| channel as u8));
    Picture::from_rgb(SIDE as u32, SIDE as u32, bytes.collect()).unwrap()
}

/// The class that the network itself gives.
fn own_class(encoder: &Encoder, picture: &Picture) -> usize {
    let vectors = encoder.pixels(&[encoder.resized(picture).unwrap()]).unwrap();
    let logits = vectors.row(0).to_vec()[..3].to_vec();
    (0..3).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap()
}

#[test]
fn a_kept_classifier_answers_as_before_and_abstains() {
    let (folder, path) = folder(&images());
    fs::write(folder.path().join("labels.txt"), "red\ngreen\nblue").unwrap();
    let names = ["red", "green", "blue"];
    let source = Source::parse(&path).unwrap();
    let encoder = Encoder::open_classifier(&source, Wanted::Images, &mut Vec::new()).unwrap();
    let pictures: Vec<Picture> = (0..240).map(shade).collect();
    let own: Vec<usize> = pictures.iter().map(|picture| own_class(&encoder, picture)).collect();
    // It is wrong about every eighth picture, and a fit that learned would follow the labels.
    let label = |row: usize| names[(own[row] + usize::from(row.is_multiple_of(8))) % 3];
    let data = Dataset::of_pictures(pictures).with_labels((0..240).map(label)).unwrap();
    let kind = Kind::Images("image".to_string());
    let kept = Options { keep_classifier: true, ..options(&path, kind) };
    let mut pipeline = Pipeline::fit(&data, None, &kept).unwrap().pipeline;
    assert!(pipeline.card().training.fit.contains("kept"), "{}", pipeline.card().training.fit);
    let saved = folder.path().join("saved");
    pipeline.save(&saved).unwrap();
    fs::remove_file(&path).unwrap();
    let loaded = Pipeline::load(&saved, &Device::flex()).unwrap();
    let new: Vec<Picture> = (300..400).map(shade).collect();
    let answers = loaded.answer(&Dataset::of_pictures(new.clone())).unwrap();
    for (answer, picture) in answers.iter().zip(&new) {
        let Some(Outcome::Class { label, .. }) = &answer.outcome else { panic!("{answer:?}") };
        assert_eq!(label, names[own_class(&encoder, picture)]);
    }
    assert!(answers.iter().filter(|answer| answer.is_accepted()).count() > 50);
    let data = |labels: [&'static str; 2]| {
        let pictures = Dataset::of_pictures((0..60).map(shade).collect());
        pictures.with_labels((0..60).map(|row| labels[row % 2])).unwrap()
    };
    fs::write(&path, prost::Message::encode_to_vec(&images())).unwrap();
    let error = |data: &Dataset, options: &Options<'_>| {
        Pipeline::fit(data, None, options).map(drop).unwrap_err().to_string()
    };
    assert!(error(&data(["red", "green"]), &kept).contains("`blue`"));
    assert!(error(&data(["red", "pink"]), &kept).contains("pink"));
    // Labels in another order make another classifier of it.
    let pictures = Dataset::of_pictures((0..240).map(shade).collect());
    let labelled = pictures.with_labels((0..240).map(label)).unwrap();
    fs::write(folder.path().join("labels.txt"), "green\nblue\nred").unwrap();
    let refused = error(&labelled, &kept);
    assert!(refused.contains("another order"), "{refused}");
    fs::write(folder.path().join("labels.txt"), "red\ngreen\nblue").unwrap();
    let dense = Options { method: "deterministic".parse().unwrap(), ..kept.clone() };
    assert!(error(&data(["red", "green"]), &dense).contains("deterministic"));
    let none = Options { encoder: None, ..kept };
    assert!(error(&data(["red", "green"]), &none).contains("ONNX"));
}

#[test]
fn a_folder_without_or_with_another_encoder_is_refused() {
    let (folder, path) = folder(&texts());
    let saved = folder.path().join("saved");
    of_texts(&path).save(&saved).unwrap();
    let changed = |file: &str, bytes: Option<Vec<u8>>| {
        let copy = folder.path().join("copy");
        let _ = fs::remove_dir_all(&copy);
        fs::create_dir(&copy).unwrap();
        for entry in fs::read_dir(&saved).unwrap().map(Result::unwrap) {
            fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
        }
        match bytes {
            Some(bytes) => fs::write(copy.join(file), bytes).unwrap(),
            None => fs::remove_file(copy.join(file)).unwrap(),
        }
        Pipeline::load(&copy, &Device::flex()).map(drop).unwrap_err().to_string()
    };
    assert!(changed("encoder.onnx", None).contains("encoder.onnx"));
    assert!(changed("encoder.onnx", Some(vec![0; 9])).contains("encoder.onnx"));
    assert!(changed("tokenizer.json", None).contains("tokenizer.json"));
}

#[test]
fn what_cannot_be_done_is_said() {
    let (folder, path) = folder(&texts());
    let text = Kind::Text("text".to_string());
    let fit = |options: &Options<'_>| {
        Pipeline::fit(&sentences(0..60), None, options).map(drop).unwrap_err().to_string()
    };
    let trained = Options { fine_tune: true, ..options(&path, text.clone()) };
    assert!(fit(&trained).contains("stays as it is"));
    let missing = options(&PathBuf::from("nowhere.onnx"), text);
    assert!(fit(&missing).contains("nowhere.onnx"));
    let pictures = Dataset::of_pictures((0..40).map(picture).collect());
    let pictures = pictures.with_labels((0..40).map(|row| row % 2)).unwrap();
    let options = options(folder.path().parent().unwrap(), Kind::Images("image".to_string()));
    let error = Pipeline::fit(&pictures, None, &options).map(drop).unwrap_err().to_string();
    assert!(error.contains("images need an ONNX"), "{error}");
}
