//! Sequences of tokens that an output must contain.

use std::sync::Arc;

use attentive_base::batch::TokenId;

/// A sequence of tokens that an output must contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phrase {
    pub tokens: Vec<TokenId>,
    /// The tokens that would continue its last word. An occurrence that one of them follows does not count,
    /// and none follows the first one, unless another phrase wants it.
    pub continuations: Arc<[TokenId]>,
}

impl From<Vec<TokenId>> for Phrase {
    /// A phrase that anything may follow.
    fn from(tokens: Vec<TokenId>) -> Self {
        Self { tokens, ..Self::default() }
    }
}

/// Phrases that an output must contain, each as consecutive tokens. They may overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct Constraints(Vec<Matcher>);

/// For each phrase, the length of its longest prefix with which the hypothesis ends, or one more than its
/// length once the phrase has occurred and was not continued.
pub(super) type PhraseProgress = Vec<usize>;

#[derive(Clone, Debug)]
struct Matcher {
    phrase: Phrase,
    /// For each length of a prefix, the length of its longest proper suffix that is also a prefix (Knuth,
    /// Morris and Pratt 1977).
    shorter: Vec<usize>,
}

impl Constraints {
    pub(super) fn new(phrases: &[Phrase]) -> Self {
        Self(phrases.iter().cloned().map(Matcher::new).collect())
    }

    /// The progress of an empty hypothesis.
    pub(super) fn start(&self) -> PhraseProgress {
        vec![0; self.0.len()]
    }

    /// The progress after one more token.
    pub(super) fn advance(&self, progress: &PhraseProgress, token: TokenId) -> PhraseProgress {
        let phrases = self.0.iter().zip(progress);
        phrases.map(|(phrase, &len)| phrase.advance(len, token)).collect()
    }

    /// The numbers of the phrases that are still missing.
    pub(super) fn unmet(&self, progress: &PhraseProgress) -> Vec<usize> {
        let missing = |&number: &usize| progress[number] < self.0[number].len();
        (0..self.0.len()).filter(missing).collect()
    }

    /// The tokens that would continue a phrase with which the hypothesis ends, and that no other phrase
    /// wants.
    pub(super) fn continuations(&self, progress: &PhraseProgress) -> Vec<TokenId> {
        let ends = self.0.iter().zip(progress).filter(|(phrase, len)| **len == phrase.len());
        let mut all: Vec<TokenId> =
            ends.flat_map(|(Matcher { phrase, .. }, _)| phrase.continuations.iter().copied()).collect();
        if !all.is_empty() {
            let wanted = self.wanted(progress);
            all.retain(|token| !wanted.contains(token));
        }
        all
    }

    /// The next token of each missing phrase.
    pub(super) fn wanted(&self, progress: &PhraseProgress) -> Vec<TokenId> {
        let unmet = self.unmet(progress).into_iter();
        let mut wanted: Vec<TokenId> =
            unmet.map(|number| self.0[number].phrase.tokens[progress[number]]).collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    /// The number of tokens met after one more token: all tokens of the phrases that have occurred, and the
    /// longest prefix of another phrase. Some wanted token increases it, unless it continues a phrase that
    /// was met with the last token.
    pub(super) fn met_after(&self, progress: &PhraseProgress, token: TokenId) -> usize {
        let phrases = self.0.iter().zip(progress);
        let advanced = phrases.map(|(phrase, &len)| (phrase, phrase.advance(len, token)));
        met(advanced)
    }

    /// The number of tokens met.
    #[cfg(test)]
    pub(super) fn met(&self, progress: &PhraseProgress) -> usize {
        met(self.0.iter().zip(progress.iter().copied()))
    }

    /// The number of tokens met by a hypothesis that contains all phrases.
    pub(super) fn total(&self) -> usize {
        self.0.iter().map(Matcher::len).sum()
    }
}

/// The number of tokens met, given the progress of each phrase.
fn met<'a>(begun: impl Iterator<Item = (&'a Matcher, usize)>) -> usize {
    let (mut whole, mut longest) = (0, 0);
    for (phrase, len) in begun {
        if len >= phrase.len() { whole += phrase.len() } else { longest = longest.max(len) }
    }
    whole + longest
}

impl Matcher {
    fn new(phrase: Phrase) -> Self {
        let tokens = &phrase.tokens;
        let mut shorter = vec![0; tokens.len() + 1];
        let mut len = 0;
        for (index, token) in tokens.iter().enumerate().skip(1) {
            while len > 0 && tokens[len] != *token {
                len = shorter[len];
            }
            len += usize::from(tokens[len] == *token);
            shorter[index + 1] = len;
        }
        Self { phrase, shorter }
    }

    fn len(&self) -> usize {
        self.phrase.tokens.len()
    }

    fn advance(&self, mut len: usize, token: TokenId) -> usize {
        if self.phrase.tokens.is_empty() {
            return 1;
        }
        if len > self.len() || len == self.len() && !self.phrase.continuations.contains(&token) {
            return self.len() + 1;
        }
        let tokens = &self.phrase.tokens;
        while len == tokens.len() || len > 0 && tokens[len] != token {
            len = self.shorter[len];
        }
        len + usize::from(tokens[len] == token)
    }
}

#[cfg(test)]
mod tests {
    use attentive_base::random::Random;

    use super::*;

    #[test]
    fn an_empty_phrase_is_met_and_continuations_that_are_wanted_are_free() {
        let continuations: Arc<[TokenId]> = [1].into();
        let phrase = |tokens: &[TokenId]| Phrase {
            tokens: tokens.to_vec(),
            continuations: Arc::clone(&continuations),
        };
        let empty = Constraints::new(&[phrase(&[])]);
        assert!(empty.unmet(&empty.advance(&empty.start(), 1)).is_empty());
        // One phrase is the beginning of the other.
        let both = Constraints::new(&[phrase(&[7]), phrase(&[7, 1])]);
        let progress = both.advance(&both.start(), 7);
        assert_eq!((both.continuations(&progress), both.unmet(&progress)), (vec![], vec![1]));
        let progress = both.advance(&progress, 1);
        assert_eq!(both.unmet(&progress), [0]);
        let alone = Constraints::new(&[phrase(&[7])]);
        assert_eq!(alone.continuations(&alone.advance(&alone.start(), 7)), [1]);
    }

    #[test]
    fn progress_equals_a_naive_comparison() {
        let mut random = Random::new(1, 0);
        for round in 0..4000 {
            let mut tokens = |most: usize| -> Vec<TokenId> {
                let len = 1 + random.below(most);
                (0..len).map(|_| random.below(2) as TokenId).collect()
            };
            // Token 1 continues a word.
            let continuations: Arc<[TokenId]> = if round % 2 == 0 { [].into() } else { [1].into() };
            let phrase = |tokens| Phrase { tokens, continuations: Arc::clone(&continuations) };
            let phrases = [tokens(5), tokens(3)].map(phrase);
            let text = tokens(12);
            let constraints = Constraints::new(&phrases);
            let mut progress = constraints.start();
            for end in 1..=text.len() {
                let before = constraints.met(&progress);
                let wanted = constraints.wanted(&progress);
                let continued = constraints.continuations(&progress);
                let best = wanted.iter().filter(|token| !continued.contains(token)).map(|&token| {
                    let next = constraints.advance(&progress, token);
                    constraints.met(&next)
                });
                let ends = |(phrase, len): (&Phrase, &usize)| *len == phrase.tokens.len();
                let may_go_on = phrases.iter().zip(&progress).any(ends) && !continuations.is_empty();
                assert!(wanted.is_empty() || may_go_on || best.max() > Some(before));
                let next = constraints.met_after(&progress, text[end - 1]);
                progress = constraints.advance(&progress, text[end - 1]);
                assert_eq!(constraints.met(&progress), next);
                for (number, Phrase { tokens: phrase, .. }) in phrases.iter().enumerate() {
                    let read = &text[..end];
                    let ends = read.windows(phrase.len()).enumerate().filter(|(_, part)| part == phrase);
                    let followers = ends.map(|(start, _)| read.get(start + phrase.len()));
                    let is_met = followers.clone().flatten().any(|next| !continuations.contains(next));
                    let begun = (0..=phrase.len()).rev().find(|&n| read.ends_with(&phrase[..n]));
                    let expected = if is_met { phrase.len() + 1 } else { begun.unwrap() };
                    assert_eq!(progress[number], expected);
                    let is_met = is_met || read.ends_with(phrase);
                    assert_eq!(constraints.unmet(&progress).contains(&number), !is_met);
                }
            }
        }
    }
}
