//! Constraints on translations, ensembles and alignments.

use attentive_decode::{Sampling, SearchOptions};

use super::*;

fn request(src: &str, prefix: &str, phrases: &[&str]) -> Request {
    Request {
        src: src.into(),
        demands: Arc::new(Demands {
            prefix: Prefix::Text(prefix.into()),
            phrases: phrases.iter().map(|&phrase| phrase.into()).collect(),
            ..Demands::default()
        }),
        place: None,
    }
}

fn best(pipeline: &Pipeline, request: Request) -> (Candidate, Vec<String>) {
    let options = options(pipeline, 8);
    let mut found = pipeline
        .translate_requests(1, &[request], &options)
        .unwrap();
    let Translation {
        mut hypotheses,
        warnings,
    } = found.remove(0);
    let warnings = warnings.iter().map(Warning::to_string).collect();
    (hypotheses.remove(0), warnings)
}

#[test]
fn translations_begin_and_contain_what_they_must() {
    for pipeline in [untrained(), &of(Family::Seq2seq)] {
        let src = "the dog barks at two cats";
        let free = pipeline.translate(&[src]).unwrap().remove(0);
        assert!(!free.starts_with("over the"), "{free}");
        let (found, warnings) = best(
            pipeline,
            request(src, "over the", &["two green", " field "]),
        );
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
    let requests: Vec<Request> = ["a dog", "", "two cats"]
        .map(|src| Request {
            src: src.into(),
            ..shared.clone()
        })
        .into();
    let search = options(pipeline, 1).search;
    let jobs = pipeline.jobs(1, &requests, &search).unwrap();
    assert!(Arc::ptr_eq(&jobs[0].terms, &jobs[2].terms));
    assert_eq!(jobs[0].terms.constraints.len(), 2, "equal phrases are one");
    let warnings = |line: usize| jobs[line].source.warnings[0].to_string();
    assert_eq!(
        warnings(0),
        "line 1: 1 control character was read as a blank"
    );
    assert!(warnings(1).contains("blank, so its prefix"));
    // A line with other constraints is not affected.
    let mut requests = requests;
    requests[1] = request("a dog", "x", &[]);
    let error = pipeline.jobs(7, &requests, &search).unwrap_err();
    assert!(error.to_string().starts_with("line 8: "), "{error}");
}

#[test]
fn demands_that_nothing_can_meet_are_refused_by_line() {
    let pipeline = untrained();
    let long = "cats ".repeat(30);
    let cases = [
        (
            request("a dog", &long, &[]),
            "the prefix is too long: it has 30 tokens",
        ),
        (
            request("a dog", "over", &[&long]),
            "after a prefix of 1, but",
        ),
        (
            request("a dog", "", &["a dog", &long]),
            "the phrases are too long: they have 32 tokens",
        ),
        (
            request("a dog", "x", &[]),
            "the prefix `x` cannot be written",
        ),
        (
            request("a dog", "", &["dog x"]),
            "the phrase `dog x` cannot be written",
        ),
    ];
    for (wrong, words) in cases {
        let requests = [request("a dog", "two", &[]), wrong];
        let error = pipeline.translate_requests(40, &requests, &options(pipeline, 1));
        let error = error.unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("line 41: "), "{message}");
        assert!(message.contains(words), "{message}");
        assert!(error.hint().is_some());
    }
    let barring = with("suppress_tokens = ['dog']");
    let error = barring.translate_requests(1, &[request("a", "", &["dog"])], &options(&barring, 1));
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("`dog`, which the model never generates"),
        "{error}"
    );
}

#[test]
fn lenient_demands_are_met_as_far_as_they_can_be() {
    let pipeline = untrained();
    let lenient = |phrases: &[&str]| {
        let mut request = request("a dog", "", phrases);
        Arc::make_mut(&mut request.demands).strictness = Strictness::Lenient;
        request
    };
    let (found, warnings) = best(pipeline, lenient(&["dog x", "two green"]));
    assert!(found.text.contains("two green"), "{found:?}");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("line 1: left out: the phrase `dog x` cannot be written"));
    let (found, warnings) = best(pipeline, lenient(&[&"cats ".repeat(30)]));
    let free = pipeline.translate(&["a dog"]).unwrap();
    assert!(found.text.len() < 100 && !free[0].is_empty(), "{found:?}");
    assert!(warnings[0].starts_with("line 1: left out: the phrases are too long"));
}

#[test]
fn a_prefix_of_tokens_is_taken_as_it_is() {
    let pipeline = untrained();
    let src = "the dog barks at two cats";
    let tokens = |tokens: &[&str]| Request {
        src: src.into(),
        demands: Arc::new(Demands {
            prefix: Prefix::Tokens(tokens.iter().map(|&token| token.into()).collect()),
            ..Demands::default()
        }),
        place: None,
    };
    let (found, warnings) = best(pipeline, tokens(&["over", "the"]));
    let of_text = best(pipeline, request(src, "over the", &[]));
    assert_eq!((&found, &warnings), (&of_text.0, &of_text.1));
    assert!(found.text.starts_with("over the"), "{found:?}");
    assert_eq!(
        best(pipeline, tokens(&[])),
        best(pipeline, request(src, "", &[]))
    );
    for (wrong, words) in [
        (
            ["two", "x"],
            "line 1: the prefix cannot be written: `x` is not a token",
        ),
        (["two", "</s>"], "contains `</s>`, which ends a translation"),
        (["two", "<s>"], "`<s>`, which the model never generates"),
    ] {
        let error = pipeline.translate_requests(1, &[tokens(&wrong)], &options(pipeline, 1));
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
    let found = pipeline.translate_requests(3, &requests, &options).unwrap();
    let warning = found[0].warnings[0].to_string();
    assert!(
        warning.starts_with("line 3: the translation lacks `two two`"),
        "{warning}"
    );
    assert_eq!(*found[0].hypotheses[0].unmet, ["two two".into()]);
}

#[test]
fn blank_lines_stay_blank_whatever_is_demanded() {
    let pipeline = untrained();
    let (found, warnings) = best(pipeline, request(" ", "over", &[]));
    assert_eq!(found, Candidate::default());
    assert_eq!(
        warnings,
        ["line 1: blank, so its prefix and phrases were ignored"]
    );
    let (_, warnings) = best(pipeline, request("", " ", &["", "\t"]));
    assert!(warnings.is_empty());
}

#[test]
fn samples_depend_on_line_numbers_alone() {
    for pipeline in [untrained(), &of(Family::Seq2seq)] {
        let lines: Vec<String> = {
            let mut random = Random::new(9, 0);
            (0..12).map(|_| sentence(&mut random)).collect()
        };
        let sampling = |batch_size| TranslateOptions {
            search: SearchOptions {
                sampling: Some(Sampling::default()),
                n_best: 3,
                ..(&pipeline.config.decode).into()
            },
            batch_size,
        };
        let expected = pipeline.translate_with(&lines, &sampling(1)).unwrap();
        assert!(expected.iter().all(|line| line.hypotheses.len() == 3));
        for batch_size in [5, 64] {
            let found = pipeline
                .translate_with(&lines, &sampling(batch_size))
                .unwrap();
            assert_eq!(found, expected);
            let part = pipeline
                .translate_from(8, &lines[7..], &sampling(batch_size))
                .unwrap();
            assert_eq!(part, expected[7..]);
        }
    }
    let mut wrong = options(untrained(), 1);
    wrong.search.sampling = Some(Sampling::default());
    let error = untrained().translate_requests(1, &[request("a", "", &["a"])], &wrong);
    assert_eq!(error.unwrap_err().exit_code(), 2);
}

/// A model with other weights.
fn another(family: Family) -> Pipeline {
    let pipeline = of(family);
    for parameter in pipeline.model().parameters() {
        parameter.change(|values| values.iter_mut().for_each(|value| *value *= 1.3));
    }
    pipeline
}

#[test]
fn an_ensemble_mixes_architectures_and_scores_what_it_finds() {
    let lines = ["a dog runs over the green field", "two cats", "", "the dog"];
    let members = || {
        [
            of(Family::Transformer),
            another(Family::Seq2seq),
            another(Family::Transformer),
        ]
    };
    let [one, two, three] = members();
    let together = one.with(two).unwrap().with(three).unwrap();
    let found = together
        .translate_with(&lines, &options(&together, 2))
        .unwrap();
    let alone = together
        .translate_with(&lines[..1], &options(&together, 1))
        .unwrap();
    assert_eq!(found[0], alone[0]);
    let texts: Vec<&str> = found
        .iter()
        .map(|line| line.hypotheses[0].text.as_str())
        .collect();
    let scored = together.rescore(1, &lines, &texts).unwrap();
    let of_members = members().map(|member| member.rescore(1, &lines, &texts).unwrap());
    for line in [0, 1, 3] {
        let best = &found[line].hypotheses[0];
        for (place, log_prob) in best.token_log_probs.iter().enumerate() {
            let probabilities = of_members
                .iter()
                .map(|member| member[line].token_log_probs[place].exp());
            let mean = probabilities.sum::<f64>() / 3.0;
            assert!((f64::from(*log_prob) - mean.ln()).abs() < 1e-3);
            assert!((scored[line].token_log_probs[place] - mean.ln()).abs() < 1e-9);
        }
    }
}

#[test]
fn ensembles_that_do_not_match_are_refused() {
    let refused = |other: Pipeline, words: &str| {
        let error = of(Family::Transformer).with(other).unwrap_err();
        assert!(error.exit_code() == 2 && error.hint().is_some());
        assert!(error.to_string().contains(words), "{error}");
    };
    refused(of(Family::DecoderOnly), "continues texts");
    let other_start = with("decoder_start_token = '<pad>'");
    refused(other_start, "starts or ends translations");
    let mut other = of(Family::Transformer);
    let text = [WORDS[1..].join(" ")];
    other.tokenizers = text::learn(&other.config.tokenizer, Masks::Without, &text, &text).unwrap();
    refused(
        other,
        "its source vocabulary differs from the first model's: 15 tokens, not 16",
    );
    let mut other = of(Family::Transformer);
    let text = [["cats"; 3].join(" "), WORDS.join(" ")];
    other.tokenizers = text::learn(&other.config.tokenizer, Masks::Without, &text, &text).unwrap();
    refused(other, "token 4 is `cats`, not");
}

#[test]
fn alignments_follow_the_attention() {
    let recurrent = ["additive", "dot", "general"].map(recurrent);
    for pipeline in std::iter::once(of(Family::Transformer)).chain(recurrent) {
        let tgt = pipeline.tokenizers().tgt();
        let pairs = ["two cats", "a dog runs over the field", "", "a"].map(|src| {
            let text = format!("{src} barks");
            (src, tgt.encode(&text).unwrap())
        });
        let given: Vec<(&str, &[u32])> = pairs.iter().map(|(src, ids)| (*src, &ids[..])).collect();
        let aligned = pipeline.align(&given).unwrap();
        for ((src, ids), alignment) in pairs.iter().zip(aligned) {
            if src.is_empty() {
                assert_eq!(alignment, Alignment::default());
                continue;
            }
            // Words are tokens here, so the alignment can be read off the inspection.
            let text = tgt.decode(ids);
            let inspection = pipeline.inspect(src, Some(&text)).unwrap();
            let is_cross = |map: &&attentive_model::nn::AttentionMap| {
                map.name.contains("attention")
                    && map.site == attentive_model::nn::AttentionSite::Cross
            };
            let map = inspection.maps.iter().rfind(is_cross).unwrap();
            let [_, heads, _, src_len] = map.weights.shape;
            let weights = &map.weights.values;
            let rows = weights.len() / heads / src_len;
            let mut expected = Vec::new();
            for j in 0..ids.len() {
                let weight = |i: usize| -> f32 {
                    (0..heads)
                        .map(|head| weights[(head * rows + j) * src_len + i])
                        .sum()
                };
                let best = (0..src_len)
                    .max_by(|&a, &b| weight(a).total_cmp(&weight(b)))
                    .unwrap();
                if best + 1 < src_len {
                    expected.push((best, j));
                }
            }
            expected.sort_unstable();
            assert_eq!(alignment.0, expected, "{:?}", pipeline.config.model);
        }
    }
}

#[test]
fn models_without_attention_are_told_apart() {
    let blind = recurrent("none");
    let mut options = options(&blind, 1);
    options.search.coverage_penalty = 0.2;
    for error in [
        blind.align::<&str>(&[]).unwrap_err(),
        blind.translate_with(&["a dog"], &options).unwrap_err(),
    ] {
        assert_eq!(error.exit_code(), 2);
        assert!(
            error.to_string().contains("needs attention to the source"),
            "{error}"
        );
    }
}

/// The scores of a search with coverage equal those from the attention under teacher forcing.
#[test]
fn coverage_is_that_of_the_attention() {
    for pipeline in [of(Family::Transformer), recurrent("additive")] {
        let mut options = options(&pipeline, 3);
        options.search.coverage_penalty = 0.4;
        options.search.n_best = 3;
        let lines = [
            "a dog runs over the green field",
            "two cats",
            "the dog barks at two cats",
        ];
        let found = pipeline.translate_with(&lines, &options).unwrap();
        for (line, translation) in lines.iter().zip(found) {
            for found in translation.hypotheses {
                let inspection = pipeline.inspect(line, Some(&found.text)).unwrap();
                let map = inspection
                    .maps
                    .iter()
                    .rfind(|map| map.site == attentive_model::nn::AttentionSite::Cross);
                let weights = &map.unwrap().weights;
                let [_, heads, rows, src_len] = weights.shape;
                let weights = &weights.values;
                let steps = found.token_log_probs.len();
                assert!(steps <= rows);
                let mut penalty = 0.0;
                for i in 0..src_len {
                    let sum: f32 = (0..heads)
                        .flat_map(|head| (0..steps).map(move |j| (head * rows + j) * src_len + i))
                        .map(|place| weights[place] / heads as f32)
                        .sum();
                    penalty += f64::from(sum.min(1.0)).ln();
                }
                let expected = options.search.score(found.log_prob, steps) + 0.4 * penalty;
                assert!(
                    (found.score - expected).abs() < 1e-3,
                    "{} {expected}",
                    found.score
                );
            }
        }
    }
}
