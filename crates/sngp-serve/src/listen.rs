//! Connections: how many, how slow, and how they end.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use crate::http::without_slash;
use crate::ops::metrics::Held;
use crate::server::App;

/// The first bytes of every HTTP/2 connection.
const PREFACE: usize = 24;
const PING: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(50);
const STREAMS: u32 = 256;
const WINDOW: u32 = 1 << 20;

/// What is spoken on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http,
    /// gRPC, which is HTTP/2.
    Grpc,
}

pub struct Listener {
    pub listener: TcpListener,
    pub tls: Option<TlsAcceptor>,
    pub protocol: Protocol,
}

/// Accepts connections until the server ends, then waits for those that are answered, for a while.
pub async fn listen(
    listener: Listener,
    router: Router,
    app: Arc<App>,
    mut ended: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(app.settings.max_connections));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            _ = ended.wait_for(|ended| *ended) => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, most likely: some will be free in a moment.
                app.log.event("a connection cannot be accepted", &[("error", &error.to_string())]);
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            // Who is refused can ask elsewhere; who waits cannot.
            app.metrics.refused_connections.inc();
            continue;
        };
        let (app, router, ended) = (app.clone(), router.clone(), ended.clone());
        let (tls, protocol) = (listener.tls.clone(), listener.protocol);
        connections.spawn(async move {
            let _place = place;
            let _open = Held::new(&app.metrics.connections);
            // What goes wrong with a connection is the client's affair.
            let _ = connection(stream, tls, protocol, router, &app, ended).await;
        });
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(app.settings.drain, all).await.is_err() {
        app.log.event("the time to end is over: connections are closed", &[]);
    }
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    protocol: Protocol,
    router: Router,
    app: &App,
    ended: watch::Receiver<bool>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let patience = app.settings.header_timeout;
    match tls {
        None => {
            if protocol == Protocol::Grpc {
                begin(preface(&stream), patience, ended.clone()).await?;
            }
            speak(stream, protocol, router, patience, ended).await
        }
        Some(tls) => {
            let stream = begin(tls.accept(stream), patience, ended.clone()).await?;
            speak(stream, protocol, router, patience, ended).await
        }
    }
}

/// What comes before the first request: in time, and not when the server ends.
async fn begin<T>(
    first: impl Future<Output = io::Result<T>>,
    patience: Duration,
    mut ended: watch::Receiver<bool>,
) -> io::Result<T> {
    tokio::select! {
        done = tokio::time::timeout(patience, first) => done?,
        _ = ended.wait_for(|ended| *ended) => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}

/// Waits for the first bytes: a connection of HTTP/2 has no limit of time before them.
async fn preface(stream: &TcpStream) -> io::Result<()> {
    let mut bytes = [0; PREFACE];
    while stream.peek(&mut bytes).await? < PREFACE {
        stream.readable().await?;
        if stream.peek(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    protocol: Protocol,
    router: Router,
    patience: Duration,
    mut ended: watch::Receiver<bool>,
) -> io::Result<()> {
    let stream = TokioIo::new(stream);
    let service = router.map_request(|mut request: http::Request<hyper::body::Incoming>| {
        without_slash(request.uri_mut());
        request
    });
    let service = TowerToHyperService::new(service);
    // Both kinds of connection end the same way: what is asked is answered, no more is taken.
    macro_rules! until_ended {
        ($connection:expr) => {{
            let mut connection = pin!($connection);
            tokio::select! {
                done = connection.as_mut() => return done.map_err(io::Error::other),
                _ = ended.wait_for(|ended| *ended) => connection.as_mut().graceful_shutdown(),
            }
            connection.await.map_err(io::Error::other)
        }};
    }
    match protocol {
        Protocol::Http => {
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(patience);
            until_ended!(builder.serve_connection(stream, service))
        }
        Protocol::Grpc => {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder
                .timer(TokioTimer::new())
                .keep_alive_interval(PING)
                .keep_alive_timeout(patience)
                .max_concurrent_streams(STREAMS)
                .initial_stream_window_size(WINDOW)
                .initial_connection_window_size(2 * WINDOW);
            until_ended!(builder.serve_connection(stream, service))
        }
    }
}
