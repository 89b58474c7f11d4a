//! Systems without processes, such as a web page.

use std::io;
use std::process::{Child, Command};

pub(super) use super::not_unix::*;

/// The standard library knows it.
pub(super) fn has_no_reader(_error: &io::Error) -> bool {
    false
}

pub(super) fn in_own_group(_command: &mut Command) {}

pub(super) fn kill_with_children(child: &mut Child) -> io::Result<()> {
    child.kill()
}
