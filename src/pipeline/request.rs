//! What a translation must contain.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::Warning;
use super::source::Source;
use super::terms::{ReadDemands, Reader, Terms};
use crate::error::Result;

/// A line to translate and what its translation must contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The line.
    pub src: String,
    /// What its translation must contain. Lines may share it: it is read once for all of them.
    pub demands: Arc<Demands>,
    /// Where it stands, if not on the line that follows the one before it.
    pub place: Option<Place>,
}

/// Where a sentence stands. Warnings name its line, and its random numbers depend on both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of its line, or text, counted from 1.
    pub line: usize,
    /// Its number in the line, counted from 0.
    pub sentence: usize,
}

impl Place {
    /// The stream of random numbers: that of the line, and further ones for sentences after the first.
    pub(super) fn stream(self) -> u64 {
        self.line as u64 | (self.sentence as u64) << 40
    }
}

impl From<String> for Request {
    /// Any translation of `src`.
    fn from(src: String) -> Self {
        Self {
            src,
            ..Self::default()
        }
    }
}

/// What a translation must contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// The beginning of the translation.
    pub prefix: Prefix,
    /// Phrases that the translation must contain, each as the tokens into which it is split by itself. They may overlap, and
    /// their last words may go on as well.
    pub phrases: Vec<String>,
    /// What becomes of phrases that no translation can contain.
    pub strictness: Strictness,
}

/// What becomes of phrases that no translation can contain, because the vocabulary cannot spell them or they are too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// They are an error.
    #[default]
    Strict,
    /// They are left out, with a warning.
    Lenient,
}

impl Demands {
    /// Whether any translation will do.
    pub fn is_blank(&self) -> bool {
        let mut phrases = self.phrases.iter();
        self.prefix.is_blank() && phrases.all(|phrase| phrase.trim().is_empty())
    }
}

/// The beginning of a translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// A text; blank for any beginning.
    ///
    /// It is split into tokens by itself. A word at its end may go on: what follows decides whether a new word begins.
    Text(String),
    /// Tokens as spelled in the vocabulary, without `<s>` and `</s>`; empty for any beginning.
    Tokens(Vec<String>),
}

impl Default for Prefix {
    /// Any beginning.
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Prefix {
    /// Whether a translation may begin with anything.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Tokens(tokens) => tokens.is_empty(),
        }
    }
}

/// A line as the search reads it.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) source: Source,
    pub(super) terms: Arc<Terms>,
    pub(super) place: Place,
}

impl Job {
    /// A job for which any translation of line number `line` will do.
    pub(super) fn of_line(line: usize, source: Source) -> Self {
        let place = Place { line, sentence: 0 };
        Self::at(place, source)
    }

    fn at(place: Place, source: Source) -> Self {
        Self {
            source,
            terms: Arc::default(),
            place,
        }
    }
}

/// The jobs of `requests`, whose first is on line `first_line`. What several of them demand is read once.
///
/// # Errors
/// [`Error::Data`](crate::Error::Data) for demands that no translation can meet, naming the first line that has them.
pub(super) fn jobs(
    reader: &Reader<'_>,
    first_line: usize,
    requests: &[Request],
) -> Result<Vec<Job>> {
    let mut numbers: HashMap<*const Demands, usize> = HashMap::new();
    let mut distinct: Vec<&Demands> = Vec::new();
    let mut of_requests = Vec::with_capacity(requests.len());
    for Request { demands, .. } in requests {
        let known = numbers.entry(Arc::as_ptr(demands));
        let number = *known.or_insert_with(|| {
            distinct.push(demands);
            distinct.len() - 1
        });
        of_requests.push(number);
    }
    let read: Vec<_> = distinct.par_iter().map(|one| reader.read(one)).collect();
    let numbered = requests.par_iter().zip(of_requests).enumerate();
    numbered
        .map(|(index, (request, number))| {
            let line = first_line + index;
            let place = request.place.unwrap_or(Place { line, sentence: 0 });
            job(reader, place, request, &read[number])
        })
        .collect()
}

/// The request at `place`, whose demands were `read`.
fn job(reader: &Reader<'_>, place: Place, request: &Request, read: &ReadDemands) -> Result<Job> {
    let line = place.line;
    let source = Source::read(&request.src, reader.pipeline)?.on_line(line);
    let mut job = Job::at(place, source);
    let Some(terms) = read else {
        return Ok(job);
    };
    let mut warn = |warning: Warning| job.source.warnings.push(warning.on_line(line));
    if job.source.ids.is_empty() {
        warn(Warning::of_ignored_demands("blank"));
        return Ok(job);
    }
    let terms = terms.as_ref().map_err(|wrong| wrong.on_line(line))?;
    terms.warnings.iter().cloned().for_each(&mut warn);
    let fits = reader.check_room(job.source.ids.len(), terms);
    match (fits, request.demands.strictness) {
        (Ok(()), _) => job.terms = Arc::clone(terms),
        (Err(wrong), Strictness::Strict) => return Err(wrong.on_line(line)),
        (Err(wrong), Strictness::Lenient) => warn(wrong.left_out()),
    }
    Ok(job)
}
