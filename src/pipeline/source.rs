//! A line as the model reads it.

use rayon::prelude::*;

use super::{Pipeline, Warning};
use crate::batch::TokenId;
use crate::data::{MAX_LINE_BYTES, is_control};
use crate::error::Result;
use crate::text::Tokenizer;

/// A line as token ids.
#[derive(Debug)]
pub(super) struct Source {
    /// A source closed by `</s>`, or a text as it is; empty for a blank line.
    pub(super) ids: Vec<TokenId>,
    /// What had to be done to the line.
    pub(super) warnings: Vec<Warning>,
}

impl Source {
    /// The source `line`, of which `pipeline`'s model takes what it can.
    pub(super) fn read(line: &str, pipeline: &Pipeline) -> Result<Self> {
        let tokenizer = pipeline.tokenizers().src();
        let room = pipeline.max_src_len().saturating_sub(1);
        let mut source = Self::text(line, tokenizer, room)?;
        if !source.ids.is_empty() {
            source.ids.push(tokenizer.special().eos);
        }
        Ok(source)
    }

    /// [`Source::read`] for each of `lines`, of which the first is number `first_line`, in parallel.
    pub(super) fn read_all<L: AsRef<str> + Sync>(
        first_line: usize,
        lines: &[L],
        read: impl Fn(&str) -> Result<Self> + Sync,
    ) -> Result<Vec<Self>> {
        let lines = lines.par_iter().enumerate();
        let read =
            |(index, line): (usize, &L)| Ok(read(line.as_ref())?.on_line(first_line + index));
        lines.map(read).collect()
    }

    /// [`Source::with`] `tokenizer`'s tokens.
    pub(super) fn text(line: &str, tokenizer: &Tokenizer, room: usize) -> Result<Self> {
        Self::with(line, room, |text| tokenizer.encode(text))
    }

    /// The same as line number `line` of a text.
    pub(super) fn on_line(mut self, line: usize) -> Self {
        let warnings = self.warnings.into_iter();
        self.warnings = warnings.map(|warning| warning.on_line(line)).collect();
        self
    }

    /// Makes what it can of `line`: bounds its bytes before they cost anything, reads control characters, which the training
    /// data has none of, as blanks, and leaves at most `room` of the tokens that `encode` finds.
    pub(super) fn with(
        line: &str,
        room: usize,
        encode: impl FnOnce(&str) -> Result<Vec<TokenId>>,
    ) -> Result<Self> {
        let line = line.trim();
        let read = &line[..line.floor_char_boundary(MAX_LINE_BYTES)];
        let mut source = Self::whole(read, encode)?;
        if read.len() < line.len() {
            let (read, all) = (read.len(), line.len());
            let problem = format!("too long, only {read} of {all} bytes were read");
            source.warnings.insert(0, Warning::new(problem));
        }
        let all = source.ids.len();
        if all > room {
            source.warnings.push(Warning::new(format!(
                "too long for the model, only the first {room} of {all} tokens were read"
            )));
            source.ids.truncate(room);
        }
        Ok(source)
    }

    /// [`Source::with`] without limits.
    pub(super) fn whole(
        line: &str,
        encode: impl FnOnce(&str) -> Result<Vec<TokenId>>,
    ) -> Result<Self> {
        let text: String = line
            .chars()
            .map(|c| if is_control(c) { ' ' } else { c })
            .collect();
        let ids = match text.trim() {
            "" => Vec::new(),
            text => encode(text)?,
        };
        let problem = match line.chars().filter(|&c| is_control(c)).count() {
            0 => None,
            1 => Some("1 control character was read as a blank".to_owned()),
            n => Some(format!("{n} control characters were read as blanks")),
        };
        let warnings = problem.into_iter().map(Warning::new).collect();
        Ok(Self { ids, warnings })
    }
}
