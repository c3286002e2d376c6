//! Load, to see how a server bears it: clients that ask one request after the other.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// How long an answer may take before it counts as none.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is asked, how often at a time and for how long.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where.
    pub url: String,
    /// Bodies, sent in turn.
    pub bodies: Vec<Vec<u8>>,
    /// Headers beside those of JSON.
    pub headers: Vec<(String, String)>,
    /// Clients, each with a connection of its own.
    pub clients: usize,
    /// How long.
    pub time: Duration,
}

/// What became of it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Requests with another status than 200, by it.
    pub codes: BTreeMap<u16, usize>,
    /// Requests without an answer.
    pub failed: usize,
    /// How long each request with status 200 took, least first.
    pub seconds: Vec<f64>,
    /// How long all of it took.
    pub elapsed: f64,
}

impl Outcome {
    /// Requests with status 200.
    pub fn requests(&self) -> usize {
        self.seconds.len()
    }

    /// The same a second.
    pub fn per_second(&self) -> f64 {
        self.requests() as f64 / self.elapsed.max(f64::MIN_POSITIVE)
    }

    /// The milliseconds within which a share of them were answered.
    pub fn millis(&self, share: f64) -> f64 {
        let rank = (share * self.seconds.len() as f64).ceil() as usize;
        self.seconds.get(rank.max(1) - 1).map_or(f64::NAN, |seconds| 1e3 * seconds)
    }

    fn add(&mut self, other: Self) {
        self.failed += other.failed;
        self.seconds.extend(other.seconds);
        for (code, count) in other.codes {
            *self.codes.entry(code).or_default() += count;
        }
    }
}

struct Plan {
    uri: Uri,
    address: String,
    bodies: Vec<Bytes>,
    headers: Vec<(String, String)>,
}

impl Load {
    /// Asks.
    pub fn run(&self) -> io::Result<Outcome> {
        let uri: Uri = self.url.parse().map_err(io::Error::other)?;
        if uri.scheme_str() != Some("http") {
            return Err(io::Error::other(format!("{}: give a URL of http://", self.url)));
        }
        let host = uri.host().unwrap_or("localhost");
        let address = format!("{host}:{}", uri.port_u16().unwrap_or(80));
        let bodies = self.bodies.iter().cloned().map(Bytes::from).collect();
        let plan = Arc::new(Plan { uri, address, bodies, headers: self.headers.clone() });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            // A server that is not there is an error and no result.
            TcpStream::connect(&plan.address).await?;
            let started = Instant::now();
            let end = started + self.time;
            let clients: Vec<_> = (0..self.clients)
                .map(|client| tokio::spawn(plan.clone().client(client, end)))
                .collect();
            let mut total = Outcome::default();
            for client in clients {
                total.add(client.await.map_err(io::Error::other)?);
            }
            total.elapsed = started.elapsed().as_secs_f64();
            total.seconds.sort_by(f64::total_cmp);
            Ok(total)
        })
    }
}

impl Plan {
    async fn client(self: Arc<Self>, first: usize, end: Instant) -> Outcome {
        let mut outcome = Outcome::default();
        let mut connection: Option<SendRequest<Full<Bytes>>> = None;
        let mut turn = first;
        while Instant::now() < end {
            let mut sender = match connection.take().filter(|sender| !sender.is_closed()) {
                Some(sender) => sender,
                None => match self.connect().await {
                    Ok(sender) => sender,
                    Err(_) => {
                        outcome.failed += 1;
                        tokio::time::sleep(Duration::from_millis(10)).await;
                        continue;
                    }
                },
            };
            let started = Instant::now();
            turn += 1;
            match tokio::time::timeout(PATIENCE, self.ask(&mut sender, turn)).await {
                Ok(Ok(200)) => outcome.seconds.push(started.elapsed().as_secs_f64()),
                Ok(Ok(code)) => {
                    *outcome.codes.entry(code).or_default() += 1;
                    // Who is refused does not ask again at once.
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                _ => {
                    outcome.failed += 1;
                    continue;
                }
            }
            connection = Some(sender);
        }
        outcome
    }

    async fn connect(
        &self,
    ) -> Result<SendRequest<Full<Bytes>>, Box<dyn std::error::Error + Send + Sync>> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    async fn ask(
        &self,
        sender: &mut SendRequest<Full<Bytes>>,
        turn: usize,
    ) -> Result<u16, Box<dyn std::error::Error + Send + Sync>> {
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::post(path)
            .header("host", &self.address)
            .header("content-type", "application/json");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let body = self.bodies[turn % self.bodies.len()].clone();
        sender.ready().await?;
        let response = sender.send_request(request.body(Full::new(body))?).await?;
        let status = response.status().as_u16();
        response.into_body().collect().await?;
        Ok(status)
    }
}
