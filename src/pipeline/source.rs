//! A line as the model reads it.

use super::{Pipeline, Warning};
use crate::batch::TokenId;
use crate::data::MAX_LINE_BYTES;
use crate::error::Result;
use crate::text::Tokenizer;

/// A line as token ids.
#[derive(Debug)]
pub(super) struct Source {
    /// A source closed by `</s>`, or a text as it is; empty for a blank line.
    pub(super) ids: Vec<TokenId>,
    /// What had to be done to the line.
    pub(super) warning: Option<Warning>,
}

impl Source {
    /// The source in line number `number`, of which `pipeline`'s model takes what it can.
    pub(super) fn read(line: &str, number: usize, pipeline: &Pipeline) -> Result<Self> {
        let tokenizer = pipeline.tokenizers().src();
        let room = pipeline.max_src_len().saturating_sub(1);
        let mut source = Self::text(line, number, tokenizer, room)?;
        if !source.ids.is_empty() {
            source.ids.push(tokenizer.special().eos);
        }
        Ok(source)
    }

    /// [`Source::with`] `tokenizer`'s tokens.
    pub(super) fn text(
        line: &str,
        number: usize,
        tokenizer: &Tokenizer,
        room: usize,
    ) -> Result<Self> {
        Self::with(line, number, room, |text| tokenizer.encode(text))
    }

    /// Makes what it can of line number `number`: bounds its bytes before they cost anything, reads control characters,
    /// which the training data has none of, as blanks, and leaves at most `room` of the tokens that `encode` finds.
    pub(super) fn with(
        line: &str,
        number: usize,
        room: usize,
        encode: impl FnOnce(&str) -> Result<Vec<TokenId>>,
    ) -> Result<Self> {
        let mut problems = Vec::new();
        let line = line.trim();
        let read = &line[..line.floor_char_boundary(MAX_LINE_BYTES)];
        if read.len() < line.len() {
            let (read, all) = (read.len(), line.len());
            problems.push(format!("too long, only {read} of {all} bytes were read"));
        }
        let n_control = read.chars().filter(is_control).count();
        if n_control > 0 {
            problems.push(match n_control {
                1 => "1 control character was read as a blank".to_owned(),
                _ => format!("{n_control} control characters were read as blanks"),
            });
        }
        let text: String = read
            .chars()
            .map(|c| if is_control(&c) { ' ' } else { c })
            .collect();
        let mut ids = match text.trim() {
            "" => Vec::new(),
            text => encode(text)?,
        };
        if ids.len() > room {
            let all = ids.len();
            problems.push(format!(
                "too long for the model, only the first {room} of {all} tokens were read"
            ));
            ids.truncate(room);
        }
        let warning = (!problems.is_empty()).then(|| Warning {
            line: number,
            problem: problems.join("; "),
        });
        Ok(Self { ids, warning })
    }
}

/// White space such as a tab is none for us.
fn is_control(c: &char) -> bool {
    c.is_control() && !c.is_whitespace()
}
