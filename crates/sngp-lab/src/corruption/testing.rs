//! One contract for every corruption of the registry.

use std::collections::HashSet;

use super::{Corruption, CorruptionError, Severity};
use crate::dataset::image::Images;

/// Smooth colours with a few edges, different for every `index`.
fn images(count: usize, height: usize, width: usize) -> Images {
    let value = |i: usize, c: usize, y: usize, x: usize| {
        let wave = ((y * (c + 1) + i) as f32 * 0.21).sin() + (x as f32 * 0.17 + c as f32).cos();
        let edge = if (y / 6 + x / 5 + i).is_multiple_of(2) { 25.0 } else { -25.0 };
        (128.0 + 45.0 * wave + edge) as u8
    };
    let mut pixels = Vec::new();
    for i in 0..count {
        for c in 0..3 {
            pixels.extend((0..height * width).map(|at| value(i, c, at / width, at % width)));
        }
    }
    let (labels, names) = (vec![0; count], vec!["only".to_owned()]);
    Images { pixels, channels: 3, height, width, labels, names }
}

fn distance(a: &Images, b: &Images) -> f64 {
    let pairs = a.pixels.iter().zip(&b.pixels);
    pairs.map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>() / a.pixels.len() as f64
}

#[test]
fn names_are_unique_and_parse() {
    let names: HashSet<_> = Corruption::ALL.iter().map(|corruption| corruption.name()).collect();
    assert_eq!(names.len(), 18);
    for corruption in Corruption::ALL {
        assert_eq!(corruption.name().parse(), Ok(*corruption));
    }
}

#[test]
fn every_corruption_changes_the_image_but_keeps_it_recognisable() {
    let clean = images(6, 32, 32);
    for corruption in Corruption::ALL {
        for severity in Severity::ALL {
            let changed = distance(&clean, &corruption.apply_all(&clean, severity, 1).unwrap());
            assert!((0.2..90.0).contains(&changed), "{corruption} {severity}: {changed}");
        }
    }
}

#[test]
fn the_strongest_changes_more_than_the_weakest() {
    let clean = images(20, 32, 32);
    // Measured in pixels: saturate and spatter change their kind between the severities, and an
    // elastic transform turns from large moves of the whole to small ones within.
    let exempt = [Corruption::Saturate, Corruption::Spatter, Corruption::ElasticTransform];
    for corruption in Corruption::ALL.iter().filter(|corruption| !exempt.contains(corruption)) {
        let [weak, .., strong] = Severity::ALL
            .map(|severity| distance(&clean, &corruption.apply_all(&clean, severity, 1).unwrap()));
        assert!(weak < strong, "{corruption}: {weak} {strong}");
    }
}

#[test]
fn neither_threads_nor_neighbours_change_an_image() {
    let clean = images(5, 32, 32);
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let three = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for corruption in Corruption::ALL {
        let run = || corruption.apply_all(&clean, Severity::ALL[3], 7).unwrap();
        let all = one.install(run);
        assert_eq!(all, three.install(run), "{corruption}");
        let mut rng = corruption.rng(7, Severity::ALL[3], 4);
        let alone = corruption.apply(clean.image(4), 32, 32, Severity::ALL[3], &mut rng).unwrap();
        assert_eq!(alone, all.image(4), "{corruption}");
    }
}

#[test]
fn seeds_change_random_corruptions() {
    let clean = images(1, 32, 32);
    let fixed = [
        Corruption::GaussianBlur,
        Corruption::DefocusBlur,
        Corruption::ZoomBlur,
        Corruption::Brightness,
        Corruption::Contrast,
        Corruption::Saturate,
        Corruption::Pixelate,
        Corruption::JpegCompression,
    ];
    for corruption in Corruption::ALL {
        let run = |seed| corruption.apply_all(&clean, Severity::ALL[4], seed).unwrap();
        assert_eq!(run(1) == run(2), fixed.contains(corruption), "{corruption}");
    }
}

#[test]
fn all_sizes_work() {
    for (height, width) in [(1, 1), (1, 9), (2, 3), (7, 5), (28, 28), (33, 50), (96, 64)] {
        let clean = images(1, height, width);
        for corruption in Corruption::ALL {
            for severity in Severity::ALL {
                let corrupted = corruption.apply_all(&clean, severity, 1).unwrap();
                assert_eq!(corrupted.pixels.len(), 3 * height * width, "{corruption}");
            }
        }
    }
}

#[test]
fn a_larger_image_is_corrupted_as_strongly() {
    // The same picture with four times the pixels.
    let small = images(4, 32, 32);
    let mut large = Images { pixels: Vec::new(), height: 64, width: 64, ..small.clone() };
    for plane in small.pixels.chunks(32 * 32) {
        large.pixels.extend((0..64 * 64).map(|at| plane[at / 64 / 2 * 32 + at % 64 / 2]));
    }
    for corruption in Corruption::ALL {
        let change = |clean: &Images| {
            distance(clean, &corruption.apply_all(clean, Severity::ALL[2], 1).unwrap())
        };
        let ratio = change(&large) / change(&small);
        // Blocks of JPEG and the noise of sensors do not grow, so only the order has to agree.
        assert!((0.2..3.0).contains(&ratio), "{corruption}: {ratio}");
    }
}

#[test]
fn wrong_sizes_are_refused() {
    let mut rng = Corruption::Fog.rng(1, Severity::ALL[0], 0);
    let error = Corruption::Fog.apply(&[0; 11], 2, 2, Severity::ALL[0], &mut rng);
    assert_eq!(error.unwrap_err().to_string(), "11 bytes are no image of 3 x 2 x 2");
    let grey = Images { channels: 1, ..images(1, 4, 4) };
    let error = Corruption::Fog.apply_all(&grey, Severity::ALL[0], 1).unwrap_err();
    assert_eq!(error, CorruptionError::WrongChannels { channels: 1 });
}
