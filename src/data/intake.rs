//! Which lines of a corpus are kept.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::form::Form;
use super::item::{Entry, Fault, Item};
use super::lines::MAX_LINE_BYTES;
use crate::count::count;

/// Counts of lines read and dropped; each dropped line is counted under one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadStats {
    /// Lines read.
    pub lines: usize,
    /// Dropped because a side is empty or only white space.
    pub empty: usize,
    /// Dropped because a side exceeds [`MAX_LINE_BYTES`].
    pub too_long: usize,
    /// Dropped because a side contains NUL or another control character other than white space.
    pub control: usize,
}

impl fmt::Display for ReadStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            lines,
            empty,
            too_long,
            control,
        } = *self;
        write!(
            f,
            "{} of {} kept",
            lines - empty - too_long - control,
            count(lines, "line")
        )?;
        for (count, reason) in [
            (empty, "with an empty side".to_owned()),
            (too_long, format!("longer than {MAX_LINE_BYTES} bytes")),
            (control, "with control characters".to_owned()),
        ] {
            if count > 0 {
                write!(f, ", {count} dropped {reason}")?;
            }
        }
        Ok(())
    }
}

/// Numbers the lines of a corpus of one form, and drops those that cannot be used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Intake {
    pub(super) form: Form,
    pub(super) stats: ReadStats,
}

impl Intake {
    /// Nothing read so far.
    pub(super) fn new(form: Form) -> Self {
        Self {
            form,
            stats: ReadStats::default(),
        }
    }

    /// The entry of the next line, or `None` if it is dropped; otherwise describes the problem.
    pub(super) fn admit(&mut self, item: Item) -> Result<Option<Entry>, String> {
        if let Some(fault) = item.fault() {
            self.skip(fault);
            return Ok(None);
        }
        if let Some(problem) = item.misfit(self.form) {
            return Err(problem);
        }
        self.stats.lines += 1;
        let line = self.stats.lines;
        Ok(Some(Entry { item, line }))
    }

    /// Counts a dropped line.
    pub(super) fn skip(&mut self, fault: Fault) {
        self.stats.lines += 1;
        match fault {
            Fault::Empty => self.stats.empty += 1,
            Fault::TooLong => self.stats.too_long += 1,
            Fault::Control => self.stats.control += 1,
        }
    }
}
