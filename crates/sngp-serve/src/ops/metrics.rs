//! Counters and histograms for Prometheus. Buckets are fixed: two servers can be added up.

use std::fmt::Write as _;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry as Names;
use sngp_pipeline::Answer;

use super::monitor::{Monitor, Traffic};
use crate::model::Registry;

const SECONDS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
const ROWS: [f64; 11] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0];
const RANKS: [f64; 11] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];

/// What is computed when somebody looks: name, meaning, value.
type Figure = (&'static str, &'static str, fn(&Traffic) -> Option<f64>);
const FIGURES: [Figure; 4] = [
    ("abstained_share", "Share of the last 1000 rows that was abstained from", |t| t.abstained),
    ("expected_abstained_share", "Share of held-out rows above the threshold", |t| t.expected),
    ("drift_statistic", "Kolmogorov-Smirnov distance of recent scores from held-out ones", |t| {
        t.drift
    }),
    ("drift_p_value", "Probability of such a distance where nothing has changed", |t| t.p_value),
];

/// What a request was.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// `http` or `grpc`.
    pub protocol: &'static str,
    /// The page or method, as it is named here and not as it was asked for.
    pub route: &'static str,
    /// HTTP status or gRPC code.
    pub code: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModelLabels {
    model: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    model: String,
    decision: &'static str,
    reason: &'static str,
}

/// Everything that is counted.
pub struct Metrics {
    names: Names,
    /// Requests by what became of them.
    pub requests: Family<RequestLabels, Counter>,
    /// How long requests took.
    pub seconds: Family<ProtocolLabels, Histogram, fn() -> Histogram>,
    /// Requests that are being worked on.
    pub in_flight: Gauge,
    /// Open connections.
    pub connections: Gauge,
    /// Connections that were one too many.
    pub refused_connections: Counter,
    rows: Family<DecisionLabels, Counter>,
    queued: Family<ModelLabels, Gauge>,
    waited: Family<ModelLabels, Histogram, fn() -> Histogram>,
    batch_rows: Family<ModelLabels, Histogram, fn() -> Histogram>,
    computed: Family<ModelLabels, Histogram, fn() -> Histogram>,
    ranks: Family<ModelLabels, Histogram, fn() -> Histogram>,
    panics: Family<ModelLabels, Counter>,
}

/// Counts something for as long as it is there, also where it ends without saying so.
pub struct Held(Gauge);

impl Held {
    /// One more of it.
    pub fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Requests are timed by protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ProtocolLabels {
    /// `http` or `grpc`.
    pub protocol: &'static str,
}

/// What is counted of one model.
#[derive(Clone)]
pub struct ModelMetrics {
    model: String,
    rows: Family<DecisionLabels, Counter>,
    /// Rows that wait.
    pub queued_rows: Gauge,
    /// How long requests waited.
    pub waited: Histogram,
    /// Rows of the batches.
    pub batch_rows: Histogram,
    /// How long batches took.
    pub computed: Histogram,
    /// Batches that failed by a panic.
    pub panics: Counter,
    ranks: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut names = Names::with_prefix("sngp");
        let seconds = || Histogram::new(SECONDS);
        let metrics = Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(seconds),
            in_flight: Gauge::default(),
            connections: Gauge::default(),
            refused_connections: Counter::default(),
            rows: Family::default(),
            queued: Family::default(),
            waited: Family::new_with_constructor(seconds),
            batch_rows: Family::new_with_constructor(|| Histogram::new(ROWS)),
            computed: Family::new_with_constructor(seconds),
            ranks: Family::new_with_constructor(|| Histogram::new(RANKS)),
            panics: Family::default(),
            names: Names::default(),
        };
        macro_rules! register {
            ($metric:ident, $name:literal, $help:literal) => {
                names.register($name, $help, metrics.$metric.clone())
            };
        }
        register!(requests, "requests", "Requests by route and code");
        register!(seconds, "request_seconds", "From a request's header to its answer");
        register!(in_flight, "requests_in_flight", "Requests that are being worked on");
        register!(connections, "connections", "Open connections");
        register!(refused_connections, "connections_refused", "Connections that were one too many");
        register!(rows, "rows", "Rows by decision and reason");
        register!(queued, "queue_rows", "Rows that wait for the model");
        register!(waited, "queue_seconds", "How long rows waited for the model");
        register!(batch_rows, "batch_rows", "Rows of a batch");
        register!(computed, "batch_seconds", "How long a batch took the model");
        register!(
            ranks,
            "score_rank",
            "Share of held-out rows that were less uncertain; evenly spread where nothing changed"
        );
        register!(panics, "batch_panics", "Batches that failed by a fault of the program");
        Self { names, ..metrics }
    }
}

impl Metrics {
    /// The part of one model.
    pub fn model(&self, name: &str) -> ModelMetrics {
        let labels = ModelLabels { model: name.to_string() };
        ModelMetrics {
            model: name.to_string(),
            rows: self.rows.clone(),
            queued_rows: self.queued.get_or_create(&labels).clone(),
            waited: self.waited.get_or_create(&labels).clone(),
            batch_rows: self.batch_rows.get_or_create(&labels).clone(),
            computed: self.computed.get_or_create(&labels).clone(),
            panics: self.panics.get_or_create(&labels).clone(),
            ranks: self.ranks.get_or_create(&labels).clone(),
        }
    }

    /// All of it as text, with what is computed when somebody looks: abstention and drift.
    pub fn render(&self, models: &Registry) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.names);
        let end = "# EOF\n";
        text.truncate(text.len() - if text.ends_with(end) { end.len() } else { 0 });
        let traffic: Vec<(&str, Traffic)> = models
            .all()
            .iter()
            .map(|served| (served.name.as_str(), served.current().monitor.traffic(0)))
            .collect();
        for (name, help, value) in FIGURES {
            let _ = writeln!(text, "# HELP sngp_{name} {help}.\n# TYPE sngp_{name} gauge");
            for (model, traffic) in &traffic {
                if let Some(value) = value(traffic) {
                    let _ = writeln!(text, "sngp_{name}{{model=\"{model}\"}} {value}");
                }
            }
        }
        text + end
    }
}

impl ModelMetrics {
    /// Counts answers.
    pub fn answered(&self, answers: &[Answer], monitor: &Monitor) {
        for answer in answers {
            let labels = DecisionLabels {
                model: self.model.clone(),
                decision: answer.decision(),
                reason: answer.reason_code().unwrap_or(""),
            };
            self.rows.get_or_create(&labels).inc();
            if let Some(rank) = answer.uncertainty.and_then(|value| monitor.rank(value)) {
                self.ranks.observe(rank);
            }
        }
    }
}
