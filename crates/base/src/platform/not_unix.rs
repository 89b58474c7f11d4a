//! What only Unix has.

use std::fs::{Metadata, OpenOptions, Permissions};

/// A pipe is opened at once.
pub(super) fn open_at_once(_options: &mut OpenOptions) {}

pub(super) fn identity(_file: &Metadata) -> Option<[u64; 2]> {
    None
}

pub(super) fn change_time(_file: &Metadata) -> Option<[i64; 2]> {
    None
}

pub(super) fn permissions_of_new_files() -> Option<Permissions> {
    None
}

pub(super) fn allow_open_files(_wanted: u64) -> Option<u64> {
    None
}

pub(super) fn peak_ram(_process: Option<u32>) -> Option<u64> {
    None
}
