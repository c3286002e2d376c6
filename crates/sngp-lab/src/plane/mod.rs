//! The two-dimensional benchmark: does uncertainty grow with the distance from the data?

mod reference;
mod run;
mod surface;

pub use reference::Reference;
pub use run::{PlaneRun, RunOptions, run};
pub use surface::{GRID, grid_table, surface_figure};
