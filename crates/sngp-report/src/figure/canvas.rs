//! The page: a growing SVG document.

use super::colour::{Rgb, hex};
use super::render;
use super::text::Block;
use crate::escape;
use std::fmt::Write;

/// Colour of text, frames and ticks: softer than pure black on white paper.
const INK: &str = "#222222";

/// Where a line of text stands relative to its point.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    /// The text begins there.
    Start,
    /// The text is centred there.
    Middle,
    /// The text ends there.
    End,
}

/// A rectangle by its upper left corner.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// An SVG document under construction; y grows downwards.
pub(super) struct Canvas {
    svg: String,
    /// Where the root element and the paper end.
    body: usize,
}

impl Canvas {
    /// A white page.
    pub fn new(width: f64, height: f64) -> Self {
        let (width, height) = (number(width), number(height));
        let svg = format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="{}" fill="{INK}">
<rect width="{width}" height="{height}" fill="#ffffff"/>
"##,
            render::FONT_FAMILY
        );
        let body = svg.len();
        Self { svg, body }
    }

    /// The finished document.
    pub fn finish(mut self) -> String {
        self.svg.push_str("</svg>\n");
        self.svg
    }

    /// What was drawn, without the root element and the paper: to be put into another document.
    pub fn into_body(mut self) -> String {
        self.svg.split_off(self.body)
    }

    /// Adds one element as it is; everything in it has to be escaped.
    pub fn element(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing into a string cannot fail.
        let _ = self.svg.write_fmt(element);
        self.svg.push('\n');
    }

    /// One line of text with its baseline at `at`.
    pub fn text(&mut self, at: [f64; 2], text: &str, size: f64, anchor: Anchor) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let ([x, y], size) = (at.map(number), number(size));
        self.element(format_args!(
            r#"<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}">{}</text>"#,
            escape::markup(text)
        ));
    }

    /// Centred lines, the last baseline at `at`.
    pub fn block(&mut self, [x, y]: [f64; 2], block: &Block) {
        for (above, line) in block.lines.iter().rev().enumerate() {
            let y = y - above as f64 * block.leading();
            self.text([x, y], line, block.size, Anchor::Middle);
        }
    }

    /// Like [`block`](Self::block), read from bottom to top; earlier lines stand further left.
    pub fn upright_block(&mut self, [x, y]: [f64; 2], block: &Block) {
        let turn = format!("translate({} {}) rotate(-90)", number(x), number(y));
        self.group(&[("transform", &turn)], |canvas| canvas.block([0.0, 0.0], block));
    }

    /// A thin dark frame.
    pub fn frame(&mut self, rect: Rect) {
        let rect = attributes(rect);
        self.element(format_args!(
            r#"<rect {rect} fill="none" stroke="{INK}" stroke-width="0.8"/>"#
        ));
    }

    /// A thin dark line.
    pub fn line(&mut self, from: [f64; 2], to: [f64; 2]) {
        let ([x1, y1], [x2, y2]) = (from.map(number), to.map(number));
        self.element(format_args!(
            r#"<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{INK}" stroke-width="0.8"/>"#
        ));
    }

    /// An embedded image, stretched to `rect`.
    pub fn image(&mut self, rect: Rect, data_uri: &str) {
        let rect = attributes(rect);
        self.element(format_args!(
            r#"<image {rect} preserveAspectRatio="none" xlink:href="{data_uri}"/>"#
        ));
    }

    /// Dots of one colour, slightly see-through, with a fine light edge that keeps neighbours
    /// apart.
    pub fn dots(&mut self, centres: impl IntoIterator<Item = [f64; 2]>, radius: f64, colour: Rgb) {
        let (fill, radius, edge) = (hex(colour), number(radius), number(radius * 0.18));
        let look = [
            ("fill", fill.as_str()),
            ("fill-opacity", "0.85"),
            ("stroke", "#ffffff"),
            ("stroke-opacity", "0.7"),
            ("stroke-width", &edge),
        ];
        self.group(&look, |canvas| {
            for centre in centres {
                let [x, y] = centre.map(number);
                canvas.element(format_args!(r#"<circle cx="{x}" cy="{y}" r="{radius}"/>"#));
            }
        });
    }

    /// A rectangle filled from bottom to top with evenly spaced colours.
    pub fn gradient(&mut self, id: &str, rect: Rect, colours: &[Rgb]) {
        self.element(format_args!(r#"<linearGradient id="{id}" x1="0" y1="1" x2="0" y2="0">"#));
        for (index, colour) in colours.iter().enumerate() {
            let offset = number(index as f64 / (colours.len() - 1) as f64);
            let colour = hex(*colour);
            self.element(format_args!(r#"<stop offset="{offset}" stop-color="{colour}"/>"#));
        }
        self.element(format_args!("</linearGradient>"));
        let rect = attributes(rect);
        self.element(format_args!(r#"<rect {rect} fill="url(#{id})"/>"#));
    }

    /// Names a rectangle that groups can be cut to with `clip-path="url(#id)"`.
    pub fn define_clip(&mut self, id: &str, rect: Rect) {
        let rect = attributes(rect);
        self.element(format_args!(r#"<clipPath id="{id}"><rect {rect}/></clipPath>"#));
    }

    /// Everything that `draw` draws shares the attributes.
    pub fn group(&mut self, attributes: &[(&str, &str)], draw: impl FnOnce(&mut Self)) {
        let attributes: String =
            attributes.iter().map(|(name, value)| format!(r#" {name}="{value}""#)).collect();
        self.element(format_args!("<g{attributes}>"));
        draw(self);
        self.element(format_args!("</g>"));
    }
}

pub(super) fn attributes(Rect { x, y, width, height }: Rect) -> String {
    let [x, y, width, height] = [x, y, width, height].map(number);
    format!(r#"x="{x}" y="{y}" width="{width}" height="{height}""#)
}

/// Two decimals are finer than any screen, and keep thousands of dots short.
pub(super) fn number(value: f64) -> String {
    // Adding zero turns -0 into 0.
    ((value * 100.0).round() / 100.0 + 0.0).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.1 + 0.2, 12.0, -0.001, -1.256].map(number), ["0.3", "12", "0", "-1.26"]);
    }

    #[test]
    fn every_element_makes_a_well_formed_document() {
        let rect = Rect { x: 1.0, y: 2.0, width: 30.0, height: 10.0 };
        let mut canvas = Canvas::new(60.0, 40.0);
        canvas.define_clip("cut", rect);
        canvas.gradient("ramp", rect, &[[0, 0, 0], [9, 9, 9]]);
        canvas.group(&[("clip-path", "url(#cut)")], |canvas| {
            canvas.dots([[3.0, 4.0]], 2.0, [255, 0, 0]);
        });
        canvas.frame(rect);
        canvas.line([0.0, 0.0], [9.0, 9.0]);
        canvas.upright_block([9.0, 9.0], &Block::fit("a & <b>", 8.0, 50.0));
        let svg = canvas.finish();
        let size = render::parse(&svg).unwrap().size();
        assert_eq!((size.width(), size.height()), (60.0, 40.0));
        assert!(svg.contains("a &amp; &lt;b&gt;"));
    }
}
