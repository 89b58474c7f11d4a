//! The translations of the sentences of a text, joined to translations of the text.

use std::collections::HashSet;

use attentive_document::DividedText;

use super::{Alignment, Candidate, Translation, Warning};

/// Returns the warning that a prefix or constraints are ignored because the text has no sentences; `None` if
/// it has any.
pub fn ignored_constraints(divided: &DividedText) -> Option<Warning> {
    let is_blank = divided.after().trim().is_empty();
    let what = if is_blank { "blank" } else { "nothing to translate" };
    (divided.sentences().is_empty()).then(|| Warning::of_ignored_constraints(what))
}

/// Joins the translations `found` of the sentences to translations of the text: the best of each sentence,
/// then the second best, and so on. If a sentence has too few translations, its last one is repeated.
///
/// Scores and log-probabilities are sums, and the tokens of all sentences follow each other. The
/// log-probabilities of tokens include `</s>` only at the end of the last sentence. Equal warnings about
/// several sentences become one.
pub fn join(divided: &DividedText, found: &[Translation]) -> Translation {
    let ranks = found.iter().map(|one| one.hypotheses.len()).max();
    let joined = (0..ranks.unwrap_or(1)).map(|rank| joined(divided, &ranked(found, rank)));
    let mut told = HashSet::new();
    let warnings = found.iter().flat_map(|one| &one.warnings);
    let warnings = warnings.filter(|warning| told.insert(&*warning.problem)).cloned();
    Translation { hypotheses: joined.collect(), warnings: warnings.collect() }
}

fn joined(divided: &DividedText, ranked: &[&Candidate]) -> Candidate {
    let mut whole = Candidate {
        text: divided.text_of(ranked.iter().map(|one| one.text.as_str())),
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

/// Returns the alignments of the translations that [`join`] returns, made of the alignments of the sentences'
/// translations.
pub fn join_alignments(
    divided: &DividedText,
    found: &[Translation],
    alignments: &[Vec<Alignment>],
) -> Vec<Alignment> {
    let ranks = found.iter().map(|one| one.hypotheses.len()).max();
    let joined = (0..ranks.unwrap_or(1)).map(|rank| {
        let aligned = alignments.iter().map(|of| of.get(rank).or(of.last()));
        joined_alignment(divided, &ranked(found, rank), aligned)
    });
    joined.collect()
}

fn joined_alignment<'a>(
    divided: &DividedText,
    ranked: &[&Candidate],
    alignments: impl Iterator<Item = Option<&'a Alignment>>,
) -> Alignment {
    let (mut src, mut tgt) = (Words::default(), Words::default());
    let mut pairs = Vec::new();
    let translations = divided.spaced(ranked.iter().map(|one| one.text.as_str()));
    let each = divided.sentences().iter().zip(&translations).zip(alignments);
    for ((sentence, translation), alignment) in each {
        src.add(&sentence.before);
        tgt.add(&sentence.before);
        let (from, to) = (src.add(&sentence.text), tgt.add(translation));
        let own = alignment.into_iter().flat_map(|Alignment(pairs)| pairs);
        pairs.extend(own.map(|&(i, j)| (from + i, to + j)));
    }
    Alignment(pairs)
}

/// Returns the candidates of this rank, or the last ones.
fn ranked(found: &[Translation], rank: usize) -> Vec<&Candidate> {
    let ranked = found.iter().filter_map(|one| one.hypotheses.get(rank).or(one.hypotheses.last()));
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
    use attentive_document::Split;

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
        Translation { hypotheses: texts.iter().map(candidate).collect(), warnings: Vec::new() }
    }

    #[test]
    fn translations_of_sentences_are_joined_rank_by_rank() {
        let text = DividedText::new(" A dog.  Cats!\n😀", Split::Sentences, |_| true);
        let found = [found(&[("x y.", -1.0), ("x.", -3.0)]), found(&[("z!", -0.5)])];
        let whole = join(&text, &found);
        let texts: Vec<&str> = whole.hypotheses.iter().map(|one| &*one.text).collect();
        assert_eq!(texts, [" x y.  z!\n😀", " x.  z!\n😀"]);
        let best = &whole.hypotheses[0];
        assert_eq!((best.score, best.log_prob), (-1.5, -3.0));
        assert_eq!((best.tokens.len(), best.token_log_probs.len()), (3, 4));
        assert!(best.finished);
    }

    #[test]
    fn words_of_alignments_are_those_of_the_text() {
        let text = DividedText::new("你好。再见 吧！ A b.", Split::Sentences, |_| true);
        let found = ["x y.", "z!", "v w."].map(|text| found(&[(text, -1.0)]));
        let alignments = [
            vec![Alignment(vec![(0, 1)])],
            vec![Alignment(vec![(1, 0)])],
            vec![Alignment(vec![(0, 1), (1, 0)])],
        ];
        let joined = join_alignments(&text, &found, &alignments);
        assert_eq!(join(&text, &found).hypotheses[0].text, "x y. z! v w.");
        assert_eq!(joined, [Alignment(vec![(0, 1), (1, 2), (2, 4), (3, 3)])]);
    }

    #[test]
    fn a_sentence_alone_stays_what_it_is() {
        let one = found(&[("x y", -1.0), ("x", -2.0)]);
        for text in
            [DividedText::whole(" A b. C\n".into()), DividedText::new("A b.", Split::Sentences, |_| true)]
        {
            assert_eq!(join(&text, std::slice::from_ref(&one)), one);
        }
        let blank = DividedText::new(" \n", Split::Sentences, |_| true);
        assert_eq!(join(&blank, &[]).hypotheses[0].text, " \n");
        assert!(blank.sentences().is_empty());
    }
}
