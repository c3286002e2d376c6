//! A model that is told what to do, a server around it, and a client that can misbehave.
#![allow(dead_code)] // Each test file uses its own part.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sngp_pipeline::input::{Body, Dataset};
use sngp_pipeline::{Answer, Detail, Field, FieldKind, Outcome, Signature, Verdict};
use sngp_records::Cell;
use sngp_serve::model::{Answers, Load};
use sngp_serve::ops::log::LogFormat;
use sngp_serve::{Running, Server, Settings};

/// What the model was asked.
#[derive(Clone, Default)]
pub struct Seen {
    pub batches: Arc<Mutex<Vec<usize>>>,
    pub rows: Arc<AtomicUsize>,
}

/// Answers with the text itself as label and the number in it as uncertainty. `panic` panics,
/// `error` fails, `sleep N` takes N milliseconds.
pub struct Echo {
    pub seen: Seen,
    pub reference: Vec<f64>,
}

pub fn field(name: &str, kind: FieldKind) -> Field {
    let (name, meaning) = (name.to_string(), String::new());
    Field { name, kind, shape: vec![-1], optional: false, meaning }
}

impl Answers for Echo {
    fn signature(&self) -> Signature {
        Signature {
            inputs: vec![field("text", FieldKind::Text)],
            outputs: vec![
                field("label", FieldKind::Text),
                field("uncertainty", FieldKind::Number),
                field("decision", FieldKind::Text),
                field("reason", FieldKind::Text),
            ],
            labels: vec!["a".to_string()],
        }
    }

    fn answer(&self, rows: &Dataset, _: Detail) -> sngp::Result<Vec<Answer>> {
        let Body::Rows { rows, .. } = &rows.body else { panic!("texts are rows of cells") };
        self.seen.batches.lock().unwrap().push(rows.len());
        self.seen.rows.fetch_add(rows.len(), Ordering::SeqCst);
        let answer = |row: &Vec<Cell>| {
            let Cell::Text(text) = &row[0] else { panic!("a text") };
            if text == "panic" {
                panic!("it was asked to");
            }
            if text == "error" {
                return Err(sngp::Error::Data("a row that nobody can answer".to_string()));
            }
            if let Some(millis) = text.strip_prefix("sleep ") {
                std::thread::sleep(Duration::from_millis(millis.parse().unwrap()));
            }
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            let outcome = Outcome::Class {
                index: 0,
                label: text.clone(),
                probability: 1.0,
                probabilities: None,
                logits: None,
            };
            let mut answer = Answer::unreadable("");
            answer.verdict = Verdict::Accepted;
            answer.outcome = Some(outcome);
            answer.uncertainty = Some(digits.parse().unwrap_or(0.0));
            Ok(answer)
        };
        rows.iter().map(answer).collect()
    }

    fn reference(&self) -> &[f64] {
        &self.reference
    }

    fn threshold(&self) -> Option<f64> {
        Some(1e9)
    }

    fn describe(&self) -> String {
        "an echo".to_string()
    }
}

/// Loads an echo, whatever the folder; one called `broken` does not load.
pub fn echo(seen: &Seen) -> Load {
    let seen = seen.clone();
    Box::new(move |folder| match folder.ends_with("broken") {
        true => Err(sngp::Error::Data("it is broken".to_string())),
        false => Ok(Box::new(Echo { seen: seen.clone(), reference: vec![0.0, 1.0, 2.0, 3.0] })),
    })
}

/// Settings for tests: free ports, short times, no lines.
pub fn settings() -> Settings {
    Settings {
        port: 0,
        grpc_port: Some(0),
        log: LogFormat::Quiet,
        drain: Duration::from_secs(10),
        ..Settings::default()
    }
}

pub fn start(settings: Settings) -> (Running, Seen) {
    let seen = Seen::default();
    let folders = [("echo".to_string(), "echo".into())];
    let server = Server::load(&folders, echo(&seen), settings).unwrap();
    (server.start().unwrap(), seen)
}

/// A connection that stays open.
pub struct Client(BufReader<TcpStream>);

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    pub fn error(&self) -> String {
        self.json()["error"].as_str().expect("an error says what is wrong").to_string()
    }
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self(BufReader::new(stream))
    }

    pub fn send(&mut self, bytes: &[u8]) {
        // A server that has answered already may close before it has read everything.
        let _ = self.0.get_mut().write_all(bytes);
    }

    pub fn ask(&mut self, method: &str, path: &str, headers: &str, body: &[u8]) -> Response {
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n{headers}\r\n"
        );
        self.send(&[head.as_bytes(), body].concat());
        self.read().expect("an answer")
    }

    pub fn get(&mut self, path: &str) -> Response {
        self.ask("GET", path, "", b"")
    }

    pub fn post(&mut self, path: &str, body: &str) -> Response {
        self.ask("POST", path, "content-type: application/json\r\n", body.as_bytes())
    }

    /// The next response; nothing where the connection was closed.
    pub fn read(&mut self) -> Option<Response> {
        let mut line = String::new();
        if self.0.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim().split_once(": ") else { break };
            headers.push((name.to_lowercase(), value.to_string()));
        }
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let mut body = vec![0; length.map_or(0, |(_, value)| value.parse().unwrap())];
        self.0.read_exact(&mut body).ok()?;
        Some(Response { status, headers, body })
    }

    /// Whether the server closes the connection.
    pub fn is_closed(&mut self) -> bool {
        matches!(self.0.fill_buf(), Ok([]) | Err(_))
    }
}

/// A request for the protocol.
pub fn infer_body(texts: &[&str], more: &str) -> String {
    let data = serde_json::to_string(texts).unwrap();
    let rows = texts.len();
    format!(
        r#"{{"inputs": [{{"name": "text", "datatype": "BYTES", "shape": [{rows}], "data": {data}}}]{more}}}"#
    )
}
