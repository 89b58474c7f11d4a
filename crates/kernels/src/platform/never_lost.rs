//! Systems that refuse to truncate a file that is mapped, such as Windows. There, a part that cannot be read any
//! more, of a disk that was removed, ends the process without a message.

use std::path::Path;

use crate::mapped::IfLost;

/// Watches nothing.
#[derive(Debug)]
pub(crate) struct NeverLost;

impl NeverLost {
    pub(crate) fn over(_map: &[u8], _path: &Path, _if_lost: IfLost) -> Self {
        Self
    }

    pub(crate) fn has_lost(&self) -> bool {
        false
    }
}
