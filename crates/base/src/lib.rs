//! What all crates of Attentive share.

pub mod batch;
pub mod beside;
pub mod body;
pub mod count;
pub mod error;
pub mod essential;
mod folder;
pub mod foreign;
pub mod hexadecimal;
pub mod ignorable;
pub mod interrupt;
pub mod lengths;
pub mod philox;
pub mod plain;
pub mod platform;
pub mod random;
pub mod regular_file;
pub mod shown;

pub use error::{Error, Result};
pub use folder::folder_of;
pub use hexadecimal::hexadecimal;
