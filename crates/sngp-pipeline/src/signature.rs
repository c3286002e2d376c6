//! What goes in and what comes out, by name.

use serde::Serialize;

use crate::card::Task;
use crate::input::{Encoding, Preparation};
use crate::pipeline::Pipeline;

/// The inputs and outputs of a pipeline: what a server's metadata or a form needs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Signature {
    /// What a row has.
    pub inputs: Vec<Field>,
    /// What an answer has.
    pub outputs: Vec<Field>,
    /// The names of the classes, in the order of their probabilities; none for numbers.
    pub labels: Vec<String>,
}

/// An input or output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What kind of value it is.
    pub kind: FieldKind,
    /// Its shape; -1 stands for the number of rows.
    pub shape: Vec<i64>,
    /// Whether a row may lack it.
    pub optional: bool,
    /// What it means.
    pub meaning: String,
}

/// What kind of value a field is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FieldKind {
    /// A number.
    Number,
    /// One of these texts.
    Category {
        /// The values that were seen.
        values: Vec<String>,
    },
    /// A text.
    Text,
    /// A vector of numbers.
    Vector,
    /// An image: a file's bytes or path, or pixels.
    Image,
}

impl Field {
    fn new(name: &str, kind: FieldKind, meaning: &str) -> Self {
        let (name, meaning) = (name.to_string(), meaning.to_string());
        Self { name, kind, shape: vec![-1], optional: false, meaning }
    }

    fn wide(self, width: usize) -> Self {
        Self { shape: vec![-1, width as i64], ..self }
    }
}

impl Pipeline {
    /// What goes in and what comes out.
    ///
    /// ```
    /// use ndarray::Array2;
    /// use sngp_pipeline::{Options, Pipeline};
    ///
    /// let vectors = Array2::from_shape_fn((40, 3), |(i, j)| (i % 2 * 3 + j) as f32 + 0.01 * i as f32);
    /// let labels: Vec<usize> = (0..40).map(|i| i % 2).collect();
    /// let options = Options { features: 32, ..Default::default() };
    /// let signature = Pipeline::fit_vectors(vectors.view(), &labels, &options)?.signature();
    /// assert_eq!(signature.inputs[0].shape, [-1, 3]);
    /// assert_eq!(signature.labels, ["0", "1"]);
    /// assert!(signature.outputs.iter().any(|field| field.name == "decision"));
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn signature(&self) -> Signature {
        Signature {
            inputs: inputs(&self.card.preparation),
            outputs: self.outputs(),
            labels: self.labels().to_vec(),
        }
    }

    fn outputs(&self) -> Vec<Field> {
        use FieldKind::{Number, Text};
        let mut fields = match self.card.task {
            Task::Classification { .. } => vec![
                Field::new("label", Text, "the most probable class"),
                Field::new("probability", Number, "its probability"),
                Field::new("probabilities", Number, "those of all classes, in the labels' order")
                    .wide(self.labels().len()),
                Field::new("logits", Number, "their logits, made smaller by the variance")
                    .wide(self.labels().len()),
            ],
            Task::Regression { coverage, .. } => {
                let mut fields = vec![Field::new("value", Number, "the predicted number")];
                if coverage > 0.0 {
                    let percent = 100.0 * coverage;
                    let meaning = format!("an interval that holds {percent:.0} % of values");
                    fields.push(Field::new("low", Number, &format!("the lower end of {meaning}")));
                    fields.push(Field::new("high", Number, &format!("the upper end of {meaning}")));
                }
                fields
            }
        };
        let score = format!("{}, higher is less certain", self.score());
        fields.push(Field::new("uncertainty", Number, &score));
        if self.combination().is_some() {
            let meaning = "share of examples like the held-out ones that are at least so uncertain";
            fields.push(Field::new("p_value", Number, meaning));
        }
        if !self.model.precisions().is_empty() {
            fields.push(Field::new("variance", Number, "variance of the predicted logit"));
        }
        fields.push(Field::new("decision", Text, "accept or abstain"));
        fields.push(Field::new("reason", Text, "why it abstains; empty where it does not"));
        fields
    }
}

fn inputs(preparation: &Preparation) -> Vec<Field> {
    match preparation {
        Preparation::Table(table) => {
            let columns = table.columns.iter().map(|column| {
                let optional = column.missing > 0;
                let (kind, meaning) = match &column.encoding {
                    Encoding::Number { .. } => (FieldKind::Number, "a number"),
                    Encoding::Category { values } => {
                        (FieldKind::Category { values: values.clone() }, "a category")
                    }
                };
                Field { optional, ..Field::new(&column.name, kind, meaning) }
            });
            columns.collect()
        }
        Preparation::Numbers { columns } => {
            let field = |name: &String| Field::new(name, FieldKind::Number, "a number");
            columns.iter().map(field).collect()
        }
        Preparation::Ngrams(ngrams) => vec![Field::new(&ngrams.text, FieldKind::Text, "a text")],
        Preparation::Texts(texts) => vec![Field::new(&texts.text, FieldKind::Text, "a text")],
        Preparation::Sentences { text } => vec![Field::new(text, FieldKind::Text, "a text")],
        Preparation::Vectors { vectors, width } => {
            vec![Field::new(vectors, FieldKind::Vector, "a vector").wide(*width)]
        }
        Preparation::Encoded(encoded) if encoded.takes_text() => {
            vec![Field::new(&encoded.column, FieldKind::Text, "a text")]
        }
        Preparation::Encoded(encoded) => {
            vec![Field::new(&encoded.column, FieldKind::Image, &encoded.describe())]
        }
        Preparation::Images(images) => {
            vec![Field::new(&images.column, FieldKind::Image, &images.describe())]
        }
    }
}
