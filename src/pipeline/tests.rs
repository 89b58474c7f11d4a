use std::sync::OnceLock;

use super::source::Source;
use super::translate::{MAX_BATCH_POSITIONS, batches};
use super::*;
use crate::config::{TokenizerConfig, TokenizerKind};
use crate::random::Random;
use crate::text::{self, Masks};

const WORDS: [&str; 12] = [
    "a", "dog", "runs", "over", "the", "green", "field", "and", "barks", "at", "two", "cats",
];

/// A tiny model that never learned anything.
pub(crate) fn untrained() -> &'static Pipeline {
    static PIPELINE: OnceLock<Pipeline> = OnceLock::new();
    PIPELINE.get_or_init(|| {
        let mut config = Config {
            tokenizer: TokenizerConfig {
                kind: TokenizerKind::Word,
                vocab_size: 16,
                min_frequency: 1,
                ..TokenizerConfig::default()
            },
            ..Config::default()
        };
        config.model.d_model = 16;
        config.model.d_ff = 32;
        config.model.n_heads = 2;
        config.model.n_encoder_layers = 1;
        config.model.n_decoder_layers = 2;
        config.model.max_len = 24;
        config.decode.beam_width = 3;
        let corpus = vec![WORDS.join(" ")];
        let tokenizers = text::learn(&config.tokenizer, Masks::Without, &corpus, &corpus).unwrap();
        let vocab = tokenizers.src().vocab_size();
        assert_eq!(vocab, 16);
        let model = Model::new(&config.model, vocab, vocab, 7, &device::cpu());
        Pipeline::from_parts(config, tokenizers, model)
    })
}

fn sentence(random: &mut Random) -> String {
    let words: Vec<&str> = (0..1 + random.below(15))
        .map(|_| *random.choose(&WORDS))
        .collect();
    words.join(" ")
}

fn options(pipeline: &Pipeline, batch_size: usize) -> TranslateOptions {
    TranslateOptions {
        batch_size,
        ..TranslateOptions::from(&pipeline.config.decode)
    }
}

#[test]
fn a_translation_does_not_depend_on_its_batch() {
    let pipeline = untrained();
    let mut random = Random::new(5, 0);
    let mut lines: Vec<(usize, String)> = (0..40).map(|i| (i, sentence(&mut random))).collect();
    lines[3].1.clear();
    lines[9].1 = " \t ".into();
    for beam_width in [1, 4] {
        let mut options = options(pipeline, 1);
        options.search.beam_width = beam_width;
        let text: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
        let expected = pipeline.translate_with(&text, &options).unwrap();
        assert!(
            expected
                .iter()
                .filter(|t| t.hypotheses[0].text.is_empty())
                .count()
                < 20
        );
        for batch_size in [7, 64] {
            options.batch_size = batch_size;
            let mut shuffled = lines.clone();
            random.shuffle(&mut shuffled);
            let text: Vec<&str> = shuffled.iter().map(|(_, line)| line.as_str()).collect();
            let translations = pipeline.translate_with(&text, &options).unwrap();
            for ((line, _), translation) in shuffled.iter().zip(translations) {
                assert_eq!(translation, expected[*line]);
            }
        }
    }
}

#[test]
fn blank_lines_stay_empty() {
    let translations = untrained()
        .translate(&["", "  ", "\u{a0}\t", "a dog"])
        .unwrap();
    assert_eq!(translations[..3], ["", "", ""]);
    assert_eq!(untrained().translate::<&str>(&[]).unwrap(), [""; 0]);
}

#[test]
fn the_n_best_come_in_order() {
    let pipeline = untrained();
    let mut options = options(pipeline, 4);
    options.search.n_best = 3;
    let translations = pipeline
        .translate_with(&["two cats", "", "a dog barks"], &options)
        .unwrap();
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

#[test]
fn lines_that_cannot_be_read_as_they_stand_come_with_a_warning() {
    let pipeline = untrained();
    let huge = "a dog runs ".repeat(100_000);
    let unbroken = "ä".repeat(500_000);
    let lines = [
        "a dog",
        &huge,
        "a\0 dog\u{7}",
        &unbroken,
        "\u{1}\u{2}",
        "two\ncats",
    ];
    let options = options(pipeline, 64);
    let translations = pipeline.translate_from(101, &lines, &options).unwrap();
    let warnings: Vec<String> = translations
        .iter()
        .filter_map(|translation| translation.warning.as_ref().map(Warning::to_string))
        .collect();
    assert_eq!(warnings.len(), 4, "{warnings:?}");
    assert!(warnings[0].starts_with("line 102: too long, only 100000 of 1099999 bytes were read; too long for the model, only the first 23 of"), "{warnings:?}");
    assert_eq!(
        warnings[1],
        "line 103: 2 control characters were read as blanks"
    );
    assert_eq!(
        warnings[2],
        "line 104: too long, only 100000 of 1000000 bytes were read"
    );
    assert_eq!(
        warnings[3],
        "line 105: 2 control characters were read as blanks"
    );
    assert_eq!(translations[2].hypotheses, translations[0].hypotheses);
    assert_eq!(translations[4].hypotheses, [Candidate::default()]);
    for translation in &translations {
        assert!(translation.hypotheses[0].tokens.len() <= 24);
    }
}

#[test]
fn a_source_keeps_to_the_model() {
    let pipeline = untrained();
    let read = |words: usize| Source::read(&"cats ".repeat(words), 1, pipeline).unwrap();
    let eos = pipeline.tokenizers.src().special().eos;
    let (fits, cut) = (read(23), read(24));
    assert_eq!((fits.ids.len(), fits.ids.last()), (24, Some(&eos)));
    assert_eq!(fits.warning, None);
    assert_eq!(cut.ids, fits.ids);
    assert!(cut.warning.is_some());
}

#[test]
fn batches_are_bounded_and_complete() {
    let mut random = Random::new(2, 0);
    let source = |len: usize| Source {
        ids: vec![4; len],
        warning: None,
    };
    let sources: Vec<Source> = (0..1000).map(|_| source(random.below(600))).collect();
    let options = options(untrained(), 64);
    let cut = batches(&sources, &options);
    let mut seen: Vec<usize> = Vec::new();
    for batch in &cut {
        let longest = sources[batch[0]].ids.len();
        assert!(batch.len() <= 64 && batch.len() * longest * 3 <= MAX_BATCH_POSITIONS);
        assert!(batch.iter().all(|&line| sources[line].ids.len() <= longest));
        seen.extend(batch);
    }
    seen.sort_unstable();
    let real: Vec<usize> = (0..1000)
        .filter(|&line| !sources[line].ids.is_empty())
        .collect();
    assert_eq!(seen, real);
    // One sentence goes through, however long it is.
    let giant = [source(MAX_BATCH_POSITIONS * 2)];
    assert_eq!(batches(&giant, &options), [[0]]);
}

#[test]
fn impossible_options_are_refused() {
    let pipeline = untrained();
    let mut wrong = options(pipeline, 1);
    wrong.search.n_best = 9;
    for wrong in [wrong, options(pipeline, 0)] {
        let error = pipeline.translate_with(&["a dog"], &wrong).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{error}");
    }
}

#[test]
fn an_inspection_shows_what_search_found() {
    let pipeline = untrained();
    let sentence = "a dog runs over the green field";
    let inspection = pipeline.inspect(sentence, None).unwrap();
    let mut best = pipeline
        .translate_with(&[sentence], &options(pipeline, 1))
        .unwrap();
    let best = best.remove(0).hypotheses.remove(0);
    let text = pipeline.tokenizers().tgt().decode(&best.tokens);
    assert_eq!(inspection.tgt[1..].join(" "), text);
    assert_eq!(inspection.src.join(" "), format!("{sentence} </s>"));
    // Teacher forcing gives the tokens the probabilities that search saw.
    let seen = inspection
        .written
        .iter()
        .take(best.tokens.len() + usize::from(best.finished));
    let log_prob: f64 = seen.map(|written| written.probability.ln()).sum();
    assert!(
        (log_prob - best.log_prob).abs() < 1e-3,
        "{log_prob} {}",
        best.log_prob
    );
    let shapes: Vec<(&str, [usize; 4])> = inspection
        .maps
        .iter()
        .map(|map| (map.name.as_str(), map.weights.dims()))
        .collect();
    let tgt = inspection.tgt.len();
    assert_eq!(
        shapes,
        [
            ("encoder.layers.0.self_attention", [1, 2, 8, 8]),
            ("decoder.layers.0.self_attention", [1, 2, tgt, tgt]),
            ("decoder.layers.0.memory_attention", [1, 2, tgt, 8]),
            ("decoder.layers.1.self_attention", [1, 2, tgt, tgt]),
            ("decoder.layers.1.memory_attention", [1, 2, tgt, 8]),
        ]
    );
}

#[test]
fn an_inspection_takes_any_target() {
    let pipeline = untrained();
    let inspect = |target: &str| pipeline.inspect("two cats", Some(target)).unwrap();
    assert_eq!(inspect("a  dog\u{7}").tgt, ["<s>", "a", "dog"]);
    assert_eq!(inspect("a  dog\u{7}").warnings.len(), 1);
    assert_eq!(inspect("  ").written[0].token, "</s>");
    assert_eq!(inspect(&"cats ".repeat(99)).tgt.len(), 24);
    for blank in ["", " \t", "\u{1}"] {
        assert_eq!(
            pipeline
                .inspect(blank, Some("a dog"))
                .unwrap_err()
                .exit_code(),
            2
        );
    }
}
