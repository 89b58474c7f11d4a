//! Sequences of tokens that an output must contain.

use attentive_base::batch::TokenId;

/// Phrases that an output must contain, each as consecutive tokens. They may overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct Constraints(Vec<Phrase>);

/// For each phrase, the length of its longest prefix with which the hypothesis ends, or its whole length once
/// the phrase has occurred.
pub(super) type Progress = Vec<usize>;

#[derive(Clone, Debug)]
struct Phrase {
    tokens: Vec<TokenId>,
    /// For each length of a prefix, the length of its longest proper suffix that is also a prefix (Knuth,
    /// Morris and Pratt 1977).
    shorter: Vec<usize>,
}

impl Constraints {
    pub(super) fn new(phrases: &[Vec<TokenId>]) -> Self {
        Self(phrases.iter().map(|tokens| Phrase::new(tokens)).collect())
    }

    /// The progress of an empty hypothesis.
    pub(super) fn start(&self) -> Progress {
        vec![0; self.0.len()]
    }

    /// The progress after one more token.
    pub(super) fn advance(&self, progress: &Progress, token: TokenId) -> Progress {
        let phrases = self.0.iter().zip(progress);
        phrases.map(|(phrase, &len)| phrase.advance(len, token)).collect()
    }

    /// The numbers of the phrases that are still missing.
    pub(super) fn unmet(&self, progress: &Progress) -> Vec<usize> {
        let missing = |&number: &usize| progress[number] < self.0[number].tokens.len();
        (0..self.0.len()).filter(missing).collect()
    }

    /// The next token of each missing phrase.
    pub(super) fn wanted(&self, progress: &Progress) -> Vec<TokenId> {
        let unmet = self.unmet(progress).into_iter();
        let mut wanted: Vec<TokenId> = unmet.map(|number| self.0[number].tokens[progress[number]]).collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    /// The number of tokens met after one more token: all tokens of the phrases that have occurred, and the
    /// longest prefix of another phrase. Some wanted token always increases it.
    pub(super) fn met_after(&self, progress: &Progress, token: TokenId) -> usize {
        let phrases = self.0.iter().zip(progress);
        let advanced = phrases.map(|(phrase, &len)| (phrase, phrase.advance(len, token)));
        met(advanced)
    }

    /// The number of tokens met.
    #[cfg(test)]
    pub(super) fn met(&self, progress: &Progress) -> usize {
        met(self.0.iter().zip(progress.iter().copied()))
    }

    /// The number of tokens met by a hypothesis that contains all phrases.
    pub(super) fn total(&self) -> usize {
        self.0.iter().map(|phrase| phrase.tokens.len()).sum()
    }
}

/// The number of tokens met, given the length of the prefix found of each phrase.
fn met<'a>(begun: impl Iterator<Item = (&'a Phrase, usize)>) -> usize {
    let (mut whole, mut longest) = (0, 0);
    for (phrase, len) in begun {
        if len == phrase.tokens.len() { whole += len } else { longest = longest.max(len) }
    }
    whole + longest
}

impl Phrase {
    fn new(tokens: &[TokenId]) -> Self {
        let mut shorter = vec![0; tokens.len() + 1];
        let mut len = 0;
        for (place, token) in tokens.iter().enumerate().skip(1) {
            while len > 0 && tokens[len] != *token {
                len = shorter[len];
            }
            len += usize::from(tokens[len] == *token);
            shorter[place + 1] = len;
        }
        Self { tokens: tokens.to_vec(), shorter }
    }

    fn advance(&self, mut len: usize, token: TokenId) -> usize {
        if len == self.tokens.len() {
            return len;
        }
        while len > 0 && self.tokens[len] != token {
            len = self.shorter[len];
        }
        len + usize::from(self.tokens[len] == token)
    }
}

#[cfg(test)]
mod tests {
    use attentive_base::random::Random;

    use super::*;

    #[test]
    fn progress_equals_a_naive_comparison() {
        let mut random = Random::new(1, 0);
        for _ in 0..2000 {
            let mut tokens = |most: usize| -> Vec<TokenId> {
                let len = 1 + random.below(most);
                (0..len).map(|_| random.below(2) as TokenId).collect()
            };
            let phrases = [tokens(5), tokens(3)];
            let text = tokens(12);
            let constraints = Constraints::new(&phrases);
            let mut progress = constraints.start();
            for end in 1..=text.len() {
                let before = constraints.met(&progress);
                let wanted = constraints.wanted(&progress);
                let best = wanted.iter().map(|&token| {
                    let next = constraints.advance(&progress, token);
                    constraints.met(&next)
                });
                assert!(wanted.is_empty() || best.max() > Some(before));
                let next = constraints.met_after(&progress, text[end - 1]);
                progress = constraints.advance(&progress, text[end - 1]);
                assert_eq!(constraints.met(&progress), next);
                for (number, phrase) in phrases.iter().enumerate() {
                    let read = &text[..end];
                    let is_met = read.windows(phrase.len()).any(|part| part == phrase);
                    let begun = (0..=phrase.len()).rev().find(|&n| read.ends_with(&phrase[..n]));
                    let expected = if is_met { phrase.len() } else { begun.unwrap() };
                    assert_eq!(progress[number], expected);
                    assert_eq!(constraints.unmet(&progress).contains(&number), !is_met);
                }
            }
        }
    }
}
