//! Input and output of a translation that several processes share.

use attentive_base::error::Result;
use attentive_processes::Processes;

use crate::input::InputLines;
use crate::output::OutputWriter;

/// The lines of the input, of which each process gets a share, and the output, which the first process
/// writes.
pub(super) struct SharedStreams<'a> {
    pub(super) processes: &'a Processes,
    /// The input; only the first process has it.
    pub(super) input: Option<InputLines>,
    /// The output; only the first process has it.
    pub(super) out: Option<OutputWriter>,
}

/// Consecutive lines.
pub(super) struct LineBatch {
    /// The number of the first line, counted from 1.
    pub(super) first_line: usize,
    pub(super) lines: Vec<String>,
}

impl SharedStreams<'_> {
    /// The share of this process in the next lines, at most `limit` lines per process; `None` at the end.
    pub(super) fn next(&mut self, limit: usize) -> Result<Option<LineBatch>> {
        let limit = limit.saturating_mul(self.processes.count());
        let read = self.input.as_mut().map(|input| {
            let first_line = input.count() + 1;
            let lines = input.next_chunk(limit)?;
            Ok(lines.map(|lines| (first_line, lines)))
        });
        let read = || read.transpose().map(Option::flatten);
        let Some((first_line, mut lines)) = self.processes.value_of_first("lines were read", read)? else {
            return Ok(None);
        };
        let share = self.processes.share(lines.len());
        Ok(Some(LineBatch { first_line: first_line + share.start, lines: lines.drain(share).collect() }))
    }

    /// Writes the output of this process for its share, after the output of the processes before it.
    pub(super) fn write(&mut self, text: Result<String>) -> Result<()> {
        let texts = text.map(|text| vec![text]);
        let doing = "lines were translated";
        let texts = self.processes.gather_lines(doing, texts)?;
        let written = self.out.as_mut().map_or(Ok(()), |out| {
            texts.iter().try_for_each(|text| out.text(text))?;
            out.flush()
        });
        self.processes.agree("translations were written", written)
    }

    /// Completes the output, unless `check` refuses the number of lines.
    pub(super) fn finish(&mut self, check: impl FnOnce(usize) -> Result<()>) -> Result<()> {
        let count = self.input.as_ref().map_or(0, InputLines::count);
        let out = self.out.take();
        let finish = out.map_or(Ok(()), |out| {
            check(count)?;
            out.finish().map(drop)
        });
        self.processes.agree("the output was completed", finish)
    }
}
