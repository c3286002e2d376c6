//! Cutting work for the threads.

use std::marker::PhantomData;

use rayon::prelude::*;

/// Work, in rough nanoseconds of one core, below which waking the threads costs more than it saves.
const WORTH_THREADS: usize = 20_000;

/// Whether work of that many nanoseconds on one core is worth the threads.
pub(crate) fn worth_threads(nanoseconds: usize) -> bool {
    nanoseconds >= WORTH_THREADS && rayon::current_num_threads() > 1
}

/// Runs `piece(0..pieces)`, on the threads if the whole is worth it.
///
/// What a piece is must not depend on the threads; then the result does not either.
pub(crate) fn run(pieces: usize, nanoseconds: usize, piece: impl Fn(usize) + Sync + Send) {
    if pieces > 1 && worth_threads(nanoseconds) {
        (0..pieces).into_par_iter().for_each(piece);
    } else {
        (0..pieces).for_each(piece);
    }
}

/// Runs every prepared piece, on the threads if the whole is worth it.
pub(crate) fn run_all<P: Send>(
    pieces: impl Iterator<Item = P>,
    nanoseconds: usize,
    run: impl Fn(P) + Sync + Send,
) {
    if worth_threads(nanoseconds) {
        pieces.collect::<Vec<_>>().into_par_iter().for_each(run);
    } else {
        pieces.for_each(run);
    }
}

/// An optional slice cut like its neighbours: `None` for ever if there is none.
pub(crate) fn chunks_of(
    slice: Option<&[f32]>,
    size: usize,
) -> impl Iterator<Item = Option<&[f32]>> {
    let mut chunks = slice.map(|slice| slice.chunks(size));
    std::iter::repeat_with(move || chunks.as_mut().and_then(Iterator::next))
}

/// The same of a mutable slice.
pub(crate) fn chunks_of_mut(
    slice: Option<&mut [f32]>,
    size: usize,
) -> impl Iterator<Item = Option<&mut [f32]>> {
    let mut chunks = slice.map(|slice| slice.chunks_mut(size));
    std::iter::repeat_with(move || chunks.as_mut().and_then(Iterator::next))
}

/// A slice of which pieces running at once write parts that interleave but do not overlap.
pub(crate) struct Shared<'a> {
    start: *mut f32,
    length: usize,
    slice: PhantomData<&'a mut [f32]>,
}

// SAFETY: it stands for a `&mut [f32]`, which may be sent; that parts given to several threads do
// not overlap is what callers of `part` promise.
unsafe impl Send for Shared<'_> {}
// SAFETY: as above.
unsafe impl Sync for Shared<'_> {}

impl<'a> Shared<'a> {
    pub(crate) fn new(slice: &'a mut [f32]) -> Self {
        Self { start: slice.as_mut_ptr(), length: slice.len(), slice: PhantomData }
    }

    /// The part `[from, from + length)`.
    ///
    /// # Safety
    /// No other part that lives at the same time overlaps it.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn part(&self, from: usize, length: usize) -> &mut [f32] {
        assert!(from <= self.length && length <= self.length - from);
        // SAFETY: inside the slice, as asserted; alone, as the caller promises.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(from), length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_every_piece_once() {
        for (pieces, nanoseconds) in [(0, 0), (1, 0), (7, 0), (0, 1 << 30), (100, 1 << 30)] {
            let mut seen = vec![0.0; pieces * 2];
            let shared = Shared::new(&mut seen);
            run(pieces, nanoseconds, |piece| {
                // SAFETY: the pieces are disjoint.
                let part = unsafe { shared.part(piece * 2, 2) };
                part[1] += 1.0;
            });
            assert!(seen.chunks(2).all(|pair| pair == [0.0, 1.0]));
        }
    }

    #[test]
    fn cuts_what_there_is() {
        let mut x = [1.0, 2.0, 3.0];
        assert_eq!(chunks_of(Some(&x), 2).nth(1), Some(Some(&[3.0][..])));
        assert_eq!(chunks_of(None, 2).nth(1), Some(None));
        assert_eq!(chunks_of_mut(Some(&mut x), 2).nth(1), Some(Some(&mut [3.0][..])));
    }
}
