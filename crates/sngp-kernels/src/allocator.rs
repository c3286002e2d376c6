//! The allocator for binaries.

pub use mimalloc::MiMalloc;

/// mimalloc's `mi_option_purge_delay`, whose number the bindings do not have.
const PURGE_DELAY: std::ffi::c_int = 15;

/// Tells mimalloc not to give pages back to the system.
///
/// Every step of a training allocates and frees the same large buffers. By default pages that are
/// free for 10 ms go back, and the system clears them anew for the next step: about 140 faults
/// for 2 MiB each in one forward pass of a MiniLM-size encoder.
///
/// ```
/// # #[global_allocator]
/// # static ALLOCATOR: sngp_kernels::allocator::MiMalloc = sngp_kernels::allocator::MiMalloc;
/// sngp_kernels::allocator::keep_pages();
/// ```
pub fn keep_pages() {
    // SAFETY: sets a number that mimalloc reads when it considers a purge.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, -1) }
}
