//! Progress of the preparation of a corpus.

/// Progress of reading or encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Lines have been read or generated.
    Read {
        /// Number of lines so far.
        lines: usize,
    },
    /// Lines have been converted to token ids.
    Encoded {
        /// Number of lines so far.
        done: usize,
        /// Total number of lines.
        of: usize,
    },
}

/// A callback that receives [`Progress`] every few thousand lines.
pub type ProgressCallback<'a> = &'a mut dyn FnMut(Progress);

/// A [`ProgressCallback`] that does nothing.
pub fn unwatched(_: Progress) {}
