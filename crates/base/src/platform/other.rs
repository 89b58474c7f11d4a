//! Systems without processes, such as a web page.

use std::fs::{Metadata, OpenOptions, Permissions};
use std::io;
use std::process::{Child, Command};

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

/// The standard library knows it.
pub(super) fn has_no_reader(_error: &io::Error) -> bool {
    false
}

pub(super) fn in_own_group(_command: &mut Command) {}

pub(super) fn kill_with_children(child: &mut Child) -> io::Result<()> {
    child.kill()
}

pub(super) fn allow_open_files(_wanted: u64) -> Option<u64> {
    None
}

pub(super) fn peak_ram(_process: Option<u32>) -> Option<u64> {
    None
}
