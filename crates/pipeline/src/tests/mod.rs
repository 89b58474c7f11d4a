mod alignments;
mod constraints;
mod ensembles;
mod inspect;
mod labels;
mod profile;
mod rescore;
mod tokens;

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use attentive_base::interrupt::Interrupt;
use attentive_base::random::Random;
use attentive_config::{EarlyStopping, Family, TokenizerKind, Units};
use attentive_decode::Strategy;
use attentive_kernels::threads::Threads;
use attentive_oracle::PLAIN;
use attentive_samples::{Sample, WORDS};
use attentive_text::{self as text, Masks};

use super::tokenized_line::TokenizedLine;
use super::translate::{longest_first, workers};
use super::*;

/// The model of `sample`, ready for use.
pub(crate) fn pipeline(sample: Sample) -> Pipeline {
    Pipeline::from_parts(sample.config, sample.tokenizers, sample.model)
}

/// A tiny untrained translation model.
pub(crate) fn untrained() -> &'static Pipeline {
    static PIPELINE: OnceLock<Pipeline> = OnceLock::new();
    PIPELINE.get_or_init(|| of(Family::Transformer))
}

/// See [`Sample::of`].
pub(crate) fn of(family: Family) -> Pipeline {
    pipeline(Sample::of(family))
}

/// See [`Sample::with`].
pub(crate) fn with(changes: &str) -> Pipeline {
    pipeline(Sample::with(changes))
}

/// A recurrent model that translates, with this attention.
pub(crate) fn recurrent(attention: &str) -> Pipeline {
    let keys = "family = 'seq2seq', init = 'pytorch'";
    with(&format!("{keys}, recurrent = {{ attention = '{attention}' }}"))
}

/// See [`Sample::small_language_model`].
pub(crate) fn untrained_language_model(kind: TokenizerKind, units: Units) -> Pipeline {
    pipeline(Sample::small_language_model(kind, units))
}

fn sentence(random: &mut Random) -> String {
    let words: Vec<&str> = (0..1 + random.below(15)).map(|_| *random.choose(&WORDS)).collect();
    words.join(" ")
}

fn options(pipeline: &Pipeline, batch_size: usize) -> TranslateOptions {
    TranslateOptions {
        batch_size: NonZeroUsize::new(batch_size),
        ..TranslateOptions::from(&pipeline.config.decode)
    }
}

#[test]
fn a_translation_does_not_depend_on_its_batch() {
    a_translation_depends_on_its_line_alone(untrained());
    for attention in ["none", "additive", "dot", "general"] {
        a_translation_depends_on_its_line_alone(&recurrent(attention));
    }
}

#[test]
fn a_damaged_model_translates_nothing() {
    let damaged = pipeline(Sample::of(Family::Transformer).damaged("src.embedding.weight", 0));
    let error = damaged.translate(&["", "a dog runs"]).unwrap_err();
    assert!(error.to_string().contains("NaN or infinite"), "{error}");
    assert_eq!(damaged.translate(&[""]).unwrap(), [""]);
}

fn a_translation_depends_on_its_line_alone(pipeline: &Pipeline) {
    let mut random = Random::new(5, 0);
    let mut lines: Vec<(usize, String)> = (0..40).map(|i| (i, sentence(&mut random))).collect();
    lines[3].1.clear();
    lines[9].1 = " \t ".into();
    for beam_width in [1, 4] {
        let mut options = options(pipeline, 1);
        options.search.strategy = Strategy::beam(beam_width, 1, EarlyStopping::Never);
        let text: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
        let expected = pipeline.translate_lines(&text, &options).unwrap();
        // Scores are compared exactly; they differ between lines.
        let mut scores: Vec<u64> =
            expected.iter().map(|translation| translation.hypotheses[0].log_prob.to_bits()).collect();
        scores.sort_unstable();
        scores.dedup();
        assert!(scores.len() > 25, "{}", scores.len());
        for batch_size in [7, 64] {
            options.batch_size = NonZeroUsize::new(batch_size);
            let mut shuffled = lines.clone();
            random.shuffle(&mut shuffled);
            let text: Vec<&str> = shuffled.iter().map(|(_, line)| line.as_str()).collect();
            let translations = pipeline.translate_lines(&text, &options).unwrap();
            for ((line, _), translation) in shuffled.iter().zip(translations) {
                assert_eq!(translation.hypotheses, expected[*line].hypotheses);
            }
        }
    }
}

#[test]
fn blank_lines_stay_empty() {
    let translations = untrained().translate(&["", "  ", "\u{a0}\t", "a dog"]).unwrap();
    assert_eq!(translations[..3], ["", "", ""]);
    assert_eq!(untrained().translate::<&str>(&[]).unwrap(), [""; 0]);
}

#[test]
fn the_n_best_come_in_order() {
    let pipeline = untrained();
    let mut options = options(pipeline, 4);
    options.search.strategy = Strategy::beam(3, 3, EarlyStopping::Never);
    let translations = pipeline.translate_lines(&["two cats", "", "a dog barks"], &options).unwrap();
    for number in [0, 2] {
        let candidates = &translations[number].hypotheses;
        assert_eq!(candidates.len(), 3);
        for pair in candidates.windows(2) {
            assert!(pair[0].score >= pair[1].score || pair[0].finished && !pair[1].finished);
            assert_ne!(pair[0].tokens, pair[1].tokens);
        }
    }
    assert_eq!(translations[1].hypotheses, [Candidate::default()]);
}

/// Hypotheses with the same text count once, and a wider beam finds others; if there are none, a warning says
/// so.
#[test]
fn the_n_best_are_as_many_as_there_are() {
    let pipeline = untrained();
    let mut options = options(pipeline, 4);
    for (limit, n_best) in [(1, 4), (1, 400), (2, 60), (3, 30)] {
        options.search.max_new_tokens = limit;
        options.search.strategy = Strategy::beam(n_best, n_best, EarlyStopping::Never);
        let mut found = pipeline.translate_lines(&["two cats"], &options).unwrap().remove(0);
        found.add_warnings(&options);
        let mut texts: Vec<&str> = found.hypotheses.iter().map(|one| one.text.as_str()).collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), found.hypotheses.len());
        let warned = format!("only {} of {n_best} translations: ", texts.len());
        let is_warned = found.warnings.iter().any(|warning| warning.problem.contains(&warned));
        assert_eq!(is_warned, texts.len() < n_best, "{limit} {n_best}: {found:?}");
        // One token gives as many texts as there are tokens.
        assert_eq!(is_warned, n_best == 400, "{limit} {n_best}: {}", texts.len());
    }
}

#[test]
fn lines_that_cannot_be_read_literally_cause_a_warning() {
    let pipeline = untrained();
    let huge = "a dog runs ".repeat(100_000);
    let unbroken = "ä".repeat(500_000);
    let lines = ["a dog", &huge, "a\0 dog\u{7}", &unbroken, "\u{1}\u{2}", "two\ncats"];
    let options = options(pipeline, 64);
    let translations = pipeline.translate_lines_from(101, &lines, &options).unwrap();
    let warnings: Vec<String> = translations
        .iter()
        .flat_map(|translation| translation.warnings.iter().map(Warning::to_string))
        .collect();
    let of_model = "line 102: too long for the model, only the first 23 of";
    assert!(warnings[1].starts_with(of_model), "{warnings:?}");
    let others = [&warnings[..1], &warnings[2..]].concat();
    assert_eq!(
        others,
        [
            "line 102: too long, only 100000 of 1099999 bytes were read",
            "line 103: 2 control characters were read as blanks",
            "line 104: too long, only 100000 of 1000000 bytes were read",
            "line 104: not in the model's vocabulary, so the result may lack it or have something else in \
             its place: `ääääääääääääääääääää…`",
            "line 105: 2 control characters were read as blanks",
        ]
    );
    assert_eq!(translations[2].hypotheses, translations[0].hypotheses);
    assert_eq!(translations[4].hypotheses, [Candidate::default()]);
    for translation in &translations {
        assert!(translation.hypotheses[0].tokens.len() <= 24);
    }
}

#[test]
fn a_source_is_limited_by_the_model() {
    let pipeline = untrained();
    let read = |words: usize| TokenizedLine::read(&"cats ".repeat(words), pipeline).unwrap();
    let eos = pipeline.tokenizers.src().special().eos;
    let (fits, cut) = (read(23), read(24));
    assert_eq!((fits.ids.len(), fits.ids.last()), (24, Some(&eos)));
    assert_eq!(fits.warnings, []);
    assert_eq!(cut.ids, fits.ids);
    assert_eq!(cut.warnings.len(), 1);
}

#[test]
fn lines_are_decoded_by_length() {
    let mut random = Random::new(2, 0);
    let lens: Vec<usize> = (0..1000).map(|_| random.below(600)).collect();
    let mut order = longest_first(lens.iter().copied());
    let len = |line: usize| lens[line];
    assert!(order.is_sorted_by(|&a, &b| len(a) >= len(b)));
    order.sort_unstable();
    let real: Vec<usize> = (0..1000).filter(|&line| len(line) > 0).collect();
    assert_eq!(order, real);
}

#[test]
fn no_search_is_without_a_sentence() {
    const SMALL: usize = 1 << 20;
    const LARGE: usize = 1 << 30;
    for (threads, at_once, weight_bytes, expected) in [
        (1, 64, SMALL, 1),
        (1, 64, LARGE, 1),
        (8, 1, SMALL, 1),
        (8, 1, LARGE, 1),
        (8, 7, SMALL, 7),
        (8, 7, LARGE, 1),
        (8, 31, SMALL, 8),
        (8, 31, LARGE, 7),
        (8, 32, LARGE, 8),
        (8, 64, SMALL, 8),
        (8, 64, LARGE, 8),
    ] {
        assert_eq!(workers(threads, at_once, weight_bytes), expected, "{threads} {at_once} {weight_bytes}");
    }
}

#[test]
fn the_number_of_threads_decides_how_many_sentences_are_translated_together() {
    let pipeline = untrained();
    let sizes = || [0, 7].map(|given| pipeline.batch_size(&options(pipeline, given)));
    assert_eq!(sizes(), [16 * Threads::current().count(), 7]);
    assert_eq!(Threads::alone(sizes), [16, 7]);
    let on_device = of(Family::Transformer).on_device(&PLAIN).unwrap();
    assert_eq!(on_device.batch_size(&options(pipeline, 0)), 256);
}

#[test]
fn impossible_options_are_refused() {
    let pipeline = untrained();
    let mut wrong = options(pipeline, 1);
    wrong.search.strategy = Strategy::beam(3, 9, EarlyStopping::Never);
    let error = pipeline.translate_lines(&["a dog"], &wrong).unwrap_err();
    assert_eq!(error.exit_code(), 2, "{error}");
}

#[test]
fn a_request_to_stop_ends_each_task() {
    let stopped = Interrupt::none();
    stopped.request(2);
    let (translator, lines) = (untrained(), ["a dog runs", "two cats"]);
    let batched = options(translator, 2);
    let alone = TranslateOptions { batch_size: NonZeroUsize::new(1), ..batched };
    let writer = untrained_language_model(TokenizerKind::Char, Units::Stream);
    let prompt = writer.prompt("Hund").unwrap();
    let refused = |result: Result<()>| {
        let error = result.unwrap_err();
        assert_eq!(error.exit_code(), 130, "{error}");
    };
    stopped.during(|| {
        refused(translator.translate_lines(&lines, &batched).map(drop));
        refused(translator.translate_lines(&lines, &alone).map(drop));
        refused(translator.embed(1, &lines).map(drop));
        refused(translator.rescore(1, &lines, &lines).map(drop));
        refused(of(Family::Tagger).tag(1, &lines).map(drop));
        refused(of(Family::Classifier).classify(1, &lines, 1).map(drop));
    });
    let asked = Interrupt::none();
    let mut pieces = 0;
    let mut on_text = |_: &str| {
        pieces += 1;
        asked.request(2);
        Ok(())
    };
    let written = asked.during(|| writer.generate(&prompt, &GenerateOptions::default(), &mut on_text));
    refused(written.map(drop));
    assert_eq!(pieces, 1);
}
