//! The colours of series.

use crate::figure::colour::{OUT_OF_DISTRIBUTION, Rgb, VIRIDIS};

/// A colour by name, so that a page can pick another shade of it on dark ground.
///
/// They differ in lightness as well as in hue, which keeps them apart in grey print and for
/// colour-blind readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Test examples.
    Blue,
    /// Out-of-distribution examples.
    Red,
    /// Shifted examples.
    Teal,
    /// Mistakes.
    Orange,
    /// References such as chance or the best possible.
    Grey,
    /// Marks and axes.
    Ink,
}

impl Tone {
    /// The class of its groups in the SVG.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Blue => "blue",
            Self::Red => "red",
            Self::Teal => "teal",
            Self::Orange => "orange",
            Self::Grey => "grey",
            Self::Ink => "ink",
        }
    }

    /// Its colour on white paper.
    pub(super) fn colour(self) -> Rgb {
        match self {
            Self::Blue => VIRIDIS[3],
            Self::Red => OUT_OF_DISTRIBUTION,
            Self::Teal => VIRIDIS[5],
            Self::Orange => [0xd9, 0x7a, 0x00],
            Self::Grey => [0x80, 0x80, 0x80],
            Self::Ink => [0x22, 0x22, 0x22],
        }
    }
}
