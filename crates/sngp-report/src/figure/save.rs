//! Names of a figure's files.

use std::path::{Path, PathBuf};

/// `stem` with `suffix` appended. Unlike `Path::with_extension` it keeps a dot in the stem:
/// `moons.v2` becomes `moons.v2.png`, not `moons.png`.
pub(super) fn with_suffix(stem: &Path, suffix: &str) -> PathBuf {
    let mut path = stem.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_in_the_stem_survives() {
        assert_eq!(with_suffix(Path::new("out/moons.v2"), ".png"), Path::new("out/moons.v2.png"));
    }
}
