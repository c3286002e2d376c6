//! Linear maps of sparse rows, solved in the dual.
//!
//! A text has a hundred of a hundred thousand words: its row is sparse, and the weights of a linear
//! map outnumber the rows. [`fit_linear`] therefore goes through the rows and settles each one's dual
//! variables exactly, with all others as they are. Three or four passes do, there is no step size,
//! and the duality gap says when it is done.
//!
//! ```
//! use sngp::convex::sparse::{LinearProblem, SparseRows, fit_linear};
//! use sngp::data::Targets;
//!
//! let mut rows = SparseRows::new(3);
//! for row in [[(0, 1.0)], [(1, 1.0)], [(0, 0.9)], [(1, 0.8)]] {
//!     rows.push(&row)?;
//! }
//! let targets = Targets::classes(vec![0, 1, 0, 1], 2)?;
//! let problem = LinearProblem { rows: &rows, some: &[0, 1, 2, 3], targets: &targets, strength: 10.0 };
//! let solution = fit_linear(&problem, None)?;
//! let mut logits = [0.0; 2];
//! solution.map.apply(&[0], &[1.0], &mut logits);
//! assert!(logits[0] > 1.0 && logits[1] < -1.0);
//! # Ok::<(), sngp::Error>(())
//! ```

mod dual;
mod rows;
mod softmax_step;

pub use dual::{LinearProblem, LinearSolution, fit_linear};
pub use rows::{LinearMap, SparseRows};
