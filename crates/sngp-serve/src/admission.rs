//! Who is let in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Result, ServeError};

/// Bytes that a place in memory is counted in.
const UNIT: usize = 1024;

/// Bounds on requests that are worked on and on the bytes of their bodies, and the door that closes when the server ends.
pub struct Admission {
    places: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    closed: AtomicBool,
}

impl Admission {
    pub fn new(places: usize, bytes: usize) -> Self {
        let units = (bytes / UNIT).clamp(1, Semaphore::MAX_PERMITS);
        let (places, memory) = (Semaphore::new(places), Semaphore::new(units));
        Self { places: Arc::new(places), memory: Arc::new(memory), closed: AtomicBool::new(false) }
    }

    /// Room for a body of so many bytes, until it is dropped.
    pub fn room(&self, bytes: usize) -> Result<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let room = self.memory.clone().try_acquire_many_owned(units);
        room.map_err(|_| ServeError::Overloaded { retry_after: 1 })
    }

    /// A place until it is dropped. Nobody waits for one: that is what the queue is for.
    pub fn enter(&self) -> Result<OwnedSemaphorePermit> {
        if self.is_closed() {
            return Err(ServeError::Closing);
        }
        let place = self.places.clone().try_acquire_owned();
        place.map_err(|_| ServeError::Overloaded { retry_after: 1 })
    }

    /// Lets nobody in any more.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}
