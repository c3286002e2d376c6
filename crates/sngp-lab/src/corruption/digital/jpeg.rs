use super::dct::{Block, SIDE, forward, inverse};
use crate::corruption::{Border, Distortion, Picture, Plane, Rng, Severity};

/// Lossy compression: what JPEG (ITU T.81) throws away, without the lossless coding around it.
///
/// Colours at half the resolution, then blocks of 8 x 8 pixels whose cosine coefficients are
/// rounded to multiples of a table.
pub(crate) struct Jpeg;

/// The tables of T.81, annex K.1, for quality 50.
#[rustfmt::skip]
const LUMINANCE: [u8; 64] = [
    16, 11, 10, 16, 24, 40, 51, 61,     12, 12, 14, 19, 26, 58, 60, 55,
    14, 13, 16, 24, 40, 57, 69, 56,     14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77,   24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
];
#[rustfmt::skip]
const CHROMINANCE: [u8; 64] = [
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,
    24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
];

impl Distortion for Jpeg {
    fn distort(&self, picture: Picture, severity: Severity, _rng: &mut Rng) -> Picture {
        let quality = severity.pick([80, 65, 58, 50, 40]);
        let mut picture = picture.map_pixels(|_, rgb| to_luma_chroma(rgb));
        for (index, channel) in picture.channels.iter_mut().enumerate() {
            *channel = if index == 0 {
                quantized(channel, &scaled(&LUMINANCE, quality))
            } else {
                let small = quantized(&halved(channel), &scaled(&CHROMINANCE, quality));
                Plane::from_fn(channel.height, channel.width, |y, x| {
                    let place = |position| (position as f32 - 0.5) / 2.0;
                    small.sample(place(y), place(x), Border::Nearest)
                })
            };
        }
        picture.map_pixels(|_, parts| to_rgb(parts))
    }
}

/// The table of another quality than 50, as the Independent JPEG Group's library derives it.
fn scaled(table: &[u8; 64], quality: u32) -> Block {
    let percent = if quality < 50 { 5000 / quality } else { 200 - 2 * quality };
    table.map(|step| ((u32::from(step) * percent + 50) / 100).clamp(1, 255) as f32)
}

/// Luma and chroma, all shifted to -128 to 127 as the transform wants them.
fn to_luma_chroma(rgb: [f32; 3]) -> [f32; 3] {
    let [red, green, blue] = rgb.map(|value| 255.0 * value);
    let luma = 0.299 * red + 0.587 * green + 0.114 * blue;
    [luma - 128.0, (blue - luma) / 1.772, (red - luma) / 1.402].map(f32::round)
}

fn to_rgb([luma, to_blue, to_red]: [f32; 3]) -> [f32; 3] {
    let luma = luma + 128.0;
    let (red, blue) = (luma + 1.402 * to_red, luma + 1.772 * to_blue);
    let green = luma - 0.344_136 * to_blue - 0.714_136 * to_red;
    [red, green, blue].map(|value| value / 255.0)
}

/// The mean of every 2 x 2 pixels; the edge is repeated where one is missing.
fn halved(plane: &Plane) -> Plane {
    Plane::from_fn(plane.height.div_ceil(2), plane.width.div_ceil(2), |y, x| {
        plane.sample(2.0 * y as f32 + 0.5, 2.0 * x as f32 + 0.5, Border::Nearest).round()
    })
}

/// All blocks with their coefficients rounded to multiples of `table`; those at the edge are
/// filled by repeating it.
fn quantized(plane: &Plane, table: &Block) -> Plane {
    let mut result = plane.clone();
    for top in (0..plane.height).step_by(SIDE) {
        for left in (0..plane.width).step_by(SIDE) {
            let block = std::array::from_fn(|i| {
                let (y, x) = (top + i / SIDE, left + i % SIDE);
                plane.at(y.min(plane.height - 1), x.min(plane.width - 1))
            });
            let mut coefficients = forward(&block);
            for (coefficient, step) in coefficients.iter_mut().zip(table) {
                *coefficient = (*coefficient / step).round() * step;
            }
            let decoded = inverse(&coefficients);
            for y in top..plane.height.min(top + SIDE) {
                for x in left..plane.width.min(left + SIDE) {
                    let value = decoded[(y - top) * SIDE + x - left];
                    result.values[y * plane.width + x] = value.round().clamp(-128.0, 127.0);
                }
            }
        }
    }
    result
}
