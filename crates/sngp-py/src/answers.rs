//! Answers as columns.

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sngp_pipeline::{Answer, AnswerValue, FieldKind, Outcome, Signature};

/// One array or list a field of the signature, and beside them `index`, the number of the class,
/// `accepted`, and `flagged` where rows are. What a row has no value of is NaN, -1 or `None` there; matrices that nobody asked
/// for are left out.
pub fn columns<'py>(
    py: Python<'py>,
    answers: &[Answer],
    signature: &Signature,
) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    for field in &signature.outputs {
        let name = &field.name;
        match (&field.kind, &field.shape[..]) {
            (FieldKind::Number, [_]) => {
                let number = |answer: &Answer| match answer.value(name) {
                    Some(AnswerValue::Number(number)) => number,
                    _ => f64::NAN,
                };
                let numbers: Vec<f64> = answers.iter().map(number).collect();
                columns.set_item(name, numbers.into_pyarray(py))?;
            }
            (FieldKind::Number, _) => {
                if let Some(all) = matrix(answers, name, signature.labels.len()) {
                    columns.set_item(name, all.to_pyarray(py))?;
                }
            }
            _ => {
                let text = |answer: &Answer| match answer.value(name) {
                    Some(AnswerValue::Text(text)) => Some(text.into_owned()),
                    _ => None,
                };
                columns.set_item(name, answers.iter().map(text).collect::<Vec<_>>())?;
            }
        }
    }
    if !signature.labels.is_empty() {
        let index = |answer: &Answer| match &answer.outcome {
            Some(Outcome::Class { index, .. }) => *index as i64,
            _ => -1,
        };
        let indices: Vec<i64> = answers.iter().map(index).collect();
        columns.set_item("index", indices.into_pyarray(py))?;
    }
    if answers.iter().any(|answer| answer.flagged.is_some()) {
        let flagged: Vec<bool> = answers.iter().map(|a| a.flagged == Some(true)).collect();
        columns.set_item("flagged", flagged.into_pyarray(py))?;
    }
    let accepted: Vec<bool> = answers.iter().map(Answer::is_accepted).collect();
    columns.set_item("accepted", accepted.into_pyarray(py))?;
    Ok(columns)
}

/// A number a class, where any answer has them.
fn matrix(answers: &[Answer], name: &str, classes: usize) -> Option<Array2<f64>> {
    let mut all = Array2::from_elem((answers.len(), classes), f64::NAN);
    let mut any = false;
    for (mut row, answer) in all.outer_iter_mut().zip(answers) {
        if let Some(AnswerValue::Numbers(own)) = answer.value(name) {
            own.iter().zip(&mut row).for_each(|(own, place)| *place = *own);
            any = true;
        }
    }
    any.then_some(all)
}
