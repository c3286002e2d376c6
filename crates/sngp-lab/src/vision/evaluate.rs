//! What is measured of a model.

use std::collections::BTreeMap;

use sngp::Result;
use sngp::metrics::{Classification, Ece, reliability};
use sngp::model::ShippedModel;
use sngp::predict::Prediction;
use sngp::train::check_interrupted;
use sngp_report::evidence::{Evidence, Scored, plots};

use super::measured_on::MeasuredOn;
use super::run::PLOTS;
use crate::bench::{
    FittedDetectors, Measured, RunOptions, class_labels, detection, failures, latency, mistakes,
};

/// Measures a model on clean, corrupted and foreign images.
pub(super) fn measure(
    sets: &MeasuredOn,
    model: &ShippedModel,
    fitted: Option<&FittedDetectors>,
    options: &RunOptions<'_>,
    measured: &mut Measured,
) -> Result<()> {
    let (score, labels) = (model.config().score(), class_labels(&sets.test)?);
    let test = FittedDetectors::attach(fitted, model.predict(&*sets.test.inputs)?);
    for (metric, value) in classification(&test, labels)? {
        measured.add("test", metric, value);
    }
    mistakes(&test, labels, &score, measured)?;
    let mut evidence = Evidence { score: score.to_string(), ..Evidence::default() };
    evidence.test = Scored::of(&test, labels, &score)?;
    evidence.reliability = reliability(test.probabilities()?, labels, Ece::default().bins)?;
    // The mean over corruptions and severities, each measured by itself, as it was published.
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for set in &sets.shifted {
        check_interrupted(&options.interrupter)?;
        let (prediction, labels) = (model.predict(&*set.inputs)?, class_labels(set)?);
        for (metric, value) in classification(&prediction, labels)? {
            *sums.entry(metric).or_default() += value;
        }
        evidence.shift.extend(Scored::of(&prediction, labels, &score)?);
    }
    for (metric, sum) in sums {
        measured.add("corrupted", metric, sum / sets.shifted.len() as f64);
    }
    for (index, (name, images)) in sets.ood.iter().enumerate() {
        check_interrupted(&options.interrupter)?;
        let ood = FittedDetectors::attach(fitted, model.predict(&**images)?);
        detection(name, &test, &ood, &score, measured)?;
        failures(name, &test, labels, &ood, &score, measured)?;
        if index == 0 {
            evidence.ood = score.evaluate(&ood)?;
        }
    }
    for (stem, mut chart) in plots(&evidence) {
        if PLOTS.iter().any(|(plot, _)| *plot == stem) {
            chart.id = format!("{stem}-{}", model.config().method).into();
            chart.mark = None;
            let body = chart.body().map_err(|error| sngp::Error::Data(error.to_string()))?;
            measured.plots.insert(stem, body);
        }
    }
    let device = model.device();
    let one = |row: usize| model.predict_batch(sets.test.inputs.batch(&[row], device)).map(drop);
    measured.add("one image", "latency_ms", latency(sets.test.rows(), one)?);
    Ok(())
}

fn classification(prediction: &Prediction, labels: &[usize]) -> Result<Vec<(&'static str, f64)>> {
    let probabilities = prediction.probabilities()?;
    let metrics = Classification::all().into_iter();
    metrics.map(|metric| Ok((metric.name(), metric.evaluate(probabilities, labels)?))).collect()
}
