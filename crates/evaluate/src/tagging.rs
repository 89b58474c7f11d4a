//! Evaluation of a tagger.

use std::collections::BTreeMap;
use std::time::Instant;

use attentive_base::error::Result;
use attentive_data::{Corpus, Item, TagInput};
use attentive_metrics::Accuracy;
use attentive_pipeline::Pipeline;
use serde::Serialize;

/// The result of [`tagging`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaggingEvaluation {
    /// Positions whose predicted tag is correct.
    pub accuracy: Accuracy,
    /// Sequences tagged entirely correctly.
    pub exact_match: Accuracy,
    /// Accuracy over the positions of each correct tag; tags unknown to the model are always wrong.
    pub by_tag: BTreeMap<String, Accuracy>,
    /// Time spent tagging, in seconds.
    pub seconds: f64,
}

/// Tags the tokens or vectors of `corpus` and compares the results with its tags.
///
/// # Errors
/// Any error of [`Pipeline::tag`] and [`Pipeline::tag_vectors`].
pub fn tagging(pipeline: &Pipeline, corpus: &Corpus) -> Result<TaggingEvaluation> {
    let start = Instant::now();
    let found = match pipeline.config().model.family.d_input() {
        None => pipeline.tag(1, &tokens(corpus))?,
        Some(_) => pipeline.tag_vectors(1, &vectors(corpus))?,
    };
    let mut evaluation = TaggingEvaluation {
        accuracy: Accuracy::default(),
        exact_match: Accuracy::default(),
        by_tag: BTreeMap::new(),
        seconds: start.elapsed().as_secs_f64(),
    };
    for (found, expected) in found.iter().zip(inputs(corpus).map(|(_, tags)| tags)) {
        evaluation.add(&found.tags, expected);
    }
    Ok(evaluation)
}

/// The tagged lines of a corpus.
fn inputs(corpus: &Corpus) -> impl Iterator<Item = (&TagInput, &[String])> {
    corpus.entries().iter().filter_map(|entry| match &entry.item {
        Item::Tagged { input, tags } => Some((input, tags.as_slice())),
        _ => None,
    })
}

/// The tokens of each line, separated by spaces.
fn tokens(corpus: &Corpus) -> Vec<String> {
    let lines = inputs(corpus).filter_map(|(input, _)| match input {
        TagInput::Tokens(tokens) => Some(tokens.join(" ")),
        TagInput::Vectors(_) => None,
    });
    lines.collect()
}

fn vectors(corpus: &Corpus) -> Vec<Vec<f32>> {
    let lines = inputs(corpus).filter_map(|(input, _)| match input {
        TagInput::Vectors(vectors) => Some(vectors.clone()),
        TagInput::Tokens(_) => None,
    });
    lines.collect()
}

impl TaggingEvaluation {
    fn add(&mut self, found: &[String], expected: &[String]) {
        for (found, expected) in found.iter().zip(expected) {
            let right = found == expected;
            count(&mut self.accuracy, right);
            count(self.by_tag.entry(expected.clone()).or_default(), right);
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
    use attentive_config::Family;
    use attentive_data::DataKind;

    use super::*;
    use crate::tests::{of, untrained};

    fn corpus(lines: &[&str], tags: &[Vec<String>]) -> Corpus {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect();
        let items = lines
            .iter()
            .zip(tags)
            .map(|(line, tags)| Item::Tagged { input: TagInput::Tokens(words(line)), tags: tags.clone() });
        Corpus::from_items(DataKind::TaggedTokens, items).unwrap()
    }

    #[test]
    fn accuracy_is_measured_overall_and_for_each_tag() {
        let pipeline = of(Family::Tagger);
        let lines = ["a dog", "two cats and two dogs", "the unheard"];
        let found = pipeline.tag(1, &lines).unwrap();
        let mut found: Vec<Vec<String>> = found.into_iter().map(|line| line.tags).collect();
        let own = tagging(&pipeline, &corpus(&lines, &found)).unwrap();
        assert_eq!((own.accuracy.correct, own.accuracy.total), (9, 9));
        assert_eq!((own.exact_match.correct, own.exact_match.total), (3, 3));

        // The model does not know this tag.
        found[0][1] = "UNHEARD".into();
        let wrong = tagging(&pipeline, &corpus(&lines, &found)).unwrap();
        assert_eq!((wrong.accuracy.correct, wrong.accuracy.total), (8, 9));
        assert_eq!(wrong.exact_match.correct, 2);
        assert_eq!(wrong.by_tag["UNHEARD"].fraction(), 0.0);
        let total: u64 = wrong.by_tag.values().map(|accuracy| accuracy.total).sum();
        assert_eq!(total, 9);
    }

    #[test]
    fn only_a_tagger_is_measured() {
        assert!(tagging(untrained(), &corpus(&[], &[])).is_err());
    }
}
