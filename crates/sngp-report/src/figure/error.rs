//! What can go wrong while drawing.

/// The figures' result type.
pub type Result<T, E = FigureError> = std::result::Result<T, E>;

/// Why a figure could not be drawn or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FigureError {
    /// Nothing to draw.
    #[error("{what} has no panels; give it at least one")]
    Empty {
        /// The figure, or which of its rows.
        what: String,
    },

    /// A panel whose data do not fit together.
    #[error("panel `{panel}`: {reason}")]
    Panel {
        /// The panel as `row / title`.
        panel: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A colour range that is not an interval.
    #[error("colour range is {low}..{high}, but it has to be finite and increasing")]
    Range {
        /// Value of the darkest colour.
        low: f64,
        /// Value of the brightest colour.
        high: f64,
    },

    /// A raster image of no or impossible size.
    #[error("cannot rasterise {width} x {height} units at scale {scale}")]
    Size {
        /// Width of the drawing.
        width: f32,
        /// Height of the drawing.
        height: f32,
        /// Pixels per unit.
        scale: f32,
    },

    /// Text that is not SVG.
    #[error("not a valid SVG document: {0}")]
    Svg(#[from] resvg::usvg::Error),

    /// The PNG encoder refused.
    #[error("cannot encode the PNG image: {0}")]
    Encode(#[from] png::EncodingError),

    /// A file cannot be written; the message names it.
    #[error(transparent)]
    File(#[from] sngp::Error),
}
