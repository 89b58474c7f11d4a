//! Evaluation of a translation model.

use std::time::Instant;

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_data::{Example, MAX_LINE_BYTES};
use attentive_metrics::{Accuracy, Bleu, Chrf, Score, Ter, exact_match};
use attentive_pipeline::batches::batches;
use attentive_pipeline::{Pipeline, TranslateOptions, Translation};
use attentive_processes::Processes;
use serde::Serialize;

use super::teacher_forced_scores::TeacherForcedScores;

/// Options of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvaluateOptions {
    /// Options of the translation of the test set.
    pub translate: TranslateOptions,
    /// The BLEU variant.
    pub bleu: Bleu,
}

/// The result of [`evaluate`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// BLEU of the translations.
    pub bleu: Score,
    /// The brevity penalty of BLEU, at most 1: the factor by which BLEU is lower because the translations are
    /// shorter than the references.
    pub brevity_penalty: f64,
    /// The tokens of BLEU of the translations, divided by those of the references; 0 for blank references.
    pub length_ratio: f64,
    /// chrF2.
    pub chrf: Score,
    /// chrF2++, which also counts words.
    pub chrf_plus_plus: Score,
    /// Translation edit rate.
    pub ter: Score,
    /// Translations that equal the first reference.
    pub exact_match: Accuracy,
    /// exp of the average negative log-likelihood per token of the first reference, under teacher forcing.
    /// Like `token_accuracy`, it is measured on the pairs that are neither blank nor too long for the model;
    /// `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perplexity: Option<f64>,
    /// Share of the first reference's tokens that the model finds most likely, under teacher forcing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_accuracy: Option<f64>,
    /// Number of lines in the test set.
    pub sentences: usize,
    /// Number of translations that were cut off at the length limit.
    pub cut_off: usize,
    /// Time spent translating, in seconds.
    pub seconds: f64,
    /// The translations, line by line; not part of the report.
    #[serde(skip)]
    pub translations: Vec<String>,
}

/// Translates `src` and scores the translations. `references` holds at least one stream, each with one line
/// per source line. Scores use all streams; exact match, perplexity and token accuracy use the first. Each of
/// the `processes`, which must be given the same test set, translates a part of it.
///
/// # Errors
/// [`Error::Data`] for an empty test set, for missing streams or streams of different lengths, and if the
/// model's outputs are NaN or infinite; [`Error::Usage`] for invalid options.
pub fn evaluate(
    pipeline: &Pipeline,
    src: &[String],
    references: &[Vec<String>],
    options: &EvaluateOptions,
    processes: &Processes,
) -> Result<Evaluation> {
    let doing = "the test set was translated";
    let first = processes.agree(doing, check(src, references))?;
    let start = Instant::now();
    let share = &src[processes.share(src.len())];
    let found = pipeline.translate_lines(share, &options.translate.unscored());
    let cut_off = found.as_deref().map_or(0, count_cut_off);
    let best = |found: Vec<Translation>| found.into_iter().map(Translation::into_best).collect();
    let translations = processes.gather_lines(doing, found.map(best))?;
    let cut_off = processes.total(doing, cut_off as u64) as usize;
    let seconds = start.elapsed().as_secs_f64();
    let forced = processes.agree(doing, teacher_forcing(pipeline, src, first))?;
    let chrf_plus_plus = Chrf { word_order: 2, ..Chrf::default() };
    let statistics = options.bleu.statistics(&translations, references);
    Ok(Evaluation {
        bleu: options.bleu.score(&statistics, references.len()),
        brevity_penalty: statistics.brevity_penalty(),
        length_ratio: match statistics.reference_len {
            0 => 0.0,
            len => statistics.hypothesis_len as f64 / len as f64,
        },
        chrf: Chrf::default().corpus(&translations, references),
        chrf_plus_plus: chrf_plus_plus.corpus(&translations, references),
        ter: Ter::default().corpus(&translations, references),
        exact_match: exact_match(&translations, first),
        perplexity: forced.map(|forced| forced.perplexity()),
        token_accuracy: forced.map(|forced| forced.tokens.fraction()),
        sentences: src.len(),
        cut_off,
        seconds,
        translations,
    })
}

/// The number of lines whose best translation was cut off.
fn count_cut_off(found: &[Translation]) -> usize {
    let best = found.iter().filter_map(|one| one.hypotheses.first());
    best.filter(|one| one.is_cut_off()).count()
}

/// Refuses a test set that is empty, or whose streams differ in length. Returns the first stream of
/// references.
pub(crate) fn check<'a>(src: &[String], references: &'a [Vec<String>]) -> Result<&'a [String]> {
    let refuse = |problem: String, hint: &str| Err(Error::data(problem, hint));
    let Some(first) = references.first() else {
        return refuse("there are no references".into(), "provide at least one");
    };
    for (number, stream) in (1..).zip(references) {
        if stream.len() != src.len() {
            let sources = count(src.len(), "source sentence");
            let lines = count(stream.len(), "line");
            return refuse(
                format!("{sources}, but {lines} in reference {number}"),
                "line n of each reference must be a translation of line n of the source; blank lines count",
            );
        }
    }
    if src.is_empty() {
        return refuse("the test set is empty".into(), "provide at least one sentence and its reference");
    }
    Ok(first)
}

/// Teacher-forced loss and accuracy of the references.
pub(super) fn teacher_forcing(
    pipeline: &Pipeline,
    src: &[String],
    references: &[String],
) -> Result<Option<TeacherForcedScores>> {
    let pairs = encode(pipeline, src, references)?;
    if pairs.is_empty() {
        return Ok(None);
    }
    let batches = batches(pairs, pipeline.tokenizers().sides(), None)?;
    TeacherForcedScores::measure(pipeline, &batches).map(Some)
}

/// The pairs that fit into the model.
fn encode(pipeline: &Pipeline, src: &[String], references: &[String]) -> Result<Vec<Example>> {
    let usable = |text: &str| !text.trim().is_empty() && text.len() <= MAX_LINE_BYTES;
    let tokenizers = pipeline.tokenizers();
    let max_len = pipeline.architecture().max_len;
    let mut pairs = Vec::new();
    for (line, (src, tgt)) in (1..).zip(src.iter().zip(references)) {
        if !usable(src) || !usable(tgt) {
            continue;
        }
        let (src, tgt) = (tokenizers.src().encode(src)?, tokenizers.tgt().encode(tgt)?);
        let pair = Example::translation(src, &tgt, tokenizers.sides(), line);
        if pair.src_len().max(pair.tgt_len()) <= max_len {
            pairs.push(pair);
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::untrained;

    fn lines(text: &[&str]) -> Vec<String> {
        text.iter().map(|&line| line.into()).collect()
    }

    fn run(src: &[String], references: &[Vec<String>]) -> Result<Evaluation> {
        let pipeline = untrained();
        let options =
            EvaluateOptions { translate: (&pipeline.config().decode).into(), bleu: Bleu::default() };
        evaluate(pipeline, src, references, &options, &Processes::alone())
    }

    #[test]
    fn its_own_translations_are_perfect() {
        let src = lines(&["a dog runs over the field", "two cats", "", "the green field"]);
        let others = lines(&["x", "y", "z", "w"]);
        let first = run(&src, std::slice::from_ref(&others)).unwrap();
        assert!(first.exact_match.correct < 2 && first.bleu.value < 50.0);
        let again = run(&src, &[others, first.translations.clone()]).unwrap();
        assert_eq!(again.exact_match, first.exact_match);
        assert!((again.bleu.value - 100.0).abs() < 1e-9 && again.ter.value == 0.0);
        assert!(again.bleu.signature.starts_with("nrefs:2"));
        let own = run(&src, std::slice::from_ref(&first.translations)).unwrap();
        assert_eq!((own.exact_match.correct, own.sentences), (4, 4));
        let json = serde_json::to_value(&own).unwrap();
        assert_eq!(json["exact_match"]["total"], 4);
        assert!(json.get("translations").is_none());
    }

    #[test]
    fn perplexity_equals_that_of_separate_pairs() {
        let src = lines(&["a dog", "two cats and a dog", "", "the field", &"cats ".repeat(99)]);
        let tgt = lines(&["a dog runs", "two cats", "a", " ", "the green field"]);
        let usable: Vec<Evaluation> =
            (0..2).map(|i| run(&src[i..=i], &[tgt[i..=i].to_vec()]).unwrap()).collect();
        let together = run(&src, std::slice::from_ref(&tgt)).unwrap();
        // The references have 3 and 2 words, plus `</s>`.
        let mean = |of: fn(&Evaluation) -> f64| (4.0 * of(&usable[0]) + 3.0 * of(&usable[1])) / 7.0;
        let nll = mean(|e| e.perplexity.unwrap().ln());
        assert!((together.perplexity.unwrap().ln() - nll).abs() < 1e-6);
        let accuracy = mean(|e| e.token_accuracy.unwrap());
        assert!((together.token_accuracy.unwrap() - accuracy).abs() < 1e-12);
        assert!(together.perplexity.unwrap() > 1.0);
        assert_eq!(run(&src[2..], &[tgt[2..].to_vec()]).unwrap().perplexity, None);
    }

    #[test]
    fn translations_that_were_cut_off_are_counted() {
        let pipeline = untrained();
        let src = lines(&["a dog runs over the field", "", "two cats"]);
        let count = |limit: usize| {
            let mut translate: TranslateOptions = (&pipeline.config().decode).into();
            translate.search.max_new_tokens = limit;
            let found = pipeline.translate_lines(&src, &translate).unwrap();
            let cut = |one: &&Translation| {
                let best = &one.hypotheses[0];
                !best.finished && !best.text.is_empty()
            };
            let expected = found.iter().filter(cut).count();
            let options = EvaluateOptions { translate, bleu: Bleu::default() };
            let references = [lines(&["x", "y", "z"])];
            let found = evaluate(pipeline, &src, &references, &options, &Processes::alone());
            assert_eq!(found.unwrap().cut_off, expected);
            expected
        };
        assert_eq!(count(1), 2);
        count(usize::MAX);
    }

    #[test]
    fn mismatched_references_are_refused() {
        let two = lines(&["a", "dog"]);
        for (src, references) in
            [(&two, vec![]), (&two, vec![two.clone(), lines(&["a"])]), (&vec![], vec![vec![]])]
        {
            let error = run(src, &references).unwrap_err();
            assert!(error.hint().is_some(), "{error}");
        }
        let error = run(&two, &[two.clone(), lines(&["a"])]).unwrap_err();
        assert_eq!(error.to_string(), "2 source sentences, but 1 line in reference 2");
    }
}
