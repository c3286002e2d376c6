//! Puts the figure on the page.

use super::layout::{Bar, Layout};
use super::legend::Legend;
use super::{Points, Surface, SurfaceFigure};
use crate::figure::canvas::{Anchor, Canvas, Rect};
use crate::figure::colour::{self, Rgb, VIRIDIS};
use crate::figure::{Result, bitmap, render};

/// Draws a figure that has been checked.
pub(super) fn figure(figure: &SurfaceFigure) -> Result<String> {
    let layout = Layout::of(figure);
    let mut canvas = Canvas::new(layout.width, layout.height);
    canvas.define_clip("panel", square(layout.panel));
    canvas.block(layout.heading.at, &layout.heading.block);
    for (row, place) in figure.rows.iter().zip(&layout.rows) {
        canvas.upright_block(place.label.at, &place.label.block);
        for title in &place.titles {
            canvas.block(title.at, &title.block);
        }
        for (surface, corner) in row.panels.iter().zip(&place.panels) {
            panel(&mut canvas, surface, *corner, layout.panel, figure.range)?;
        }
    }
    colour_bar(&mut canvas, &layout.bar, figure.range);
    legend(&mut canvas, &layout.legend, layout.font);
    Ok(canvas.finish())
}

fn panel(
    canvas: &mut Canvas,
    surface: &Surface,
    [x, y]: [f64; 2],
    side: f64,
    range: [f64; 2],
) -> Result<()> {
    // One image pixel a PNG pixel: the surface is as smooth as the page can show.
    let pixels = (side * f64::from(render::SCALE)) as usize;
    let image = bitmap::data_uri(&surface.grid, &surface.values, range, pixels)?;
    canvas.group(&[("transform", &format!("translate({x} {y})"))], |canvas| {
        canvas.image(square(side), &image);
        canvas.group(&[("clip-path", "url(#panel)")], |canvas| {
            for (class, points) in surface.classes.iter().enumerate() {
                dots(canvas, surface, points, side, colour::class(class));
            }
            dots(canvas, surface, &surface.ood, side, colour::OUT_OF_DISTRIBUTION);
        });
        canvas.frame(square(side));
    });
    Ok(())
}

/// The points that lie within the panel.
fn dots(canvas: &mut Canvas, surface: &Surface, points: &Points, side: f64, colour: Rgb) {
    let fraction = |value: f64, [low, high]: [f64; 2]| (value - low) / (high - low);
    let inside = points.0.iter().filter_map(|[x, y]| {
        let (right, up) = (fraction(*x, surface.grid.x), fraction(*y, surface.grid.y));
        let visible = (0.0..=1.0).contains(&right) && (0.0..=1.0).contains(&up);
        visible.then_some([right * side, (1.0 - up) * side])
    });
    canvas.dots(inside, 0.5 + side / 180.0, colour);
}

fn colour_bar(canvas: &mut Canvas, bar: &Bar, [low, high]: [f64; 2]) {
    canvas.gradient("colours", bar.rect, &VIRIDIS);
    canvas.frame(bar.rect);
    let right = bar.rect.x + bar.rect.width;
    for tick in &bar.ticks {
        let y = bar.rect.y + bar.rect.height * (1.0 - (tick.value - low) / (high - low));
        canvas.line([right, y], [right + 4.0, y]);
        let baseline = y + bar.tick_font * 0.36;
        canvas.text([right + 7.0, baseline], &tick.label, bar.tick_font, Anchor::Start);
    }
    canvas.upright_block(bar.label.at, &bar.label.block);
}

fn legend(canvas: &mut Canvas, legend: &Legend, font: f64) {
    for entry in &legend.entries {
        let [x, y] = entry.dot;
        canvas.dots([entry.dot], font * 0.32, entry.colour);
        canvas.text([x + font * 0.65, y + font * 0.35], &entry.text, font, Anchor::Start);
    }
}

fn square(side: f64) -> Rect {
    Rect { x: 0.0, y: 0.0, width: side, height: side }
}
