//! Working memory that a thread keeps from one piece of work to the next.

use std::cell::Cell;

/// f32 in a cache line.
const LINE: usize = 16;

thread_local! {
    static SCRATCH: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// Calls `f` with buffers of the given lengths, each at the start of a cache line.
///
/// They hold whatever the last caller left.
pub(crate) fn with_scratch<const N: usize, R>(
    lengths: [usize; N],
    f: impl FnOnce([&mut [f32]; N]) -> R,
) -> R {
    let total = lengths.iter().map(|length| length.next_multiple_of(LINE)).sum::<usize>();
    // While `f` waits for other threads, this one may take up a piece that wants working memory
    // too; it then finds none and gets its own.
    let mut scratch = SCRATCH.take();
    if scratch.len() < total + LINE {
        scratch = vec![0.0; total + LINE];
    }
    let start = scratch.as_ptr().align_offset(LINE * size_of::<f32>()).min(LINE);
    let mut rest = &mut scratch[start..start + total];
    let result = f(lengths.map(|length| {
        let (buffer, after) = std::mem::take(&mut rest).split_at_mut(length.next_multiple_of(LINE));
        rest = after;
        &mut buffer[..length]
    }));
    SCRATCH.set(scratch);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_aligned_buffers() {
        for _ in 0..2 {
            with_scratch([3, 0, 17, 16], |buffers| {
                assert_eq!(buffers.each_ref().map(|b| b.len()), [3, 0, 17, 16]);
                assert!(buffers.iter().all(|b| (b.as_ptr() as usize).is_multiple_of(64)));
            });
        }
    }
}
