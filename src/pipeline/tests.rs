use std::sync::OnceLock;

use super::source::Source;
use super::translate::{MAX_BATCH_POSITIONS, batches};
use super::*;
use crate::config::{Family, TokenizerConfig, TokenizerKind, Units};
use crate::random::Random;
use crate::text::{self, Masks};

const WORDS: [&str; 12] = [
    "a", "dog", "runs", "over", "the", "green", "field", "and", "barks", "at", "two", "cats",
];

const TAGS: [&str; 3] = ["NOUN", "VERB", "OTHER"];

/// A tiny model that never learned anything.
pub(crate) fn untrained() -> &'static Pipeline {
    static PIPELINE: OnceLock<Pipeline> = OnceLock::new();
    PIPELINE.get_or_init(|| of(Family::Transformer, 0))
}

/// The same of a family, over vectors of `d_input` numbers if that is not 0.
pub(crate) fn of(family: Family, d_input: usize) -> Pipeline {
    let mut config = Config {
        tokenizer: TokenizerConfig {
            kind: TokenizerKind::Word,
            vocab_size: 17,
            min_frequency: 1,
            ..TokenizerConfig::default()
        },
        ..Config::default()
    };
    config.model.family = family;
    config.model.d_model = 16;
    config.model.d_ff = 32;
    config.model.n_heads = 2;
    config.model.n_encoder_layers = 1;
    config.model.n_decoder_layers = 2;
    config.model.max_len = 24;
    config.model.recurrent.d_hidden = 16;
    config.model.recurrent.d_input = d_input;
    config.decode.beam_width = 3;
    let (tokenizer, words, tags) = (&config.tokenizer, [WORDS.join(" ")], [TAGS.join(" ")]);
    let tokenizers = match (family.task(), d_input) {
        (Task::Tag, 0) => text::learn_tagged(tokenizer, &words, &tags),
        (Task::Tag, _) => text::learn_tagged(tokenizer, &[], &tags),
        (Task::Fill, _) => text::learn(tokenizer, Masks::With, &[], &words),
        _ => text::learn(tokenizer, Masks::Without, &words, &words),
    }
    .unwrap();
    let (src, tgt) = (tokenizers.src().vocab_size(), tokenizers.tgt().vocab_size());
    let model = Model::new(&config.model, src, tgt, 7, &device::cpu());
    Pipeline::from_parts(config, tokenizers, model)
}

/// What [`untrained_language_model`] has its vocabulary from.
pub(crate) const TEXT: &str = "Ein Hund rennt\nüber das grüne Feld\nund bellt zwei Katzen an.\n";

/// A tiny causal language model that never learned anything, of a context of 24 tokens.
pub(crate) fn untrained_language_model(kind: TokenizerKind, units: Units) -> Pipeline {
    let mut config = Config {
        tokenizer: TokenizerConfig {
            kind,
            vocab_size: 60,
            min_frequency: 1,
            ..TokenizerConfig::default()
        },
        ..Config::default()
    };
    config.data.units = units;
    config.model.family = Family::DecoderOnly;
    config.model.d_model = 16;
    config.model.d_ff = 32;
    config.model.n_heads = 2;
    config.model.n_decoder_layers = 2;
    config.model.max_len = 24;
    let corpus = match units {
        Units::Lines => TEXT.lines().map(str::to_owned).collect(),
        Units::Stream => vec![TEXT.to_owned()],
    };
    let tokenizers = text::learn(&config.tokenizer, Masks::Without, &[], &corpus).unwrap();
    let vocab = tokenizers.tgt().vocab_size();
    let model = Model::new(&config.model, vocab, vocab, 7, &device::cpu());
    Pipeline::from_parts(config, tokenizers, model)
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

/// Lines of all lengths, some blank and one longer than the model takes.
fn lines(random: &mut Random) -> Vec<String> {
    let mut lines: Vec<String> = (0..40).map(|_| sentence(random)).collect();
    lines[4] = String::new();
    lines[7] = " \t".into();
    lines[20] = "a dog unheard of ".repeat(8);
    lines
}

#[test]
fn tags_do_not_depend_on_the_batch_and_are_as_many_as_tokens() {
    let pipeline = of(Family::Tagger, 0);
    let lines = lines(&mut Random::new(1, 0));
    let together = pipeline.tag(&lines).unwrap();
    for (line, tags) in lines.iter().zip(&together) {
        assert_eq!(tags.len(), line.split_whitespace().count(), "{line}");
        assert!(tags.iter().all(|tag| TAGS.contains(&tag.as_str())));
        assert_eq!(pipeline.tag(&[line]).unwrap()[0], *tags);
    }
    let mut seen: Vec<&String> = together.iter().flatten().collect();
    seen.sort();
    seen.dedup();
    assert!(seen.len() > 1, "always {seen:?}");
    // What looks like special tokens is a token like any other.
    assert_eq!(pipeline.tag(&["<s> a<unk>b \u{b4}"]).unwrap()[0].len(), 3);
}

#[test]
fn vectors_are_tagged_alone_as_in_a_batch() {
    let pipeline = of(Family::Tagger, 3);
    let mut random = Random::new(2, 0);
    let mut vectors = |n: usize| -> Vec<f32> {
        let numbers = std::iter::repeat_with(|| random.normal() as f32);
        numbers.take(n * 3).collect()
    };
    let sequences: Vec<Vec<f32>> = [5, 0, 24, 1, 60, 7].into_iter().map(&mut vectors).collect();
    let together = pipeline.tag_vectors(&sequences).unwrap();
    for (sequence, tags) in sequences.iter().zip(&together) {
        assert_eq!(tags.len() * 3, sequence.len());
        let alone = pipeline
            .tag_vectors(std::slice::from_ref(sequence))
            .unwrap();
        assert_eq!(alone[0], *tags);
    }
    for wrong in [vec![1.0; 4], vec![0.0, f32::NAN, 1.0]] {
        let error = pipeline.tag_vectors(&[vec![1.0; 3], wrong]).unwrap_err();
        assert!(
            error.to_string().starts_with("sequence 2 is not made of"),
            "{error}"
        );
    }
    assert_eq!(pipeline.tag(&["a dog"]).unwrap_err().exit_code(), 2);
    let tokens = of(Family::Tagger, 0);
    assert_eq!(tokens.tag_vectors(&sequences).unwrap_err().exit_code(), 2);
}

#[test]
fn vectors_of_texts_do_not_depend_on_the_batch() {
    let lines = lines(&mut Random::new(3, 0));
    for family in [Family::EncoderOnly, Family::Transformer, Family::Seq2seq] {
        let pipeline = of(family, 0);
        let together = pipeline.embed(11, &lines).unwrap();
        for (number, (line, embedded)) in lines.iter().zip(&together).enumerate() {
            let alone = pipeline.embed(11 + number, &[line]).unwrap();
            assert_eq!(alone[0], *embedded, "{family:?}");
            assert_eq!(embedded.vector.is_none(), line.trim().is_empty());
            let vector = embedded.vector.iter().flatten();
            assert!(vector.clone().all(|x| x.is_finite()));
            assert!(embedded.vector.is_none() || vector.count() == 16);
        }
        let warnings = together
            .iter()
            .filter_map(|embedded| embedded.warning.as_ref());
        let lines: Vec<usize> = warnings.map(|warning| warning.line).collect();
        assert_eq!(lines, [31]);
    }
    for family in [Family::DecoderOnly, Family::Tagger] {
        let error = of(family, 0).embed(1, &["a"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }
}

#[test]
fn the_vector_of_a_text_is_the_mean_over_its_tokens() {
    let pipeline = of(Family::EncoderOnly, 0);
    let mut ids = pipeline.tokenizers.tgt().encode("two cats").unwrap();
    ids.push(pipeline.tokenizers.tgt().special().eos);
    let tokens = crate::batch::Padded::new(&[ids], 0);
    let encoded = pipeline
        .model
        .encode(&tokens, &crate::nn::Pass::inference());
    let mean = encoded.slice([0..2, 0..16]).mean_dim(0);
    let mean: Vec<f32> = mean.into_data().try_into_vec().unwrap();
    let found = pipeline.embed(1, &["two cats"]).unwrap()[0].vector.clone();
    for (found, mean) in found.unwrap().iter().zip(mean) {
        assert!((found - mean).abs() < 1e-6);
    }
}

#[test]
fn each_gap_has_its_likeliest_tokens() {
    let pipeline = of(Family::EncoderOnly, 0);
    let filled = pipeline.fill("a <mask> runs <mask>", 3).unwrap();
    assert_eq!(filled.gaps.len(), 2);
    for gap in &filled.gaps {
        assert_eq!(gap.len(), 3);
        assert!(gap.iter().all(|guess| WORDS.contains(&guess.text.as_str())));
        let falling = gap
            .windows(2)
            .all(|pair| pair[0].probability >= pair[1].probability);
        assert!(falling, "{gap:?}");
    }
    let best: Vec<&str> = filled.gaps.iter().map(|gap| gap[0].text.as_str()).collect();
    assert_eq!(filled.text, format!("a {} runs {}", best[0], best[1]));
    // All that may be guessed, and it has less than the whole probability, as special tokens keep their share.
    let all = &pipeline.fill("a <mask>", 1000).unwrap().gaps[0];
    assert_eq!(all.len(), WORDS.len());
    let sum: f64 = all.iter().map(|guess| guess.probability).sum();
    assert!(sum > 0.3 && sum < 1.0, "{sum}");
}

#[test]
fn gaps_that_cannot_be_filled_are_refused() {
    let pipeline = of(Family::EncoderOnly, 0);
    let long = format!("{}<mask>", "a ".repeat(23));
    for (text, count, problem) in [
        ("a dog", 1, "there is no `<mask>` in the text"),
        ("", 1, "there is no `<mask>` in the text"),
        ("<mask>", 0, "0 guesses"),
        (
            &*long,
            1,
            "the text has 25 tokens with `</s>`, and the model takes 24",
        ),
    ] {
        let error = pipeline.fill(text, count).unwrap_err();
        assert_eq!((error.exit_code(), error.hint().is_some()), (2, true));
        assert!(error.to_string().starts_with(problem), "{error}");
    }
    assert_eq!(untrained().fill("<mask>", 1).unwrap_err().exit_code(), 2);
    assert_eq!(untrained().tag(&["a"]).unwrap_err().exit_code(), 2);
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
