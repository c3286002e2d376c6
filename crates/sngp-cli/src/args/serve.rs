//! The arguments of `serve` and `loadtest`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::at_least_one;

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  \
    sngp serve intents-model\n  \
    sngp serve intents=intents-model flowers=flowers-model --port 9000\n  \
    curl -d '{\"text\": \"move 100 dollars\"}' localhost:8080/v1/predict\n\n\
    The page of it is http://localhost:8080, what it counts is at /metrics. SIGHUP reads all \
    folders anew, SIGTERM answers what was accepted and ends.")]
pub struct Serve {
    /// Model folders, each with the name it is asked for by, or its own
    #[arg(required = true, value_name = "[NAME=]MODEL")]
    pub models: Vec<String>,
    /// The address to listen at; other machines reach 0.0.0.0
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub host: IpAddr,
    /// The port of HTTP; 0 is any that is free
    #[arg(long, default_value_t = 8080, value_name = "PORT")]
    pub port: u16,
    /// The port of gRPC
    #[arg(long, default_value_t = 8081, value_name = "PORT")]
    pub grpc_port: u16,
    /// No gRPC
    #[arg(long, conflicts_with = "grpc_port")]
    pub no_grpc: bool,
    /// Rows that are answered together
    #[arg(long, default_value_t = 64, value_name = "ROWS", value_parser = at_least_one)]
    pub max_batch: usize,
    /// Tokens that are answered together, about; for texts
    #[arg(long, default_value_t = 8192, value_name = "TOKENS", value_parser = at_least_one)]
    pub max_batch_tokens: usize,
    /// How long a batch that is not full waits for more, in milliseconds
    #[arg(long, default_value_t = 0, value_name = "MS")]
    pub max_delay: u64,
    /// Rows that wait at most; more are refused
    #[arg(long, default_value_t = 4096, value_name = "ROWS", value_parser = at_least_one)]
    pub max_queue: usize,
    /// Requests that are worked on at a time; more are refused
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = at_least_one)]
    pub max_requests: usize,
    /// Open connections; more are closed
    #[arg(long, default_value_t = 1024, value_name = "N", value_parser = at_least_one)]
    pub max_connections: usize,
    /// Bytes of a request, unpacked
    #[arg(long, default_value_t = 16 << 20, value_name = "BYTES", value_parser = at_least_one)]
    pub max_body: usize,
    /// MiB of all requests that are worked on; more are refused
    #[arg(long, default_value_t = 512, value_name = "MIB", value_parser = at_least_one)]
    pub max_memory: usize,
    /// Rows of a request
    #[arg(long, default_value_t = 8192, value_name = "ROWS", value_parser = at_least_one)]
    pub max_rows: usize,
    /// How long an answer may take where a request does not say, in seconds
    #[arg(long, default_value_t = 30, value_name = "S")]
    pub timeout: u64,
    /// How long a request may take to be sent, in seconds
    #[arg(long, default_value_t = 30, value_name = "S")]
    pub read_timeout: u64,
    /// How long accepted requests have when the server ends, in seconds
    #[arg(long, default_value_t = 30, value_name = "S")]
    pub drain: u64,
    /// Threads that take batches, for each model; they share --threads
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = at_least_one)]
    pub replicas: usize,
    /// Looks for replaced folders every few seconds
    #[arg(long, value_name = "S", num_args = 0..=1, default_missing_value = "5")]
    pub watch: Option<u64>,
    /// A certificate chain as PEM file, for TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its key as PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// The key that requests have to show
    #[arg(long, env = "SNGP_API_KEY", hide_env_values = true, hide = true)]
    pub api_key: Option<String>,
    /// How requests are logged, on standard error
    #[arg(long, value_enum, default_value_t = LogName::Text, value_name = "FORMAT")]
    pub log: LogName,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogName {
    /// A line of text
    Text,
    /// A line of JSON
    Json,
    /// What happens to the server, no requests
    Quiet,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  \
    sngp loadtest http://localhost:8080/v1/predict --body row.json --clients 64 --seconds 30")]
pub struct LoadTest {
    /// What is asked for
    pub url: String,
    /// The body to send, one request a line where it ends in .jsonl; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub body: PathBuf,
    /// Clients that ask one request after the other
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = at_least_one)]
    pub clients: usize,
    /// How long
    #[arg(long, default_value_t = 10, value_name = "S")]
    pub seconds: u64,
    /// Rows of a request, for rows a second
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = at_least_one)]
    pub rows: usize,
    /// A header, as `NAME: VALUE`; again for another
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    pub headers: Vec<String>,
}
