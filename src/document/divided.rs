//! Texts divided into sentences, and the translations of the sentences joined.

use super::{Document, Part, Segment, Split, needs_blank};
use crate::pipeline::{Alignment, Candidate, Translation, Warning};

/// A text divided into sentences, to be translated one by one.
///
/// ```
/// use attentive::document::Divided;
///
/// let text = Divided::into_sentences("One.  Two!\n", |_| true);
/// let sentences = text.sentences().iter();
/// let parts: Vec<_> = sentences.map(|one| (&*one.before, &*one.text)).collect();
/// assert_eq!(parts, [("", "One."), ("  ", "Two!")]);
/// assert_eq!(text.after(), "\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Divided {
    sentences: Vec<Sentence>,
    after: String,
}

/// A sentence and the text before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence {
    /// The blanks after the previous sentence, and anything else that is not translated, such as emoji.
    pub before: String,
    /// The sentence.
    pub text: String,
    /// True if it follows the previous sentence without a blank, as in Chinese.
    touches: bool,
}

impl Divided {
    /// Divides `text` into its sentences. Line breaks end sentences, and sentences that the model cannot read at once,
    /// according to `fits`, are divided further.
    pub fn into_sentences(text: &str, fits: impl Fn(&str) -> bool) -> Self {
        let Document { segments, parts } = Document::text(text, Split::Sentences, fits);
        let mut segments = segments.into_iter();
        let mut divided = Self::default();
        for part in parts {
            match part {
                Part::Verbatim(text) => divided.after = text,
                Part::Plain(_) | Part::Run(_) => {
                    let Segment { text, touches, .. } = segments.next().unwrap_or_default();
                    divided.sentences.push(Sentence {
                        before: std::mem::take(&mut divided.after),
                        text,
                        touches,
                    });
                }
            }
        }
        divided
    }

    /// Makes a single sentence of `text`, whatever it is.
    pub fn whole(text: String) -> Self {
        let sentence = Sentence {
            text,
            ..Sentence::default()
        };
        Self {
            sentences: vec![sentence],
            after: String::new(),
        }
    }

    /// Returns the warning that a prefix or constraints are ignored because the text has no sentences; `None` if it has any.
    pub fn ignored_demands(&self) -> Option<Warning> {
        let is_blank = self.after.trim().is_empty();
        let what = if is_blank {
            "blank"
        } else {
            "nothing to translate"
        };
        (self.sentences.is_empty()).then(|| Warning::of_ignored_demands(what))
    }

    /// Returns the sentences, none of which is blank if the text was divided.
    pub fn sentences(&self) -> &[Sentence] {
        &self.sentences
    }

    /// Returns the text after the last sentence.
    pub fn after(&self) -> &str {
        &self.after
    }

    /// Returns the text with translations in place of its sentences. Translations may still be missing at the end.
    pub fn text_of<'a>(&self, translations: impl IntoIterator<Item = &'a str>) -> String {
        let mut text = String::new();
        let mut translations = translations.into_iter();
        for sentence in &self.sentences {
            let translation = translations.next().unwrap_or_default();
            sentence.write(translation, &mut text);
        }
        text + &self.after
    }

    /// Returns the translation of each sentence, with a blank before it if the language needs one and the text has none. Each
    /// placed after its [`Sentence::before`], they make up the translation of the text.
    pub fn spaced<'a>(&self, translations: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut text = String::new();
        let each = self.sentences.iter().zip(translations);
        let spaced = each.map(|(sentence, translation)| {
            let from = text.len() + sentence.before.len();
            sentence.write(translation, &mut text);
            text[from..].to_owned()
        });
        spaced.collect()
    }

    /// Joins the translations `found` of the sentences to translations of the text: the best of each sentence, then the second
    /// best, and so on. If a sentence has too few translations, its last one is repeated.
    ///
    /// Scores and log-probabilities are sums, and the tokens of all sentences follow each other. The log-probabilities of
    /// tokens include `</s>` only at the end of the last sentence.
    pub fn join(&self, found: &[Translation]) -> Translation {
        let ranks = found.iter().map(|one| one.hypotheses.len()).max();
        let joined = (0..ranks.unwrap_or(1)).map(|rank| self.joined(&ranked(found, rank)));
        Translation {
            hypotheses: joined.collect(),
            warnings: found.iter().flat_map(|one| one.warnings.clone()).collect(),
        }
    }

    fn joined(&self, ranked: &[&Candidate]) -> Candidate {
        let mut whole = Candidate {
            text: self.text_of(ranked.iter().map(|one| one.text.as_str())),
            finished: true,
            ..Candidate::default()
        };
        for one in ranked {
            whole.score += one.score;
            whole.log_prob += one.log_prob;
            whole.token_log_probs.truncate(whole.tokens.len());
            whole.tokens.extend(&one.tokens);
            whole.token_log_probs.extend(&one.token_log_probs);
            whole.finished &= !one.is_cut_off();
            whole.unmet.extend(one.unmet.iter().cloned());
        }
        whole
    }

    /// Returns the alignments of the translations that [`Divided::join`] returns, made of the alignments of the sentences'
    /// translations.
    pub fn join_alignments(
        &self,
        found: &[Translation],
        alignments: &[Vec<Alignment>],
    ) -> Vec<Alignment> {
        let ranks = found.iter().map(|one| one.hypotheses.len()).max();
        let joined = (0..ranks.unwrap_or(1)).map(|rank| {
            let aligned = alignments.iter().map(|of| of.get(rank).or(of.last()));
            self.joined_alignment(&ranked(found, rank), aligned)
        });
        joined.collect()
    }

    fn joined_alignment<'a>(
        &self,
        ranked: &[&Candidate],
        alignments: impl Iterator<Item = Option<&'a Alignment>>,
    ) -> Alignment {
        let (mut src, mut tgt) = (Words::default(), Words::default());
        let mut pairs = Vec::new();
        let translations = self.spaced(ranked.iter().map(|one| one.text.as_str()));
        let each = self.sentences.iter().zip(&translations).zip(alignments);
        for ((sentence, translation), alignment) in each {
            src.add(&sentence.before);
            tgt.add(&sentence.before);
            let (from, to) = (src.add(&sentence.text), tgt.add(translation));
            let own = alignment.into_iter().flat_map(|Alignment(pairs)| pairs);
            pairs.extend(own.map(|&(i, j)| (from + i, to + j)));
        }
        Alignment(pairs)
    }
}

impl Sentence {
    /// Appends the translation of this sentence to the translation of the text before it, after the text between them.
    pub fn write(&self, translation: &str, text: &mut String) {
        text.push_str(&self.before);
        if self.touches && needs_blank(text, translation) {
            text.push(' ');
        }
        text.push_str(translation);
    }
}

/// Returns the candidates of this rank, or the last ones.
fn ranked(found: &[Translation], rank: usize) -> Vec<&Candidate> {
    let ranked = found
        .iter()
        .filter_map(|one| one.hypotheses.get(rank).or(one.hypotheses.last()));
    ranked.collect()
}

/// Counts the words of a text that comes in parts.
#[derive(Default)]
struct Words {
    count: usize,
    /// True if the next part may continue the last word.
    open: bool,
}

impl Words {
    /// Adds a part, and returns the number of its first word.
    fn add(&mut self, part: &str) -> usize {
        let goes_on = self.open && part.starts_with(|c: char| !c.is_whitespace());
        let first = self.count - usize::from(goes_on);
        self.count = first + part.split_whitespace().count();
        if let Some(last) = part.chars().next_back() {
            self.open = !last.is_whitespace();
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &[(&str, f64)]) -> Translation {
        let candidate = |&(text, score): &(&str, f64)| Candidate {
            text: text.into(),
            score,
            log_prob: 2.0 * score,
            tokens: vec![7; text.split_whitespace().count()],
            token_log_probs: vec![-0.5; text.split_whitespace().count() + 1],
            finished: true,
            unmet: Vec::new(),
        };
        Translation {
            hypotheses: texts.iter().map(candidate).collect(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn translations_of_sentences_are_joined_rank_by_rank() {
        let text = Divided::into_sentences(" A dog.  Cats!\n😀", |_| true);
        let found = [
            found(&[("x y.", -1.0), ("x.", -3.0)]),
            found(&[("z!", -0.5)]),
        ];
        let whole = text.join(&found);
        let texts: Vec<&str> = whole.hypotheses.iter().map(|one| &*one.text).collect();
        assert_eq!(texts, [" x y.  z!\n😀", " x.  z!\n😀"]);
        let best = &whole.hypotheses[0];
        assert_eq!((best.score, best.log_prob), (-1.5, -3.0));
        assert_eq!((best.tokens.len(), best.token_log_probs.len()), (3, 4));
        assert!(best.finished);
        let spaced = text.spaced(["x y.", "z!"]);
        assert_eq!(spaced, ["x y.", "z!"]);
        assert_eq!(text.after(), "\n😀");
    }

    #[test]
    fn words_of_alignments_are_those_of_the_text() {
        let text = Divided::into_sentences("你好。再见 吧！ A b.", |_| true);
        let found = ["x y.", "z!", "v w."].map(|text| found(&[(text, -1.0)]));
        let alignments = [
            vec![Alignment(vec![(0, 1)])],
            vec![Alignment(vec![(1, 0)])],
            vec![Alignment(vec![(0, 1), (1, 0)])],
        ];
        let joined = text.join_alignments(&found, &alignments);
        assert_eq!(text.join(&found).hypotheses[0].text, "x y. z! v w.");
        assert_eq!(joined, [Alignment(vec![(0, 1), (1, 2), (2, 4), (3, 3)])]);
    }

    #[test]
    fn a_sentence_alone_stays_what_it_is() {
        let one = found(&[("x y", -1.0), ("x", -2.0)]);
        for text in [
            Divided::whole(" A b. C\n".into()),
            Divided::into_sentences("A b.", |_| true),
        ] {
            assert_eq!(text.join(std::slice::from_ref(&one)), one);
        }
        let blank = Divided::into_sentences(" \n", |_| true);
        assert_eq!(blank.join(&[]).hypotheses[0].text, " \n");
        assert!(blank.sentences().is_empty());
    }
}
