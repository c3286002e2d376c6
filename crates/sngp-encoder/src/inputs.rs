//! What a file takes, by its own inputs and by what lies beside it.

use sngp::text::TextTokenizer;
use sngp::{Error, Result};

use crate::encoder::{IDS, MASK, TOKENIZER, TYPES, Takes, Tokens};
use crate::file::File;
use crate::pixels::{Pixels, USUAL_SIDE};
use crate::proto::ValueInfo;
use crate::shapes::Shapes;
use crate::source::{PROCESSOR, Source};

/// A fixed size of an input.
pub fn size(input: &ValueInfo, axis: usize) -> Option<usize> {
    let shape = input.kind.as_ref()?.tensor_type.as_ref()?.shape.as_ref()?;
    let value = shape.dim.get(axis)?.dim_value?;
    usize::try_from(value).ok().filter(|size| *size > 0)
}

/// The same of a named input.
pub fn fixed_size(file: &File, name: &str, axis: usize) -> Option<usize> {
    file.inputs().into_iter().find(|input| input.name == name).and_then(|input| size(input, axis))
}

/// The shapes of one row's inputs; refuses inputs that nobody can fill.
pub fn probe(file: &File, takes: &Takes) -> Result<Vec<(String, Vec<usize>)>, String> {
    let inputs = file.inputs();
    if let Some(input) = inputs.iter().find(|input| size(input, 0).is_some_and(|rows| rows > 1)) {
        let reason = "takes a fixed number of rows; export it with a dynamic batch";
        return Err(format!("its input `{}` {reason}", input.name));
    }
    match takes {
        Takes::Texts(tokens) => {
            let unknown = inputs.iter().find(|input| ![IDS, MASK, TYPES].contains(&&*input.name));
            if let Some(input) = unknown {
                return Err(format!(
                    "nobody can fill its input `{}`; {IDS}, {MASK} and {TYPES} are known",
                    input.name
                ));
            }
            if !inputs.iter().any(|input| input.name == IDS) {
                return Err(format!("it takes no texts: it has no input `{IDS}`"));
            }
            let length = fixed_size(file, IDS, 1).unwrap_or(tokens.max_tokens);
            Ok(inputs.iter().map(|input| (input.name.clone(), vec![1, length])).collect())
        }
        Takes::Images(pixels) => {
            let input = image_input(file)?;
            Ok(vec![(input.name.clone(), pixels.shape(1).to_vec())])
        }
    }
}

/// The one input with four axes of numbers.
fn image_input(file: &File) -> Result<&ValueInfo, String> {
    const FLOATS: [i32; 2] = [1, 10];
    let inputs = file.inputs();
    let [input] = inputs[..] else {
        return Err(format!("it takes no images: it has {} inputs, and not one", inputs.len()));
    };
    let kind = input.kind.as_ref().and_then(|kind| kind.tensor_type.as_ref());
    let axes = kind.and_then(|kind| kind.shape.as_ref()).map_or(4, |shape| shape.dim.len());
    if axes != 4 || !kind.is_none_or(|kind| FLOATS.contains(&kind.elem_type)) {
        let name = &input.name;
        return Err(format!("it takes no images: `{name}` is not four axes of numbers"));
    }
    Ok(input)
}

/// How pictures become what the file takes, by what lies beside it.
pub fn pixels(source: &Source, file: &File, remarks: &mut Vec<String>) -> Result<Pixels> {
    let at = |reason: String| Error::corrupt(&source.path, reason);
    let input = image_input(file).map_err(at)?;
    let channels_last = size(input, 3) == Some(3) && size(input, 1) != Some(3);
    let [rows, columns] = if channels_last { [1, 2] } else { [2, 3] };
    let sides = size(input, rows).zip(size(input, columns)).map(|(rows, columns)| [rows, columns]);
    let pixels = match source.prepared(sides)? {
        Some(pixels) => pixels,
        None => {
            let usual = Pixels::usual(sides.unwrap_or([USUAL_SIDE; 2]));
            remarks.push(format!(
                "there is no {PROCESSOR} beside the encoder: images are resized to {} x {} and \
                 standardized by ImageNet's channels",
                usual.height, usual.width
            ));
            usual
        }
    };
    pixels.check().map_err(at)?;
    Ok(Pixels { channels_last, ..pixels })
}

/// The bytes of the tokenizer beside the file.
pub fn read_tokenizer(source: &Source) -> Result<Vec<u8>> {
    let Some(path) = source.beside(TOKENIZER) else {
        let reason = format!("there is no {TOKENIZER} beside it, which texts need");
        return Err(Error::corrupt(&source.path, reason));
    };
    std::fs::read(&path).map_err(Error::io(&path))
}

/// How texts become what the file takes, by what lies beside it.
pub fn tokens(source: &Source, file: &File, max_tokens: usize, prompt: String) -> Result<Tokens> {
    let config = source.json("config.json")?.unwrap_or_default();
    let positions = config["max_position_embeddings"].as_u64().map(|most| most as usize);
    let padding =
        config["pad_token_id"].as_u64().and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
    // RoBERTa's positions begin behind its padding's.
    let shifted = matches!(
        config["model_type"].as_str(),
        Some("roberta" | "xlm-roberta" | "mpnet" | "camembert")
    );
    let positions = positions.map(|most| most.saturating_sub(if shifted { 2 } else { 0 }));
    let most = [positions, fixed_size(file, IDS, 1)].into_iter().flatten().min();
    let max_tokens = most.map_or(max_tokens, |most| max_tokens.min(most));
    Ok(Tokens { max_tokens, padding, prompt })
}

/// A tokenizer with more ids than the table of tokens has rows belongs to another model.
pub fn check_vocabulary(
    file: &File,
    shapes: &Shapes,
    tokenizer: &TextTokenizer,
) -> Result<(), String> {
    let lookup =
        file.graph.node.iter().find(|node| {
            node.op_type == "Gather" && node.input.get(1).is_some_and(|name| name == IDS)
        });
    let rows = lookup.and_then(|node| shapes.of(node.input.first()?)?.first().copied());
    match rows {
        Some(rows) if tokenizer.vocabulary() > rows => Err(format!(
            "its table of tokens has {rows} rows, and the tokenizer's ids need {}: the tokenizer \
             belongs to another model",
            tokenizer.vocabulary()
        )),
        _ => Ok(()),
    }
}
