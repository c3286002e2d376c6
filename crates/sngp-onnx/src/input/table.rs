//! Columns of numbers and categories.

use sngp::{Error, Result};
use sngp_pipeline::input::{Column, Encoding, TablePreparation};
use sngp_records::MISSING;

use super::{Inputs, Prepared, column_input, reason};
use crate::graph::{Attribute, Element, Graph, MACHINE_LEARNING, Value};

/// A column's part of the vector.
struct Encoded {
    vector: Value,
    /// Rows that cannot be used.
    bad: Option<Value>,
    /// Rows that training never had the like of, each with its reason.
    odd: Vec<(Value, &'static str)>,
}

pub fn prepared(graph: &mut Graph, table: &TablePreparation) -> Result<Prepared> {
    let columns: Vec<Encoded> = table.columns.iter().map(|column| encoded(graph, column)).collect();
    let parts: Vec<&Value> = columns.iter().map(|column| &column.vector).collect();
    if parts.is_empty() {
        return Err(Error::Unsupported("the model uses no column".to_string()));
    }
    let vectors = graph.concat(&parts, 1);
    // What became no number on its way to f32 is too large.
    let finite = graph.is_finite(&vectors);
    let mut valid = graph.all(&finite);
    for bad in columns.iter().filter_map(|column| column.bad.as_ref()) {
        let good = graph.op("Not", &[bad]);
        valid = graph.op("And", &[&valid, &good]);
    }
    let zero = graph.float(0.0);
    let inputs = Inputs::Vectors(graph.op("Where", &[&valid, &vectors, &zero]));
    // From the last to the first: the first column's reason is the one that is told.
    let mut oddity = None;
    for (odd, code) in columns.iter().rev().flat_map(|column| column.odd.iter().rev()) {
        let code = reason(graph, code)?;
        let rest = oddity.unwrap_or_else(|| graph.integer(0));
        oddity = Some(graph.op("Where", &[odd, &code, &rest]));
    }
    Ok(Prepared { inputs, valid, oddity })
}

fn encoded(graph: &mut Graph, column: &Column) -> Encoded {
    match &column.encoding {
        Encoding::Number { mean, scale, least } => number(graph, column, (*mean, *scale), *least),
        Encoding::Category { values } => category(graph, column, values),
    }
}

fn number(
    graph: &mut Graph,
    column: &Column,
    (mean, scale): (f64, f64),
    least: Option<f64>,
) -> Encoded {
    let value = column_input(graph, &column.name, Element::Double, "a number; none is missing");
    let (missing, bad) = (graph.op("IsNaN", &[&value]), graph.op("IsInf", &[&value]));
    let value = match least {
        None => value,
        Some(least) => {
            let (least, one) = (graph.double(least), graph.double(1.0));
            let above = graph.op("Sub", &[&value, &least]);
            let whole = graph.op("Add", &[&above, &one]);
            let logarithm = graph.op("Log", &[&whole]);
            let long = graph.op("GreaterOrEqual", &[&value, &least]);
            graph.op("Where", &[&long, &logarithm, &above])
        }
    };
    let (mean, scale, zero) = (graph.double(mean), graph.double(scale), graph.double(0.0));
    let centred = graph.op("Sub", &[&value, &mean]);
    let standard = graph.op("Div", &[&centred, &scale]);
    let standard = graph.op("Where", &[&missing, &zero, &standard]);
    let mut vector = graph.cast(&standard, Element::Float);
    let mut odd = Vec::new();
    if column.missing > 0 {
        let mark = graph.cast(&missing, Element::Float);
        vector = graph.concat(&[&vector, &mark], 1);
    } else {
        odd.push((missing, "missing_value"));
    }
    Encoded { vector, bad: Some(bad), odd }
}

fn category(graph: &mut Graph, column: &Column, values: &[String]) -> Encoded {
    let text = column_input(graph, &column.name, Element::Text, "a category; empty is missing");
    // A value's place; then that of what is missing; then that of anything else.
    let (missing, other) = (values.len() as i64, values.len() as i64 + 1);
    let absent = MISSING.iter().filter(|word| !values.iter().any(|value| value == *word));
    let absent: Vec<String> = absent.map(|word| word.to_string()).collect();
    let places = (0..missing).chain(absent.iter().map(|_| missing)).collect();
    let keys = values.iter().cloned().chain(absent.iter().cloned()).collect();
    let options = [
        ("keys_strings", Attribute::Texts(keys)),
        ("values_int64s", Attribute::Integers(places)),
        ("default_int64", Attribute::Integer(other)),
    ];
    let place = graph.several(MACHINE_LEARNING, "LabelEncoder", &[&text], &options, 1);
    let place = &place[0];
    let known = graph.integers(&(0..missing).collect::<Vec<_>>());
    let same = graph.op("Equal", &[place, &known]);
    let vector = graph.cast(&same, Element::Float);
    let mut odd = Vec::new();
    if column.missing == 0 {
        let missing = graph.integer(missing);
        odd.push((graph.op("Equal", &[place, &missing]), "missing_value"));
    }
    if column.other == Some(0) {
        let other = graph.integer(other);
        odd.push((graph.op("Equal", &[place, &other]), "unseen_category"));
    }
    Encoded { vector, bad: None, odd }
}
