use rand::RngExt;
use rand_distr::StandardNormal;

use crate::corruption::{Border, Distortion, Picture, Plane, Rng, Severity, Tap};

/// Pale turquoise.
const WATER: [f32; 3] = [175.0 / 255.0, 238.0 / 255.0, 238.0 / 255.0];
const MUD: [f32; 3] = [63.0 / 255.0, 42.0 / 255.0, 20.0 / 255.0];
/// Mud covers fully or, where thinner than this, not at all.
const THINNEST_MUD: f32 = 0.8;
/// Beyond this many pixels from its edge (of 32) a drop is flat.
const DEEPEST: f32 = 20.0;

#[derive(Clone, Copy)]
enum Liquid {
    /// Adds light, at most this much.
    Water(f32),
    /// Covers, with edges blurred by this standard deviation.
    Mud(f32),
}

/// The noise drops are cut out of: mean, standard deviation, blur and threshold.
type Drops = (f32, f32, f32, f32);

const SPATTERS: [(Drops, Liquid); 5] = [
    ((0.62, 0.1, 0.7, 0.70), Liquid::Water(0.5)),
    ((0.65, 0.1, 0.8, 0.70), Liquid::Water(0.5)),
    ((0.65, 0.3, 1.0, 0.69), Liquid::Water(0.5)),
    ((0.65, 0.1, 0.7, 0.69), Liquid::Mud(0.6)),
    ((0.65, 0.1, 0.5, 0.68), Liquid::Mud(0.6)),
];

/// Drops of water (severities 1 to 3) or of mud (4 and 5) on the lens.
pub(crate) struct Spatter;

impl Distortion for Spatter {
    fn distort(&self, picture: Picture, severity: Severity, rng: &mut Rng) -> Picture {
        let (drops, liquid) = severity.pick(SPATTERS);
        let scale = picture.scale();
        let drops = cut_out(&picture, drops, rng);
        match liquid {
            Liquid::Water(strength) => {
                let shine = shine(&drops, scale).map(|value| strength * value);
                overlay(picture, |channel, value, index| {
                    value + shine.values[index] * WATER[channel]
                })
            }
            Liquid::Mud(sigma) => {
                let solid = drops.map(|value| if value > 0.0 { 1.0 } else { 0.0 });
                let mud = solid.gaussian_blur(scale * sigma, 4.0, Border::Nearest);
                let mud = mud.map(|value| if value < THINNEST_MUD { 0.0 } else { value });
                overlay(picture, |channel, value, index| {
                    value + mud.values[index] * (MUD[channel] - value)
                })
            }
        }
    }
}

fn overlay(picture: Picture, lay: impl Fn(usize, f32, usize) -> f32) -> Picture {
    picture.map_pixels(|index, pixel| {
        std::array::from_fn(|channel| lay(channel, pixel[channel], index))
    })
}

fn cut_out(picture: &Picture, drops: Drops, rng: &mut Rng) -> Plane {
    let (mean, deviation, sigma, threshold) = drops;
    let scale = picture.scale();
    // A wider blur flattens the noise; more of it brings the drops back.
    let deviation = deviation * scale.max(1.0);
    let noise = Plane::from_fn(picture.height(), picture.width(), |_, _| {
        mean + deviation * rng.sample::<f32, _>(StandardNormal)
    });
    let smooth = noise.gaussian_blur(scale * sigma, 4.0, Border::Nearest);
    smooth.map(|value| if value < threshold { 0.0 } else { value })
}

/// Light on the drops: their relief, lit from the upper left, up to 1.
///
/// The depth of a drop is the distance to its edge, spread evenly over 0 to 1 by rank.
fn shine(drops: &Plane, scale: f32) -> Plane {
    let relief = [(-1, -1, -2.0), (-1, 0, -1.0), (0, -1, -1.0), (0, 0, 1.0), (0, 1, 1.0)];
    let relief = relief.into_iter().chain([(1, 0, 1.0), (1, 1, 2.0)]);
    let relief: Vec<Tap> =
        relief.map(|(down, right, weight)| Tap { down, right, weight }).collect();
    let depth = edge_distance(drops).map(|distance| distance.min(scale * DEEPEST)).box_blur();
    let lit = equalized(depth).filter(&relief, Border::Mirror).map(|value| value.clamp(0.0, 1.0));
    let mut shine = lit.box_blur();
    shine.values.iter_mut().zip(&drops.values).for_each(|(light, drop)| *light *= drop);
    let brightest = shine.values.iter().copied().fold(0.0, f32::max);
    shine.map(|value| if brightest > 0.0 { value / brightest } else { 0.0 })
}

/// The distance of every pixel to the nearest edge of a drop, by two sweeps (Borgefors 1986);
/// without any drop it is infinite.
fn edge_distance(drops: &Plane) -> Plane {
    let (height, width) = (drops.height, drops.width);
    let wet = |y: usize, x: usize| drops.at(y, x) > 0.0;
    let mut distance = Plane::from_fn(height, width, |y, x| {
        let below = y + 1 < height && wet(y + 1, x) != wet(y, x);
        let beside = x + 1 < width && wet(y, x + 1) != wet(y, x);
        if below || beside { 0.0 } else { f32::INFINITY }
    });
    let behind = [(-1, -1, 1.4), (-1, 0, 1.0), (-1, 1, 1.4), (0, -1, 1.0)];
    let mut sweep = |index: usize, sign: isize| {
        let (y, x) = ((index / width) as isize, (index % width) as isize);
        for (down, right, length) in behind {
            let (y, x) = (y + sign * down, x + sign * right);
            if (0..height as isize).contains(&y) && (0..width as isize).contains(&x) {
                let near = distance.at(y as usize, x as usize) + length;
                distance.values[index] = distance.values[index].min(near);
            }
        }
    };
    (0..height * width).for_each(|index| sweep(index, 1));
    (0..height * width).rev().for_each(|index| sweep(index, -1));
    distance
}

/// Every value replaced by the share of values that are smaller.
fn equalized(plane: Plane) -> Plane {
    let mut sorted = plane.values.clone();
    sorted.sort_by(f32::total_cmp);
    let count = sorted.len() as f32;
    plane.map(|value| sorted.partition_point(|&other| other < value) as f32 / count)
}
