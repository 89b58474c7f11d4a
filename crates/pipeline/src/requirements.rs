//! Constraints on translations, as tokens.

use std::collections::HashSet;
use std::sync::Arc;

use attentive_architecture::TokenContract;
use attentive_base::batch::TokenId;
use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_decode::{Phrase, SearchOptions};
use attentive_text::{Tokenizer, is_in_word};

use super::request::{Prefix, TranslationConstraints};
use super::tokenized_line::TokenizedLine;
use super::{Pipeline, Warning};

/// The constraints on the translations of lines, as tokens.
#[derive(Debug, Default)]
pub(super) struct Requirements {
    pub(super) prefix: Vec<TokenId>,
    pub(super) constraints: Vec<Phrase>,
    /// The text of each constraint.
    pub(super) phrases: Vec<Arc<str>>,
    /// Warnings about constraints that could not be read literally, or were left out.
    pub(super) warnings: Vec<Warning>,
    /// The number of tokens of the constraints that the prefix does not contain.
    needed: usize,
}

/// Constraints as tokens; `None` if there are none.
pub(super) type ParsedConstraints = Option<Result<Arc<Requirements>, ImpossibleConstraint>>;

/// The reason why no translation can meet a constraint.
#[derive(Debug)]
pub(super) struct ImpossibleConstraint {
    problem: String,
    hint: String,
}

impl ImpossibleConstraint {
    fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into() }
    }

    /// The error for the line with the constraint.
    pub(super) fn on_line(&self, line: usize) -> Error {
        Error::data(format!("line {line}: {}", self.problem), self.hint.clone())
    }

    /// The warning that the constraint was left out.
    pub(super) fn left_out(&self) -> Warning {
        Warning::new(format!("left out: {}", self.problem))
    }
}

/// Reads constraints for a pipeline.
pub(super) struct ConstraintReader<'a> {
    pub(super) pipeline: &'a Pipeline,
    contract: &'a TokenContract,
    pub(super) search: &'a SearchOptions,
    /// Tokens that the model never generates.
    never: HashSet<TokenId>,
}

impl<'a> ConstraintReader<'a> {
    pub(super) fn new(
        pipeline: &'a Pipeline,
        contract: &'a TokenContract,
        search: &'a SearchOptions,
    ) -> Self {
        Self { pipeline, contract, search, never: contract.never.iter().copied().collect() }
    }

    /// Reads `constraints` as tokens.
    pub(super) fn read(&self, constraints: &TranslationConstraints) -> ParsedConstraints {
        (!constraints.is_blank()).then(|| self.requirements(constraints).map(Arc::new))
    }

    fn requirements(
        &self,
        constraints: &TranslationConstraints,
    ) -> Result<Requirements, ImpossibleConstraint> {
        let mut controls = 0;
        let mut required = Requirements {
            prefix: match &constraints.prefix {
                Prefix::Text(text) => self.tokens("prefix", text, &mut controls)?,
                Prefix::Tokens(tokens) => self.exactly(tokens)?,
            },
            ..Requirements::default()
        };
        let mut known = HashSet::new();
        for phrase in &constraints.phrases {
            let phrase = phrase.trim();
            match self.tokens("phrase", phrase, &mut controls) {
                Ok(tokens) if !tokens.is_empty() && known.insert(tokens.clone()) => {
                    required.constraints.push(self.pipeline.whole_words(phrase, tokens));
                    required.phrases.push(phrase.into());
                }
                Ok(_) => (),
                Err(wrong) => required.warnings.push(wrong.left_out()),
            }
        }
        required.warnings.extend(TokenizedLine::controls(controls));
        required.needed = self.needed(&required);
        Ok(required)
    }

    /// The tokens of a prefix or phrase, which `what` names, and the number of its control characters.
    pub(super) fn tokens(
        &self,
        what: &str,
        text: &str,
        controls: &mut usize,
    ) -> Result<Vec<TokenId>, ImpossibleConstraint> {
        let tokenizer: &Tokenizer = self.pipeline.tokenizers().tgt();
        let unreadable = |error: Error| ImpossibleConstraint::new(error.to_string(), "use another text");
        let (ids, found) = TokenizedLine::encoded(text, |text| tokenizer.encode(text)).map_err(unreadable)?;
        *controls += found;
        if ids.contains(&tokenizer.special().unk) {
            let text = shortened(text.trim());
            return Err(ImpossibleConstraint::new(
                format!("the {what} `{text}` cannot be written with the model's target vocabulary"),
                "use words and characters of the training data",
            ));
        }
        self.check_generated(&ids, || format!("{what} `{}`", shortened(text.trim())))?;
        Ok(ids)
    }

    /// The `tokens` of a prefix, unchanged.
    fn exactly(&self, tokens: &[String]) -> Result<Vec<TokenId>, ImpossibleConstraint> {
        let tokenizer: &Tokenizer = self.pipeline.tokenizers().tgt();
        let ids = tokenizer.ids(tokens).map_err(|error| {
            let problem = format!("the prefix cannot be written: {error}");
            ImpossibleConstraint::new(problem, error.hint().unwrap_or_default())
        })?;
        if let Some(place) = ids.iter().position(|&id| id == self.contract.end) {
            let token = &tokens[place];
            return Err(ImpossibleConstraint::new(
                format!("the prefix contains `{token}`, which ends a translation"),
                "leave it out: what follows a prefix decides where the translation ends",
            ));
        }
        self.check_generated(&ids, || "prefix".to_owned())?;
        Ok(ids)
    }

    /// Refuses a constraint, described by `what`, with a token that is never generated.
    fn check_generated(
        &self,
        ids: &[TokenId],
        what: impl Fn() -> String,
    ) -> Result<(), ImpossibleConstraint> {
        let Some(id) = ids.iter().find(|id| self.never.contains(id)) else {
            return Ok(());
        };
        let token = self.pipeline.tokenizers().tgt().token(*id);
        let (what, token) = (what(), token.unwrap_or_default());
        Err(ImpossibleConstraint::new(
            format!("the {what} contains `{token}`, which the model never generates"),
            "`model.suppress_tokens` lists such tokens",
        ))
    }

    /// The number of tokens of the constraints that are not in the prefix.
    fn needed(&self, required: &Requirements) -> usize {
        let Requirements { prefix, constraints, .. } = required;
        // No translation is this long, so nothing needs to be looked for.
        let looks = prefix.len() <= self.pipeline.max_len();
        let missing = constraints.iter().filter(|phrase| {
            let mut parts = prefix.windows(phrase.tokens.len()).enumerate();
            let goes_on = |at: usize| {
                let next = prefix.get(at + phrase.tokens.len());
                next.is_some_and(|next| phrase.continuations.contains(next))
            };
            !(looks && parts.any(|(at, part)| part == phrase.tokens && !goes_on(at)))
        });
        missing.map(|phrase| phrase.tokens.len()).sum()
    }

    /// Returns `required` as far as there is room for it in the translation of a source of `src_len` tokens,
    /// and a warning if there is none for the phrases.
    ///
    /// # Errors
    /// [`ImpossibleConstraint`] for a prefix that is too long.
    pub(super) fn within_room(
        &self,
        src_len: usize,
        required: &Arc<Requirements>,
    ) -> Result<(Arc<Requirements>, Option<Warning>), ImpossibleConstraint> {
        let room = self.room(src_len);
        let (given, needed) = (required.prefix.len(), required.needed);
        let of_line =
            format!("a translation of this line has at most {} before `</s>`", count(room, "token"));
        let hint = "shorten it; `decode.max_new_extra` and `model.max_len` of the model's configuration set \
                    the limit";
        if given > room {
            let problem = format!("the prefix is too long: it has {}, but {of_line}", count(given, "token"));
            return Err(ImpossibleConstraint::new(problem, hint));
        }
        if given + needed <= room {
            return Ok((Arc::clone(required), None));
        }
        let after = if given == 0 { String::new() } else { format!(" after a prefix of {given}") };
        let needed = count(needed, "token");
        let problem = format!("the phrases are too long: they have {needed}{after}, but {of_line}");
        let prefix = Requirements { prefix: required.prefix.clone(), ..Requirements::default() };
        Ok((Arc::new(prefix), Some(ImpossibleConstraint::new(problem, hint).left_out())))
    }

    /// The maximum number of tokens, before `</s>`, that constraints on the translation of a source of
    /// `src_len` tokens may have.
    pub(super) fn room(&self, src_len: usize) -> usize {
        let limit = self.search.limit(src_len, self.pipeline.max_len());
        let first = usize::from(self.contract.forced_first.is_some());
        limit.saturating_sub(1 + first)
    }
}

impl Pipeline {
    /// `text`, whose tokens are `tokens`, as a phrase whose last word must not continue.
    pub(super) fn whole_words(&self, text: &str, tokens: Vec<TokenId>) -> Phrase {
        let of_words = || self.tokenizers.tgt().continuations().into();
        let continuations = if text.ends_with(is_in_word) {
            Arc::clone(self.continuations.get_or_init(of_words))
        } else {
            Arc::default()
        };
        Phrase { tokens, continuations }
    }
}

/// `text`, or the beginning of a long one, for messages.
pub(super) fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 200;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
