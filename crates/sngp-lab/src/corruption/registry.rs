use std::fmt;
use std::str::FromStr;

use rand::SeedableRng;

use super::error::{CorruptionError, Result};
use super::picture::Picture;
use super::severity::Severity;
use super::{Rng, blur, digital, noise, weather};

/// What a corruption does to a picture.
pub trait Distortion: Sync {
    /// The corrupted picture; values outside 0 to 1 are cut off afterwards.
    fn distort(&self, picture: Picture, severity: Severity, rng: &mut Rng) -> Picture;
}

/// Kinds of corruption, for averages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Of sensors.
    Noise,
    /// Of lenses and movement.
    Blur,
    /// Of what is between camera and object, and of light.
    Weather,
    /// Of processing.
    Digital,
}

impl fmt::Display for Family {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Noise => "noise",
            Self::Blur => "blur",
            Self::Weather => "weather",
            Self::Digital => "digital",
        })
    }
}

macro_rules! corruptions {
    ($( $name:literal, $family:ident => $variant:ident($entry:expr) ),+ $(,)?) => {
        /// A corruption, named as in CIFAR-10-C; one line each in the registry.
        ///
        /// ```
        /// use sngp_lab::corruption::{Corruption, Family};
        ///
        /// let fog: Corruption = "fog".parse()?;
        /// assert_eq!(fog, Corruption::Fog);
        /// assert_eq!(fog.family(), Family::Weather);
        /// # Ok::<(), sngp_lab::corruption::CorruptionError>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the names say it; the types behind them tell how")]
        pub enum Corruption { $( $variant ),+ }

        impl Corruption {
            /// Every corruption, in the order of the registry.
            pub const ALL: &[Self] = &[$( Self::$variant ),+];

            /// The name it is listed and parsed by.
            pub fn name(self) -> &'static str {
                match self { $( Self::$variant => $name ),+ }
            }

            /// What kind it is.
            pub fn family(self) -> Family {
                match self { $( Self::$variant => Family::$family ),+ }
            }

            fn distortion(self) -> &'static dyn Distortion {
                match self { $( Self::$variant => &$entry ),+ }
            }
        }
    };
}

corruptions! {
    "gaussian_noise", Noise => GaussianNoise(noise::Gaussian),
    "shot_noise", Noise => ShotNoise(noise::Shot),
    "impulse_noise", Noise => ImpulseNoise(noise::Impulse),
    "speckle_noise", Noise => SpeckleNoise(noise::Speckle),
    "gaussian_blur", Blur => GaussianBlur(blur::Gaussian),
    "defocus_blur", Blur => DefocusBlur(blur::Defocus),
    "glass_blur", Blur => GlassBlur(blur::Glass),
    "motion_blur", Blur => MotionBlur(blur::Motion),
    "zoom_blur", Blur => ZoomBlur(blur::Zoom),
    "snow", Weather => Snow(weather::Snow),
    "fog", Weather => Fog(weather::Fog),
    "spatter", Weather => Spatter(weather::Spatter),
    "brightness", Weather => Brightness(weather::Brightness),
    "contrast", Digital => Contrast(digital::Contrast),
    "saturate", Digital => Saturate(digital::Saturate),
    "elastic_transform", Digital => ElasticTransform(digital::Elastic),
    "pixelate", Digital => Pixelate(digital::Pixelate),
    "jpeg_compression", Digital => JpegCompression(digital::Jpeg),
}

impl Corruption {
    /// The generator for one image of a set.
    ///
    /// ```
    /// use rand::RngExt;
    /// use sngp_lab::corruption::{Corruption, Severity};
    ///
    /// let draw = |index| Corruption::Fog.rng(1, Severity::ALL[0], index).random::<u64>();
    /// assert_eq!(draw(7), draw(7));
    /// assert_ne!(draw(7), draw(8));
    /// ```
    pub fn rng(self, seed: u64, severity: Severity, index: usize) -> Rng {
        // By name, so that a line added to the registry leaves all other draws as they are.
        let parts = [seed, fnv1a(self.name()), u64::from(severity.level()), index as u64];
        let mut key = [0; 32];
        for (bytes, part) in key.chunks_exact_mut(8).zip(parts) {
            bytes.copy_from_slice(&part.to_le_bytes());
        }
        Rng::from_seed(key)
    }

    /// Corrupts one image of bytes `[3, height, width]`.
    ///
    /// # Errors
    ///
    /// Where `image` is not of that size.
    ///
    /// ```
    /// use sngp_lab::corruption::{Corruption, Severity};
    ///
    /// let (contrast, strongest) = (Corruption::Contrast, Severity::ALL[4]);
    /// let mut rng = contrast.rng(1, strongest, 0);
    /// let halves = [0, 200].repeat(6);
    /// let flat = contrast.apply(&halves, 2, 2, strongest, &mut rng)?;
    /// assert_eq!(flat[..2], [85, 115]);
    /// # Ok::<(), sngp_lab::corruption::CorruptionError>(())
    /// ```
    pub fn apply(
        self,
        image: &[u8],
        height: usize,
        width: usize,
        severity: Severity,
        rng: &mut Rng,
    ) -> Result<Vec<u8>> {
        let picture = Picture::from_bytes(image, height, width)?;
        if image.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.distortion().distort(picture, severity, rng).to_bytes())
    }
}

/// Fowler, Noll and Vo's hash: a fixed function, unlike the standard library's.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl fmt::Display for Corruption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Corruption {
    type Err = CorruptionError;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().copied().find(|corruption| corruption.name() == name);
        found.ok_or_else(|| CorruptionError::UnknownName {
            name: name.to_owned(),
            known: Self::ALL.iter().map(|known| known.name()).collect::<Vec<_>>().join(", "),
        })
    }
}
