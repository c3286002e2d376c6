//! Files of the hub, each checked against its hash.

use std::fs;

use serde_json::Value as Json;
use sha1::{Digest as _, Sha1};
use ureq::Agent;

use super::Hub;
use super::cache::Cache;
use crate::receive::{Ask, Failure, agent, not_written, sha256_of};

/// Answers about a repository are smaller, and so are all files that can be used.
const MOST_TEXT: u64 = 32 << 20;
const MOST_BYTES: u64 = i32::MAX as u64;

/// Asks the hub.
pub struct Client {
    agent: Agent,
    endpoint: String,
    token: Option<String>,
}

impl Client {
    /// Of a hub.
    pub fn new(hub: &Hub) -> Self {
        Self {
            agent: agent(),
            endpoint: hub.endpoint.trim_end_matches('/').to_string(),
            token: hub.token.as_deref().map(|token| token.trim().to_string()),
        }
    }

    fn ask(&self, path: &str) -> Ask<'_> {
        let url = format!("{}/{path}", self.endpoint);
        Ask { agent: &self.agent, url, token: self.token.as_deref() }
    }

    /// An answer as JSON.
    pub fn json(&self, path: &str) -> Result<Json, Failure> {
        let mut response = self.ask(path).get(0, true)?;
        let text = response.body_mut().with_config().limit(MOST_TEXT).read_to_vec();
        let text = text.map_err(|error| Failure::Unreachable(error.to_string()))?;
        serde_json::from_slice(&text)
            .map_err(|_| Failure::Refused(format!("{}/{path} is no JSON", self.endpoint)))
    }

    /// Fetches a file of a commit into the cache; one that was begun is gone on with.
    pub fn download(
        &self,
        cache: &Cache,
        repository: &str,
        commit: &str,
        file: &str,
    ) -> Result<(), Failure> {
        let path = format!("{repository}/resolve/{commit}/{file}");
        // The hub itself knows the hash; where it sends us does not.
        let told = self.ask(&path).get(0, false)?;
        let header = |name: &str| told.headers().get(name).and_then(|value| value.to_str().ok());
        let tag = header("x-linked-etag").or(header("etag")).unwrap_or_default();
        let hash = tag.trim_start_matches("W/").trim_matches('"').to_lowercase();
        if ![40, 64].contains(&hash.len()) || !super::is_hexadecimal(&hash) {
            return Err(Failure::Refused(format!("{path} comes without a hash")));
        }
        let blob = cache.blob(&hash);
        if !blob.is_file() {
            let part = cache.blob(&format!("{hash}.incomplete"));
            self.ask(&path).receive(&part, MOST_BYTES, None, &|_| Ok(()))?;
            check(&part, &hash, &path)?;
            fs::rename(&part, &blob).map_err(not_written)?;
        }
        cache.link(commit, file, &hash).map_err(|error| Failure::Refused(error.to_string()))
    }
}

/// SHA-256 of large files, and Git's hash of small ones. What does not fit is thrown away.
fn check(part: &std::path::Path, hash: &str, path: &str) -> Result<(), Failure> {
    let found = match hash.len() {
        64 => sha256_of(part).map_err(not_written)?,
        _ => {
            let bytes = fs::read(part).map_err(not_written)?;
            let mut hasher = Sha1::new();
            hasher.update(format!("blob {}\0", bytes.len()));
            hasher.update(&bytes);
            hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
        }
    };
    if found == hash {
        return Ok(());
    }
    let _ = fs::remove_file(part);
    Err(Failure::Refused(format!("{path} did not arrive as it was sent; try again")))
}
