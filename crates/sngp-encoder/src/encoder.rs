//! An encoder: texts or images in, a vector a row out.

use std::sync::Arc;

use ndarray::{Array2, concatenate};
use serde::{Deserialize, Serialize};
use sngp::backbone::Pooling;
use sngp::memory::check_memory;
use sngp::text::TextTokenizer;
use sngp::{Error, Result};
use sngp_records::image::Picture;

use crate::engine::{Engine, Input};
use crate::features::{
    Cut, FEATURES, LOGIT_FACTOR, LOGITS, Reduction, cut, guess, logits, spell_out,
};
use crate::file::File;
use crate::inputs::{check_vocabulary, fixed_size, pixels, probe, read_tokenizer, size, tokens};
use crate::pixels::Pixels;
use crate::shapes::Shapes;
use crate::source::Source;

/// What a model's folder calls the graph.
pub const ENCODER: &str = "encoder.onnx";
/// What it calls the tokenizer, as those of other text models.
pub const TOKENIZER: &str = "tokenizer.json";
/// The inputs of a text encoder.
pub(crate) const IDS: &str = "input_ids";
pub(crate) const MASK: &str = "attention_mask";
pub(crate) const TYPES: &str = "token_type_ids";
/// Of the bytes, while an encoder is built again beside the old one.
const COPIES: u128 = 4;
/// Rows that go through together at the most, and elements of the largest tensor they make.
const TOGETHER: usize = 32;
const ELEMENTS: usize = 1 << 26;

/// What an encoder takes, as it is saved with a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Takes {
    /// Texts.
    Texts(Tokens),
    /// Images.
    Images(Pixels),
}

/// How texts become tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// Where texts are cut, special tokens included.
    pub max_tokens: usize,
    /// What stands for no token.
    pub padding: u32,
    /// What every text begins with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
}

/// What is wanted of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// An encoder of texts, cut at so many tokens.
    Texts {
        /// Special tokens included.
        max_tokens: usize,
        /// What every text begins with; as the files beside it say when absent.
        prompt: Option<String>,
    },
    /// An encoder of images.
    Images,
}

/// Somebody else's network as a frozen encoder.
///
/// It holds the part of the graph that the features need, ready to run. Two are equal where they are
/// the same file.
pub struct Encoder {
    bytes: Arc<[u8]>,
    takes: Takes,
    tokenizer: Option<TextTokenizer>,
    engine: Engine,
    inputs: Vec<String>,
    width: usize,
    /// Logits that its vectors begin with.
    classes: Option<usize>,
    together: usize,
    /// A number of tokens that every row has, where the graph wants it so.
    length: Option<usize>,
}

impl PartialEq for Encoder {
    fn eq(&self, other: &Self) -> bool {
        self.takes == other.takes && self.bytes == other.bytes
    }
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").field("takes", &self.takes).field("width", &self.width).finish()
    }
}

impl Encoder {
    /// Reads a network with what lies beside it. What was guessed is told in `remarks`.
    pub fn open(source: &Source, wanted: Wanted, remarks: &mut Vec<String>) -> Result<Self> {
        Self::read(source, wanted, false, remarks)
    }

    /// Reads a classifier whose own answers are wanted: its vectors begin with its logits, and its
    /// features, divided by their lengths, follow.
    pub fn open_classifier(
        source: &Source,
        wanted: Wanted,
        remarks: &mut Vec<String>,
    ) -> Result<Self> {
        Self::read(source, wanted, true, remarks)
    }

    fn read(
        source: &Source,
        wanted: Wanted,
        classifier: bool,
        remarks: &mut Vec<String>,
    ) -> Result<Self> {
        let mut file = source.file()?;
        let at = |reason: String| Error::corrupt(&source.path, reason);
        let ours = |name: &String| [FEATURES, LOGITS, LOGIT_FACTOR].contains(&name.as_str());
        if file.graph.node.iter().flat_map(|node| &node.output).any(ours) {
            return Err(at("it is an encoder that this program has cut already".to_string()));
        }
        let takes = match &wanted {
            Wanted::Texts { max_tokens, prompt } => {
                let prompt = match prompt {
                    Some(prompt) => prompt.clone(),
                    None => source.recipe()?.prompt,
                };
                Takes::Texts(tokens(source, &file, *max_tokens, prompt)?)
            }
            Wanted::Images => Takes::Images(pixels(source, &file, remarks)?),
        };
        let shapes = Shapes::infer(&file, &probe(&file, &takes).map_err(at)?).map_err(at)?;
        let (tensor, why) = match &source.tensor {
            Some(tensor) => (tensor.clone(), "as told"),
            None => guess(&file, &shapes).ok_or_else(|| {
                at(shapes.check(&file).err().unwrap_or_else(|| nothing_guessed(&file)))
            })?,
        };
        let rank = shapes.of(&tensor).map(<[usize]>::len);
        let rank = rank.ok_or_else(|| {
            at(format!("it has no tensor `{tensor}`, or nobody can tell its shape"))
        })?;
        let mut reduction = match (&wanted, rank) {
            (Wanted::Texts { .. }, 3) => {
                let recipe = source.recipe()?;
                Reduction { pooling: recipe.pooling, normalized: recipe.normalized }
            }
            // Patches have no padding; the first one stands for all where there is such a one.
            _ => Reduction { pooling: Pooling::FirstToken, normalized: false },
        };
        remarks.push(format!("the encoder's features are `{tensor}` ({why})"));
        let kept = match classifier {
            true if source.has_one_right_class()? => {
                Some(logits(&file, &shapes).ok_or_else(|| at(no_classifier(&file)))?)
            }
            true => return Err(at(no_classifier(&file))),
            false => None,
        };
        if let Some(logits) = &kept {
            remarks.push(format!("the classifier's logits are `{logits}`"));
            reduction.normalized = true;
        }
        let mask = file.inputs().iter().any(|input| input.name == MASK);
        let mask = (mask && matches!(wanted, Wanted::Texts { .. })).then_some(MASK);
        let left = Cut { tensor: &tensor, rank, reduction, mask, logits: kept.as_deref() };
        cut(&mut file, &left).map_err(at)?;
        spell_out(&mut file.graph, &shapes);
        let tokenizer = match &takes {
            Takes::Texts(_) => Some(read_tokenizer(source)?),
            Takes::Images(_) => None,
        };
        Self::build(file, takes, tokenizer.as_deref()).map_err(at)
    }

    /// The encoder of a model's folder: the graph, and the tokenizer where it takes texts.
    pub fn load(bytes: &[u8], tokenizer: Option<&[u8]>, takes: &Takes) -> Result<Self> {
        let at = |reason: String| Error::Data(format!("{ENCODER}: {reason}"));
        let file = File::from_bytes(bytes).map_err(at)?;
        Self::build(file, takes.clone(), tokenizer).map_err(at)
    }

    fn build(file: File, takes: Takes, tokenizer: Option<&[u8]>) -> Result<Self, String> {
        let probes = probe(&file, &takes)?;
        let shapes = Shapes::infer(&file, &probes)?;
        shapes.check(&file)?;
        let Some(&[1, width]) = shapes.of(FEATURES) else {
            return Err("its features are not one vector a row".to_string());
        };
        if width == 0 {
            return Err("its features are empty".to_string());
        }
        let classes = match shapes.of(LOGITS) {
            Some(&[1, classes]) if classes < width => Some(classes),
            Some(_) => return Err("its logits are not one a class".to_string()),
            None => None,
        };
        let (tokenizer, length) = match &takes {
            Takes::Images(pixels) => (None, pixels.check().map(|()| None)?),
            Takes::Texts(tokens) => {
                let json = tokenizer.ok_or("it has no tokenizer")?;
                let read = TextTokenizer::from_bytes(TOKENIZER.as_ref(), json, tokens.max_tokens);
                let read = read.and_then(|read| read.with_prompt(&tokens.prompt));
                let read = read.map_err(|error| error.to_string())?;
                check_vocabulary(&file, &shapes, &read)?;
                (Some(read), fixed_size(&file, IDS, 1))
            }
        };
        let single = file.inputs().iter().any(|input| size(input, 0) == Some(1));
        let fitting = (ELEMENTS / shapes.largest.max(1)).clamp(1, TOGETHER);
        let inputs: Vec<String> = file.inputs().iter().map(|input| input.name.clone()).collect();
        let bytes: Arc<[u8]> = file.to_bytes().into();
        drop(file);
        let engine = Engine::load(bytes.to_vec())?;
        let together = if single { 1 } else { fitting };
        let encoder =
            Self { bytes, takes, tokenizer, engine, inputs, width, classes, together, length };
        encoder.try_out()?;
        Ok(encoder)
    }

    /// Two rows as long as any: they must come out as vectors, each as it does alone.
    fn try_out(&self) -> Result<(), String> {
        let rows = self.together.min(2);
        let made = match &self.takes {
            Takes::Texts(tokens) => {
                let ids = vec![vec![tokens.padding; tokens.max_tokens]; rows];
                self.run_tokens(&ids.iter().map(Vec::as_slice).collect::<Vec<_>>())?
            }
            Takes::Images(pixels) => {
                self.run_pixels(pixels, &vec![vec![128; 3 * pixels.height * pixels.width]; rows])?
            }
        };
        match made.dim() == (rows, self.width) && made.iter().all(|value| value.is_finite()) {
            true => Ok(()),
            false => Err("a row of it does not become a vector of numbers".to_string()),
        }
    }

    /// What it takes.
    pub fn takes(&self) -> &Takes {
        &self.takes
    }

    /// The length of its vectors.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many logits its vectors begin with, where a classifier was kept.
    pub fn classes(&self) -> Option<usize> {
        self.classes
    }

    /// The same with those logits multiplied by a factor.
    pub fn with_logit_factor(&self, factor: f32) -> Result<Self> {
        let at = |reason: String| Error::Data(format!("{ENCODER}: {reason}"));
        check_memory(COPIES * self.bytes.len() as u128, "the encoder")?;
        let mut file = File::from_bytes(&self.bytes).map_err(at)?;
        let weights = &mut file.graph.initializer;
        let found = weights.iter_mut().find(|tensor| tensor.name == LOGIT_FACTOR);
        let Some(found) = found else { return Err(wrong_kind("logits along")) };
        found.raw_data = Some(factor.to_le_bytes().to_vec());
        let tokenizer = self.tokenizer.as_ref().map(TextTokenizer::json);
        Self::build(file, self.takes.clone(), tokenizer).map_err(at)
    }

    /// The graph as it is saved with a model.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its tokenizer, where it takes texts.
    pub fn tokenizer(&self) -> Option<&TextTokenizer> {
        self.tokenizer.as_ref()
    }

    /// The vectors of texts.
    pub fn texts<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Result<Array2<f32>> {
        let tokenizer = self.tokenizer.as_ref().ok_or_else(|| wrong_kind("texts"))?;
        let ids = tokenizer.encode(texts)?;
        // Rows of like length go together: less padding is computed.
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by_key(|&row| ids[row].len());
        let mut vectors = Array2::zeros((ids.len(), self.width));
        for rows in order.chunks(self.together) {
            let some: Vec<&[u32]> = rows.iter().map(|&row| ids[row].as_slice()).collect();
            let made = self.run_tokens(&some).map_err(Error::Data)?;
            self.check(&made, rows.len())?;
            for (vector, &row) in made.outer_iter().zip(rows) {
                vectors.row_mut(row).assign(&vector);
            }
        }
        Ok(vectors)
    }

    /// The pixels of a picture as [`pixels`](Self::pixels) takes them.
    pub fn resized(&self, picture: &Picture) -> Result<Vec<u8>> {
        match &self.takes {
            Takes::Images(pixels) => Ok(pixels.bytes(picture)),
            Takes::Texts(_) => Err(wrong_kind("images")),
        }
    }

    /// The vectors of resized pictures.
    pub fn pixels(&self, pictures: &[Vec<u8>]) -> Result<Array2<f32>> {
        let Takes::Images(pixels) = &self.takes else { return Err(wrong_kind("images")) };
        let mut parts = Vec::new();
        for some in pictures.chunks(self.together) {
            let made = self.run_pixels(pixels, some).map_err(Error::Data)?;
            self.check(&made, some.len())?;
            parts.push(made);
        }
        let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
        match views.is_empty() {
            true => Ok(Array2::zeros((0, self.width))),
            false => concatenate(ndarray::Axis(0), &views).map_err(|e| Error::Data(e.to_string())),
        }
    }

    fn check(&self, made: &Array2<f32>, rows: usize) -> Result<()> {
        match made.dim() == (rows, self.width) {
            true => Ok(()),
            false => Err(Error::shape("the encoder's vectors", rows, made.nrows())),
        }
    }

    fn run_tokens(&self, rows: &[&[u32]]) -> Result<Array2<f32>, String> {
        let Takes::Texts(tokens) = &self.takes else { return Err("it takes images".to_string()) };
        let longest = rows.iter().map(|ids| ids.len()).max().unwrap_or(0);
        let shape = [rows.len(), self.length.unwrap_or(longest).max(longest)];
        let padded = |value: &dyn Fn(u32) -> i32, padding: i32| {
            let row = |ids: &&[u32]| {
                let real = ids.iter().map(|&id| value(id)).collect::<Vec<_>>();
                let rest = shape[1] - real.len();
                real.into_iter().chain(std::iter::repeat_n(padding, rest)).collect::<Vec<_>>()
            };
            Input::Integers(shape, rows.iter().flat_map(row).collect())
        };
        let inputs = self.inputs.iter().map(|name| {
            let input = match name.as_str() {
                IDS => padded(&|id| id as i32, tokens.padding as i32),
                MASK => padded(&|_| 1, 0),
                _ => padded(&|_| 0, 0),
            };
            (name.as_str(), input)
        });
        self.engine.run(inputs.collect())
    }

    fn run_pixels(&self, pixels: &Pixels, rows: &[Vec<u8>]) -> Result<Array2<f32>, String> {
        let mut numbers = Vec::with_capacity(rows.len() * 3 * pixels.height * pixels.width);
        rows.iter().for_each(|bytes| pixels.numbers(bytes, &mut numbers));
        let name = self.inputs.first().ok_or("it has no input")?;
        self.engine.run(vec![(name, Input::Numbers(pixels.shape(rows.len()), numbers))])
    }
}

fn wrong_kind(found: &str) -> Error {
    Error::Unsupported(format!("the encoder takes no {found}"))
}

fn no_classifier(file: &File) -> String {
    let outputs: Vec<&str> = file.graph.output.iter().map(|output| output.name.as_str()).collect();
    format!(
        "it is no classifier that could be kept: none of its outputs ({}) has a score for each of \
         several classes of which one is right",
        outputs.join(", ")
    )
}

fn nothing_guessed(file: &File) -> String {
    let outputs: Vec<&str> = file.graph.output.iter().map(|output| output.name.as_str()).collect();
    format!(
        "which tensor holds the features? FILE.onnx:TENSOR says it; the graph's outputs are {}",
        outputs.join(", ")
    )
}
