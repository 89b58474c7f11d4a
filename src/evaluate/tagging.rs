//! A tagger on a test set.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;

use crate::data::{Corpus, Pair};
use crate::error::Result;
use crate::metrics::Accuracy;
use crate::pipeline::Pipeline;

/// What [`tagging`] finds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaggingEvaluation {
    /// Positions that get the tag that they have in the test set.
    pub accuracy: Accuracy,
    /// Sequences in which all do.
    pub exact_match: Accuracy,
    /// The same for the positions that have each tag in the test set; a tag that the model does not know is always wrong.
    pub by_tag: BTreeMap<String, Accuracy>,
    /// What tagging took.
    pub seconds: f64,
}

/// Tags the tokens, or vectors, of `corpus` and compares with its tags.
///
/// # Errors
/// Those of [`Pipeline::tag`] and [`Pipeline::tag_vectors`].
///
/// # Panics
/// If tags and what they label differ in number, which [`crate::data::read`] refuses.
pub fn tagging(pipeline: &Pipeline, corpus: &Corpus) -> Result<TaggingEvaluation> {
    let start = Instant::now();
    let found = match pipeline.config().model.recurrent.d_input {
        0 => pipeline.tag(&sides(corpus, |pair| pair.src.as_str()))?,
        _ => pipeline.tag_vectors(&sides(corpus, |pair| pair.vectors.clone()))?,
    };
    let mut evaluation = TaggingEvaluation {
        accuracy: Accuracy::default(),
        exact_match: Accuracy::default(),
        by_tag: BTreeMap::new(),
        seconds: start.elapsed().as_secs_f64(),
    };
    for (found, pair) in found.iter().zip(&corpus.pairs) {
        evaluation.add(found, pair);
    }
    Ok(evaluation)
}

fn sides<'a, T>(corpus: &'a Corpus, side: impl Fn(&'a Pair) -> T) -> Vec<T> {
    corpus.pairs.iter().map(side).collect()
}

impl TaggingEvaluation {
    fn add(&mut self, found: &[String], pair: &Pair) {
        let expected: Vec<&str> = pair.tgt.split_whitespace().collect();
        assert!(
            found.len() == expected.len(),
            "{} tags found, {} expected",
            found.len(),
            expected.len()
        );
        for (found, &expected) in found.iter().zip(&expected) {
            let right = found == expected;
            count(&mut self.accuracy, right);
            count(self.by_tag.entry(expected.into()).or_default(), right);
        }
        count(&mut self.exact_match, found == expected);
    }
}

fn count(accuracy: &mut Accuracy, right: bool) {
    accuracy.correct += u64::from(right);
    accuracy.total += 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Family;
    use crate::data::ReadStats;
    use crate::pipeline::tests::{of, untrained};

    fn corpus(pairs: Vec<Pair>) -> Corpus {
        Corpus {
            pairs,
            stats: ReadStats::default(),
            sources: Vec::new(),
        }
    }

    #[test]
    fn accuracy_is_counted_in_all_and_for_each_tag() {
        let pipeline = of(Family::Tagger, 0);
        let lines = ["a dog", "two cats and two dogs", "the unheard"];
        let found = pipeline.tag(&lines).unwrap();
        let pair = |(src, tags): (&&str, &Vec<String>)| Pair {
            src: (*src).into(),
            tgt: tags.join(" "),
            ..Pair::default()
        };
        let mut pairs: Vec<Pair> = lines.iter().zip(&found).map(pair).collect();
        let own = tagging(&pipeline, &corpus(pairs.clone())).unwrap();
        assert_eq!((own.accuracy.correct, own.accuracy.total), (9, 9));
        assert_eq!((own.exact_match.correct, own.exact_match.total), (3, 3));

        // A tag that the model never heard of.
        pairs[0].tgt = format!("{} UNHEARD", found[0][0]);
        let wrong = tagging(&pipeline, &corpus(pairs)).unwrap();
        assert_eq!((wrong.accuracy.correct, wrong.accuracy.total), (8, 9));
        assert_eq!(wrong.exact_match.correct, 2);
        assert_eq!(wrong.by_tag["UNHEARD"].fraction(), 0.0);
        let total: u64 = wrong.by_tag.values().map(|accuracy| accuracy.total).sum();
        assert_eq!(total, 9);
    }

    #[test]
    fn only_a_tagger_is_measured() {
        assert!(tagging(untrained(), &corpus(vec![Pair::default()])).is_err());
    }
}
