//! Evaluation of a masked language model on a text, compared with a unigram baseline.

use std::time::Instant;

use attentive_base::batch::{Batch, IGNORE, TokenId};
use attentive_base::error::Result;
use attentive_config::Task;
use attentive_data::{self as data, Corpus, Example, LineEncoder, Masking, can_be_hidden};
use attentive_metrics::{Accuracy, perplexity};
use attentive_pipeline::Pipeline;
use attentive_pipeline::batches::batches;
use attentive_text::SpecialTokens;
use serde::Serialize;

use super::teacher_forced_scores::TeacherForcedScores;

/// The result of [`masked`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MaskedEvaluation {
    /// Chosen tokens for which the model's most likely token is correct.
    pub accuracy: Accuracy,
    /// exp of the average negative log-likelihood per chosen token.
    pub perplexity: f64,
    /// The result of the unigram baseline.
    pub unigram: UnigramBaseline,
    /// Texts with chosen tokens: all except those that are too long or contain no known token.
    pub texts: usize,
    /// Texts skipped because they are too long for the model.
    pub too_long: usize,
    /// Time spent by the model, in seconds.
    pub seconds: f64,
}

/// A unigram baseline, estimated on the evaluation text itself, which makes it optimistic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UnigramBaseline {
    /// Chosen tokens that are the most frequent token.
    pub accuracy: Accuracy,
    /// exp of the average negative log-likelihood per chosen token.
    pub perplexity: f64,
}

/// Chooses and hides tokens of `corpus` as in training, and lets the model predict them. The choice depends
/// only on the corpus and the vocabulary ([`Masking::fixed`]), so models that share a tokenizer predict the
/// same tokens.
///
/// # Errors
/// [`attentive_base::Error::Usage`] for a model that does not fill gaps; [`attentive_base::Error::Data`] if
/// its outputs are NaN or infinite; any error of [`data::encode`].
pub fn masked(pipeline: &Pipeline, corpus: &Corpus) -> Result<MaskedEvaluation> {
    pipeline.require(Task::Fill)?;
    pipeline.mask()?;
    let config = pipeline.config();
    let tokenizers = pipeline.tokenizers();
    let special = tokenizers.tgt().special();
    let max_len = config.model.max_len;
    let (examples, stats) =
        data::encode(corpus, LineEncoder::new(Task::Fill, tokenizers, max_len), &mut data::unwatched)?;
    let counts = Counts::of(&examples, tokenizers.tgt().vocab_size(), special);
    let masking = Masking::fixed(tokenizers.tgt());
    let batches = batches(examples, special, masking)?;

    let start = Instant::now();
    let forced = TeacherForcedScores::measure(pipeline, &batches)?;
    Ok(MaskedEvaluation {
        accuracy: forced.tokens,
        perplexity: forced.perplexity(),
        unigram: counts.guess(&batches),
        texts: stats.kept,
        too_long: stats.dropped_long,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Token frequencies.
struct Counts(Vec<u64>);

impl Counts {
    /// Counts the tokens that may be chosen.
    fn of(examples: &[Example], vocab_size: usize, special: SpecialTokens) -> Self {
        let mut counts = vec![0; vocab_size];
        let tokens = examples.iter().flat_map(|example| &example.tgt_out);
        for &token in tokens.filter(|&&token| can_be_hidden(token, special)) {
            counts[token as usize] += 1;
        }
        Self(counts)
    }

    /// Measures the baseline on the masked tokens of the batches.
    fn guess(&self, batches: &[Batch]) -> UnigramBaseline {
        let total = self.0.iter().sum::<u64>() as f64;
        let most = self.0.iter().copied().max().unwrap_or(0);
        let best = self.0.iter().position(|&count| count == most).unwrap_or(0);
        let (mut accuracy, mut nll) = (Accuracy::default(), 0.0);
        for token in batches.iter().flat_map(chosen) {
            nll -= (self.0[token as usize] as f64 / total).ln();
            accuracy.correct += u64::from(token as usize == best);
            accuracy.total += 1;
        }
        UnigramBaseline { perplexity: perplexity(nll, accuracy.total), accuracy }
    }
}

/// The target tokens of a batch.
fn chosen(batch: &Batch) -> impl Iterator<Item = TokenId> {
    let padding = batch.tgt_out.lengths.mask();
    let places = batch.tgt_out.ids.iter().zip(padding);
    places.filter_map(|(&token, padding)| (!padding && token != IGNORE).then_some(token))
}

#[cfg(test)]
mod tests {
    use attentive_config::Family;
    use attentive_data::{DataKind, Item};
    use attentive_samples::Sample;

    use super::*;
    use crate::tests::{of, untrained};

    fn corpus(lines: &[&str]) -> Corpus {
        let items = lines.iter().map(|&line| Item::Text(line.into()));
        Corpus::from_items(DataKind::Lines, items).unwrap()
    }

    #[test]
    fn an_untrained_model_is_no_better_than_a_uniform_one() {
        let long = "cats ".repeat(60);
        let lines = ["a dog runs over the green field", "two cats", &long];
        let pipeline = of(Family::EncoderOnly);
        let evaluation = masked(&pipeline, &corpus(&lines)).unwrap();
        assert_eq!((evaluation.texts, evaluation.too_long), (2, 1));
        let chosen = evaluation.accuracy.total;
        assert!((2..=9).contains(&chosen), "{chosen}");
        assert_eq!(evaluation.unigram.accuracy.total, chosen);
        // Nine tokens, each occurring once.
        assert!((evaluation.unigram.perplexity - 9.0).abs() < 1e-9);
        assert!(evaluation.perplexity > 2.0 && evaluation.perplexity < 17.0 * 4.0);
        let again = masked(&pipeline, &corpus(&lines)).unwrap();
        assert_eq!(again.perplexity, evaluation.perplexity);
    }

    #[test]
    fn a_baseline_with_one_choice_is_right() {
        let lines = ["dog dog dog", "dog"];
        let evaluation = masked(&of(Family::EncoderOnly), &corpus(&lines)).unwrap();
        assert_eq!(evaluation.unigram.accuracy.fraction(), 1.0);
        assert_eq!(evaluation.unigram.perplexity, 1.0);
        assert!(masked(untrained(), &corpus(&lines)).is_err());
    }

    #[test]
    fn words_outside_the_vocabulary_are_not_chosen() {
        let pipeline = of(Family::EncoderOnly);
        // The unknown words are the most frequent.
        let lines = ["dog what who how why", "who dog", "why what", "dog dog"];
        let evaluation = masked(&pipeline, &corpus(&lines)).unwrap();
        assert_eq!(evaluation.texts, 3);
        let UnigramBaseline { accuracy, perplexity } = evaluation.unigram;
        assert_eq!((accuracy.fraction(), perplexity), (1.0, 1.0));
        assert_eq!(accuracy.total, evaluation.accuracy.total);
        let error = masked(&pipeline, &corpus(&lines[2..3])).unwrap_err();
        assert!(error.hint().is_some(), "{error}");
    }

    #[test]
    fn the_choice_does_not_depend_on_the_seed() {
        let text = ["a dog runs over the green field and barks at two cats"; 20];
        let hidden = |seed| {
            let pipeline = of(Family::EncoderOnly);
            let mut config = pipeline.config().clone();
            config.seed = seed;
            let (tokenizers, model) = (pipeline.tokenizers().clone(), pipeline.model().clone());
            let pipeline = Pipeline::from_parts(config, tokenizers, model);
            masked(&pipeline, &corpus(&text)).unwrap().perplexity
        };
        assert_eq!(hidden(1), hidden(2));
    }

    #[test]
    fn a_damaged_model_has_no_perplexity() {
        let pipeline = Sample::of(Family::EncoderOnly).damaged("src.embedding.weight", 0);
        let pipeline = crate::tests::pipeline(pipeline);
        let error = masked(&pipeline, &corpus(&["a dog", "two cats"])).unwrap_err();
        assert!(error.to_string().contains("NaN or infinite"), "{error}");
        assert!(error.exit_code() == 1 && error.hint().is_some(), "{error}");
    }
}
