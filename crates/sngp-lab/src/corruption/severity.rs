use std::fmt;
use std::str::FromStr;

use super::error::CorruptionError;

/// How strong a corruption is, from 1 to 5.
///
/// ```
/// use sngp_lab::corruption::Severity;
///
/// let severity: Severity = "3".parse()?;
/// assert_eq!(severity, Severity::ALL[2]);
/// assert_eq!(severity.to_string(), "3");
/// assert!(Severity::new(6).is_err());
/// # Ok::<(), sngp_lab::corruption::CorruptionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Severity(u8);

impl Severity {
    /// All five, weakest first.
    pub const ALL: [Self; 5] = [Self(1), Self(2), Self(3), Self(4), Self(5)];

    /// The severity of a number.
    ///
    /// # Errors
    ///
    /// Where it is not 1 to 5.
    pub fn new(level: u8) -> Result<Self, CorruptionError> {
        let unknown = || CorruptionError::UnknownSeverity { severity: level.to_string() };
        Self::ALL.into_iter().find(|severity| severity.0 == level).ok_or_else(unknown)
    }

    /// Its number, 1 to 5.
    pub fn level(self) -> u8 {
        self.0
    }

    /// Its place in [`Self::ALL`], 0 to 4.
    pub fn index(self) -> usize {
        usize::from(self.0 - 1)
    }

    /// The parameter of this severity.
    pub(super) fn pick<T: Copy>(self, parameters: [T; 5]) -> T {
        parameters[self.index()]
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for Severity {
    type Err = CorruptionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let level = text.parse().ok().and_then(|level| Self::new(level).ok());
        level.ok_or_else(|| CorruptionError::UnknownSeverity { severity: text.to_owned() })
    }
}
