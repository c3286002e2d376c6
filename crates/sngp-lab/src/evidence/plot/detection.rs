//! Out-of-domain detection: ROC and precision-recall.

use super::{Plot, Sorted, mark};
use crate::evidence::curve::{Detection, Sweep, detection};
use crate::figure::{Axis, Chart, Position, Scale, Series, Shape, Tone};

/// None where there is nothing to detect.
pub(super) fn plots(sorted: &Sorted, sweep: &Sweep) -> Vec<Plot> {
    let Some(found) = detection(&sorted.test, &sorted.ood) else {
        return Vec::new();
    };
    vec![roc(&found, sweep), precision_recall(&found, sweep)]
}

fn roc(found: &Detection, sweep: &Sweep) -> Plot {
    let start = sweep.starting();
    let at = [1.0 - sweep.coverage(start), sweep.caught(start).unwrap_or(0.0)];
    let chart = Chart {
        id: "roc".into(),
        x: share("test examples turned away (%)"),
        y: share("out-of-domain turned away (%)"),
        series: vec![
            chance(vec![[0.0, 0.0], [1.0, 1.0]]),
            curve(&found.roc, "out-of-domain detection"),
        ],
        mark: mark(Position::Point(at)),
        counts: Vec::new(),
    };
    let caption = format!(
        "The price of catching strangers: how many familiar examples are turned away for how many \
         out-of-domain ones; a curve through the upper left corner is perfect. Area (AUROC): {:.4}.",
        found.auroc
    );
    Plot { chart, title: "Catching out-of-domain examples", caption }
}

fn precision_recall(found: &Detection, sweep: &Sweep) -> Plot {
    let start = sweep.starting();
    let caught = sweep.ood - start.ood;
    let turned = caught + sweep.test.count - start.test.count;
    // Where nothing is turned away, the curve begins as precise as it gets.
    let precision = if turned > 0 { caught as f64 / turned as f64 } else { 1.0 };
    let at = [sweep.caught(start).unwrap_or(0.0), precision];
    let rate = found.base_rate;
    let chart = Chart {
        id: "precision_recall".into(),
        x: share("recall: out-of-domain turned away (%)"),
        y: share("precision (%)"),
        series: vec![
            chance(vec![[0.0, rate], [1.0, rate]]),
            curve(&found.precision_recall, "out-of-domain detection"),
        ],
        mark: mark(Position::Point(at)),
        counts: Vec::new(),
    };
    let caption = format!(
        "Of all it turns away, how many really are out-of-domain, for each share of them that is \
         caught; this depends on how many strangers the data holds. Average precision: {:.4}; \
         chance: {rate:.4}.",
        found.average_precision
    );
    Plot { chart, title: "Precision of turning away", caption }
}

fn share(label: &str) -> Axis {
    Axis { label: label.into(), range: [0.0, 1.0], scale: Scale::Percent }
}

fn chance(points: Vec<[f64; 2]>) -> Series {
    Series { label: "chance".into(), tone: Tone::Grey, shape: Shape::Dashed(points) }
}

fn curve(points: &[[f64; 2]], label: &str) -> Series {
    Series { label: label.into(), tone: Tone::Red, shape: Shape::Line(points.to_vec()) }
}
