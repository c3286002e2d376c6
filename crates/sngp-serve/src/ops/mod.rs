//! What operators need: metrics, drift, logs, keys, certificates.

pub mod auth;
pub mod drift;
pub mod log;
pub mod metrics;
pub mod monitor;
pub mod tls;
