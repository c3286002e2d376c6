//! What becomes of the pixels of an image: their mean, or the largest of each window.

mod max;
mod mean;

pub use max::{max_over_windows, max_over_windows_backward};
pub use mean::{mean_over_pixels, mean_over_pixels_backward};
