//! Tests of prefixes and constraints against brute force.

use attentive_base::batch::TokenId;
use attentive_base::random::Random;
use attentive_config::{EarlyStopping, LengthPenaltyFormula};

use super::toy::*;
use crate::{Capacity, Hypothesis, Sampling, SearchContext, SearchOptions, SourceSentence, Strategy, search};

fn guided(beam_width: usize) -> SearchOptions {
    SearchOptions { guided: true, ..options(beam_width, LengthPenaltyFormula::Gnmt, 0.6) }
}

fn demanding(src: &[TokenId], prefix: &[TokenId], constraints: &[&[TokenId]]) -> SourceSentence {
    SourceSentence {
        src: src.to_vec(),
        prefix: prefix.to_vec(),
        constraints: constraints.iter().map(|phrase| phrase.to_vec().into()).collect(),
        stream: 0,
    }
}

fn results(toy: &Toy<'_>, sentence: SourceSentence, options: &SearchOptions) -> Vec<Hypothesis> {
    let capacity = Capacity { sentences: 1, positions: usize::MAX };
    let setting = SearchContext { contract: contract(), options: *options, capacity };
    let mut found = search(toy, std::iter::once(sentence), setting);
    found.next().expect("a result")
}

fn contains(tokens: &[TokenId], phrase: &[TokenId]) -> bool {
    tokens.windows(phrase.len()).any(|part| part == phrase)
}

#[test]
fn a_prefix_is_continued_as_by_brute_force() {
    for seed in 0..6 {
        let logits = random_logits(seed);
        let toy = Toy::new(&logits);
        for prefix in [&[6][..], &[4, 7], &[5, 5, 5]] {
            let options = guided(700);
            let mut expected = everything(&toy, &[7], 4);
            expected.retain(|(tokens, ..)| tokens.starts_with(prefix));
            let found = results(&toy, demanding(&[7], prefix, &[]), &options);
            assert_same(&found, &ranked(expected, &options));
        }
    }
}

#[test]
fn without_demands_a_guided_search_is_a_plain_one() {
    for seed in 0..10 {
        let logits = random_logits(seed);
        let toy = Toy::new(&logits);
        for width in [1, 3] {
            let src = [4, 5, 6];
            let found = results(&toy, src.to_vec().into(), &guided(width));
            let plain = one(&toy, &src, &options(width, LengthPenaltyFormula::Gnmt, 0.6));
            assert_eq!(found, plain);
        }
    }
}

#[test]
fn a_wide_beam_with_constraints_equals_brute_force() {
    let cases: [&[&[TokenId]]; 5] =
        [&[&[6]], &[&[7, 4]], &[&[5], &[6]], &[&[6, 5], &[5, 7]], &[&[1, 1], &[4]]];
    for seed in 0..4 {
        let logits = random_logits(seed);
        let toy = Toy::new(&logits);
        for phrases in cases {
            let options = guided(700);
            let missing = |tokens: &[TokenId]| {
                let unmet = phrases.iter().filter(|phrase| !contains(tokens, phrase));
                unmet.count()
            };
            let mut expected = everything(&toy, &[7], 4);
            expected.retain(|(tokens, _, finished)| !finished || missing(tokens) == 0);
            let every =
                SearchOptions { strategy: Strategy::beam(700, usize::MAX, EarlyStopping::Never), ..options };
            let mut expected = ranked(expected, &every);
            expected.sort_by_key(|(tokens, ..)| missing(tokens));
            expected.truncate(options.strategy.n_best());
            let found = results(&toy, demanding(&[7], &[], phrases), &options);
            assert_same(&found, &expected);
            for hypothesis in found {
                assert_eq!(hypothesis.unmet.len(), missing(&hypothesis.tokens));
            }
        }
    }
}

/// All constraints are met even if they are unlikely, and after a prefix.
#[test]
fn a_narrow_beam_meets_all_constraints() {
    let mut random = Random::new(3, 0);
    for seed in 0..40 {
        let logits = random_logits(seed);
        let toy = Toy::new(&logits);
        let mut tokens = |len: usize| -> Vec<TokenId> {
            let token = |_| 4 + random.below(4) as TokenId;
            (0..len).map(token).collect()
        };
        let phrases = [tokens(1), tokens(2), tokens(3)];
        let phrases: Vec<&[TokenId]> = phrases.iter().map(Vec::as_slice).collect();
        for width in [1, 2, 5, 12] {
            let prefix = [7, 7];
            let src = [4, 5, 6, 7, 4, 5];
            let found = results(&toy, demanding(&src, &prefix, &phrases), &guided(width));
            let best = &found[0];
            assert!(best.unmet.is_empty(), "{best:?}");
            assert!(best.tokens.starts_with(&prefix));
            assert!(phrases.iter().all(|phrase| contains(&best.tokens, phrase)));
            let mut log_prob = 0.0;
            for (place, &token) in best.tokens.iter().enumerate() {
                log_prob += toy.log_probs(&src, &best.tokens[..place])[token as usize];
            }
            if best.finished {
                log_prob += toy.log_probs(&src, &best.tokens)[SPECIAL.eos as usize];
            }
            assert!((best.log_prob - log_prob).abs() < 1e-4);
        }
    }
}

#[test]
fn constraints_that_do_not_fit_are_named() {
    let logits = random_logits(1);
    let toy = Toy::new(&logits);
    // The limit is four tokens.
    let phrases: [&[TokenId]; 2] = [&[5], &[4, 4, 4, 4, 4]];
    for width in [1, 6] {
        let found = results(&toy, demanding(&[7], &[], &phrases), &guided(width));
        assert!(!found.is_empty());
        for hypothesis in found {
            assert!(!hypothesis.finished && hypothesis.unmet.contains(&1));
        }
    }
}

/// A token may not occur twice, but a phrase requires it.
#[test]
fn constraints_at_odds_with_other_rules_end_the_search() {
    let logits = random_logits(2);
    let toy = Toy::new(&logits);
    let options = SearchOptions { no_repeat_ngram: 1, max_new_extra: 30, ..guided(3) };
    let found = results(&toy, demanding(&[7], &[], &[&[5, 5]]), &options);
    assert!(!found.is_empty() && found.iter().all(|found| found.unmet == [0]));
}

#[test]
fn demands_of_other_sentences_change_nothing() {
    let sentences = [
        demanding(&[4, 5], &[6], &[]),
        demanding(&[4, 5], &[], &[]),
        demanding(&[5, 6, 4, 7], &[], &[&[7, 7], &[5]]),
        demanding(&[5], &[4], &[&[6]]),
        demanding(&[], &[4], &[&[6]]),
        demanding(&[7, 7, 4], &[], &[&[4]]),
    ];
    for seed in 0..6 {
        let logits = random_logits(seed);
        let toy = Toy::new(&logits);
        for width in [1, 4] {
            let options = SearchOptions { no_repeat_ngram: 3, coverage_penalty: 0.3, ..guided(width) };
            let alone: Vec<_> =
                (sentences.iter()).map(|sentence| results(&toy, sentence.clone(), &options)).collect();
            for capacity in [2, 3, 100] {
                let capacity = Capacity { sentences: capacity, positions: usize::MAX };
                let all = sentences.iter().cloned();
                let found = search(&toy, all, SearchContext { contract: contract(), options, capacity });
                assert!(found.eq(alone.iter().cloned()));
                let reversed = sentences.iter().rev().cloned();
                let found = search(&toy, reversed, SearchContext { contract: contract(), options, capacity });
                assert!(found.eq(alone.iter().rev().cloned()));
            }
        }
    }
}

#[test]
fn no_output_is_shorter_than_the_shortest() {
    for seed in 0..6 {
        let logits = random_logits(seed);
        let toy = Toy::new(&logits);
        for width in [1, 4] {
            for (sampled, min_length) in [(false, 0), (false, 3), (true, 3), (false, 99)] {
                let sample = Strategy::Sample { sampling: Sampling::default(), count: width };
                let options = SearchOptions {
                    min_length,
                    strategy: if sampled {
                        sample
                    } else {
                        Strategy::beam(width, width, EarlyStopping::Never)
                    },
                    max_new_extra: 5,
                    guided: false,
                    ..guided(width)
                };
                let found = results(&toy, demanding(&[4, 5], &[], &[]), &options);
                assert!(!found.is_empty());
                for one in found {
                    let inner = one.tokens.len();
                    let shortest = min_length.min(options.limit(2, usize::MAX));
                    assert!(inner >= shortest, "{one:?}");
                    assert!(min_length < 99 || !one.finished, "{one:?}");
                }
            }
        }
    }
}
