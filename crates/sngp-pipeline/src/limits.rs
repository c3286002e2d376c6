//! Work that would not fit is refused before it begins.

use sngp::{Error, Result};

pub(crate) use sngp::memory::check_memory;

/// Most epochs, features and tokens anybody has asked for in earnest, and then some.
const MOST_EPOCHS: usize = 100_000;
const MOST_FEATURES: usize = 65_536;

/// Refuses numbers of epochs and features beyond sense, and a posterior beyond memory.
pub(crate) fn check_sizes(epochs: usize, features: usize, matrices: usize) -> Result<()> {
    if epochs > MOST_EPOCHS {
        let rule = format!("more than {MOST_EPOCHS} epochs would never end");
        return Err(Error::config("epochs", epochs, rule));
    }
    if features > MOST_FEATURES {
        let rule = format!("more than {MOST_FEATURES} random features are beyond use");
        return Err(Error::config("features", features, rule));
    }
    // The sum, its factor, and a copy of either on the device.
    let square = features as u128 * features as u128;
    check_memory(square * matrices as u128 * 8 * 4, &format!("{features} random features"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_fit_is_refused_with_its_size() {
        check_sizes(40, 1024, 1).unwrap();
        assert!(check_sizes(usize::MAX, 1024, 1).unwrap_err().to_string().contains("epochs"));
        assert!(check_sizes(1, 1_000_000, 1).unwrap_err().to_string().contains("features"));
    }
}
