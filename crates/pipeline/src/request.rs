//! Requests: lines to translate with constraints on their translations.

use std::collections::HashMap;
use std::sync::Arc;

use attentive_base::error::Result;
use attentive_kernels::threads::Threads;

use super::Warning;
use super::requirements::{ConstraintReader, ParsedConstraints, Requirements};
use super::tokenized_line::TokenizedLine;

/// A line to translate and the constraints on its translation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The line.
    pub src: String,
    /// The constraints on the translation. Lines may share them: they are read once for all of these lines.
    pub constraints: Arc<TranslationConstraints>,
    /// The position of the sentence, if it is not on the line that follows the previous request's.
    pub position: Option<SentencePosition>,
}

/// The position of a sentence. Warnings name its line, and its random numbers depend on both numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentencePosition {
    /// The number of the line, or of the text, counted from 1.
    pub line: usize,
    /// The number of the sentence in the line, counted from 0.
    pub sentence: usize,
}

impl SentencePosition {
    /// The stream of random numbers: the line's own for its first sentence, and others for the sentences
    /// after it.
    pub(super) fn stream(self) -> u64 {
        self.line as u64 | (self.sentence as u64) << 40
    }
}

impl From<String> for Request {
    /// A request without constraints.
    fn from(src: String) -> Self {
        Self { src, ..Self::default() }
    }
}

/// Constraints on a translation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranslationConstraints {
    /// The beginning of the translation.
    pub prefix: Prefix,
    /// Phrases that the translation must contain, each as whole words. Each is split into tokens on its own,
    /// and they may overlap. A phrase that the vocabulary cannot spell is left out, with a warning.
    pub phrases: Vec<String>,
}

impl TranslationConstraints {
    /// Returns true if there are no constraints.
    pub fn is_blank(&self) -> bool {
        let mut phrases = self.phrases.iter();
        self.prefix.is_blank() && phrases.all(|phrase| phrase.trim().is_empty())
    }
}

/// The beginning of a translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// A text; a blank one is no constraint.
    ///
    /// It is split into tokens on its own. A word at its end may continue: the next token decides whether a
    /// new word begins.
    Text(String),
    /// Tokens as spelled in the vocabulary, without `<s>` and `</s>`; an empty list is no constraint.
    Tokens(Vec<String>),
}

impl Default for Prefix {
    /// No constraint.
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Prefix {
    /// Returns true if the translation may begin with anything.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Tokens(tokens) => tokens.is_empty(),
        }
    }
}

/// A line in the representation that the search uses.
#[derive(Debug)]
pub(super) struct PreparedRequest {
    pub(super) source: TokenizedLine,
    pub(super) required: Arc<Requirements>,
    pub(super) position: SentencePosition,
}

impl PreparedRequest {
    /// A request without constraints for line number `line`.
    pub(super) fn of_line(line: usize, source: TokenizedLine) -> Self {
        let position = SentencePosition { line, sentence: 0 };
        Self::at(position, source)
    }

    fn at(position: SentencePosition, source: TokenizedLine) -> Self {
        Self { source, required: Arc::default(), position }
    }
}

/// Prepares `requests`, the first of which is on line `first_line`. Constraints that several of them share
/// are read once.
///
/// # Errors
/// [`Error::Data`](attentive_base::Error::Data) for constraints that no translation can meet, naming the
/// first line that has them.
pub(super) fn prepare_all(
    reader: &ConstraintReader<'_>,
    first_line: usize,
    requests: &[Request],
) -> Result<Vec<PreparedRequest>> {
    let mut numbers: HashMap<*const TranslationConstraints, usize> = HashMap::new();
    let mut distinct: Vec<&TranslationConstraints> = Vec::new();
    let mut of_requests = Vec::with_capacity(requests.len());
    for Request { constraints, .. } in requests {
        let known = numbers.entry(Arc::as_ptr(constraints));
        let number = *known.or_insert_with(|| {
            distinct.push(constraints);
            distinct.len() - 1
        });
        of_requests.push(number);
    }
    let threads = Threads::current();
    let read = threads.map(distinct, |one| reader.read(one));
    let numbered = (first_line..).zip(requests.iter().zip(of_requests));
    let prepared = threads.map(numbered, |(line, (request, number))| {
        let position = request.position.unwrap_or(SentencePosition { line, sentence: 0 });
        prepare(reader, position, request, &read[number])
    });
    prepared.into_iter().collect()
}

/// Prepares the request at `position`, whose constraints are `read`.
fn prepare(
    reader: &ConstraintReader<'_>,
    position: SentencePosition,
    request: &Request,
    read: &ParsedConstraints,
) -> Result<PreparedRequest> {
    let line = position.line;
    let source = TokenizedLine::read(&request.src, reader.pipeline)?.on_line(line);
    let mut prepared = PreparedRequest::at(position, source);
    let Some(required) = read else {
        return Ok(prepared);
    };
    let mut warn = |warning: Warning| prepared.source.warnings.push(warning.on_line(line));
    if prepared.source.ids.is_empty() {
        warn(Warning::of_ignored_constraints("blank"));
        return Ok(prepared);
    }
    let required = required.as_ref().map_err(|wrong| wrong.on_line(line))?;
    required.warnings.iter().cloned().for_each(&mut warn);
    let fitting = reader.within_room(prepared.source.ids.len(), required);
    let (required, warning) = fitting.map_err(|wrong| wrong.on_line(line))?;
    warning.into_iter().for_each(&mut warn);
    prepared.required = required;
    Ok(prepared)
}
