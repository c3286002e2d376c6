//! Examples as a fit takes them: split, labelled, prepared. Nothing here depends on the settings
//! that are tuned, so it is done once.

use ndarray::{Array2, ArrayView1, Axis, s};
use sngp::backbone::Shipped;
use sngp::data::Targets;
use sngp::method::Output;
use sngp::model::Estimator;
use sngp::nn::Head;
use sngp::{Error, Result};
use sngp_encoder::{Encoder, Wanted};

use super::encoder::Embedded;
use super::images::fit_images;
use super::inputs::MappedVectors;
use super::labels::{Labels, Learning};
use super::network::{Fit, Settings, estimator_of_vectors, fit_vectors, is_direct, logit_factor};
use super::options::Options;
use super::rows::{check_ignored, learn};
use super::split::{Split, for_intervals, stratified};
use super::table_numbers::{FEWEST, is_free};
use super::texts::TextExamples;
use crate::input::{
    Body, Dataset, EncodedPreparation, EncodedRows, Kind, Preparation, Prepared, guess,
};
use crate::limits::check_memory;

/// Rows whose distances tell the length scale.
const SAMPLE: usize = 1000;

pub(super) struct Examples {
    pub preparation: Preparation,
    pub train: TrainInputs,
    pub held_out: Prepared,
    /// The held-out rows as the model will see them again, where that is not the same.
    pub learned_held_out: Option<Array2<f32>>,
    pub learning: Learning,
    /// The training rows of the data.
    pub rows: Vec<usize>,
    /// Hashes of the raw training rows, where they went through a frozen encoder.
    pub hashes: Vec<u64>,
}

/// What is learned from.
pub(super) enum TrainInputs {
    /// Rows of an array that may be larger than memory.
    Mapped(MappedVectors),
    /// Vectors in memory.
    Vectors(Array2<f32>),
    /// Vectors that were learned themselves, by a preparation that knows the rows.
    CrossFitted {
        /// Every row by a preparation that does not know it: what is learned from.
        cross_fitted: Array2<f32>,
        /// Every row as the model will see it: what is remembered.
        vectors: Array2<f32>,
    },
    /// Vectors that begin with the model's logits.
    Logits {
        vectors: Array2<f32>,
        /// What the logits were multiplied by.
        factor: f32,
    },
    /// Sentences with their encoder.
    Sentences(Box<Embedded>),
}

impl Examples {
    pub fn prepare(
        data: &Dataset,
        validation: Option<&Dataset>,
        options: &Options<'_>,
        remarks: &mut Vec<String>,
    ) -> Result<Self> {
        if data.unlabelled > 0 {
            remarks.push(format!("{} rows without a label are left out", data.unlabelled));
        }
        let kind = options.kind.clone().unwrap_or_else(|| guess(data, &options.label).0);
        let encoded = encoded(data, &kind, options, remarks)?;
        if matches!(kind, Kind::Images(_)) && options.encoder.is_none() {
            remarks.push(
                "no encoder: a network is trained from nothing; one that was trained on many images \
                 usually tells more of few"
                    .to_string(),
            );
        }
        let labels = match &encoded {
            Some(Encoded { classes: Some(names), .. }) => {
                Labels::of_classes(data.labels()?, names.clone())?
            }
            _ => Labels::read(data.labels()?, options)?,
        };
        remarks.extend(labels.look_alikes());
        let split = match validation {
            Some(_) => Split { train: (0..data.rows()).collect(), held_out: Vec::new() },
            None => match kind {
                // Their settings are chosen on training rows: fewer others will do.
                Kind::Table if data.rows() >= 2 * FEWEST && is_free(options) => {
                    for_intervals(&labels.strata(), options.seed)
                }
                _ => stratified(&labels.strata(), options.seed),
            },
        };
        let (held_set, held_rows) = match validation {
            Some(set) => (set, labels.usable_rows(set.labels()?, remarks)),
            None => (data, split.held_out.clone()),
        };
        if validation.is_none() {
            let count = split.held_out.len();
            let all = data.rows();
            remarks.push(format!("{count} of {all} rows held out to choose thresholds on"));
        }
        if held_rows.is_empty() {
            return Err(Error::Data(match (validation, remarks.last()) {
                (Some(set), Some(remark)) => {
                    format!("{}: no row of it can be held out: {remark}", set.file)
                }
                _ => "there are too few examples to hold any out".to_string(),
            }));
        }
        let held_labels = held_set.labels()?;
        let held_labels: Vec<String> =
            held_rows.iter().map(|&row| held_labels[row].clone()).collect();
        let learning = labels.targets(&split.train, &held_labels, &held_set.file)?;
        let exact = options.method.recipe().output == Output::ExactGaussianProcess;
        let deep = matches!(kind, Kind::Images(_)) || options.encoder.is_some();
        if exact && deep && encoded.is_none() {
            return Err(Error::Unsupported(format!(
                "{} works on vectors as they are: tables, embeddings and n-grams, not on images or \
                 through an encoder",
                options.method
            )));
        }
        if let (Kind::Text(column), None, Body::Rows { .. }) = (&kind, &options.encoder, &data.body)
        {
            check_ignored(data, options)?;
            let sentences = |set: &Dataset, rows: &[usize]| -> Result<Vec<String>> {
                match (Preparation::Sentences { text: column.clone() }).prepare_all(set, rows)? {
                    Prepared::Texts(texts) => Ok(texts),
                    _ => Err(Error::Data("vectors are no texts".to_string())),
                }
            };
            let texts = TextExamples {
                column,
                train: (sentences(data, &split.train)?, &learning.train),
                held_out: (sentences(held_set, &held_rows)?, &learning.held_out),
                learn_held_out: validation.is_none(),
            };
            let learned = texts.learn(options, remarks)?;
            return Ok(Self {
                preparation: Preparation::Texts(learned.preparation),
                train: learned.train,
                held_out: Prepared::Vectors(learned.held_out),
                learned_held_out: learned.learned_held_out,
                learning,
                rows: split.train,
                hashes: Vec::new(),
            });
        }
        let mut preparation = match encoded {
            Some(encoded) => Preparation::Encoded(encoded.preparation),
            None => learn(data, &kind, &split.train, options, remarks)?,
        };
        let mut held_out = preparation.prepare_all(held_set, &held_rows)?;
        let (mut train, hashes) = train_inputs(&preparation, data, &split.train, options)?;
        if options.keep_classifier {
            train = with_logits(&mut preparation, train, &mut held_out)?;
            check_classifier(&train, &learning)?;
        }
        let rows = split.train;
        let learned_held_out = None;
        Ok(Self { preparation, train, held_out, learned_held_out, learning, rows, hashes })
    }

    /// Whether several length scales are worth trying unasked: on tables columns differ in what
    /// they say, the usual one is often too short, and a fit takes no time.
    pub fn worth_tuning(&self, options: &Options<'_>) -> bool {
        const QUICK: usize = 5000;
        let table = matches!(self.preparation, Preparation::Table(_));
        let small = self.rows.len() + self.held_out.rows() <= QUICK;
        table && small && options.length_scale.is_none() && is_direct(options, true)
    }

    /// One fit with certain settings, from an output layer that is close already where there is
    /// one.
    pub fn fit(
        &self,
        settings: &Settings,
        start: Option<&Head>,
        options: &Options<'_>,
    ) -> Result<Fit> {
        match (&self.train, &self.preparation) {
            (TrainInputs::Sentences(embedded), _) => embedded.fit(self, settings, start, options),
            (TrainInputs::Vectors(pixels), Preparation::Images(images)) => {
                fit_images(images, pixels, self, settings, options)
            }
            _ => fit_vectors(self, settings, start, options),
        }
    }

    /// The estimator of an output layer on the training vectors.
    pub fn estimator(
        &self,
        settings: &Settings,
        features: usize,
        options: &Options<'_>,
    ) -> Result<Estimator<Shipped>> {
        match &self.train {
            TrainInputs::Sentences(embedded) => {
                Ok(embedded.estimator(self, settings, features, options))
            }
            _ => estimator_of_vectors(self, settings, features, options),
        }
    }

    /// Some training vectors, which tell the length scale.
    pub fn sample(&self) -> Array2<f32> {
        self.spread(SAMPLE)
    }

    /// Evenly spread rows of training vectors, at most so many.
    pub fn spread(&self, most: usize) -> Array2<f32> {
        let step = self.rows.len().div_ceil(most).max(1);
        let some: Vec<usize> = (0..self.rows.len()).step_by(step).collect();
        match &self.train {
            TrainInputs::Mapped(mapped) => mapped.load(&some),
            TrainInputs::Vectors(vectors)
            | TrainInputs::CrossFitted { cross_fitted: vectors, .. }
            | TrainInputs::Logits { vectors, .. } => vectors.select(Axis(0), &some),
            TrainInputs::Sentences(embedded) => embedded.vectors.select(Axis(0), &some),
        }
    }
}

fn train_inputs(
    preparation: &Preparation,
    data: &Dataset,
    rows: &[usize],
    options: &Options<'_>,
) -> Result<(TrainInputs, Vec<u64>)> {
    if let (Preparation::Vectors { .. }, Body::Vectors { matrix, .. }) = (preparation, &data.body) {
        matrix.check_finite()?;
        let mapped = MappedVectors::new(matrix.clone(), rows.to_vec());
        return Ok((TrainInputs::Mapped(mapped), Vec::new()));
    }
    if let Preparation::Images(images) = preparation {
        // Pixels as numbers, and a copy on its way to the device.
        let bytes = rows.len() as u128 * images.width() as u128 * 4 * 2;
        check_memory(bytes, &format!("{} images", rows.len()))?;
    }
    let train = match preparation.prepare_all(data, rows)? {
        Prepared::Vectors(vectors) => TrainInputs::Vectors(vectors),
        Prepared::Encoded(EncodedRows { vectors, hashes }) => {
            return Ok((TrainInputs::Vectors(vectors), hashes));
        }
        Prepared::Texts(texts) => {
            let folder = options.encoder.as_deref().ok_or_else(|| {
                Error::Unsupported("an encoder is needed for sentences".to_string())
            })?;
            TrainInputs::Sentences(Box::new(Embedded::read(folder, texts, options)?))
        }
    };
    Ok((train, Vec::new()))
}

/// A frozen encoder of the data, with the names of its classes where it keeps its answers.
struct Encoded {
    preparation: EncodedPreparation,
    classes: Option<Vec<String>>,
}

/// How a column becomes vectors by a frozen encoder, where there is one.
fn encoded(
    data: &Dataset,
    kind: &Kind,
    options: &Options<'_>,
    remarks: &mut Vec<String>,
) -> Result<Option<Encoded>> {
    let (source, column, wanted) = match (options.frozen_encoder()?, kind) {
        (Some(source), Kind::Text(column)) => {
            let Options { max_tokens, prompt, .. } = options;
            let wanted = Wanted::Texts { max_tokens: *max_tokens, prompt: prompt.clone() };
            (source, column, wanted)
        }
        (Some(source), Kind::Images(column)) => (source, column, Wanted::Images),
        (None, Kind::Images(_)) if options.encoder.is_some() => {
            let known = sngp_encoder::image_kinds().collect::<Vec<_>>().join(", ");
            return Err(Error::Unsupported(format!(
                "images need an ONNX file as their encoder, or a folder with weights of {known}"
            )));
        }
        (Some(_), _) if options.keep_classifier => {
            let message = "a classifier that keeps its answers takes texts or images";
            return Err(Error::Unsupported(message.to_string()));
        }
        _ => return Ok(None),
    };
    if let Body::Rows { names, .. } = &data.body
        && !names.iter().any(|name| name == column)
    {
        let known = names.join(", ");
        return Err(Error::Data(format!("{}: no column `{column}`; there are {known}", data.file)));
    }
    let encoder = match options.keep_classifier {
        true => Encoder::open_classifier(&source, wanted, remarks)?,
        false => Encoder::open(&source, wanted, remarks)?,
    };
    let classes = encoder.classes().filter(|_| options.keep_classifier);
    let classes = classes.map(|classes| source.class_names(classes)).transpose()?;
    if classes.is_some() {
        remarks.push(
            "the classifier keeps its answers: thresholds and figures are true only if it was not \
             trained on these rows"
                .to_string(),
        );
    }
    let preparation = EncodedPreparation::new(column, encoder);
    Ok(Some(Encoded { preparation, classes }))
}

/// Training vectors whose logits are as large beside the features as suits the kernel; held-out ones
/// and those of later rows are made the same.
fn with_logits(
    preparation: &mut Preparation,
    train: TrainInputs,
    held_out: &mut Prepared,
) -> Result<TrainInputs> {
    let (Preparation::Encoded(encoded), TrainInputs::Vectors(mut vectors), Prepared::Encoded(rows)) =
        (preparation, train, held_out)
    else {
        return Err(Error::Unsupported("there is no classifier to keep".to_string()));
    };
    let classes = encoded.encoder().and_then(Encoder::classes).unwrap_or(0);
    let square = |logit: &f32| f64::from(*logit).powi(2);
    let squares: f64 = vectors.slice(s![.., ..classes]).iter().map(square).sum();
    let factor = logit_factor((squares / vectors.nrows().max(1) as f64) as f32);
    if !factor.is_normal() {
        return Err(Error::Data("the classifier's logits are no usable numbers".to_string()));
    }
    encoded.scale_logits(factor)?;
    for vectors in [&mut vectors, &mut rows.vectors] {
        vectors.slice_mut(s![.., ..classes]).mapv_inplace(|logit| logit * factor);
    }
    Ok(TrainInputs::Logits { vectors, factor })
}

/// Refuses scores that have nothing to do with the labels: those of no classifier, of other classes, in
/// another order, or of images that were prepared otherwise.
fn check_classifier(train: &TrainInputs, learning: &Learning) -> Result<()> {
    let (TrainInputs::Logits { vectors, .. }, Targets::Classes { labels, classes }) =
        (train, &learning.train)
    else {
        return Ok(());
    };
    let best = |row: ArrayView1<'_, f32>| {
        (0..*classes).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or_default()
    };
    let mut counts = vec![0usize; *classes];
    let mut right = 0usize;
    for (row, &label) in vectors.outer_iter().zip(labels) {
        counts[label] += 1;
        right += usize::from(best(row) == label);
    }
    let most = counts.iter().copied().max().unwrap_or_default();
    if right > most {
        return Ok(());
    }
    let share = |count: usize| 100.0 * count as f64 / labels.len().max(1) as f64;
    Err(Error::Data(format!(
        "the classifier is right about {:.1} % of the training rows, and one class alone has {:.1} % of \
         them: its classes are others or in another order, or it wants its inputs prepared otherwise",
        share(right),
        share(most)
    )))
}
