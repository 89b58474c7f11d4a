//! Constraints on translations.

use attentive_decode::{Sampling, SearchOptions};

use super::*;

fn request(src: &str, prefix: &str, phrases: &[&str]) -> Request {
    Request {
        src: src.into(),
        constraints: Arc::new(TranslationConstraints {
            prefix: Prefix::Text(prefix.into()),
            phrases: phrases.iter().map(|&phrase| phrase.into()).collect(),
        }),
        position: None,
    }
}

fn best(pipeline: &Pipeline, request: Request) -> (Candidate, Vec<String>) {
    let options = options(pipeline, 8);
    let mut found = pipeline.translate_requests(1, &[request], &options.guided()).unwrap();
    let Translation { mut hypotheses, warnings } = found.remove(0);
    let warnings = warnings.iter().map(Warning::to_string).collect();
    (hypotheses.remove(0), warnings)
}

#[test]
fn translations_begin_and_contain_what_they_must() {
    for pipeline in [untrained(), &of(Family::Seq2seq)] {
        let src = "the dog barks at two cats";
        let free = pipeline.translate(&[src]).unwrap().remove(0);
        assert!(!free.starts_with("over the"), "{free}");
        let (found, warnings) = best(pipeline, request(src, "over the", &["two green", " field "]));
        assert!(found.text.starts_with("over the"), "{found:?}");
        assert!(found.text.contains("two green") && found.text.contains("field"));
        assert!(warnings.is_empty() && found.unmet.is_empty());
        let scored = pipeline.rescore(1, &[src], &[found.text.as_str()]).unwrap();
        let scored = &scored[0].token_log_probs;
        for (found, scored) in found.token_log_probs.iter().zip(scored) {
            assert!((f64::from(*found) - scored).abs() < 1e-3);
        }
    }
}

#[test]
fn what_lines_share_is_read_once() {
    let pipeline = untrained();
    let shared = request("a dog", "over", &["two", "two ", "\u{7}field"]);
    let requests: Vec<Request> =
        ["a dog", "", "two cats"].map(|src| Request { src: src.into(), ..shared.clone() }).into();
    let search = options(pipeline, 1).search;
    let prepared = pipeline.prepare(1, &requests, &search).unwrap();
    assert!(Arc::ptr_eq(&prepared[0].required, &prepared[2].required));
    assert_eq!(prepared[0].required.constraints.len(), 2, "equal phrases are one");
    let warnings = |line: usize| prepared[line].source.warnings[0].to_string();
    assert_eq!(warnings(0), "line 1: 1 control character was read as a blank");
    assert!(warnings(1).contains("blank, so its prefix"));
    // A line with other constraints is not affected.
    let mut requests = requests;
    requests[1] = request("a dog", "x", &[]);
    let error = pipeline.prepare(7, &requests, &search).unwrap_err();
    assert!(error.to_string().starts_with("line 8: "), "{error}");
}

#[test]
fn demands_that_nothing_can_meet_are_refused_by_line() {
    let pipeline = untrained();
    let long = "cats ".repeat(30);
    let cases = [
        (request("a dog", &long, &[]), "the prefix is too long: it has 30 tokens"),
        (request("a dog", "x", &[]), "the prefix `x` cannot be written"),
    ];
    for (wrong, words) in cases {
        let requests = [request("a dog", "two", &[]), wrong];
        let error = pipeline.translate_requests(40, &requests, &options(pipeline, 1).guided());
        let error = error.unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("line 41: "), "{message}");
        assert!(message.contains(words), "{message}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn phrases_that_nothing_can_contain_are_left_out() {
    let pipeline = untrained();
    let (found, warnings) = best(pipeline, request("a dog", "", &["dog x", "two green"]));
    assert!(found.text.contains("two green"), "{found:?}");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("line 1: left out: the phrase `dog x` cannot be written"));
    let long = "cats ".repeat(30);
    for (prefix, words) in [("", "they have 30 tokens, but"), ("over", "30 tokens after a prefix of 1, but")]
    {
        let (found, warnings) = best(pipeline, request("a dog", prefix, &[&long]));
        assert!(found.text.starts_with(prefix) && found.text.len() < 100, "{found:?}");
        assert!(warnings[0].starts_with("line 1: left out: the phrases are too long"), "{warnings:?}");
        assert!(warnings[0].contains(words), "{warnings:?}");
    }
    let barring = with("suppress_tokens = ['dog']");
    let (_, warnings) = best(&barring, request("a", "", &["dog"]));
    assert!(warnings[0].contains("`dog`, which the model never generates"), "{warnings:?}");
}

#[test]
fn a_prefix_of_tokens_is_taken_as_it_is() {
    let pipeline = untrained();
    let src = "the dog barks at two cats";
    let tokens = |tokens: &[&str]| Request {
        src: src.into(),
        constraints: Arc::new(TranslationConstraints {
            prefix: Prefix::Tokens(tokens.iter().map(|&token| token.into()).collect()),
            ..TranslationConstraints::default()
        }),
        position: None,
    };
    let (found, warnings) = best(pipeline, tokens(&["over", "the"]));
    let of_text = best(pipeline, request(src, "over the", &[]));
    assert_eq!((&found, &warnings), (&of_text.0, &of_text.1));
    assert!(found.text.starts_with("over the"), "{found:?}");
    assert_eq!(best(pipeline, tokens(&[])), best(pipeline, request(src, "", &[])));
    for (wrong, words) in [
        (["two", "x"], "line 1: the prefix cannot be written: `x` is not a token"),
        (["two", "</s>"], "contains `</s>`, which ends a translation"),
        (["two", "<s>"], "`<s>`, which the model never generates"),
    ] {
        let error = pipeline.translate_requests(1, &[tokens(&wrong)], &options(pipeline, 1).guided());
        let error = error.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(matches!(error, Error::Data { .. }) && error.hint().is_some());
    }
}

#[test]
fn a_phrase_that_is_not_found_causes_a_warning() {
    let pipeline = untrained();
    let mut options = options(pipeline, 1);
    options.search.no_repeat_ngram = 1;
    let requests = [request("a dog", "", &["two two"])];
    let found = pipeline.translate_requests(3, &requests, &options.guided()).unwrap();
    let warning = found[0].warnings[0].to_string();
    assert!(warning.starts_with("line 3: the translation lacks `two two`"), "{warning}");
    assert_eq!(*found[0].hypotheses[0].unmet, ["two two".into()]);
}

#[test]
fn blank_lines_stay_blank_whatever_is_demanded() {
    let pipeline = untrained();
    let (found, warnings) = best(pipeline, request(" ", "over", &[]));
    assert_eq!(found, Candidate::default());
    assert_eq!(warnings, ["line 1: blank, so its prefix and phrases were ignored"]);
    let (_, warnings) = best(pipeline, request("", " ", &["", "\t"]));
    assert!(warnings.is_empty());
}

fn samples(count: usize) -> Strategy {
    Strategy::Sample { sampling: Sampling::default(), count }
}

#[test]
fn samples_depend_on_line_numbers_alone() {
    for pipeline in [untrained(), &of(Family::Seq2seq)] {
        let lines: Vec<String> = {
            let mut random = Random::new(9, 0);
            (0..12).map(|_| sentence(&mut random)).collect()
        };
        let sampling = |batch_size| TranslateOptions {
            search: SearchOptions { strategy: samples(3), ..(&pipeline.config.decode).into() },
            batch_size: NonZeroUsize::new(batch_size),
            mbr: None,
        };
        let expected = pipeline.translate_lines(&lines, &sampling(1)).unwrap();
        assert!(expected.iter().all(|line| line.hypotheses.len() == 3));
        for batch_size in [5, 64] {
            let found = pipeline.translate_lines(&lines, &sampling(batch_size)).unwrap();
            assert_eq!(found, expected);
            let part = pipeline.translate_lines_from(8, &lines[7..], &sampling(batch_size)).unwrap();
            assert_eq!(part, expected[7..]);
        }
    }
    let mut wrong = options(untrained(), 1);
    wrong.search.strategy = samples(1);
    let error = untrained().translate_requests(1, &[request("a", "", &["a"])], &wrong.guided());
    assert_eq!(error.unwrap_err().exit_code(), 2);
}
