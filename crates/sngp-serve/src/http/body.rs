use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use tokio::sync::OwnedSemaphorePermit;

use crate::error::{Result, ServeError};
use crate::protocol::{Encoding, decompress};
use crate::server::App;

/// Bodies above this are read on a thread of their own, so that nothing waits for it.
const LARGE: usize = 64 << 10;

/// Everything a client sent, within the limits and in time, unpacked; and the room it takes.
pub async fn read(
    app: &App,
    headers: &HeaderMap,
    body: Body,
) -> Result<(Bytes, OwnedSemaphorePermit)> {
    let most = app.settings.max_body;
    let too_large = || ServeError::TooLarge(format!("a body may have {most} bytes"));
    let claimed = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let claimed = claimed.and_then(|length| length.parse::<usize>().ok());
    if claimed.is_some_and(|length| length > most) {
        return Err(too_large());
    }
    let encoding = encoding(headers)?;
    let plain = encoding == Encoding::Identity;
    // Who does not say how much it is, gets room for the most.
    let room = app.admission.room(claimed.filter(|_| plain).unwrap_or(most))?;
    let collected = Limited::new(body, most).collect();
    let collected = tokio::time::timeout(app.settings.body_timeout, collected)
        .await
        .map_err(|_| ServeError::Slow(app.settings.body_timeout.as_secs()))?;
    let body = collected.map_err(|error| match error.is::<LengthLimitError>() {
        true => too_large(),
        false => ServeError::Invalid(format!("the body cannot be read: {error}")),
    })?;
    let body = body.to_bytes();
    match encoding {
        Encoding::Identity => Ok((body, room)),
        _ => Ok((aside(move || decompress(body, encoding, most)).await?, room)),
    }
}

fn encoding(headers: &HeaderMap) -> Result<Encoding> {
    let Some(value) = headers.get(CONTENT_ENCODING) else { return Ok(Encoding::Identity) };
    let name = value.to_str().map_err(|_| ServeError::Unreadable("no such encoding".into()))?;
    Encoding::parse(name)
}

/// The type of content, without its parameters.
pub fn content_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// Work on a body: on a thread of its own where it is large.
pub async fn parse<T: Send + 'static>(
    body: Bytes,
    work: impl FnOnce(Bytes) -> Result<T> + Send + 'static,
) -> Result<T> {
    match body.len() > LARGE {
        true => aside(move || work(body)).await,
        false => work(body),
    }
}

async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| ServeError::Internal("the body could not be read".to_string()))?
}
