//! Where everything stands.

use super::Chart;
use super::legend::Legend;
use crate::figure::canvas::Rect;
use crate::figure::text;

/// Small enough that the text is still readable where a phone shrinks the drawing.
pub(super) const SIZE: [f64; 2] = [440.0, 320.0];

/// Font size of ticks.
pub(super) const TICK: f64 = 10.5;

/// Usual room left of the plot; long tick labels get more.
const LEFT: f64 = 54.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 6.0;
const BOTTOM: f64 = 44.0;
const STRIP: f64 = 46.0;

/// The placed parts of a chart.
pub(super) struct Layout {
    pub legend: Legend,
    /// Where values are drawn.
    pub area: Rect,
    /// Where counts are drawn; of no height when there are none.
    pub strip: Rect,
}

impl Layout {
    pub fn of(chart: &Chart) -> Self {
        let [width, height] = SIZE;
        let ticks = chart.y.ticks();
        let widest = ticks.iter().map(|tick| text::width(&tick.label, TICK)).fold(0.0, f64::max);
        let x = LEFT.max(widest + 32.0);
        let inner = width - x - RIGHT;
        let legend = Legend::of(chart, inner);
        let y = TOP + legend.height + 8.0;
        let strip = if chart.counts.is_empty() { 0.0 } else { STRIP };
        let area = Rect { x, y, width: inner, height: height - BOTTOM - strip - y };
        let strip = Rect { x, y: y + area.height, width: inner, height: strip };
        Self { legend, area, strip }
    }

    /// The place of a pair of values.
    pub fn place(&self, chart: &Chart, [x, y]: [f64; 2]) -> [f64; 2] {
        self.at([chart.x.fraction(x), chart.y.fraction(y)])
    }

    /// The place of a pair of fractions of the axes.
    pub fn at(&self, [right, up]: [f64; 2]) -> [f64; 2] {
        let Rect { x, y, width, height } = self.area;
        [x + right * width, y + (1.0 - up) * height]
    }

    /// The corner of the legend.
    pub fn legend_corner(&self) -> [f64; 2] {
        [self.area.x, TOP]
    }
}
