//! Attention over short sequences, on slices.

mod backward;
mod forward;
mod pack;
mod small_product;
#[cfg(test)]
mod tests;

pub(crate) use backward::attention_backward;
pub(crate) use forward::{Attention, attention, attention_keeping};
