//! A grid of values as one smooth embedded image.
//!
//! A 100 x 100 grid as rectangles would be 10,000 elements with hairline seams. Enlarging a small
//! image is left to no renderer either: each does it differently, and blending *colours* across a
//! steep edge makes grey out of violet and yellow. So the *values* are interpolated here, at the
//! resolution of the page, and coloured afterwards.

use super::colour::viridis;
use super::{Grid, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The values as a PNG `data:` address of `side` x `side` pixels, the highest y on top.
///
/// `values` has to fit `grid`; the caller has checked it.
pub(super) fn data_uri(
    grid: &Grid,
    values: &[f64],
    range: [f64; 2],
    side: usize,
) -> Result<String> {
    let png = indexed_png(&shades(grid, values, range, side), side)?;
    Ok(format!("data:image/png;base64,{}", STANDARD.encode(png)))
}

/// Bilinear samples of the grid as palette entries, top row first.
fn shades(grid: &Grid, values: &[f64], [low, high]: [f64; 2], side: usize) -> Vec<u8> {
    let columns = taps(grid.columns, side);
    let rows = taps(grid.rows, side);
    let mut shades = Vec::with_capacity(side * side);
    for &(row, up) in rows.iter().rev() {
        let lower = &values[row * grid.columns..][..grid.columns];
        let upper = &values[(row + 1) * grid.columns..][..grid.columns];
        shades.extend(columns.iter().map(|&(column, right)| {
            let mix = |line: &[f64]| line[column] + right * (line[column + 1] - line[column]);
            let (below, above) = (mix(lower), mix(upper));
            let value = below + up * (above - below);
            (((value - low) / (high - low)).clamp(0.0, 1.0) * 255.0).round() as u8
        }));
    }
    shades
}

/// For every pixel centre along one axis: the grid node before it and how far it is to the next.
fn taps(nodes: usize, pixels: usize) -> Vec<(usize, f64)> {
    let scale = (nodes - 1) as f64 / pixels as f64;
    (0..pixels)
        .map(|pixel| {
            let position = (pixel as f64 + 0.5) * scale;
            let node = (position as usize).min(nodes - 2);
            (node, position - node as f64)
        })
        .collect()
}

/// One byte a pixel: the colour map itself is the palette.
fn indexed_png(shades: &[u8], side: usize) -> Result<Vec<u8>> {
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, side as u32, side as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    let palette: Vec<u8> = (0..=255).flat_map(|i| viridis(f64::from(i) / 255.0)).collect();
    encoder.set_palette(palette);
    encoder.set_compression(png::Compression::Balanced);
    // Neighbouring shades are neighbouring palette entries, so filters help here, unlike with
    // most indexed images.
    encoder.set_filter(png::Filter::Adaptive);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(shades)?;
    writer.finish()?;
    Ok(png)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: Grid = Grid { x: [0.0, 1.0], y: [0.0, 1.0], columns: 2, rows: 3 };

    #[test]
    fn the_first_row_of_values_is_the_bottom_of_the_image() {
        let shades = shades(&GRID, &[0.0, 0.0, 0.5, 0.5, 1.0, 1.0], [0.0, 1.0], 8);
        assert!(shades[0] > 230, "top is {}", shades[0]);
        assert!(shades[63] < 25, "bottom is {}", shades[63]);
        assert!(shades.chunks(8).all(|row| row.iter().all(|shade| *shade == row[0])));
    }

    #[test]
    fn columns_run_left_to_right_and_are_interpolated() {
        let shades = shades(&GRID, &[0.0, 2.0, 0.0, 2.0, 0.0, 2.0], [0.0, 2.0], 4);
        assert_eq!(&shades[..4], [32, 96, 159, 223]);
    }

    #[test]
    fn the_image_decodes_to_the_colours_of_the_map() {
        let png = indexed_png(&[0, 255, 255, 0], 2).unwrap();
        let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert_eq!(pixels[..3], viridis(0.0));
        assert_eq!(pixels[3..6], viridis(1.0));
    }
}
