use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{oneshot, watch};

use crate::admission::Admission;
use crate::listen::{Listener, Protocol, listen};
use crate::model::{Load, Registry};
use crate::ops::auth::ApiKey;
use crate::ops::log::Log;
use crate::ops::metrics::Metrics;
use crate::ops::tls;
use crate::settings::Settings;
use crate::{grpc, http, signals};

pub(crate) const NAME: &str = "sngp";
pub(crate) const PLATFORM: &str = "sngp";
pub(crate) const EXTENSIONS: [&str; 1] = ["binary_tensor_data"];

/// Threads that read and write; the model's have their own.
const IO_THREADS: usize = 2;

/// Everything that a request needs.
pub(crate) struct App {
    pub models: Registry,
    pub metrics: Arc<Metrics>,
    pub log: Log,
    pub key: ApiKey,
    pub settings: Settings,
    pub admission: Admission,
    next: AtomicU64,
    /// So that ids of two servers are not the same.
    start: u64,
}

impl App {
    /// An id for a request that has none.
    pub fn next_id(&self) -> String {
        format!("{:08x}-{:x}", self.start as u32, self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// When a request came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived(Instant);

impl Arrived {
    pub fn now() -> Self {
        Self(Instant::now())
    }

    /// When it has to be answered: the client may wait less than the server would, not more.
    pub fn deadline(self, app: &App, asked: Option<Duration>) -> Instant {
        let longest = app.settings.timeout;
        self.0 + asked.map_or(longest, |asked| asked.min(longest))
    }
}

/// Models that are loaded and wait to be asked.
pub struct Server {
    app: Arc<App>,
}

/// A server on threads of its own.
pub struct Running {
    /// Where it takes HTTP.
    pub http: SocketAddr,
    /// Where it takes gRPC.
    pub grpc: Option<SocketAddr>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl Running {
    /// Ends it as SIGTERM does: what is accepted is answered first.
    pub fn stop(self) -> io::Result<()> {
        // Where it has ended by itself, that is its result.
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the server panicked")))
    }
}

struct Listeners {
    http: TcpListener,
    grpc: Option<TcpListener>,
}

impl Server {
    /// Loads model folders by name: all of them, or an error.
    pub fn load(
        folders: &[(String, PathBuf)],
        load: Load,
        settings: Settings,
    ) -> sngp::Result<Self> {
        let metrics = Arc::new(Metrics::default());
        let models = Registry::start(folders, load, &settings.limits, &metrics)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let start = since.as_nanos() as u64 ^ u64::from(std::process::id());
        let app = App {
            models,
            metrics,
            log: Log::new(settings.log),
            key: ApiKey::new(settings.key.clone()),
            admission: Admission::new(settings.max_in_flight, settings.max_memory),
            settings,
            next: AtomicU64::new(0),
            start,
        };
        Ok(Self { app: Arc::new(app) })
    }

    /// Serves until SIGTERM or SIGINT; what is accepted then is answered first.
    pub fn run(self) -> io::Result<()> {
        let (runtime, listeners) = (runtime()?, self.bind()?);
        self.announce(&listeners)?;
        let app = self.app;
        let result = runtime.block_on(async { serve(app, listeners, signals::stop()?).await });
        // Work on bodies that nobody waits for any more is not waited for.
        runtime.shutdown_background();
        result
    }

    /// Serves on threads of its own, until it is told to stop.
    pub fn start(self) -> io::Result<Running> {
        let (runtime, listeners) = (runtime()?, self.bind()?);
        let http = listeners.http.local_addr()?;
        let grpc = listeners.grpc.as_ref().map(TcpListener::local_addr).transpose()?;
        let (stop, stopped) = oneshot::channel();
        let app = self.app;
        let thread = std::thread::spawn(move || {
            let stopped = async move { drop(stopped.await) };
            let result = runtime.block_on(serve(app, listeners, stopped));
            runtime.shutdown_background();
            result
        });
        Ok(Running { http, grpc, stop, thread })
    }

    fn bind(&self) -> io::Result<Listeners> {
        let bind = |port: u16| {
            let address = SocketAddr::new(self.app.settings.host, port);
            let listener = TcpListener::bind(address)
                .map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))?;
            listener.set_nonblocking(true).map(|()| listener)
        };
        let grpc = self.app.settings.grpc_port.map(bind).transpose()?;
        Ok(Listeners { http: bind(self.app.settings.port)?, grpc })
    }

    fn announce(&self, listeners: &Listeners) -> io::Result<()> {
        let (log, settings) = (&self.app.log, &self.app.settings);
        let scheme = if settings.tls.is_some() { "https" } else { "http" };
        let http = format!("{scheme}://{}", listeners.http.local_addr()?);
        let grpc = match &listeners.grpc {
            Some(listener) => listener.local_addr()?.to_string(),
            None => "off".to_string(),
        };
        let names: Vec<&str> = self.app.models.all().iter().map(|m| m.name.as_str()).collect();
        let about = [("http", http.as_str()), ("grpc", &grpc), ("models", &names.join(","))];
        log.event("serving", &about);
        if !settings.host.is_loopback() && !self.app.key.is_set() {
            let way_out = "set SNGP_API_KEY, or listen at 127.0.0.1";
            log.event("warning: anybody who reaches this machine may ask", &[("or", way_out)]);
        }
        Ok(())
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(IO_THREADS).enable_all().build()
}

/// Serves until `stop` is ready, then answers what was accepted, for a while at most.
async fn serve(
    app: Arc<App>,
    listeners: Listeners,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let acceptor = |protocol: &str| {
        let tls = app.settings.tls.as_ref();
        tls.map(|(certificate, key)| tls::acceptor(certificate, key, protocol)).transpose()
    };
    let (ending, ended) = watch::channel(false);
    let (health, router) = grpc::router(app.clone()).await?;
    let mut tasks = Vec::new();
    let mut start = |listener: Listener, router| {
        tasks.push(tokio::spawn(listen(listener, router, app.clone(), ended.clone())));
    };
    let listener = tokio::net::TcpListener::from_std(listeners.http)?;
    let tls = acceptor("http/1.1")?;
    start(Listener { listener, tls, protocol: Protocol::Http }, http::router(app.clone()));
    if let Some(listener) = listeners.grpc {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let tls = acceptor("h2")?;
        start(Listener { listener, tls, protocol: Protocol::Grpc }, router);
    }
    let reloading = tokio::spawn(signals::reload(app.clone()));
    stop.await;
    app.log.event("shutting down: what is accepted is answered", &[]);
    app.admission.close();
    health.close().await;
    // Nobody is left to see it where all tasks have ended.
    let _ = ending.send(true);
    for task in tasks {
        // A task that panicked has no connections left to wait for.
        let _ = task.await;
    }
    reloading.abort();
    app.models.close();
    app.log.event("ended", &[]);
    Ok(())
}
