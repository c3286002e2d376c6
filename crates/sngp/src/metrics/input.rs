//! What every metric asks of its input, checked in one place before any arithmetic.

use ndarray::{ArrayView1, ArrayView2};

use crate::{Error, Result};

/// How far a probability may stray outside [0, 1]: f32 softmax rounds.
const RANGE_TOLERANCE: f64 = 1e-6;

/// How far a row's sum may stray from 1: generous enough for half precision, tight enough to
/// catch logits, sigmoids and kernel values that were never normalized.
const SUM_TOLERANCE: f64 = 1e-3;

/// At least one value, none of them NaN. Infinities pass: they rank like any other number.
pub(super) fn comparable(what: &str, values: &[f64]) -> Result<()> {
    not_empty(what, values.len())?;
    match values.iter().position(|value| value.is_nan()) {
        Some(index) => Err(Error::Data(format!(
            "{what}[{index}] is NaN and cannot be ranked; check that the model's outputs are finite"
        ))),
        None => Ok(()),
    }
}

/// At least one value, each of them an ordinary number.
pub(super) fn finite(what: &str, values: &[f64]) -> Result<()> {
    not_empty(what, values.len())?;
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(Error::Data(format!(
            "{what}[{index}] is {}; check that the model's outputs and the data are finite",
            values[index]
        ))),
        None => Ok(()),
    }
}

/// As many of `what` as there are of `reference`.
pub(super) fn same_length(
    what: &str,
    found: usize,
    reference: &str,
    expected: usize,
) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::shape(what, format!("{expected} (one for each of {reference})"), found))
}

/// A share above 0 and up to 1.
pub(super) fn fraction(what: &'static str, value: f64) -> Result<()> {
    if value > 0.0 && value <= 1.0 {
        return Ok(());
    }
    Err(Error::config(what, value, "it has to be above 0 and at most 1"))
}

/// Rows that are distributions over the classes, and for each a label that is one of them.
pub(super) fn probabilities(rows: ArrayView2<'_, f64>, labels: &[usize]) -> Result<()> {
    not_empty("probabilities", rows.len())?;
    same_length("labels", labels.len(), "the rows of probabilities", rows.nrows())?;
    for (index, (row, &label)) in rows.outer_iter().zip(labels).enumerate() {
        distribution(index, row)?;
        if label >= rows.ncols() {
            return Err(Error::Data(format!(
                "labels[{index}] is {label}, but there are {} classes, counted from 0; check that \
                 the labels belong to this model",
                rows.ncols()
            )));
        }
    }
    Ok(())
}

fn distribution(index: usize, row: ArrayView1<'_, f64>) -> Result<()> {
    let allowed = -RANGE_TOLERANCE..=1.0 + RANGE_TOLERANCE;
    for (class, probability) in row.iter().enumerate() {
        if !allowed.contains(probability) {
            return Err(Error::Data(format!(
                "probabilities[{index}, {class}] is {probability}, but has to lie in [0, 1]; check \
                 that the logits are finite and went through a softmax"
            )));
        }
    }
    let sum = row.sum();
    if (sum - 1.0).abs() > SUM_TOLERANCE {
        return Err(Error::Data(format!(
            "row {index} of the probabilities sums to {sum}, but has to sum to 1; normalize it first"
        )));
    }
    Ok(())
}

fn not_empty(what: &str, count: usize) -> Result<()> {
    if count > 0 {
        return Ok(());
    }
    Err(Error::Data(format!("there are no {what}; a metric needs at least one example")))
}

/// The predicted class and its probability. Equal probabilities go to the lowest class.
///
/// The row has to have passed [`probabilities`]: it is not empty and holds no NaN.
pub(super) fn top(row: ArrayView1<'_, f64>) -> (usize, f64) {
    let mut best = (0, row[0]);
    for (class, &probability) in row.iter().enumerate() {
        if probability > best.1 {
            best = (class, probability);
        }
    }
    best
}

/// The fewest of `total` that make up `share`, at least one.
///
/// The product is rounded before it is rounded up, or 7 % of 100 would be 8:
/// `0.07 * 100.0` is a little more than 7.
///
/// ```
/// assert_eq!(sngp::metrics::fewest(0.07, 100), 7);
/// assert_eq!(sngp::metrics::fewest(0.8, 37), 30);
/// ```
pub fn fewest(share: f64, total: usize) -> usize {
    let exact = share * total as f64;
    ((exact * (1.0 - 1e-12)).ceil() as usize).clamp(1, total.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_probabilities_go_to_the_lowest_class() {
        assert_eq!(top(ndarray::array![0.2, 0.4, 0.4].view()), (1, 0.4));
    }

    #[test]
    fn rounding_does_not_cost_an_example() {
        assert_eq!(fewest(0.07, 100), 7);
        assert_eq!(fewest(0.95, 20), 19);
        assert_eq!(fewest(0.8, 37), 30);
        assert_eq!(fewest(1e-9, 5), 1);
        assert_eq!(fewest(1.0, 5), 5);
    }

    #[test]
    fn half_precision_rows_pass_and_unnormalized_ones_do_not() {
        assert!(probabilities(ndarray::array![[0.3335, 0.6661]].view(), &[0]).is_ok());
        let error = probabilities(ndarray::array![[0.9, 0.9]].view(), &[0]).unwrap_err();
        assert!(error.to_string().contains("sums to 1.8"), "{error}");
    }

    #[test]
    fn messages_name_the_place_and_the_way_out() {
        let rows = ndarray::array![[0.5, 0.5], [f64::NAN, 0.5]];
        let error = probabilities(rows.view(), &[0, 1]).unwrap_err().to_string();
        assert!(
            error.contains("probabilities[1, 0] is NaN") && error.contains("softmax"),
            "{error}"
        );

        let error =
            probabilities(ndarray::array![[0.5, 0.5]].view(), &[2]).unwrap_err().to_string();
        assert!(error.contains("labels[0] is 2, but there are 2 classes"), "{error}");

        let error = probabilities(ndarray::array![[0.5, 0.5]].view(), &[]).unwrap_err().to_string();
        assert!(error.contains("labels: expected 1"), "{error}");
    }
}
