//! Colours: one perceptually uniform map for values, a few distinct ones for classes.

/// An sRGB colour.
pub(super) type Rgb = [u8; 3];

/// Viridis at 0, 0.1, ..., 1: dark violet is certain, bright yellow is uncertain.
///
/// Its lightness rises steadily, so it reads the same in grey print and for colour-blind readers.
pub(super) const VIRIDIS: [Rgb; 11] = [
    [0x44, 0x01, 0x54],
    [0x48, 0x24, 0x75],
    [0x41, 0x44, 0x87],
    [0x35, 0x5f, 0x8d],
    [0x2a, 0x78, 0x8e],
    [0x21, 0x91, 0x8c],
    [0x22, 0xa8, 0x84],
    [0x44, 0xbf, 0x70],
    [0x7a, 0xd1, 0x51],
    [0xbd, 0xdf, 0x26],
    [0xfd, 0xe7, 0x25],
];

/// Classes sit on the dark, certain end of the map, so their colours are light; none is so light
/// that it vanishes from the legend on white paper.
const CLASSES: [Rgb; 6] = [
    [0xff, 0x9d, 0x2e],
    [0x6c, 0xc4, 0xff],
    [0xcf, 0xcf, 0xcf],
    [0xf7, 0xa1, 0xd5],
    [0xa8, 0xe6, 0x7a],
    [0xc9, 0xb3, 0xff],
];

/// Out-of-distribution points: visible on both ends of the map.
pub(super) const OUT_OF_DISTRIBUTION: Rgb = [0xf0, 0x1e, 0x2c];

/// The colour of `value` in `0..=1`; values outside take the colour of the nearer end.
pub(super) fn viridis(value: f64) -> Rgb {
    let position = value.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let below = (position as usize).min(VIRIDIS.len() - 2);
    let weight = position - below as f64;
    std::array::from_fn(|channel| {
        let (low, high) = (VIRIDIS[below][channel], VIRIDIS[below + 1][channel]);
        (f64::from(low) + weight * (f64::from(high) - f64::from(low))).round() as u8
    })
}

/// The colour of class `index`; they repeat after six.
pub(super) fn class(index: usize) -> Rgb {
    CLASSES[index % CLASSES.len()]
}

/// `#rrggbb`.
pub(super) fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of an sRGB colour (WCAG 2).
    fn luminance(colour: Rgb) -> f64 {
        let linear = colour.map(|channel| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    #[test]
    fn ends_are_dark_violet_and_yellow_and_hold_beyond_the_range() {
        assert_eq!(hex(viridis(0.0)), "#440154");
        assert_eq!(hex(viridis(1.0)), "#fde725");
        assert_eq!(viridis(-3.0), viridis(0.0));
        assert_eq!(viridis(7.0), viridis(1.0));
    }

    #[test]
    fn luminance_rises_all_the_way() {
        // Steps large enough that rounding to whole channels cannot turn one around.
        let steps: Vec<f64> = (0..=64).map(|i| luminance(viridis(f64::from(i) / 64.0))).collect();
        assert!(steps.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(steps[64] > 10.0 * steps[0]);
    }

    #[test]
    fn classes_stand_out_from_certain_ground() {
        let ground = luminance(viridis(0.0));
        for index in 0..8 {
            let contrast = (luminance(class(index)) + 0.05) / (ground + 0.05);
            assert!(contrast > 4.5, "class {index} has contrast {contrast:.1}");
        }
    }
}
