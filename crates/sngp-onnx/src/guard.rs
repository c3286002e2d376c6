//! How far a row is from the training inputs, whatever the network makes of it.

use ndarray::Axis;
use sngp_pipeline::guard::{Guard, View};

use crate::graph::{Element, Graph, Value};

/// How far rows are, and which of them are near enough; `[rows, 1]` each.
pub struct Measured {
    /// The most that any number is outside of its range, in widths of the range.
    pub excess: Value,
    /// The mean squared distance from the nearest centre.
    pub distance: Value,
    /// Whether a row is near enough to be answered.
    pub admitted: Value,
}

/// Measures what the guard looks at: prepared vectors, images, or hidden vectors of sentences.
pub fn measured(graph: &mut Graph, guard: &Guard, inputs: &Value) -> Measured {
    let (ranged, placed) = match guard.view() {
        View::Numbers { places } => {
            let places: Vec<i64> = places.iter().map(|&place| place as i64).collect();
            let places = graph.integers(&places);
            let numbers = graph.gather(inputs, &places, 1);
            let numbers = graph.cast(&numbers, Element::Double);
            (numbers.clone(), Some(numbers))
        }
        View::Direction => {
            let (length, unit) = graph.direction(inputs);
            // As it is kept: in f32.
            let length = graph.cast(&length, Element::Float);
            let length = graph.cast(&length, Element::Double);
            (length, Some(graph.cast(&unit, Element::Double)))
        }
        View::Picture { size } => (looks(graph, inputs, *size), None),
    };
    let excess = excess(graph, guard, &ranged);
    let distance = match placed {
        Some(placed) => distance(graph, guard, &placed),
        None => {
            let zero = graph.double(0.0);
            graph.op("Mul", &[&excess, &zero])
        }
    };
    let (most, farthest) = guard.limits();
    let (most, farthest) = (graph.double(most), graph.double(farthest));
    let inside = graph.op("LessOrEqual", &[&excess, &most]);
    let near = graph.op("LessOrEqual", &[&distance, &farthest]);
    let admitted = graph.op("And", &[&inside, &near]);
    Measured { excess, distance, admitted }
}

fn excess(graph: &mut Graph, guard: &Guard, ranged: &Value) -> Value {
    let ranges: Vec<(f64, f64, f64)> = guard.ranges().collect();
    let column = |part: fn(&(f64, f64, f64)) -> f64| ranges.iter().map(part).collect::<Vec<_>>();
    let low = graph.row("sngp/guard/low", &column(|range| range.0));
    let high = graph.row("sngp/guard/high", &column(|range| range.1));
    let width = graph.row("sngp/guard/width", &column(|range| range.2));
    let (below, above) = (graph.op("Sub", &[&low, ranged]), graph.op("Sub", &[ranged, &high]));
    let outside = graph.op("Max", &[&below, &above]);
    let outside = graph.op("Div", &[&outside, &width]);
    // What is no number is no number here either, and no limit admits it.
    let most = graph.strict("ReduceMax", &outside);
    graph.not_negative(&most)
}

fn distance(graph: &mut Graph, guard: &Guard, placed: &Value) -> Value {
    let (centres, scale) = guard.centres();
    let centres = centres.mapv(f64::from);
    let lengths: Vec<f64> = centres.axis_iter(Axis(0)).map(|row| row.dot(&row)).collect();
    let scale: Vec<f64> = scale.iter().map(|&scale| f64::from(scale)).collect();
    let width = graph.double(scale.len().max(1) as f64);
    let scale = graph.row("sngp/guard/scale", &scale);
    let placed = graph.op("Div", &[placed, &scale]);
    let centres = graph.matrix("sngp/guard/centres", &centres.reversed_axes());
    let lengths = graph.row("sngp/guard/lengths", &lengths);
    let nearest = nearest(graph, &placed, &centres, &lengths);
    let nearest = graph.not_negative(&nearest);
    graph.op("Div", &[&nearest, &width])
}

/// The least of `|x|^2 - 2 x c + |c|^2` over the columns `c` of a matrix.
pub fn nearest(graph: &mut Graph, rows: &Value, centres: &Value, lengths: &Value) -> Value {
    let distances = squared_distances(graph, rows, centres, lengths);
    graph.strict("ReduceMin", &distances)
}

/// `|x|^2 - 2 x c + |c|^2` of all rows and columns of a matrix.
pub fn squared_distances(
    graph: &mut Graph,
    rows: &Value,
    centres: &Value,
    lengths: &Value,
) -> Value {
    let own = graph.reduce("ReduceSumSquare", rows);
    let products = graph.op("MatMul", &[rows, centres]);
    let two = graph.double(2.0);
    let twice = graph.op("Mul", &[&products, &two]);
    let rest = graph.op("Sub", &[&own, &twice]);
    graph.op("Add", &[&rest, lengths])
}

/// Brightness, contrast and detail of every channel, `[rows, 9]`.
fn looks(graph: &mut Graph, images: &Value, size: usize) -> Value {
    let images = graph.cast(images, Element::Double);
    let mean = graph.reduce_axes("ReduceMean", &images, &[2, 3]);
    let centred = graph.op("Sub", &[&images, &mean]);
    let squares = graph.op("Mul", &[&centred, &centred]);
    let variance = graph.reduce_axes("ReduceMean", &squares, &[2, 3]);
    let contrast = graph.op("Sqrt", &[&variance]);
    let slice = |graph: &mut Graph, start: i64, end: i64| {
        let (start, end) = (graph.integers(&[start]), graph.integers(&[end]));
        let axis = graph.integers(&[3]);
        graph.op("Slice", &[&images, &start, &end, &axis])
    };
    let (left, right) = (slice(graph, 0, -1), slice(graph, 1, i64::MAX));
    let steps = graph.op("Sub", &[&right, &left]);
    let steps = graph.op("Abs", &[&steps]);
    let steps = graph.reduce_axes("ReduceSum", &steps, &[2, 3]);
    let count = graph.double((size * size) as f64);
    let detail = graph.op("Div", &[&steps, &count]);
    let little = graph.double(1e-3);
    let logarithm = |graph: &mut Graph, value: &Value| {
        let more = graph.op("Add", &[value, &little]);
        graph.op("Log", &[&more])
    };
    let (contrast, detail) = (logarithm(graph, &contrast), logarithm(graph, &detail));
    // [rows, 3, 1, 1] three times to [rows, 3, 3]: channel by channel.
    let looks = graph.concat(&[&mean, &contrast, &detail], 2);
    let flat = graph.integers(&[0, 9]);
    graph.op("Reshape", &[&looks, &flat])
}
