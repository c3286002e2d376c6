use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// As many links in a row are followed as Linux does.
const MAX_LINKS: usize = 40;

/// The folder that holds `path`.
pub(super) fn parent(path: &Path) -> &Path {
    let parent = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// What is made when a `path` that does not exist is written to: itself, or where a link leads.
pub(super) fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = parent(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "too many symbolic links in a row"))
}
