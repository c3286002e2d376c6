//! How images are prepared, by what `transformers` writes beside a network.

use serde_json::Value as Json;

use crate::pixels::{Filter, MEAN, Pixels, Resize, SCALE, USUAL_SIDE};

/// What a class of processors does where its file does not say.
struct Usual {
    class: &'static str,
    filter: u64,
    mean: [f32; 3],
    scale: [f32; 3],
    /// The size that is resized to, and whether a single number means a square or the shorter side.
    size: Size,
    square: bool,
    /// The side that is cut out, where it is.
    crop: Option<usize>,
}

#[derive(Clone, Copy)]
enum Size {
    Shorter(usize),
    Both([usize; 2]),
}

const HALF: [f32; 3] = [0.5; 3];
const CLIP_MEAN: [f32; 3] = [0.481_454_66, 0.457_827_5, 0.408_210_73];
const CLIP_SCALE: [f32; 3] = [0.268_629_54, 0.261_302_6, 0.275_777_1];
const CONVNEXT: &str = "ConvNext";
/// From this side on, ConvNeXt's images are stretched; smaller ones are a share of what they are cut
/// out of.
const STRETCHED: usize = 384;
const SHARE: f64 = 224.0 / 256.0;

const USUAL: [Usual; 5] = [
    Usual {
        class: "ViT",
        filter: 2,
        mean: HALF,
        scale: HALF,
        size: Size::Both([224, 224]),
        square: true,
        crop: None,
    },
    Usual {
        class: "DeiT",
        filter: 3,
        mean: HALF,
        scale: HALF,
        size: Size::Both([256, 256]),
        square: true,
        crop: Some(224),
    },
    Usual {
        class: "CLIP",
        filter: 3,
        mean: CLIP_MEAN,
        scale: CLIP_SCALE,
        size: Size::Shorter(224),
        square: false,
        crop: Some(224),
    },
    Usual {
        class: "Bit",
        filter: 3,
        mean: CLIP_MEAN,
        scale: CLIP_SCALE,
        size: Size::Shorter(224),
        square: false,
        crop: Some(224),
    },
    Usual {
        class: CONVNEXT,
        filter: 3,
        mean: HALF,
        scale: HALF,
        size: Size::Shorter(384),
        square: false,
        crop: None,
    },
];

impl Usual {
    fn of(config: &Json) -> Option<&'static Self> {
        let named = ["image_processor_type", "feature_extractor_type"];
        let class = named.iter().find_map(|name| config[*name].as_str())?;
        let class = ["Fast", "Pil"].iter().fold(class, |class, end| class.trim_end_matches(end));
        let class = ["ImageProcessor", "FeatureExtractor"]
            .iter()
            .fold(class, |class, end| class.trim_end_matches(end));
        USUAL.iter().find(|usual| usual.class == class)
    }
}

/// By a `preprocessor_config.json`; `own` is the size that the network's own input says, where it
/// does.
pub fn read(config: &Json, own: Option<[usize; 2]>) -> Result<Pixels, String> {
    let usual = Usual::of(config);
    let yes = |name: &str, usual: bool| config[name].as_bool().unwrap_or(usual);
    let convnext = usual.is_some_and(|usual| usual.class == CONVNEXT);
    let cropped = yes("do_center_crop", usual.is_some_and(|usual| usual.crop.is_some()));
    let crop = sides(&config["crop_size"]).or(usual.and_then(|usual| usual.crop).map(|c| [c, c]));
    let crop = crop.filter(|_| cropped);
    let share = match config["crop_pct"].as_f64() {
        Some(share) if share > 0.0 && share <= 1.0 => Some(share),
        Some(share) => return Err(format!("`crop_pct` is {share}, and no share")),
        None => convnext.then_some(SHARE),
    };
    let square = usual.map_or(share.is_none() && !cropped, |usual| usual.square);
    let size = size(&config["size"], square).or(usual.map(|usual| usual.size));
    let size = size.filter(|_| yes("do_resize", true));
    let (resize, made) = match (size, share) {
        (Some(Size::Shorter(side)), Some(_)) if side >= STRETCHED && convnext => {
            (Resize::Exactly, [side, side])
        }
        (Some(Size::Shorter(side)), Some(share)) => {
            (Resize::ShorterSide { side: (side as f64 / share) as usize }, [side, side])
        }
        (Some(Size::Shorter(side)), None) => (Resize::ShorterSide { side }, [side, side]),
        (Some(Size::Both([height, width])), _)
            if crop.is_some_and(|crop| crop != [height, width]) =>
        {
            (Resize::Stretched { height, width }, [height, width])
        }
        (Some(Size::Both(both)), _) => (Resize::Exactly, both),
        (None, _) => (Resize::Exactly, [USUAL_SIDE, USUAL_SIDE]),
    };
    let [height, width] = own.or(crop).unwrap_or(made);
    // A network that takes more than its file says decides.
    let resize = match resize {
        Resize::Exactly => Resize::Exactly,
        Resize::ShorterSide { side } => Resize::ShorterSide { side: side.max(height).max(width) },
        Resize::Stretched { height: h, width: w } => {
            Resize::Stretched { height: h.max(height), width: w.max(width) }
        }
    };
    let filter = match config["resample"].as_u64().unwrap_or(usual.map_or(2, |u| u.filter)) {
        0 => Filter::Nearest,
        1 => Filter::Lanczos,
        2 => Filter::Bilinear,
        3 => Filter::Bicubic,
        other => return Err(format!("`resample` is {other}, which is not read; 0 to 3 are")),
    };
    let channels = |name: &str, usual: [f32; 3]| match &config[name] {
        Json::Null => Ok(usual),
        list => serde_json::from_value::<[f32; 3]>(list.clone())
            .map_err(|_| format!("`{name}` is no list of three numbers")),
    };
    let factor = match yes("do_rescale", true) {
        true => config["rescale_factor"].as_f64().unwrap_or(1.0 / 255.0) as f32,
        false => 1.0,
    };
    let (mean, scale) = match yes("do_normalize", true) {
        true => (
            channels("image_mean", usual.map_or(MEAN, |usual| usual.mean))?,
            channels("image_std", usual.map_or(SCALE, |usual| usual.scale))?,
        ),
        false => ([0.0; 3], [1.0; 3]),
    };
    let pixels =
        Pixels { height, width, resize, filter, factor, mean, scale, channels_last: false };
    pixels.check().map(|()| pixels)
}

fn size(value: &Json, square: bool) -> Option<Size> {
    let side = |value: &Json| value.as_u64().map(|side| side as usize);
    if let Some(side) = side(&value["shortest_edge"]) {
        return Some(Size::Shorter(side));
    }
    match side(value) {
        Some(side) if !square => Some(Size::Shorter(side)),
        _ => sides(value).map(Size::Both),
    }
}

/// Height and width, however they are written.
fn sides(value: &Json) -> Option<[usize; 2]> {
    let side = |value: &Json| value.as_u64().map(|side| side as usize);
    match (side(value), side(&value["height"]), side(&value["width"])) {
        (Some(side), _, _) => Some([side, side]),
        (None, Some(height), Some(width)) => Some([height, width]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resize(config: Json) -> (Resize, [usize; 2]) {
        let pixels = read(&config, None).unwrap();
        (pixels.resize, [pixels.height, pixels.width])
    }

    #[test]
    fn processors_do_what_their_class_does() {
        let vit = json!({"feature_extractor_type": "ViTFeatureExtractor", "size": 224});
        assert_eq!(resize(vit), (Resize::Exactly, [224, 224]));
        let deit = json!({"image_processor_type": "DeiTImageProcessorFast"});
        let stretched = Resize::Stretched { height: 256, width: 256 };
        assert_eq!(resize(deit), (stretched, [224, 224]));
        let older = json!({"feature_extractor_type": "DeiTFeatureExtractor", "size": 256,
            "crop_size": 224, "do_center_crop": true, "resample": 3});
        assert_eq!(resize(older), (stretched, [224, 224]));
        let clip = json!({"feature_extractor_type": "CLIPFeatureExtractor", "size": 224});
        assert_eq!(resize(clip.clone()), (Resize::ShorterSide { side: 224 }, [224, 224]));
        assert_eq!(read(&clip, None).unwrap().mean, CLIP_MEAN);
        assert_eq!(read(&clip, None).unwrap().filter, Filter::Bicubic);
        let dino = json!({"image_processor_type": "BitImageProcessor", "do_center_crop": true,
            "size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 224}});
        assert_eq!(resize(dino), (Resize::ShorterSide { side: 256 }, [224, 224]));
        let resnet = json!({"feature_extractor_type": "ConvNextFeatureExtractor", "size": 224});
        assert_eq!(resize(resnet), (Resize::ShorterSide { side: 256 }, [224, 224]));
        let large = json!({"image_processor_type": "ConvNextImageProcessor", "crop_pct": null,
            "size": {"shortest_edge": 384}});
        assert_eq!(resize(large), (Resize::Exactly, [384, 384]));
    }

    #[test]
    fn others_are_taken_at_their_word() {
        let single = json!({"size": 256, "do_center_crop": true, "crop_size": 224});
        assert_eq!(resize(single), (Resize::ShorterSide { side: 256 }, [224, 224]));
        assert_eq!(resize(json!({"size": 32})), (Resize::Exactly, [32, 32]));
        assert_eq!(resize(json!({})), (Resize::Exactly, [224, 224]));
        let own = read(&json!({"size": 32}), Some([48, 64])).unwrap();
        assert_eq!([own.height, own.width], [48, 64]);
        for wrong in [json!({"crop_pct": 7.0}), json!({"resample": 5}), json!({"image_mean": 3})] {
            assert!(read(&wrong, None).is_err());
        }
    }
}
