//! Files and folders that are whole or not there.
//!
//! - [`WholeFile`] and [`write_whole`] write a file that appears under its name only when it is
//!   complete and on the disk;
//! - [`replace_folder`] does the same for a folder, and [`recover`] puts right what a process
//!   left that was killed half-way;
//! - [`lock_folder`] keeps two processes from changing one folder at a time.
//!
//! ```
//! use sngp_records::files::{replace_folder, write_whole};
//!
//! let place = tempfile::tempdir()?;
//! let folder = place.path().join("model");
//! for text in ["first", "second"] {
//!     replace_folder(&folder, |new| write_whole(new.join("card.txt"), text))?;
//! }
//! assert_eq!(std::fs::read_to_string(folder.join("card.txt"))?, "second");
//! assert_eq!(std::fs::read_dir(place.path())?.count(), 1);
//! # Ok::<(), std::io::Error>(())
//! ```

mod fault;
mod folder;
mod leftover;
mod lock;
mod part;
mod paths;
mod steps;
mod whole;

pub use folder::{recover, replace_folder};
pub use lock::{FolderLock, lock_folder, try_lock_folder};
pub use whole::{WholeFile, write_whole};
