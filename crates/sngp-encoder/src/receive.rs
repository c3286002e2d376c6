//! Bytes of an address into a file; one that was begun is gone on with.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use sngp::Error;
use ureq::http::Response;
use ureq::{Agent, Body};

const PIECE: usize = 1 << 16;

/// Why something could not be fetched.
pub enum Failure {
    /// Nobody answered.
    Unreachable(String),
    /// The answer is of no use.
    Refused(String),
    /// Whoever watches wants no more of it.
    Stopped(Error),
}

/// Told how many bytes are there; an error stops.
pub type Watch<'a> = dyn Fn(u64) -> sngp::Result<()> + 'a;

/// An agent that waits for a while, and reads codes of refusal.
pub fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .timeout_connect(Some(Duration::from_secs(20)))
        .timeout_recv_response(Some(Duration::from_secs(60)))
        .timeout_per_read(Some(Duration::from_secs(60)))
        .build()
        .into()
}

/// A question to an address.
pub struct Ask<'a> {
    pub agent: &'a Agent,
    pub url: String,
    pub token: Option<&'a str>,
}

impl Ask<'_> {
    /// The address without a name and password in it, for messages.
    pub fn shown(&self) -> String {
        shown(&self.url)
    }

    /// The answer, from a byte on.
    pub fn get(&self, from: u64, followed: bool) -> Result<Response<Body>, Failure> {
        let url = &self.shown();
        let mut request = self.agent.get(&self.url);
        if let Some(token) = self.token {
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
                "{url} wants a token that may read it; HF_TOKEN holds one of the hub"
            ))),
            404 => Err(Failure::Refused(format!("{url} is not there"))),
            code @ 500.. => Err(Failure::Unreachable(format!("{url} answers {code}"))),
            code => Err(Failure::Refused(format!("{url} answers {code}"))),
        }
    }

    /// The answer in a file, of so many bytes at the most; `whole` where its size is known.
    pub fn receive(
        &self,
        part: &Path,
        most: u64,
        whole: Option<u64>,
        watch: &Watch<'_>,
    ) -> Result<(), Failure> {
        let url = &self.shown();
        if let Some(folder) = part.parent() {
            fs::create_dir_all(folder).map_err(not_written)?;
        }
        let mut open = File::options();
        let mut into =
            open.create(true).truncate(false).write(true).open(part).map_err(not_written)?;
        let mut done = into.seek(io::SeekFrom::End(0)).map_err(not_written)?;
        let mut response = self.get(done, true)?;
        match response.status().as_u16() {
            206 => {}
            // Nothing is left to fetch, or what is there is not of this file.
            416 if whole.is_none_or(|whole| whole == done) => return Ok(()),
            416 => {
                let _ = fs::remove_file(part);
                return Err(Failure::Refused(format!("{url} has no more than {done} bytes")));
            }
            _ => {
                let told = response.headers().get("content-length");
                let told = told.and_then(|told| told.to_str().ok()?.parse::<u64>().ok());
                if let (Some(told), Some(whole)) = (told, whole)
                    && told != whole
                {
                    let reason = format!("{url} has {told} bytes, and the file {whole}");
                    return Err(Failure::Refused(reason));
                }
                into.set_len(0).map_err(not_written)?;
                done = into.seek(io::SeekFrom::Start(0)).map_err(not_written)?;
            }
        }
        // One byte more than wanted is received, and told below.
        let mut body = response.body_mut().with_config().limit(most + 1).reader();
        let mut piece = vec![0; PIECE];
        loop {
            watch(done).map_err(Failure::Stopped)?;
            let broken = |error: io::Error| Failure::Unreachable(format!("{url}: {error}"));
            let count = body.read(&mut piece).map_err(broken)?;
            if count == 0 {
                return into.sync_all().map_err(not_written);
            }
            done += count as u64;
            if done > most {
                let _ = fs::remove_file(part);
                return Err(Failure::Refused(format!("{url} is larger than {most} bytes")));
            }
            into.write_all(&piece[..count]).map_err(not_written)?;
        }
    }
}

fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_string() };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// The SHA-256 of a file, which may be larger than memory.
pub fn sha256_of(path: &Path) -> io::Result<String> {
    let (mut file, mut hasher) = (File::open(path)?, Sha256::new());
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            count => hasher.update(&piece[..count]),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

pub fn not_written(error: io::Error) -> Failure {
    Failure::Refused(format!("what is fetched cannot be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_in_no_message() {
        assert_eq!(shown("https://a:b@host/x@y"), "https://host/x@y");
        assert_eq!(shown("http://host:80"), "http://host:80");
    }
}
