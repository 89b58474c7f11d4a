//! Tokens that a tokenizer file adds to the vocabulary of its model, and that are found in a text before it
//! is divided.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use attentive_base::batch::TokenId;
use regex::Regex;
use tokenizers::normalizer::Range;
use tokenizers::{AddedToken, Model, NormalizedString, Normalizer, Offsets, Token};

use crate::normalizer::NormalizerSteps;
use crate::tokenizer_model::TokenizerModel;

/// A part of a text; with its tokens if it is an added token.
type Part = (NormalizedString, Option<Vec<Token>>);

/// The added tokens of a vocabulary.
#[derive(Clone, Debug)]
pub(super) struct Added {
    ids: HashMap<String, TokenId>,
    tokens: HashMap<TokenId, AddedToken>,
    /// The texts of special tokens.
    special: HashSet<String>,
    /// Finds tokens in the text as it is.
    before: Finder,
    /// Finds tokens in the normalized text.
    after: Finder,
}

/// Finds tokens in a text: at each place the longest one.
#[derive(Clone, Debug)]
struct Finder {
    automaton: AhoCorasick,
    /// The id of each pattern; `None` for one that no text has.
    ids: Vec<Option<TokenId>>,
}

impl Added {
    /// Adds `tokens` to the vocabulary of `model`. A token that the model has keeps its id, the others get
    /// the next ones.
    ///
    /// # Errors
    /// A normalizer that fails, and tokens of which no automaton can be made.
    pub(super) fn new(
        tokens: Vec<AddedToken>,
        model: &TokenizerModel,
        normalizer: Option<&NormalizerSteps>,
    ) -> tokenizers::Result<Self> {
        let tokens = tokens.into_iter().filter(|token| !token.content.is_empty());
        let tokens = Vec::from_iter(tokens);
        let mut special = HashSet::new();
        let is_first = |token: &&AddedToken| token.special && special.insert(token.content.clone());
        // Of equally long texts at the same place, the first one is found.
        let mut sought: Vec<AddedToken> = tokens.iter().filter(is_first).cloned().collect();
        let (mut ids, mut by_id) = (HashMap::new(), HashMap::new());
        let mut next = model.get_vocab_size() as TokenId;
        let mut known = HashSet::new();
        for token in tokens {
            if !known.insert(token.clone()) {
                continue;
            }
            let earlier = ids.get(&token.content).copied();
            let id = earlier.or_else(|| model.token_to_id(&token.content));
            let id = id.unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            ids.insert(token.content.clone(), id);
            by_id.insert(id, token.clone());
            if !special.contains(&token.content) {
                sought.push(token);
            }
        }
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for token in sought {
            let id = ids[&token.content];
            match (token.normalized, normalizer) {
                (false, _) => before.push((id, token.content)),
                (true, None) => after.push((id, token.content)),
                (true, Some(normalizer)) => {
                    let mut text = NormalizedString::from(token.content);
                    normalizer.normalize(&mut text)?;
                    // A token of which nothing is left cannot be found.
                    if !text.get().is_empty() {
                        after.push((id, text.get().to_owned()));
                    }
                }
            }
        }
        Ok(Self { ids, tokens: by_id, special, before: Finder::new(before)?, after: Finder::new(after)? })
    }

    /// The ids of all added tokens.
    pub(super) fn ids(&self) -> &HashMap<String, TokenId> {
        &self.ids
    }

    /// The added token with this id.
    pub(super) fn token(&self, id: TokenId) -> Option<&AddedToken> {
        self.tokens.get(&id)
    }

    /// True for the text of a special token.
    pub(super) fn is_special(&self, token: &str) -> bool {
        self.special.contains(token)
    }

    /// Divides a part of the text as it is around the tokens in it.
    pub(super) fn divide(&self, part: NormalizedString) -> tokenizers::Result<Vec<Part>> {
        self.divide_by(&self.before, part)
    }

    /// Divides a part of the normalized text around the tokens in it.
    pub(super) fn divide_normalized(&self, part: NormalizedString) -> tokenizers::Result<Vec<Part>> {
        self.divide_by(&self.after, part)
    }

    fn divide_by(&self, finder: &Finder, part: NormalizedString) -> tokenizers::Result<Vec<Part>> {
        let places = self.places(finder, part.get());
        if let [(None, _)] = places[..] {
            return Ok(vec![(part, None)]);
        }
        let parts = places.into_iter().map(|(id, (start, end))| {
            let part = part.slice(Range::Normalized(start..end)).ok_or("a token within a character")?;
            let tokens = id.map(|id| {
                let text = part.get().to_owned();
                let end = text.len();
                vec![Token::new(id, text, (0, end))]
            });
            Ok((part, tokens))
        });
        parts.collect()
    }

    /// The places of the tokens in `text`, and of what is between them. Special tokens are ordinary text.
    fn places(&self, finder: &Finder, text: &str) -> Vec<(Option<TokenId>, Offsets)> {
        let (mut places, mut done) = (Vec::new(), 0);
        for found in finder.automaton.find_iter(text) {
            let Some(id) = finder.ids[found.pattern()] else {
                continue;
            };
            let Some(token) = self.tokens.get(&id).filter(|token| !self.is_special(&token.content)) else {
                continue;
            };
            let (mut start, mut end) = (found.start(), found.end());
            if start < done {
                // It lies in the blanks that the token before it has taken.
                continue;
            }
            if token.single_word && (ENDS_WORD.is_match(&text[..start]) || BEGINS_WORD.is_match(&text[end..]))
            {
                continue;
            }
            if token.lstrip {
                start = text[..start].trim_end().len().max(done);
            }
            if token.rstrip {
                end = text.len() - text[end..].trim_start().len();
            }
            if done < start {
                places.push((None, (done, start)));
            }
            places.push((Some(id), (start, end)));
            done = end;
        }
        if done < text.len() || places.is_empty() {
            places.push((None, (done, text.len())));
        }
        places
    }
}

static BEGINS_WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\w").expect("a valid pattern"));
static ENDS_WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\w$").expect("a valid pattern"));

impl Finder {
    /// The number of patterns from which [`Finder::REMOTE`] is added.
    const MANY: usize = 1000;

    /// The size of patterns, in bytes, from which the automaton is a compact one.
    const LARGE: usize = 16 << 10;

    /// A character of which no text consists. A long pattern of it comes first if there are many: the library
    /// puts the states of the automaton in another order by exchanging them, and needs time in proportion to
    /// the square of their number, divided by the number of states at the beginning that end no pattern.
    const REMOTE: char = '\u{10FFFD}';

    /// The automaton for these patterns, with their ids.
    fn new(patterns: Vec<(TokenId, String)>) -> tokenizers::Result<Self> {
        let first = (patterns.len() > Self::MANY).then(|| Self::REMOTE.to_string().repeat(Self::MANY));
        let ids = first.iter().map(|_| None).chain(patterns.iter().map(|(id, _)| Some(*id)));
        let texts = first.iter().chain(patterns.iter().map(|(_, text)| text));
        // The fastest kind takes a kilobyte for each byte of the patterns.
        let size: usize = patterns.iter().map(|(_, text)| text.len()).sum();
        let kind = (size > Self::LARGE).then_some(AhoCorasickKind::ContiguousNFA);
        let mut builder = AhoCorasick::builder();
        builder.match_kind(MatchKind::LeftmostLongest).kind(kind);
        let automaton = builder.build(texts)?;
        Ok(Self { automaton, ids: ids.collect() })
    }
}
