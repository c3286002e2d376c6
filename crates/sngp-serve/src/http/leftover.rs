use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// What is read of a body that nobody wants.
const MOST: usize = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(1);

/// A body whose rest is read when it is dropped: who is refused before the body is read keeps its
/// connection, unless the body is long or slow.
pub struct Leftover(Body);

impl Leftover {
    pub fn of(body: Body) -> Body {
        if body.is_end_stream() { body } else { Body::new(Self(body)) }
    }
}

impl HttpBody for Leftover {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.0).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        let known = self.0.size_hint().exact();
        if self.0.is_end_stream() || known.is_some_and(|left| left > MOST as u64) {
            return;
        }
        let rest = Limited::new(std::mem::take(&mut self.0), MOST);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // What comes of it is of no use to anybody.
            runtime.spawn(async { drop(tokio::time::timeout(PATIENCE, rest.collect()).await) });
        }
    }
}
