//! What a translation must contain.

use super::source::Source;
use super::{Pipeline, Warning};
use crate::architecture::TokenContract;
use crate::batch::TokenId;
use crate::decode::SearchOptions;
use crate::error::{Error, Result};
use crate::text::Tokenizer;

/// A line to translate and what its translation must contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The line.
    pub src: String,
    /// The beginning of the translation.
    pub prefix: Prefix,
    /// Phrases that the translation must contain, each as the tokens into which it is split by itself. They may overlap, and
    /// their last words may go on as well.
    pub phrases: Vec<String>,
}

impl Request {
    /// Whether it asks for more than any translation.
    pub(super) fn has_demands(&self) -> bool {
        let mut phrases = self.phrases.iter();
        !self.prefix.is_blank() || phrases.any(|phrase| !phrase.trim().is_empty())
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

/// What the translation of a line must contain, as tokens.
#[derive(Clone, Debug, Default)]
pub(super) struct Demands {
    pub(super) prefix: Vec<TokenId>,
    pub(super) constraints: Vec<Vec<TokenId>>,
    /// The text of each constraint.
    pub(super) phrases: Vec<String>,
}

/// A line as the search reads it.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) source: Source,
    pub(super) demands: Demands,
}

impl From<Source> for Job {
    /// Any translation will do.
    fn from(source: Source) -> Self {
        Self {
            source,
            demands: Demands::default(),
        }
    }
}

/// What demands are read with.
pub(super) struct Reader<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) contract: &'a TokenContract,
    pub(super) search: &'a SearchOptions,
}

impl Reader<'_> {
    /// The request on line number `line`.
    ///
    /// # Errors
    /// [`Error::Data`] for demands that no translation can meet, naming the line.
    pub(super) fn job(&self, line: usize, request: &Request) -> Result<Job> {
        let source = Source::read(&request.src, self.pipeline)?.on_line(line);
        let mut job = Job::from(source);
        let is_blank = |text: &String| text.trim().is_empty();
        let phrases = request.phrases.iter().filter(|phrase| !is_blank(phrase));
        if job.source.ids.is_empty() {
            if phrases.count() > 0 || !request.prefix.is_blank() {
                let problem = "blank, so its prefix and phrases were ignored";
                job.warn(line, [Warning::new(problem.into())]);
            }
            return Ok(job);
        }
        let prefix = match &request.prefix {
            Prefix::Text(text) => self.tokens(line, "prefix", text)?,
            Prefix::Tokens(tokens) => self.exactly(line, tokens)?,
        };
        job.warn(line, prefix.warnings);
        job.demands.prefix = prefix.ids;
        for phrase in phrases {
            let tokens = self.tokens(line, "phrase", phrase)?;
            job.warn(line, tokens.warnings);
            let known = &job.demands.constraints;
            if !tokens.ids.is_empty() && !known.contains(&tokens.ids) {
                job.demands.constraints.push(tokens.ids);
                job.demands.phrases.push(phrase.trim().to_owned());
            }
        }
        self.check_room(line, &job)?;
        Ok(job)
    }

    /// The tokens of a `what`.
    fn tokens(&self, line: usize, what: &str, text: &str) -> Result<Source> {
        let tokenizer: &Tokenizer = self.pipeline.tokenizers().tgt();
        let source = Source::text(text, tokenizer, usize::MAX)?;
        let text = text.trim();
        if source.ids.contains(&tokenizer.special().unk) {
            return Err(unmeetable(
                line,
                format!("the {what} `{text}` cannot be written with the model's target vocabulary"),
                "use words and characters of the training data",
            ));
        }
        self.check_generated(line, &format!("{what} `{text}`"), &source.ids)?;
        Ok(source)
    }

    /// The `tokens` of a prefix, as they are.
    fn exactly(&self, line: usize, tokens: &[String]) -> Result<Source> {
        let tokenizer: &Tokenizer = self.pipeline.tokenizers().tgt();
        let ids = tokenizer.ids(tokens).map_err(|error| {
            let problem = format!("the prefix cannot be written: {error}");
            unmeetable(line, problem, &error.hint().unwrap_or_default())
        })?;
        if let Some(place) = ids.iter().position(|&id| id == self.contract.end) {
            let token = &tokens[place];
            return Err(unmeetable(
                line,
                format!("the prefix contains `{token}`, which ends a translation"),
                "leave it out: what follows a prefix decides where the translation ends",
            ));
        }
        self.check_generated(line, "prefix", &ids)?;
        Ok(Source::of(ids))
    }

    /// Refuses a demand, described by `what`, with a token that is never generated.
    fn check_generated(&self, line: usize, what: &str, ids: &[TokenId]) -> Result<()> {
        let never = |id: &&TokenId| self.contract.never.contains(id);
        let Some(id) = ids.iter().find(never) else {
            return Ok(());
        };
        let token = self.pipeline.tokenizers().tgt().token(*id);
        let token = token.unwrap_or_default();
        Err(unmeetable(
            line,
            format!("the {what} contains `{token}`, which the model never generates"),
            "`model.never_generated` lists such tokens",
        ))
    }

    /// Refuses demands that exceed the length limit.
    fn check_room(&self, line: usize, job: &Job) -> Result<()> {
        let limit = (self.search).limit(job.source.ids.len(), self.pipeline.max_len());
        let first = usize::from(self.contract.forced_first.is_some());
        let room = limit.saturating_sub(1 + first);
        let Demands {
            prefix,
            constraints,
            ..
        } = &job.demands;
        let of_line = format!("a translation of this line has at most {room} tokens before `</s>`");
        let hint = "shorten it; `decode.max_new_extra` and `model.max_len` of the model's configuration set the limit";
        if prefix.len() > room {
            let len = prefix.len();
            let problem = format!("the prefix is too long: it has {len} tokens, but {of_line}");
            return Err(unmeetable(line, problem, hint));
        }
        let missing = constraints.iter().filter(|phrase| {
            let mut parts = prefix.windows(phrase.len());
            !parts.any(|part| part == phrase.as_slice())
        });
        let needed: usize = missing.map(Vec::len).sum();
        if prefix.len() + needed > room {
            let problem = match prefix.len() {
                0 => format!("the phrases are too long: they have {needed} tokens, but {of_line}"),
                given => format!(
                    "the phrases are too long: they have {needed} tokens after a prefix of {given}, but {of_line}"
                ),
            };
            return Err(unmeetable(line, problem, hint));
        }
        Ok(())
    }
}

impl Job {
    fn warn(&mut self, line: usize, warnings: impl IntoIterator<Item = Warning>) {
        let warnings = warnings.into_iter().map(|warning| warning.on_line(line));
        self.source.warnings.extend(warnings);
    }
}

fn unmeetable(line: usize, problem: String, hint: &str) -> Error {
    Error::Data {
        problem: format!("line {line}: {problem}"),
        hint: Some(hint.into()),
    }
}
