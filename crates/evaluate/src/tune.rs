//! Chooses the search options of a model on a development set.
//!
//! One wide beam search gives many translations of each sentence, of which every length penalty chooses one:
//! scoring them again tries all penalties at the cost of a single search. What is best there is then searched
//! for really, with beams of several widths, and the best of these searches is chosen.

use std::cmp::Reverse;
use std::time::Instant;

use attentive_base::error::{Error, Result};
use attentive_config::{DecodeConfig, EarlyStopping, LengthPenaltyFormula};
use attentive_decode::{SearchOptions, Strategy};
use attentive_metrics::{Bleu, Bootstrap, CorpusMetric, Measure, Paired, Segments};
use attentive_pipeline::{Candidate, Pipeline, TranslateOptions, Translation};
use serde::Serialize;

use crate::check;

/// The exponents that are tried with each formula: 0, 0.1, … up to these.
const LARGEST_EXPONENT: [(LengthPenaltyFormula, u32); 2] =
    [(LengthPenaltyFormula::Length, 20), (LengthPenaltyFormula::Gnmt, 20)];

/// What to try.
#[derive(Clone, Copy, Debug)]
pub struct TuneOptions {
    /// The widest beam, at least 2.
    pub widest: usize,
    /// What is to be as high as possible.
    pub metric: Measure,
}

/// The result of [`tune`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tuning {
    /// The signature of the metric.
    pub signature: String,
    /// Its name.
    pub metric: String,
    /// The number of sentences.
    pub sentences: usize,
    /// The scores of each length penalty among the translations of one wide beam.
    pub rescored: Vec<RescoredPenalty>,
    /// The searches that were carried out, that of the model first.
    pub searches: Vec<TriedSearch>,
    /// The place of the best among them. Of equals, it is that of the model, or else the narrowest.
    pub chosen: usize,
    /// The chosen search compared with that of the model, by paired bootstrap resampling of these sentences,
    /// on which it was chosen: on others, it is a little less good.
    pub difference: Paired,
}

/// A length penalty among the translations of one wide beam.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RescoredPenalty {
    #[serde(flatten)]
    pub penalty: LengthPenalty,
    /// The score of the translations that it chooses.
    pub score: f64,
}

/// A length penalty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LengthPenalty {
    pub length_penalty_formula: LengthPenaltyFormula,
    /// The exponent.
    pub length_penalty: f64,
}

/// A search that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TriedSearch {
    pub beam_width: usize,
    /// It has no effect on greedy search.
    #[serde(flatten)]
    pub penalty: LengthPenalty,
    /// It has no effect on greedy search.
    pub early_stopping: EarlyStopping,
    /// The score of the translations.
    pub score: f64,
    /// The words of all translations for each word of the references, as BLEU counts them.
    pub length_ratio: f64,
    /// The time of the search in seconds.
    pub seconds: f64,
}

impl TriedSearch {
    /// Returns `decode` with these options.
    pub fn applied_to(&self, decode: &DecodeConfig) -> DecodeConfig {
        let LengthPenalty { length_penalty_formula, length_penalty } = self.penalty;
        let (beam_width, early_stopping) = (self.beam_width, self.early_stopping);
        DecodeConfig { beam_width, length_penalty_formula, length_penalty, early_stopping, ..decode.clone() }
    }
}

/// Tries searches of `src`, and scores their results against `references`, which holds at least one stream
/// with a line per source line. Only the length penalty, the beam width and early stopping are changed; other
/// options are those of the model.
///
/// # Errors
/// [`Error::Usage`] for a widest beam of 1; [`Error::Data`] for an empty set and for streams of different
/// lengths; what translating may fail with.
pub fn tune(
    pipeline: &Pipeline,
    src: &[String],
    references: &[Vec<String>],
    options: &TuneOptions,
) -> Result<Tuning> {
    check(src, references)?;
    if options.widest < 2 {
        return Err(Error::usage(
            "the widest beam to try is greedy search",
            "allow at least two hypotheses: `TuneOptions::widest`",
        ));
    }
    let mut trials = Trials { pipeline, src, references, options, tried: Vec::new(), lines: Vec::new() };
    let own = &pipeline.config().decode;
    trials.add(own)?;
    let rescored = trials.rescored()?;
    for formula in LARGEST_EXPONENT.map(|(formula, _)| formula) {
        let LengthPenalty { length_penalty_formula, length_penalty } = best_of(&rescored, formula).penalty;
        let beam_width = options.widest;
        trials.add(&DecodeConfig { beam_width, length_penalty_formula, length_penalty, ..own.clone() })?;
    }
    let of_wide_beam = trials.best();
    let narrower = std::iter::successors(Some(1), |width| Some(width * 2));
    for beam_width in narrower.take_while(|&width| width < options.widest) {
        trials.add(&DecodeConfig { beam_width, ..of_wide_beam.clone() })?;
    }
    for early_stopping in [EarlyStopping::Heuristic, EarlyStopping::Always, EarlyStopping::Never] {
        trials.add(&DecodeConfig { early_stopping, ..trials.best() })?;
    }
    let chosen = trials.chosen();
    let difference = Bootstrap::default().paired(&trials.lines[0], &trials.lines[chosen]);
    let report = trials.lines[chosen].score();
    Ok(Tuning {
        signature: report.signature,
        metric: report.name,
        sentences: src.len(),
        rescored,
        searches: trials.tried,
        chosen,
        difference,
    })
}

/// The best length penalty of this formula among those that were tried; of equals, the one with the smallest
/// exponent.
///
/// # Panics
/// If none of this formula was tried.
pub fn best_of(rescored: &[RescoredPenalty], formula: LengthPenaltyFormula) -> RescoredPenalty {
    let penalties = rescored.iter().rev().filter(|one| one.penalty.length_penalty_formula == formula);
    *penalties.max_by(|a, b| a.score.total_cmp(&b.score)).expect("every formula has exponents")
}

/// The searches so far.
struct Trials<'a> {
    pipeline: &'a Pipeline,
    src: &'a [String],
    references: &'a [Vec<String>],
    options: &'a TuneOptions,
    tried: Vec<TriedSearch>,
    /// The statistics of the results of each.
    lines: Vec<Segments<Measure>>,
}

impl Trials<'_> {
    /// Carries out the search of `decode`, unless it was tried.
    fn add(&mut self, decode: &DecodeConfig) -> Result<()> {
        let DecodeConfig { beam_width, length_penalty_formula, length_penalty, early_stopping, .. } = *decode;
        let penalty = LengthPenalty { length_penalty_formula, length_penalty };
        let is_same = |tried: &TriedSearch| {
            tried.beam_width == beam_width
                && (beam_width == 1 || (tried.penalty, tried.early_stopping) == (penalty, early_stopping))
        };
        if self.tried.iter().any(is_same) {
            return Ok(());
        }
        let start = Instant::now();
        let found = self.translate(SearchOptions::from(decode).unscored())?;
        let seconds = start.elapsed().as_secs_f64();
        let texts: Vec<String> = found.into_iter().map(Translation::into_best).collect();
        let words = Bleu::default().statistics(&texts, self.references);
        let lines = Segments::new(self.options.metric, &texts, self.references);
        self.tried.push(TriedSearch {
            beam_width,
            penalty,
            early_stopping,
            score: lines.value(),
            length_ratio: words.hypothesis_len as f64 / (words.reference_len as f64).max(1.0),
            seconds,
        });
        self.lines.push(lines);
        Ok(())
    }

    fn translate(&self, search: SearchOptions) -> Result<Vec<Translation>> {
        let options = TranslateOptions { search, ..TranslateOptions::from(&self.pipeline.config().decode) };
        self.pipeline.translate_lines(self.src, &options)
    }

    /// The scores of all length penalties among the translations of one wide beam.
    fn rescored(&self) -> Result<Vec<RescoredPenalty>> {
        let width = self.options.widest;
        let search = SearchOptions {
            strategy: Strategy::beam(width, width, EarlyStopping::Never),
            ..SearchOptions::from(&self.pipeline.config().decode)
        };
        let found = self.translate(search)?;
        let metric = self.options.metric;
        let candidates: Vec<Vec<ScoredCandidate>> = (found.into_iter().enumerate())
            .map(|(line, translation)| {
                let references: Vec<&str> = self.references.iter().map(|stream| &*stream[line]).collect();
                let of = |candidate: Candidate| ScoredCandidate {
                    statistics: metric.line_statistics(&candidate.text, &references),
                    log_prob: candidate.log_prob,
                    len: candidate.token_log_probs.len(),
                    finished: candidate.finished,
                };
                translation.hypotheses.into_iter().map(of).collect()
            })
            .collect();
        let tenths = |(formula, most): (LengthPenaltyFormula, u32)| {
            (0..=most).map(move |tenths| (formula, f64::from(tenths) / 10.0))
        };
        let penalties = LARGEST_EXPONENT.into_iter().flat_map(tenths);
        let score = |(length_penalty_formula, length_penalty)| {
            let search = SearchOptions { length_penalty_formula, length_penalty, ..search };
            let mut sums = vec![0.0; metric.n_statistics()];
            for line in &candidates {
                // Finished ones come first, and the earlier of equals, as in the search.
                let rank = |one: &ScoredCandidate| (one.finished, search.score(one.log_prob, one.len));
                let better = |a: &ScoredCandidate, b: &ScoredCandidate| {
                    let ((a, of_a), (b, of_b)) = (rank(a), rank(b));
                    a.cmp(&b).then(of_a.total_cmp(&of_b))
                };
                if let Some(best) = line.iter().rev().max_by(|a, b| better(a, b)) {
                    sums.iter_mut().zip(&best.statistics).for_each(|(sum, one)| *sum += one);
                }
            }
            let penalty = LengthPenalty { length_penalty_formula, length_penalty };
            RescoredPenalty { penalty, score: metric.value(&sums) }
        };
        Ok(penalties.map(score).collect())
    }

    /// The place of the best search.
    fn chosen(&self) -> usize {
        // Of equals, that of the model, or else the narrowest.
        let rank =
            |place: usize, tried: &TriedSearch| (place == 0, Reverse(tried.beam_width), Reverse(place));
        let best = self.tried.iter().enumerate().max_by(|(a, one), (b, other)| {
            one.score.total_cmp(&other.score).then_with(|| rank(*a, one).cmp(&rank(*b, other)))
        });
        best.map_or(0, |(place, _)| place)
    }

    /// The options of the best search.
    fn best(&self) -> DecodeConfig {
        self.tried[self.chosen()].applied_to(&self.pipeline.config().decode)
    }
}

/// A translation of a line.
struct ScoredCandidate {
    /// Of the metric.
    statistics: Vec<f64>,
    log_prob: f64,
    /// In tokens, including `</s>`.
    len: usize,
    finished: bool,
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use attentive_metrics::Chrf;

    use super::*;
    use crate::tests::untrained;

    const SRC: [&str; 4] = ["a b c", "d e f g a", "", "b a"];

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    fn options() -> TuneOptions {
        TuneOptions { widest: 4, metric: Measure::Chrf(Chrf::default()) }
    }

    #[test]
    fn the_best_of_all_searches_is_chosen() {
        let pipeline = untrained();
        let references = [lines(&["a b c d", "g f e", "", "a"])];
        let tuning = tune(pipeline, &lines(&SRC), &references, &options()).unwrap();
        let own = &pipeline.config().decode;
        assert_eq!(tuning.searches[0].applied_to(own), *own);
        let best = tuning.searches.iter().map(|search| search.score).fold(f64::MIN, f64::max);
        assert_eq!(tuning.searches[tuning.chosen].score, best);
        let widths: Vec<usize> = tuning.searches.iter().map(|search| search.beam_width).collect();
        assert!([1, 2, 4].iter().all(|width| widths.contains(width)), "{widths:?}");
        for (place, search) in tuning.searches.iter().enumerate() {
            assert!(
                !tuning.searches[..place].iter().any(|other| other.beam_width == 1 && search.beam_width == 1)
            );
        }
        assert_eq!((tuning.metric.as_str(), tuning.sentences), ("chrF2", 4));
    }

    #[test]
    fn scores_of_the_wide_beam_are_those_of_a_search() {
        let pipeline = untrained();
        let references = [lines(&["a b c d", "g f e", "", "a"])];
        let src = lines(&SRC);
        let tuning = tune(pipeline, &src, &references, &options()).unwrap();
        let own = pipeline.config().decode.clone();
        let wide = DecodeConfig { beam_width: options().widest, ..own.clone() };
        let wide = TranslateOptions { batch_size: NonZeroUsize::new(2), ..TranslateOptions::from(&wide) };
        let found = pipeline.translate_lines(&src, &wide).unwrap();
        let texts: Vec<String> = found.into_iter().map(Translation::into_best).collect();
        let expected = options().metric.value(&sums(&texts, &references));
        let same = tuning.rescored.iter().find(|one| {
            (one.penalty.length_penalty_formula, one.penalty.length_penalty)
                == (own.length_penalty_formula, own.length_penalty)
        });
        assert_eq!(same.unwrap().score, expected);
    }

    fn sums(texts: &[String], references: &[Vec<String>]) -> Vec<f64> {
        let mut sums = vec![0.0; options().metric.n_statistics()];
        for (text, reference) in texts.iter().zip(&references[0]) {
            let one = options().metric.line_statistics(text, &[reference]);
            sums.iter_mut().zip(one).for_each(|(sum, one)| *sum += one);
        }
        sums
    }

    #[test]
    fn what_cannot_be_tuned_is_refused() {
        let tune = |src: &[&str], widest| {
            let options = TuneOptions { widest, ..options() };
            super::tune(untrained(), &lines(src), &[lines(src)], &options).unwrap_err().to_string()
        };
        assert!(tune(&SRC, 1).contains("greedy search"));
        assert!(tune(&[], 4).contains("the test set is empty"));
    }
}
