//! Builds a sentence from words: spacing, capitalisation, commas, final punctuation.

use super::{PartOfSpeech, TaggedSentence};

/// What of a part of a plan a word expresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aspect {
    /// The link between two clauses, or between the two parts of a phrase.
    Conjunction,
    /// The verbs of a clause.
    Verb,
    Negation,
    Time,
    /// The word that a question begins with.
    Question,
    Manner,
    /// The predicate of a copula.
    Quality,
    /// The standard of a comparison.
    Standard,
    Preposition,
    /// A pronoun or a name.
    Referent,
    Determiner,
    Adjective,
    Noun,
}

/// An aspect of a part of a plan, which is known by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Meaning(usize, Aspect);

/// A sentence under construction.
#[derive(Debug, Default)]
pub(super) struct Surface {
    tokens: Vec<String>,
    tags: Vec<PartOfSpeech>,
    /// True for each token that is written without a space before it.
    glued: Vec<bool>,
    /// What each token expresses.
    meanings: Vec<Vec<Meaning>>,
    /// What the next tokens express.
    meaning: Option<Meaning>,
    /// The address of the clause that is being realized.
    clause: usize,
}

impl Surface {
    /// Sets what the following words express, and returns the sentence.
    pub(super) fn of<T>(&mut self, part: &T, aspect: Aspect) -> &mut Self {
        self.meaning = Some(Meaning(address(part), aspect));
        self
    }

    /// Says that the last word expresses this, too.
    pub(super) fn also<T>(&mut self, part: &T, aspect: Aspect) {
        self.add(Meaning(address(part), aspect));
    }

    /// Says that the last word negates the clause, too.
    pub(super) fn also_negation(&mut self) {
        self.add(Meaning(self.clause, Aspect::Negation));
    }

    /// Realizes a clause by `work`.
    pub(super) fn within<T>(&mut self, clause: &T, work: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.clause, address(clause));
        work(self);
        self.clause = outer;
    }

    fn add(&mut self, meaning: Meaning) {
        if let Some(last) = self.meanings.last_mut() {
            last.push(meaning);
        }
    }

    /// Appends a word.
    pub(super) fn push(&mut self, word: impl Into<String>, tag: PartOfSpeech) {
        self.append(word.into(), tag, false);
    }

    /// Appends a word joined to the previous one: "'s", "not" in "cannot".
    pub(super) fn glue(&mut self, word: impl Into<String>, tag: PartOfSpeech) {
        self.append(word.into(), tag, true);
    }

    /// Appends words with their tags.
    pub(super) fn extend(&mut self, words: &[(&str, PartOfSpeech)]) {
        for &(word, tag) in words {
            self.push(word, tag);
        }
    }

    /// Appends a comma, unless the sentence already ends with one because two clauses end here.
    pub(super) fn comma(&mut self) {
        if self.tokens.last().is_some_and(|last| last != ",") {
            self.meaning = None;
            self.glue(",", PartOfSpeech::Punctuation);
        }
    }

    /// Returns the links between the words of this sentence and its translation `other`, which realizes the
    /// same plan: pairs of numbers of words between blanks, counted from 0, of which some tokens express the
    /// same.
    pub(super) fn links(&self, other: &Self) -> Vec<(usize, usize)> {
        let [own, theirs] = [self, other].map(Self::words);
        let mut links = Vec::new();
        for (word, meanings) in own.iter().zip(&self.meanings) {
            for (other_word, others) in theirs.iter().zip(&other.meanings) {
                if meanings.iter().any(|meaning| others.contains(meaning)) {
                    links.push((*word, *other_word));
                }
            }
        }
        links.sort_unstable();
        links.dedup();
        links
    }

    /// The number of the word of each token.
    fn words(&self) -> Vec<usize> {
        let mut n_words = 0;
        let number = |&glued: &bool| {
            n_words += usize::from(!glued || n_words == 0);
            n_words - 1
        };
        self.glued.iter().map(number).collect()
    }

    /// Appends a comma, then what `work` appends, which expresses what was set before.
    pub(super) fn comma_before(&mut self, work: impl FnOnce(&mut Self)) {
        let meaning = self.meaning;
        self.comma();
        self.meaning = meaning;
        work(self);
    }

    /// Finishes the sentence and returns its text, tokens and tags.
    pub(super) fn finish(mut self, mark: &str) -> TaggedSentence {
        if self.tokens.last().is_some_and(|last| last == ",") {
            self.tokens.pop();
            self.tags.pop();
            self.glued.pop();
            self.meanings.pop();
        }
        self.meaning = None;
        self.glue(mark, PartOfSpeech::Punctuation);
        if let Some(first) = self.tokens.first_mut() {
            *first = capitalised(first);
        }
        let mut text = String::new();
        for (token, &glued) in self.tokens.iter().zip(&self.glued) {
            if !glued && !text.is_empty() {
                text.push(' ');
            }
            text.push_str(token);
        }
        TaggedSentence { text, tokens: self.tokens, tags: self.tags }
    }

    fn append(&mut self, word: String, tag: PartOfSpeech, glued: bool) {
        self.tokens.push(word);
        self.tags.push(tag);
        self.glued.push(glued);
        self.meanings.push(self.meaning.into_iter().collect());
    }
}

/// The address of a part of a plan, which stays where it is.
fn address<T>(part: &T) -> usize {
    std::ptr::from_ref(part) as usize
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
