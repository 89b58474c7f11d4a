//! Decoding by minimum Bayes risk.

use std::collections::HashSet;

use attentive_metrics::Utility;

use super::Translation;

/// Decoding by minimum Bayes risk (Kumar and Byrne 2004; Eikema and Aziz 2020): of many translations of a
/// sentence, those are chosen that agree best with all of them, whatever their probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mbr {
    /// What agreement means.
    pub utility: Utility,
    /// The number of translations to return.
    pub n_best: usize,
}

impl Mbr {
    /// Keeps the best of the candidates, in their order. Of equal texts, one is kept; all of them count, so
    /// that a text that was drawn more often agrees better.
    pub(super) fn choose(self, translation: &mut Translation) {
        let texts: Vec<&str> = translation.hypotheses.iter().map(|one| &*one.text).collect();
        let scores = self.utility.expected(&texts);
        let mut ranked: Vec<(f64, super::Candidate)> =
            scores.into_iter().zip(std::mem::take(&mut translation.hypotheses)).collect();
        // What was cut off or is empty comes last, however well it agrees. Of equals, the likelier first.
        let is_no_sentence = |one: &super::Candidate| one.is_cut_off() || one.text.trim().is_empty();
        ranked.sort_by(|(a, one), (b, other)| {
            let by_kind = is_no_sentence(one).cmp(&is_no_sentence(other));
            by_kind.then(b.total_cmp(a)).then(other.score.total_cmp(&one.score))
        });
        let mut seen = HashSet::new();
        let ranked = ranked.into_iter().map(|(_, candidate)| candidate);
        let distinct = ranked.filter(|candidate| seen.insert(candidate.text.clone()));
        translation.hypotheses = distinct.take(self.n_best).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Candidate;

    #[test]
    fn texts_that_agree_come_first_and_once() {
        let candidate = |(text, score): (&str, f64)| Candidate {
            text: text.into(),
            score,
            finished: true,
            ..Candidate::default()
        };
        let drawn = [("two cats", -1.0), ("a dog runs", -2.0), ("a dog ran", -3.0), ("a dog runs", -2.0)];
        let chosen = |n_best| {
            let hypotheses = drawn.into_iter().map(candidate).collect();
            let mut translation = Translation { hypotheses, warnings: Vec::new() };
            Mbr { utility: Utility::Chrf, n_best }.choose(&mut translation);
            translation.hypotheses.into_iter().map(|one| one.text).collect::<Vec<_>>()
        };
        assert_eq!(chosen(1), ["a dog runs"]);
        assert_eq!(chosen(5), ["a dog runs", "a dog ran", "two cats"]);
        let cut_off = Candidate { finished: false, tokens: vec![7], ..candidate(("a dog runs", -1.0)) };
        let hypotheses =
            vec![cut_off.clone(), candidate(("a dog ran", -3.0)), cut_off, candidate(("", -0.5))];
        let mut translation = Translation { hypotheses, warnings: Vec::new() };
        Mbr { utility: Utility::Chrf, n_best: 3 }.choose(&mut translation);
        let texts: Vec<&str> = translation.hypotheses.iter().map(|one| &*one.text).collect();
        assert_eq!(texts[0], "a dog ran", "{texts:?}");
    }
}
