//! Accepted or not, and why: the same rules in the same order as `Pipeline::answer_prepared`.

use sngp::score::{Score, Variance};
use sngp::{Error, Result};
use sngp_pipeline::{Pipeline, Task};

use crate::graph::{Attribute, Element, Graph, Size, Value};
use crate::guard::Measured;
use crate::head::Predicted;
use crate::input::{Prepared, reason, reasons};
use crate::scores::{Scores, p_value};

/// What decides, and what else is told.
pub struct Evidence<'a> {
    /// The state of every row.
    pub prepared: &'a Prepared,
    /// What the network predicts.
    pub predicted: &'a Predicted,
    /// How far the inputs are.
    pub measured: Option<&'a Measured>,
}

/// Adds the decision and all outputs.
pub fn decide(
    graph: &mut Graph,
    pipeline: &Pipeline,
    evidence: &Evidence<'_>,
    scores: &mut Scores<'_>,
) -> Result<()> {
    let Evidence { prepared, predicted, measured } = evidence;
    // A row that is answered at all; one whose outcome is told.
    let answered = graph.op("And", &[&prepared.valid, &predicted.finite]);
    let numbers = graph.is_finite(&predicted.probabilities);
    let numbers = graph.all(&numbers);
    let told = graph.op("And", &[&answered, &numbers]);

    let score = pipeline.score();
    let uncertainty = scores.score(graph, &score)?;
    let has_value = graph.is_finite(&uncertainty);
    let accepted = accepted(graph, pipeline, &uncertainty, &has_value, scores, *measured)?;

    // The order of the reasons, from the last to the first that counts.
    let mut why = accepted;
    if pipeline.card().uncalibrated {
        why = reason(graph, "not_calibrated")?;
    }
    let not_computable = reason(graph, "not_computable")?;
    why = graph.op("Where", &[&told, &why, &not_computable]);
    if let Some(oddity) = &prepared.oddity {
        let none = graph.integer(0);
        let odd = graph.op("Greater", &[oddity, &none]);
        why = graph.op("Where", &[&odd, oddity, &why]);
    }
    let invalid = reason(graph, "invalid_input")?;
    why = graph.op("Where", &[&prepared.valid, &why, &invalid]);

    let classes = Size::Of(pipeline.labels().len());
    let mut out = Outputs { graph, answered };
    out.outcome(pipeline, scores, predicted, &told, classes);
    out.number("uncertainty", &uncertainty, &format!("{score}, higher is less certain"));
    if let Some(combination) = pipeline.combination() {
        let whole = scores.score(out.graph, &sngp::score::Combined {}.into())?;
        let share = p_value(out.graph, "combined", combination.usual(), &whole);
        let meaning = "share of examples like the held-out ones that are at least so uncertain";
        out.number("p_value", &share, meaning);
    }
    if predicted.variance.is_some() {
        scores.score(out.graph, &Score::from(Variance {}))?;
    }
    for (name, value) in scores.made() {
        let meaning = match name.as_str() {
            "variance" => "variance of the predicted logit",
            _ => "a score, higher is less certain",
        };
        out.number(name, value, meaning);
    }
    if let Some(measured) = measured {
        let meaning = "how far the input is from the nearest class, in deviations squared";
        out.number("input_distance", &measured.distance, meaning);
        let meaning = "how far the input is outside of the ranges seen, in their widths";
        out.number("input_excess", &measured.excess, meaning);
    }
    out.verdict(&why);
    Ok(())
}

/// The reason by scores, guard and distance rule; 0 where a row is accepted.
fn accepted(
    graph: &mut Graph,
    pipeline: &Pipeline,
    uncertainty: &Value,
    has_value: &Value,
    scores: &mut Scores<'_>,
    measured: Option<&Measured>,
) -> Result<Value> {
    let none = graph.integer(0);
    let far_from_data = reason(graph, "far_from_data")?;
    let not_computable = reason(graph, "not_computable")?;
    let mut why = none.clone();
    if let Some(decision) = pipeline.decision() {
        let threshold = graph.double(decision.threshold);
        let enough = graph.op("LessOrEqual", &[uncertainty, &threshold]);
        let unlike = unlike(graph, pipeline, scores)?;
        why = graph.op("Where", &[&enough, &none, &unlike]);
        why = graph.op("Where", &[has_value, &why, &not_computable]);
        if let Some(rule) = &decision.distance {
            let value = scores.score(graph, &rule.score)?;
            let limit = graph.double(rule.threshold);
            let near = graph.op("LessOrEqual", &[&value, &limit]);
            let rejected = if combines(&rule.score) { &unlike } else { &far_from_data };
            why = graph.op("Where", &[&near, &why, rejected]);
        }
    }
    if let Some(measured) = measured {
        why = graph.op("Where", &[&measured.admitted, &why, &far_from_data]);
    }
    Ok(why)
}

fn combines(score: &Score) -> bool {
    matches!(score, Score::Combined(_))
}

/// Why a row is rejected that the scores reject: far from the data, or ambiguous.
fn unlike(graph: &mut Graph, pipeline: &Pipeline, scores: &mut Scores<'_>) -> Result<Value> {
    let rule = pipeline.decision().and_then(|decision| decision.distance.as_ref());
    let is_combined = combines(&pipeline.score()) || rule.is_some_and(|r| combines(&r.score));
    let far = match pipeline.card().task {
        _ if is_combined && pipeline.combination().is_some() => scores.combined(graph)?.far,
        Task::Classification { least_evidence } => {
            let evidence = graph.reduce("ReduceMax", &scores.class_logits);
            let least = graph.double(least_evidence);
            graph.op("Less", &[&evidence, &least])
        }
        Task::Regression { .. } => {
            return Err(Error::Unsupported("models of numbers are not exported yet".to_string()));
        }
    };
    let (far_from_data, ambiguous) = (reason(graph, "far_from_data")?, reason(graph, "ambiguous")?);
    Ok(graph.op("Where", &[&far, &far_from_data, &ambiguous]))
}

/// Outputs, without numbers for rows that are not answered.
struct Outputs<'a> {
    graph: &'a mut Graph,
    answered: Value,
}

impl Outputs<'_> {
    /// One number a row.
    fn number(&mut self, name: &str, value: &Value, meaning: &str) {
        let graph = &mut *self.graph;
        let finite = graph.is_finite(value);
        let known = graph.op("And", &[&self.answered, &finite]);
        let none = graph.double(f64::NAN);
        let value = graph.op("Where", &[&known, value, &none]);
        self.flat(name, &value, Element::Double, meaning);
    }

    /// A value of one column as a list.
    fn flat(&mut self, name: &str, value: &Value, element: Element, meaning: &str) {
        let axis = self.graph.integers(&[1]);
        let flat = self.graph.op("Squeeze", &[value, &axis]);
        self.graph.output(name, &flat, element, &[Size::Rows], meaning);
    }

    /// A text of a list by its place.
    fn named(&mut self, name: &str, texts: &[&str], place: &Value, meaning: &str) {
        let texts = self.graph.texts(&format!("sngp/{name}"), texts);
        let text = self.graph.gather(&texts, place, 0);
        self.flat(name, &text, Element::Text, meaning);
    }

    fn outcome(
        &mut self,
        pipeline: &Pipeline,
        scores: &Scores<'_>,
        predicted: &Predicted,
        told: &Value,
        classes: Size,
    ) {
        let graph = &mut *self.graph;
        let (nothing, none) = (graph.integer(-1), graph.double(f64::NAN));
        let index = graph.op("Where", &[told, &scores.class, &nothing]);
        let probabilities = graph.op("Where", &[told, &predicted.probabilities, &none]);
        let logits = graph.op("Where", &[told, &scores.class_logits, &none]);
        let options = [("axis", Attribute::Integer(1))];
        let best = graph.op_with("GatherElements", &[&probabilities, &scores.class], &options);
        let mean = graph.op("Where", &[told, &predicted.logits, &none]);
        // The last name is that of no class, at the place -1.
        let names: Vec<&str> = pipeline.labels().iter().map(String::as_str).chain([""]).collect();
        self.named("label", &names, &index, "the most probable class; empty for none");
        self.flat(
            "label_index",
            &index,
            Element::Integer,
            "its place among the labels, -1 for none",
        );
        self.flat("probability", &best, Element::Double, "its probability");
        let shape = [Size::Rows, classes];
        let meaning = "the probabilities of all classes, in the labels' order";
        self.graph.output("probabilities", &probabilities, Element::Double, &shape, meaning);
        let meaning = "their logits, made smaller by the variance";
        self.graph.output("logits", &logits, Element::Double, &shape, meaning);
        let shape = [Size::Rows, Size::Of(predicted.outputs)];
        let meaning = "the logits before that";
        self.graph.output("mean", &mean, Element::Double, &shape, meaning);
    }

    fn verdict(&mut self, why: &Value) {
        let none = self.graph.integer(0);
        let accepted = self.graph.op("Equal", &[why, &none]);
        let place = self.graph.cast(&accepted, Element::Integer);
        self.flat("accepted", &accepted, Element::Bool, "whether the label may be used");
        self.named("decision", &["abstain", "accept"], &place, "accept or abstain");
        self.named("reason", &reasons(), why, "why it abstains; empty where it does not");
    }
}
