//! Sentences as the tokens of their encoder.

use serde_json::Value as Json;
use sngp::backbone::InputShape;
use sngp::text::TextTokenizer;
use sngp::{Error, Result};
use sngp_pipeline::Pipeline;

use super::{Inputs, Prepared, reason};
use crate::graph::{Element, Graph, Size, Value};

/// What is known of a token without the text it came from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Piece {
    /// It stands for what the tokenizer does not know.
    unknown: bool,
    /// There is no letter or digit in it, or it is one of the tokenizer's own marks.
    blank: bool,
}

/// Tokens that were read, and the state of every row.
pub struct Tokens {
    /// Their ids, harmless ones in place of those that are none.
    pub ids: Value,
    /// Which are tokens and not padding.
    pub counts: Value,
    /// Whether a row can be used.
    pub valid: Value,
    /// Why it is not answered, where it has nothing to be answered.
    pub oddity: Value,
}

pub fn prepared(graph: &mut Graph, pipeline: &Pipeline) -> Result<Prepared> {
    let model = pipeline.model();
    let InputShape::Sentences { max_tokens, vocabulary, .. } = model.input() else {
        return Err(Error::Unsupported("the model takes no sentences".to_string()));
    };
    let tokenizer = TextTokenizer::of_model(model)?;
    let Tokens { ids, counts, valid, oddity } = read(graph, &tokenizer, vocabulary, max_tokens)?;
    let real = graph.cast(&counts, Element::Float);
    Ok(Prepared { inputs: Inputs::Tokens { ids, real }, valid, oddity: Some(oddity) })
}

/// Declares tokens as inputs and judges their rows.
pub fn read(
    graph: &mut Graph,
    tokenizer: &TextTokenizer,
    vocabulary: usize,
    max_tokens: usize,
) -> Result<Tokens> {
    if !tokenizer.prompt().is_empty() {
        let reason = "whether a text is empty cannot be told from tokens of a text with a prompt";
        return Err(Error::Unsupported(reason.to_string()));
    }
    let pieces = pieces(tokenizer.json(), vocabulary)?;
    let shape = [Size::Rows, Size::Tokens];
    let meaning = format!("token ids by the model's tokenizer.json, at most {max_tokens}");
    let ids = graph.input("input_ids", Element::Integer, &shape, &meaning);
    let meaning = "1 for a token, 0 for padding";
    let mask = graph.input("attention_mask", Element::Integer, &shape, meaning);

    let zero = graph.integer(0);
    let counts = graph.op("Greater", &[&mask, &zero]);
    let padding = graph.op("Not", &[&counts]);
    // A token that is none, and one where the pipeline would have cut, spoil their row.
    let size = graph.integer(vocabulary as i64);
    let (above, below) =
        (graph.op("GreaterOrEqual", &[&ids, &zero]), graph.op("Less", &[&ids, &size]));
    let known = graph.op("And", &[&above, &below]);
    let ids = graph.op("Where", &[&known, &ids, &zero]);
    let shape = graph.op("Shape", &[&ids]);
    let one = graph.integer(1);
    let length = graph.gather(&shape, &one, 0);
    let places = graph.op("Range", &[&zero, &length, &one]);
    let limit = graph.integer(max_tokens as i64);
    let early = graph.op("Less", &[&places, &limit]);
    let usable = graph.op("And", &[&known, &early]);
    let usable = graph.op("Or", &[&usable, &padding]);
    let every = graph.all(&usable);
    let some = graph.any(&counts);
    let valid = graph.op("And", &[&every, &some]);

    let of = |what: fn(&Piece) -> bool| pieces.iter().map(what).collect::<Vec<bool>>();
    let unknown = graph.truths("sngp/tokens/unknown", &of(|piece| piece.unknown));
    let silent = graph.truths("sngp/tokens/silent", &of(|piece| piece.unknown || piece.blank));
    let marks = graph.truths("sngp/tokens/blank", &of(|piece| piece.blank));
    let unknown = graph.gather(&unknown, &ids, 0);
    let silent = graph.gather(&silent, &ids, 0);
    let blank = graph.gather(&marks, &ids, 0);
    let silent = graph.op("Or", &[&silent, &padding]);
    let blank = graph.op("Or", &[&blank, &padding]);
    let unknown_or_mark = graph.op("Or", &[&unknown, &blank]);
    let (nothing, only_unknown) = (graph.all(&blank), graph.all(&unknown_or_mark));
    let silent = graph.all(&silent);
    let none = graph.integer(0);
    let (empty, unknown) = (reason(graph, "empty_input")?, reason(graph, "unknown_words")?);
    let why = graph.op("Where", &[&only_unknown, &unknown, &empty]);
    let why = graph.op("Where", &[&nothing, &empty, &why]);
    let oddity = graph.op("Where", &[&silent, &why, &none]);
    Ok(Tokens { ids, counts, valid, oddity })
}

/// What the tokens of a vocabulary are. The pipeline looks at the text itself for a letter or digit;
/// a graph has only the tokens, so they have to be pieces of the text as it stands.
fn pieces(tokenizer: &[u8], vocabulary: usize) -> Result<Vec<Piece>> {
    let json: Json =
        serde_json::from_slice(tokenizer).map_err(|error| Error::Data(error.to_string()))?;
    let kind = |part: &Json| part["type"].as_str().unwrap_or("none").to_string();
    let (model, normalizer) = (kind(&json["model"]), kind(&json["normalizer"]));
    if model != "WordPiece" || !["BertNormalizer", "none"].contains(&normalizer.as_str()) {
        return Err(Error::Unsupported(format!(
            "whether a text is empty cannot be told from tokens of a {model} tokenizer with the \
             normalizer {normalizer}; BERT's WordPiece can be exported"
        )));
    }
    let mut pieces = vec![Piece { unknown: false, blank: true }; vocabulary];
    let mut put = |id: Option<u64>, piece: Piece| {
        if let Some(place) = id.and_then(|id| pieces.get_mut(id as usize)) {
            *place = piece;
        }
    };
    for (text, id) in json["model"]["vocab"].as_object().into_iter().flatten() {
        let blank = !text.chars().any(char::is_alphanumeric);
        put(id.as_u64(), Piece { unknown: false, blank });
    }
    for token in json["added_tokens"].as_array().into_iter().flatten() {
        let text = token["content"].as_str().unwrap_or_default();
        let blank = token["special"] == true || !text.chars().any(char::is_alphanumeric);
        put(token["id"].as_u64(), Piece { unknown: false, blank });
    }
    // As the pipeline finds it: the first of these that is a token.
    let id = |name: &&str| {
        let added = json["added_tokens"].as_array().into_iter().flatten();
        let added = added.filter(|token| token["content"] == **name).find_map(|t| t["id"].as_u64());
        added.or_else(|| json["model"]["vocab"][*name].as_u64())
    };
    let unknown = ["[UNK]", "<unk>", "<UNK>"].iter().find_map(id);
    put(unknown, Piece { unknown: true, blank: false });
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_letters_and_the_unknown_are_told_apart() {
        let tokenizer = serde_json::json!({
            "normalizer": {"type": "BertNormalizer"},
            "model": {"type": "WordPiece", "vocab": {"[CLS]": 0, "[UNK]": 1, "cat": 2, "?": 3, "##s": 4}},
            "added_tokens": [
                {"id": 0, "content": "[CLS]", "special": true},
                {"id": 1, "content": "[UNK]", "special": true},
            ],
        });
        let found = pieces(tokenizer.to_string().as_bytes(), 5).unwrap();
        let blank: Vec<bool> = found.iter().map(|piece| piece.blank).collect();
        assert_eq!(blank, [true, false, false, true, false]);
        assert!(found[1].unknown && !found[0].unknown);
    }

    #[test]
    fn tokens_that_hide_the_text_are_refused() {
        let tokenizer = br#"{"model": {"type": "BPE"}, "normalizer": {"type": "NFKC"}}"#;
        assert!(pieces(tokenizer, 4).unwrap_err().to_string().contains("BPE"));
    }
}
