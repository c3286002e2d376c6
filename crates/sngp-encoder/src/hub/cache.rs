//! The folder that Python's `huggingface_hub` keeps repositories in, by its layout.

use std::fs;
use std::path::{Path, PathBuf};

use sngp::{Error, Result};

/// The place of one repository: `blobs` by their hashes, `snapshots` of commits with links to them,
/// `refs` that say which commit a branch or tag is.
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Of a repository, among all that are kept.
    pub fn new(all: &Path, repository: &str) -> Self {
        Self { folder: all.join(format!("models--{}", repository.replace('/', "--"))) }
    }

    /// The repository's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file of a commit.
    pub fn file(&self, commit: &str, file: &str) -> PathBuf {
        self.folder.join("snapshots").join(commit).join(file)
    }

    /// The folder of a revision, where it is kept.
    pub fn snapshot(&self, revision: &str) -> Option<PathBuf> {
        let named = fs::read_to_string(self.folder.join("refs").join(revision));
        let commit = named.map_or_else(|_| revision.to_string(), |text| text.trim().to_string());
        let plain = super::is_hexadecimal(&commit);
        plain.then(|| self.file(&commit, "")).filter(|folder| folder.is_dir())
    }

    /// Where a file of a hash is.
    pub fn blob(&self, hash: &str) -> PathBuf {
        self.folder.join("blobs").join(hash)
    }

    /// Lets a file of a commit be a blob.
    pub fn link(&self, commit: &str, file: &str, hash: &str) -> Result<()> {
        let place = self.file(commit, file);
        let folder = place.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        if place.is_file() {
            return Ok(());
        }
        #[cfg(unix)]
        {
            let up = "../".repeat(2 + file.matches('/').count());
            let target = format!("{up}blobs/{hash}");
            // A link to what is gone.
            let _ = fs::remove_file(&place);
            std::os::unix::fs::symlink(target, &place).map_err(Error::io(&place))
        }
        #[cfg(not(unix))]
        {
            fs::copy(self.blob(hash), &place).map(drop).map_err(Error::io(&place))
        }
    }

    /// Says which commit a revision is.
    pub fn point(&self, revision: &str, commit: &str) -> Result<()> {
        if revision == commit {
            return Ok(());
        }
        let place = self.folder.join("refs").join(revision);
        let folder = place.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        fs::write(&place, commit).map_err(Error::io(&place))
    }
}
