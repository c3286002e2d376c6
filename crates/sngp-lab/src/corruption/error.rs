/// The result of corrupting images.
pub type Result<T> = std::result::Result<T, CorruptionError>;

/// Why images could not be corrupted.
///
/// ```
/// use sngp_lab::corruption::Corruption;
///
/// let error = "rain".parse::<Corruption>().unwrap_err();
/// assert!(error.to_string().starts_with("unknown corruption `rain`; known: gaussian_noise, "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant's message shows what its fields mean")]
pub enum CorruptionError {
    /// A name that is not in the registry.
    #[error("unknown corruption `{name}`; known: {known}")]
    UnknownName { name: String, known: String },

    /// A severity other than 1 to 5.
    #[error("severity {severity} does not exist; use 1 to 5")]
    UnknownSeverity { severity: String },

    /// Bytes that are not an image of the size given.
    #[error("{found} bytes are no image of 3 x {height} x {width}")]
    WrongSize { found: usize, height: usize, width: usize },

    /// Images of other than three channels.
    #[error("images of {channels} channels; turn them into three first, see Images::to_rgb")]
    WrongChannels { channels: usize },
}
