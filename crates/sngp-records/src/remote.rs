//! Files in object storage: fetched into a temporary file, piece by piece, before they are read.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::thread;
use std::time::Duration;

use futures_util::StreamExt as _;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as Key;
use object_store::{GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt as _, RetryConfig};
use tokio::runtime;

use crate::address::{AMAZON, GOOGLE};
use crate::error::{RecordsError, Result};

/// Bytes in memory at a time, and asked for again where they do not arrive.
const PIECE: u64 = 8 << 20;
const RETRIES: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);

/// The whole object of an address in a temporary file without a name.
pub(crate) fn fetch(path: &Path) -> Result<File> {
    // A thread of its own: the caller may be inside of another runtime.
    let fetched = thread::scope(|scope| scope.spawn(|| fetch_here(path)).join());
    fetched
        .unwrap_or_else(|_| Err(io::Error::other("the storage's client has stopped")))
        .map_err(|cause| RecordsError::Remote { path: path.to_owned(), cause: cause.to_string() })
}

fn fetch_here(path: &Path) -> io::Result<File> {
    // Whoever has chosen a provider before keeps it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let address = path.to_str().ok_or_else(|| io::Error::other("the address is no text"))?;
    let (scheme, rest) = address.split_once("://").unwrap_or_default();
    let key = rest.split_once('/').map_or("", |(_, key)| key);
    if key.is_empty() {
        return Err(io::Error::other("it names no object; SCHEME://BUCKET/KEY does"));
    }
    let key = Key::parse(key).map_err(io::Error::other)?;
    let store = store(scheme, address)?;
    runtime::Builder::new_current_thread().enable_all().build()?.block_on(receive(&*store, &key))
}

fn store(scheme: &str, address: &str) -> io::Result<Box<dyn ObjectStore>> {
    let retry = RetryConfig { max_retries: RETRIES, retry_timeout: PATIENCE, ..Default::default() };
    let store: object_store::Result<Box<dyn ObjectStore>> = if AMAZON.contains(&scheme) {
        let builder = AmazonS3Builder::from_env().with_url(address).with_retry(retry);
        builder.build().map(|store| Box::new(store) as _)
    } else if GOOGLE.contains(&scheme) {
        let builder = GoogleCloudStorageBuilder::from_env().with_url(address).with_retry(retry);
        builder.build().map(|store| Box::new(store) as _)
    } else {
        let builder = MicrosoftAzureBuilder::from_env().with_url(address).with_retry(retry);
        builder.build().map(|store| Box::new(store) as _)
    };
    store.map_err(io::Error::other)
}

async fn receive(store: &dyn ObjectStore, key: &Key) -> io::Result<File> {
    let told = store.head(key).await.map_err(io::Error::other)?;
    let mut file = tempfile::tempfile()?;
    let mut done = 0;
    while done < told.size {
        let range = done..told.size.min(done + PIECE);
        let mut tries = 0;
        let bytes = loop {
            match piece(store, key, &told, range.clone()).await {
                Ok(bytes) => break bytes,
                // What was not begun, the store has tried again itself.
                Err(error) if tries >= RETRIES => return Err(error),
                Err(_) => tries += 1,
            }
        };
        file.write_all(&bytes)?;
        done = range.end;
    }
    io::Seek::rewind(&mut file)?;
    Ok(file)
}

/// Some bytes of an object, all of the same version of it, and no more of them than asked for.
async fn piece(
    store: &dyn ObjectStore,
    key: &Key,
    told: &ObjectMeta,
    range: Range<u64>,
) -> io::Result<Vec<u8>> {
    let options = GetOptions { if_match: told.e_tag.clone(), ..Default::default() };
    let options = options.with_range(Some(range.clone()));
    let found = store.get_opts(key, options).await.map_err(io::Error::other)?;
    let version = |meta: &ObjectMeta| (meta.size, meta.e_tag.clone(), meta.last_modified);
    if version(&found.meta) != version(told) {
        return Err(io::Error::other("it was replaced while it was read"));
    }
    let wanted = (range.end - range.start) as usize;
    let mut bytes = Vec::with_capacity(wanted);
    let mut stream = found.into_stream();
    while let Some(part) = stream.next().await {
        bytes.extend_from_slice(&part.map_err(io::Error::other)?);
        if bytes.len() > wanted {
            break;
        }
    }
    match bytes.len() == wanted {
        true => Ok(bytes),
        false => {
            let reason = format!("{} bytes came for {} to {}", bytes.len(), range.start, range.end);
            Err(io::Error::other(reason))
        }
    }
}
