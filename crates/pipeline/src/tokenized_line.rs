//! An input line, encoded for the model.

use attentive_base::batch::TokenId;
use attentive_base::count::{count, number};
use attentive_base::error::Result;
use attentive_base::ignorable::is_only_ignorable;
use attentive_data::{MAX_LINE_BYTES, is_control};
use attentive_kernels::threads::Threads;
use attentive_text::Tokenizer;

use super::{Pipeline, Warning};

/// A line as token ids.
#[derive(Debug, Default)]
pub(super) struct TokenizedLine {
    /// A source with the special tokens around it, or a plain text; empty for a blank line.
    pub(super) ids: Vec<TokenId>,
    /// Problems with the line.
    pub(super) warnings: Vec<Warning>,
    /// True if only the beginning of the line was read.
    pub(super) is_cut: bool,
    /// The line, if it has only characters that mean nothing.
    pub(super) kept: String,
}

impl TokenizedLine {
    /// The tokens `ids`, unchanged.
    pub(super) fn of(ids: Vec<TokenId>) -> Self {
        Self { ids, ..Self::default() }
    }

    /// Encodes the source `line`, as far as it fits into `pipeline`'s model.
    pub(super) fn read(line: &str, pipeline: &Pipeline) -> Result<Self> {
        if is_only_ignorable(line) {
            return Ok(Self { kept: line.to_owned(), ..Self::default() });
        }
        let tokenizer = pipeline.tokenizers().src();
        let special = tokenizer.special();
        let room = pipeline.max_src_len().saturating_sub(special.n_frame());
        let mut source = Self::text(line, tokenizer, room)?;
        if source.ids.contains(&special.unk) {
            let read = &line[..line.floor_char_boundary(MAX_LINE_BYTES)];
            let unknown = tokenizer.unknown(read)?;
            source.warnings.extend(Warning::of_unreadable(&unknown));
        }
        let targets = pipeline.targets();
        let names_target = source.ids.first().is_some_and(|first| targets.contains(first));
        let mut special = special;
        if names_target && special.first.is_some_and(|first| targets.contains(&first)) {
            // The text itself says into which language it is to be translated.
            special.first = None;
        }
        if !targets.is_empty() && special.first.is_none() && !names_target && !source.ids.is_empty() {
            source.warnings.push(Warning::of_no_language(tokenizer, targets));
        }
        if !source.ids.is_empty() {
            source.ids = special.framed(source.ids);
        }
        Ok(source)
    }

    /// Calls [`TokenizedLine::read`] for each of `lines`, in parallel; the first line has the number
    /// `first_line`.
    pub(super) fn read_all<L: AsRef<str> + Sync>(
        first_line: usize,
        lines: &[L],
        read: impl Fn(&str) -> Result<Self> + Sync,
    ) -> Result<Vec<Self>> {
        let read = |(line, text): (usize, &L)| Ok(read(text.as_ref())?.on_line(line));
        let all = Threads::current().map((first_line..).zip(lines), read);
        all.into_iter().collect()
    }

    /// Calls [`TokenizedLine::with`] with the tokens of `tokenizer`.
    pub(super) fn text(line: &str, tokenizer: &Tokenizer, room: usize) -> Result<Self> {
        Self::with(line, room, |text| tokenizer.encode(text))
    }

    /// Sets the line number in the warnings.
    pub(super) fn on_line(mut self, line: usize) -> Self {
        let warnings = self.warnings.into_iter();
        self.warnings = warnings.map(|warning| warning.on_line(line)).collect();
        self
    }

    /// Encodes `line` within limits: limits its bytes before processing, replaces control characters by
    /// blanks, since the training data has none, and keeps at most `room` of the tokens returned by `encode`.
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
            source.is_cut = true;
        }
        Ok(source.within(room))
    }

    /// Keeps at most `room` of the tokens, with a warning if there are more.
    pub(super) fn within(mut self, room: usize) -> Self {
        let all = self.ids.len();
        if all > room {
            self.warnings.push(Warning::new(format!(
                "too long for the model, only the first {} of {} were read",
                number(room as u64),
                count(all, "token")
            )));
            self.ids.truncate(room);
            self.is_cut = true;
        }
        self
    }

    /// [`TokenizedLine::with`] without limits.
    pub(super) fn whole(line: &str, encode: impl FnOnce(&str) -> Result<Vec<TokenId>>) -> Result<Self> {
        let (ids, controls) = Self::encoded(line, encode)?;
        let warnings = Self::controls(controls).into_iter().collect();
        Ok(Self { ids, warnings, ..Self::default() })
    }

    /// The tokens of `line`, and the number of control characters in it, which are read as blanks.
    pub(super) fn encoded(
        line: &str,
        encode: impl FnOnce(&str) -> Result<Vec<TokenId>>,
    ) -> Result<(Vec<TokenId>, usize)> {
        let text: String = line.chars().map(|c| if is_control(c) { ' ' } else { c }).collect();
        let ids = match text.trim() {
            "" => Vec::new(),
            text => encode(text)?,
        };
        Ok((ids, line.chars().filter(|&c| is_control(c)).count()))
    }

    /// A warning about `count` control characters; `None` if there are none.
    pub(super) fn controls(count: usize) -> Option<Warning> {
        let problem = match count {
            0 => return None,
            1 => "1 control character was read as a blank".to_owned(),
            n => format!("{n} control characters were read as blanks"),
        };
        Some(Warning::new(problem))
    }
}
