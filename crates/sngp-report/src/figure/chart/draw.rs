//! Puts a chart on the page.

use super::layout::{Layout, SIZE, TICK};
use super::legend::{FONT, SYMBOL};
use super::series::{dot, line, series, symbol, toned};
use super::{Axis, Chart, Position, Scale, Tone};
use crate::figure::canvas::{Anchor, Canvas, Rect, attributes, number};
use crate::figure::text::{self, Block};

/// Font size of the axes.
const LABEL: f64 = 11.5;

/// Draws a chart that has been checked.
pub(super) fn chart(canvas: &mut Canvas, chart: &Chart, layout: &Layout) {
    axes(canvas, chart, layout);
    let clip = format!("{}-area", chart.id);
    canvas.define_clip(&clip, with_rim(layout.area));
    canvas.group(&[("clip-path", &format!("url(#{clip})"))], |canvas| {
        chart.series.iter().for_each(|one| series(canvas, chart, layout, one));
    });
    counts(canvas, chart, layout);
    mark(canvas, chart, layout);
    legend(canvas, layout);
}

/// A little more, or lines and dots along the edge are cut in two.
fn with_rim(Rect { x, y, width, height }: Rect) -> Rect {
    Rect { x: x - 4.0, y: y - 4.0, width: width + 8.0, height: height + 8.0 }
}

fn axes(canvas: &mut Canvas, chart: &Chart, layout: &Layout) {
    let Rect { x, y, width, height } = layout.area;
    let bottom = layout.strip.y + layout.strip.height;
    let (across, up) = (chart.x.ticks(), chart.y.ticks());
    canvas.group(&[("class", "grid"), ("color", "#dddddd")], |canvas| {
        for tick in &across {
            let [x, _] = layout.place(chart, [tick.value, chart.y.range[0]]);
            line(canvas, &[[x, y], [x, bottom]], 0.7, None);
        }
        for tick in &up {
            let [_, y] = layout.place(chart, [chart.x.range[0], tick.value]);
            line(canvas, &[[x, y], [x + width, y]], 0.7, None);
        }
    });
    toned(canvas, Tone::Ink, |canvas| {
        line(canvas, &[[x, y + height], [x + width, y + height]], 1.0, None);
    });
    for tick in &across {
        let [x, _] = layout.place(chart, [tick.value, chart.y.range[0]]);
        canvas.text([x, bottom + 15.0], &tick.label, TICK, Anchor::Middle);
    }
    for tick in &up {
        let [_, y] = layout.place(chart, [chart.x.range[0], tick.value]);
        canvas.text([x - 7.0, y + TICK * 0.36], &tick.label, TICK, Anchor::End);
    }
    let label = Block::fit(&chart.x.label, LABEL, width + 20.0);
    canvas.block([x + width / 2.0, SIZE[1] - 8.0], &label);
    let label = Block::fit(&chart.y.label, LABEL, height + 30.0);
    canvas.upright_block([6.0 + label.height(), y + height / 2.0], &label);
}

/// Bars in the strip below the plot, with as many of their numbers as find room.
fn counts(canvas: &mut Canvas, chart: &Chart, layout: &Layout) {
    let most = chart.counts.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1) as f64;
    let Rect { y, height, .. } = layout.strip;
    let floor = y + height;
    let mut free = 0.0;
    for &(value, count) in chart.counts.iter().filter(|(_, count)| *count > 0) {
        let [middle, _] = layout.at([chart.x.clamped(value), 0.0]);
        // A single example among a million is still to be seen.
        let tall = ((height - 20.0) * count as f64 / most).max(1.0);
        toned(canvas, Tone::Grey, |canvas| {
            let bar = Rect { x: middle - 5.0, y: floor - tall, width: 10.0, height: tall };
            canvas.element(format_args!(
                r#"<rect {} fill="currentColor" fill-opacity="0.55"/>"#,
                attributes(bar)
            ));
        });
        let label = compact(count);
        let half = text::width(&label, 8.5) / 2.0;
        if middle - half > free {
            canvas.text([middle, floor - tall - 3.0], &label, 8.5, Anchor::Middle);
            free = middle + half + 2.0;
        }
    }
}

/// The mark, and how a script can turn values into places on this chart.
fn mark(canvas: &mut Canvas, chart: &Chart, layout: &Layout) {
    let Some(mark) = &chart.mark else {
        return;
    };
    let Rect { x, y, width, height } = layout.area;
    let area = [x, y, width, height].map(number).join(" ");
    let ends = |axis: &Axis| axis.range.map(|end| end.to_string()).join(" ");
    let log = if chart.x.scale == Scale::Log { "1" } else { "0" };
    let (across, up) = (ends(&chart.x), ends(&chart.y));
    let told = [
        ("class", "mark"),
        ("data-area", area.as_str()),
        ("data-x", &across),
        ("data-y", &up),
        ("data-log", log),
    ];
    canvas.group(&told, |canvas| {
        toned(canvas, Tone::Ink, |canvas| match mark.at {
            Position::Point([x, y]) => {
                dot(canvas, layout.at([chart.x.clamped(x), chart.y.clamped(y)]), 4.6);
            }
            Position::Vertical(value) => {
                let [x, _] = layout.at([chart.x.clamped(value), 0.0]);
                let ([x, low], high) = ([x, y].map(number), number(y + height));
                canvas.element(format_args!(
                    r#"<line x1="{x}" y1="{low}" x2="{x}" y2="{high}" stroke="currentColor" stroke-width="1.6"/>"#
                ));
            }
        });
    });
}

fn legend(canvas: &mut Canvas, layout: &Layout) {
    let [left, top] = layout.legend_corner();
    for entry in &layout.legend.entries {
        let [x, y] = [left + entry.at[0], top + entry.at[1]];
        toned(canvas, entry.tone, |canvas| symbol(canvas, entry.symbol, [x, y], SYMBOL));
        canvas.text([x + SYMBOL + 5.0, y + FONT * 0.36], &entry.text, FONT, Anchor::Start);
    }
}

/// Three digits and a letter.
fn compact(count: usize) -> String {
    let value = count as f64;
    match count {
        0..1_000 => count.to_string(),
        1_000..9_950 => format!("{:.1}k", value / 1e3),
        9_950..999_500 => format!("{:.0}k", value / 1e3),
        _ => format!("{:.1}M", value / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::compact;

    #[test]
    fn counts_stay_short() {
        let counts = [7, 999, 1_000, 9_949, 12_345, 999_400, 2_345_678];
        assert_eq!(counts.map(compact), ["7", "999", "1.0k", "9.9k", "12k", "999k", "2.3M"]);
    }
}
