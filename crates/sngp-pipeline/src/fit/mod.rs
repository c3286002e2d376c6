//! From examples to a pipeline.

mod by_chance;
mod calibration;
mod columns;
mod encoder;
mod examples;
mod finish;
mod images;
mod inner;
mod inputs;
mod labels;
mod network;
mod options;
mod output;
mod rows;
mod search;
mod split;
mod table_network;
mod table_numbers;
mod texts;
mod tune;
mod units;

pub use calibration::best_calibration;
pub use labels::{KnownRows, known_rows, numbers};
pub use network::{median_length_scale, normalized};
pub use options::{Options, Target};
pub use split::{Split, stratified};
pub use tune::Trial;
pub use units::Units;

use ndarray::ArrayView2;
use sngp::Result;
use sngp_encoder::hub::locate;
use sngp_records::Cell;

use self::examples::Examples;
use self::finish::Promise;
use self::network::{Fit, Settings};
use crate::input::Dataset;
use crate::pipeline::Pipeline;

/// A fitted pipeline and what there is to say about it.
pub struct Fitted {
    /// The pipeline.
    pub pipeline: Pipeline,
    /// Remarks about the data, for the user.
    pub remarks: Vec<String>,
    /// Seconds of fit and posterior, without reading, preparing and calibrating.
    pub fit_seconds: f64,
    /// Seconds of the search for settings before it.
    pub search_seconds: f64,
}

impl Pipeline {
    /// Fits a pipeline. Without a validation set, a share of the examples is held out; on held-out
    /// examples the probabilities are calibrated and it is chosen when the model abstains.
    ///
    /// ```
    /// use sngp_pipeline::input::Dataset;
    /// use sngp_pipeline::{Options, Pipeline};
    ///
    /// let texts = (0..40).map(|i| match i % 2 {
    ///     0 => format!("transfer {i} dollars to my savings account"),
    ///     _ => format!("play song number {i} of the new album"),
    /// });
    /// let data = Dataset::of_texts(texts).with_labels((0..40).map(|i| ["bank", "music"][i % 2]))?;
    /// let fitted = Pipeline::fit(&data, None, &Options { features: 64, ..Default::default() })?;
    /// let answers = fitted.pipeline.answer(&Dataset::of_texts(["play the new song", "?!"]))?;
    /// assert!(answers[0].outcome.is_some());
    /// assert_eq!(answers[1].reason().unwrap(), "empty_input");
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn fit(
        data: &Dataset,
        validation: Option<&Dataset>,
        options: &Options<'_>,
    ) -> Result<Fitted> {
        // A name is a folder before anything is said of it.
        let located = options.encoder.as_deref().map(|given| locate(given, &|_| {}));
        let options = &Options { encoder: located.transpose()?, ..options.clone() };
        options.check()?;
        let mut remarks = Vec::new();
        let mut examples = Examples::prepare(data, validation, options, &mut remarks)?;
        if validation.is_some() {
            finish::check_validation(&examples, &mut remarks)?;
        }
        let found = search::search(&examples, options, &mut remarks)?;
        let search_seconds = found.as_ref().map_or(0.0, |found| found.seconds);
        let (fit, promise) = if let Some(found) = found {
            // The search has looked at training rows alone.
            let fit = examples.fit(&found.settings, found.start.as_ref(), options)?;
            (fit, Promise::All)
        } else if table_numbers::is_wanted(&examples, options) {
            table_numbers::fit(&mut examples, options, &mut remarks)?
        } else {
            fit_other(&examples, options, &mut remarks)?
        };
        let fit_seconds = fit.seconds;
        let pipeline = finish::finish(fit, &examples, &promise, data, options, &mut remarks)?;
        Ok(Fitted { pipeline, remarks, fit_seconds, search_seconds })
    }

    /// Fits one to vectors of any model.
    ///
    /// ```
    /// use ndarray::Array2;
    /// use sngp_pipeline::{Options, Pipeline};
    /// use sngp_pipeline::input::Dataset;
    ///
    /// let vectors = Array2::from_shape_fn((60, 4), |(i, j)| ((i % 2) as f32) + 0.1 * ((i + j) as f32).sin());
    /// let labels: Vec<&str> = (0..60).map(|i| ["no", "yes"][i % 2]).collect();
    /// let options = Options { features: 64, ..Default::default() };
    /// let pipeline = Pipeline::fit_vectors(vectors.view(), &labels, &options)?;
    /// let far = pipeline.answer(&Dataset::of_vectors((vectors * 50.0).view())?)?;
    /// assert!(far.iter().all(|answer| !answer.is_accepted()));
    /// # Ok::<(), sngp::Error>(())
    /// ```
    pub fn fit_vectors<T: ToString>(
        vectors: ArrayView2<'_, f32>,
        labels: &[T],
        options: &Options<'_>,
    ) -> Result<Self> {
        let data = Dataset::of_vectors(vectors)?.with_labels(labels.iter().map(T::to_string))?;
        Ok(Self::fit(&data, None, options)?.pipeline)
    }

    /// Fits one to texts.
    pub fn fit_texts<T: AsRef<str>, L: ToString>(
        texts: &[T],
        labels: &[L],
        options: &Options<'_>,
    ) -> Result<Self> {
        let texts = texts.iter().map(|text| text.as_ref().to_string());
        let data = Dataset::of_texts(texts).with_labels(labels.iter().map(L::to_string))?;
        let kind = Some(crate::input::Kind::Text("text".to_string()));
        Ok(Self::fit(&data, None, &Options { kind, ..options.clone() })?.pipeline)
    }

    /// Fits one to a table, one of whose columns holds the labels.
    pub fn fit_table(
        names: Vec<String>,
        rows: Vec<Vec<Cell>>,
        options: &Options<'_>,
    ) -> Result<Self> {
        let data = Dataset::of_cells(names, rows)?.with_label_column(&options.label)?;
        Ok(Self::fit(&data, None, options)?.pipeline)
    }
}

/// What is no regression on a table.
fn fit_other(
    examples: &Examples,
    options: &Options<'_>,
    remarks: &mut Vec<String>,
) -> Result<(Fit, Promise)> {
    let worth_a_network = table_network::worth_a_network(examples, options);
    let tuned = worth_a_network || options.tune.unwrap_or(examples.worth_tuning(options));
    if !tuned {
        return Ok((examples.fit(&Settings::of(options), None, options)?, Promise::All));
    }
    let fit = tune::tune(examples, options, |settings| examples.fit(settings, None, options))?;
    let fit = match worth_a_network {
        true => table_network::better(fit, examples, options, remarks)?,
        false => fit.1,
    };
    Ok((fit, Promise::Half))
}
