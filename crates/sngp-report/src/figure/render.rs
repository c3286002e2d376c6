//! SVG to PNG, with the font that travels inside the binary.

use super::{FigureError, Result};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::{Arc, LazyLock};

/// The family every figure asks for. Verdana has nearly the same widths, for readers who open the
/// SVG where DejaVu is not installed.
pub const FONT_FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// Pixels per SVG unit of the PNG files that [`Figure::save`](super::Figure::save) writes.
pub const SCALE: f32 = 2.0;

static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    Arc::new(fonts)
});

/// Rasterises an SVG document on white paper, `scale` pixels per unit.
///
/// ```
/// use sngp_report::figure::render;
///
/// let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"/>"#;
/// let png = render::png(svg, 2.0)?;
/// assert!(png.starts_with(b"\x89PNG"));
/// # Ok::<(), sngp_report::figure::FigureError>(())
/// ```
///
/// # Errors
/// [`FigureError::Svg`] when `svg` is no SVG document, [`FigureError::Size`] when the image would
/// have no pixels or more than fit in memory.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>> {
    let tree = parse(svg)?;
    let size = tree.size();
    // A negative or NaN scale saturates to zero pixels, which the pixmap refuses.
    let pixels = |units: f32| (units * scale).round() as u32;
    let mut pixmap = Pixmap::new(pixels(size.width()), pixels(size.height()))
        .ok_or(FigureError::Size { width: size.width(), height: size.height(), scale })?;
    pixmap.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    encode(&pixmap)
}

/// Parses `svg` with our font and nothing from the system.
pub(super) fn parse(svg: &str) -> Result<Tree> {
    let options = Options {
        font_family: "DejaVu Sans".into(),
        fontdb: Arc::clone(&FONTS),
        ..Options::default()
    };
    Ok(Tree::from_str(svg, &options)?)
}

/// Encodes without the alpha channel: the paper is white, so every pixel is opaque.
fn encode(pixmap: &Pixmap) -> Result<Vec<u8>> {
    let rgb: Vec<u8> =
        pixmap.pixels().iter().flat_map(|p| [p.red(), p.green(), p.blue()]).collect();
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, pixmap.width(), pixmap.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    encoder.set_filter(png::Filter::Adaptive);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&rgb)?;
    writer.finish()?;
    Ok(png)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Width, height and RGB bytes of a PNG file.
    pub fn decode(png: &[u8]) -> (u32, u32, Vec<u8>) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (info.width, info.height, pixels)
    }

    fn page(content: &str) -> String {
        format!(r#"<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">{content}</svg>"#)
    }

    #[test]
    fn an_empty_page_is_white() {
        let (width, height, pixels) = decode(&png(&page(""), 1.5).unwrap());
        assert_eq!((width, height), (60, 30));
        assert!(pixels.iter().all(|channel| *channel == 255));
    }

    #[test]
    fn text_is_drawn_without_any_system_font() {
        let text = r#"<text x="2" y="16" font-size="16">Hg</text>"#;
        let (_, _, pixels) = decode(&png(&page(text), 1.0).unwrap());
        assert!(pixels.iter().filter(|channel| **channel < 64).count() > 60);
    }

    #[test]
    fn bad_input_is_an_error() {
        assert!(matches!(png("<svg", 1.0), Err(FigureError::Svg(_))));
        for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(matches!(png(&page(""), scale), Err(FigureError::Size { .. })), "{scale}");
        }
    }
}
