use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use crate::batching::Limits;
use crate::ops::log::LogFormat;

/// How a server behaves.
#[derive(Clone)]
pub struct Settings {
    /// The address it listens at.
    pub host: IpAddr,
    /// The port of HTTP; 0 is any that is free.
    pub port: u16,
    /// The port of gRPC; 0 is any that is free, none is no gRPC.
    pub grpc_port: Option<u16>,
    /// Batches and the queue before them.
    pub limits: Limits,
    /// Requests that are worked on at a time; more are refused.
    pub max_in_flight: usize,
    /// Open connections; more are closed at once.
    pub max_connections: usize,
    /// Bytes of a body, unpacked.
    pub max_body: usize,
    /// Bytes of all bodies that are worked on; more are refused.
    pub max_memory: usize,
    /// Rows of a request.
    pub max_rows: usize,
    /// How long a request's header may take, and a connection be idle.
    pub header_timeout: Duration,
    /// How long a request's body may take.
    pub body_timeout: Duration,
    /// How long an answer may take where the request does not say.
    pub timeout: Duration,
    /// How long accepted requests have when the server ends.
    pub drain: Duration,
    /// How often folders are looked at, to take a replaced one into service.
    pub watch: Option<Duration>,
    /// The key that requests have to show.
    pub key: Option<String>,
    /// Certificate chain and key, as PEM files.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// How requests are logged.
    pub log: LogFormat,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 8080,
            grpc_port: Some(8081),
            limits: Limits::default(),
            max_in_flight: 256,
            max_connections: 1024,
            max_body: 16 << 20,
            max_memory: 512 << 20,
            max_rows: 8192,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            timeout: Duration::from_secs(30),
            drain: Duration::from_secs(30),
            watch: None,
            key: None,
            tls: None,
            log: LogFormat::default(),
        }
    }
}
