//! Files of the hub, each checked against its hash.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::time::Duration;

use serde_json::Value as Json;
use sha1::{Digest as _, Sha1};
use ureq::http::Response;
use ureq::{Agent, Body};

use super::cache::Cache;
use super::{Failure, Hub};

/// Answers about a repository are smaller, and so are all files that can be used.
const MOST_TEXT: u64 = 32 << 20;
const MOST_BYTES: u64 = i32::MAX as u64;
const PIECE: usize = 1 << 16;

/// Asks the hub.
pub struct Client {
    agent: Agent,
    endpoint: String,
    token: Option<String>,
}

impl Client {
    /// Of a hub.
    pub fn new(hub: &Hub) -> Self {
        // Codes of refusal are read, not thrown.
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .build();
        Self {
            agent: config.into(),
            endpoint: hub.endpoint.trim_end_matches('/').to_string(),
            token: hub.token.as_deref().map(|token| token.trim().to_string()),
        }
    }

    fn get(&self, path: &str, from: u64, followed: bool) -> Result<Response<Body>, Failure> {
        let url = format!("{}/{path}", self.endpoint);
        let mut request = self.agent.get(&url);
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        if from > 0 {
            request = request.header("Range", format!("bytes={from}-"));
        }
        let limit = if followed { 10 } else { 0 };
        let request = request.config().max_redirects(limit).max_redirects_will_error(false).build();
        let failed = |error: ureq::Error| Failure::Unreachable(format!("{url}: {error}"));
        let response = request.call().map_err(failed)?;
        match response.status().as_u16() {
            200..=399 | 416 => Ok(response),
            401 | 403 => Err(Failure::Refused(format!(
                "{url} wants a token that may read it; HF_TOKEN holds one"
            ))),
            404 => Err(Failure::Refused(format!("{url} is not there"))),
            code @ 500.. => Err(Failure::Unreachable(format!("{url} answers {code}"))),
            code => Err(Failure::Refused(format!("{url} answers {code}"))),
        }
    }

    /// An answer as JSON.
    pub fn json(&self, path: &str) -> Result<Json, Failure> {
        let mut response = self.get(path, 0, true)?;
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
        let told = self.get(&path, 0, false)?;
        let header = |name: &str| told.headers().get(name).and_then(|value| value.to_str().ok());
        let tag = header("x-linked-etag").or(header("etag")).unwrap_or_default();
        let hash = tag.trim_start_matches("W/").trim_matches('"').to_lowercase();
        if ![40, 64].contains(&hash.len()) || !super::is_hexadecimal(&hash) {
            return Err(Failure::Refused(format!("{path} comes without a hash")));
        }
        let blob = cache.blob(&hash);
        if !blob.is_file() {
            let part = cache.blob(&format!("{hash}.incomplete"));
            let begun = self.receive(&path, &part).and_then(|()| check(&part, &hash, &path));
            begun?;
            fs::rename(&part, &blob).map_err(not_written)?;
        }
        cache.link(commit, file, &hash).map_err(|error| Failure::Refused(error.to_string()))
    }

    fn receive(&self, path: &str, part: &std::path::Path) -> Result<(), Failure> {
        if let Some(folder) = part.parent() {
            fs::create_dir_all(folder).map_err(not_written)?;
        }
        let mut open = File::options();
        let mut into =
            open.create(true).truncate(false).write(true).open(part).map_err(not_written)?;
        let mut done = into.seek(io::SeekFrom::End(0)).map_err(not_written)?;
        let mut response = self.get(path, done, true)?;
        match response.status().as_u16() {
            206 => {}
            // Nothing is left to fetch.
            416 => return Ok(()),
            _ => {
                into.set_len(0).map_err(not_written)?;
                done = into.seek(io::SeekFrom::Start(0)).map_err(not_written)?;
            }
        }
        let mut body = response.body_mut().with_config().limit(MOST_BYTES).reader();
        let mut piece = vec![0; PIECE];
        loop {
            let broken = |error: io::Error| Failure::Unreachable(format!("{path}: {error}"));
            let count = body.read(&mut piece).map_err(broken)?;
            if count == 0 {
                return into.sync_all().map_err(not_written);
            }
            done += count as u64;
            if done > MOST_BYTES {
                return Err(Failure::Refused(format!("{path} is larger than {MOST_BYTES} bytes")));
            }
            into.write_all(&piece[..count]).map_err(not_written)?;
        }
    }
}

/// SHA-256 of large files, and Git's hash of small ones. What does not fit is thrown away.
fn check(part: &std::path::Path, hash: &str, path: &str) -> Result<(), Failure> {
    let bytes = fs::read(part).map_err(not_written)?;
    let found = match hash.len() {
        64 => sngp::hash::sha256(&bytes),
        _ => {
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

fn not_written(error: io::Error) -> Failure {
    Failure::Refused(format!("the cache cannot be written: {error}"))
}
