//! How far the preparation of a corpus has come.

/// How far reading or encoding has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// So many lines have been read or generated.
    Read {
        /// Lines so far.
        lines: usize,
    },
    /// So many lines have been turned into token ids.
    Encoded {
        /// Lines so far.
        done: usize,
        /// Lines in all.
        of: usize,
    },
}

/// Called with [`Progress`] every some thousand lines.
pub type Watch<'a> = &'a mut dyn FnMut(Progress);

/// A [`Watch`] that ignores what it is told.
pub fn unwatched(_: Progress) {}
