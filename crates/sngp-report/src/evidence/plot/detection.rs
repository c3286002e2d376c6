//! Out-of-distribution (OOD) detection: ROC and precision-recall.

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
    let at = [1.0 - sweep.coverage(start), sweep.rejected_ood(start).unwrap_or(0.0)];
    let chart = Chart {
        id: "roc".into(),
        x: share("test examples rejected (%)"),
        y: share("OOD examples rejected (%)"),
        series: vec![chance(vec![[0.0, 0.0], [1.0, 1.0]]), curve(&found.roc)],
        mark: mark(Position::Point(at)),
        counts: Vec::new(),
    };
    let caption = format!(
        "The price of rejecting OOD examples by the score alone: how many test examples are \
         rejected for how many OOD ones; a curve through the upper left corner is perfect. Area \
         (AUROC): {:.4}.{}",
        found.auroc,
        beside(sweep)
    );
    Plot { chart, title: "OOD detection", caption }
}

fn precision_recall(found: &Detection, sweep: &Sweep) -> Plot {
    let start = sweep.starting();
    let rejected_ood = sweep.ood - start.ood;
    let rejected = rejected_ood + sweep.test.count - start.test.count;
    // Where nothing is rejected, the curve begins as precise as it gets.
    let precision = if rejected > 0 { rejected_ood as f64 / rejected as f64 } else { 1.0 };
    let at = [sweep.rejected_ood(start).unwrap_or(0.0), precision];
    let rate = found.base_rate;
    let chart = Chart {
        id: "precision_recall".into(),
        x: share("recall: OOD examples rejected (%)"),
        y: share("precision (%)"),
        series: vec![chance(vec![[0.0, rate], [1.0, rate]]), curve(&found.precision_recall)],
        mark: mark(Position::Point(at)),
        counts: Vec::new(),
    };
    let caption = format!(
        "Of all that is rejected by the score alone, how many really are OOD, for each share of \
         them that is rejected; this depends on how many OOD examples the data holds. Average \
         precision (AUPR): {:.4}; chance: {rate:.4}.{}",
        found.average_precision,
        beside(sweep)
    );
    Plot { chart, title: "Precision of rejection", caption }
}

/// Why the mark may lie beside the curve.
fn beside(sweep: &Sweep) -> &'static str {
    match sweep.never {
        [0, 0] => "",
        _ => {
            " The mark is of the whole decision, which rejects some examples whatever their score."
        }
    }
}

fn share(label: &str) -> Axis {
    Axis { label: label.into(), range: [0.0, 1.0], scale: Scale::Percent }
}

fn chance(points: Vec<[f64; 2]>) -> Series {
    Series { label: "chance".into(), tone: Tone::Grey, shape: Shape::Dashed(points) }
}

fn curve(points: &[[f64; 2]]) -> Series {
    Series { label: "OOD detection".into(), tone: Tone::Red, shape: Shape::Line(points.to_vec()) }
}
