//! Model folders and what belongs to them, and experiments.

use std::path::Path;

use sngp::posterior::load_precisions;
use sngp::text::TextTokenizer;
use sngp_lab::experiment::PlaneExperiment;
use sngp_lab::language::TextExperiment;
use sngp_lab::vision::VisionExperiment;

use crate::folder::folders;
use crate::with_file;

/// One file of a model folder, its hash right. The first byte chooses the folder and the second
/// one the file; what follows is its content.
pub fn model_folder(data: &[u8]) {
    let [folder, file, content @ ..] = data else { return };
    let folders = folders();
    let folder = &folders[usize::from(*folder) % folders.len()];
    let file = folder.files.keys().nth(usize::from(*file) % folder.files.len());
    folder.with(file.expect("one of them"), content).exercise();
}

/// A Hugging Face tokenizer, and sentences through it.
pub fn tokenizer(data: &[u8]) {
    let read = TextTokenizer::from_bytes(Path::new("tokenizer.json"), data, 16);
    if let Ok(tokenizer) = read {
        for text in ["pay the bill of 7 from my account", "", "zzz \u{1f980}\0"] {
            if let Ok(ids) = tokenizer.encode(&[text]) {
                assert!(ids[0].len() <= 16, "{}", ids[0].len());
                let known = tokenizer.vocabulary();
                assert!(ids[0].iter().all(|id| (*id as usize) < known), "{ids:?} of {known}");
            }
            let _ = tokenizer.all_unknown(&[text]);
        }
    }
}

/// The posterior part of a shard.
pub fn shard(data: &[u8]) {
    with_file("shard.precision", data, |path| {
        if let Ok(mut parts) = load_precisions(path) {
            let own = parts.clone();
            for (part, own) in parts.iter_mut().zip(&own) {
                let _ = part.merge(own);
                let _ = part.fade(0.5);
                let _ = part.remove(own);
            }
        }
    });
}

/// Experiments as TOML, of every kind.
pub fn experiment(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = PlaneExperiment::parse(text);
        let _ = TextExperiment::parse(text);
        let _ = VisionExperiment::parse(text);
    }
}
