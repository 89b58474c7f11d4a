//! Tests of repeated n-grams, coverage, sampling and ensembles against plain references.

use std::collections::HashMap;

use attentive_base::batch::TokenId;
use attentive_config::LengthPenaltyFormula;

use super::toy::*;
use crate::{
    Capacity, Ensemble, Hypothesis, Sampling, SearchContext, SearchOptions, SourceSentence, Strategy, search,
};

fn repeats(tokens: &[TokenId], n: usize) -> bool {
    let ngrams: Vec<&[TokenId]> = tokens.windows(n).collect();
    (0..ngrams.len()).any(|place| ngrams[..place].contains(&ngrams[place]))
}

#[test]
fn outputs_without_repeated_ngrams_equal_brute_force() {
    for seed in 0..6 {
        let logits = random_logits(seed);
        let toy = Toy::new(&logits);
        for n in 1..=3 {
            let options =
                SearchOptions { no_repeat_ngram: n, ..options(700, LengthPenaltyFormula::Length, 1.0) };
            let mut expected = everything(&toy, &[7], 4);
            expected.retain(|(tokens, ..)| !repeats(tokens, n));
            assert_same(&one(&toy, &[7], &options), &ranked(expected, &options));
        }
    }
}

#[test]
fn ngrams_are_not_repeated_however_likely_they_are() {
    let eager = |_: &[TokenId], _: &[TokenId]| [0.0, 0.0, 0.0, -9.0, 5.0, 4.0, 1.0, 0.0];
    let toy = Toy::new(&eager);
    for (n, expected) in [(0, 16), (1, 5), (2, 16), (3, 16)] {
        for width in [1, 3] {
            let options =
                SearchOptions { no_repeat_ngram: n, ..options(width, LengthPenaltyFormula::Gnmt, 0.0) };
            let best = &one(&toy, &[4; 13], &options)[0];
            assert!(n == 0 || !repeats(&best.tokens, n), "{best:?}");
            assert!(best.tokens.len() <= expected);
        }
    }
}

/// The score in the brute-force search, with coverage by definition.
fn covered(src: &[TokenId], (tokens, log_prob, finished): &Found, options: &SearchOptions) -> f64 {
    let steps = tokens.len() + usize::from(*finished);
    let rows: Vec<Vec<f32>> = (0..steps).map(|j| attention(src, &tokens[..j])).collect();
    let of_source = |i: usize| {
        let sum: f64 = rows.iter().map(|row| f64::from(row[i])).sum();
        sum.min(1.0).ln()
    };
    let penalty: f64 = (0..src.len()).map(of_source).sum();
    options.score(*log_prob, steps) + options.coverage_penalty * penalty
}

#[test]
fn coverage_ranks_as_its_definition_says() {
    let src = [7, 4, 5];
    let mut changed = 0;
    for seed in 0..10 {
        let logits = random_logits(seed);
        let toy = Toy::new(&logits);
        for (penalty, length_penalty) in PENALTIES {
            let plain = SearchOptions { max_new_extra: 1, ..options(700, penalty, length_penalty) };
            let options = SearchOptions { coverage_penalty: 0.5, ..plain };
            let mut expected = everything(&toy, &src, 4);
            let score = |found: &Found| covered(&src, found, &options);
            expected.sort_by(|a, b| b.2.cmp(&a.2).then(score(b).total_cmp(&score(a))));
            expected.truncate(options.strategy.n_best());
            let found = one(&toy, &src, &options);
            assert_same(&found, &expected);
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found.score - score(expected)).abs() < 1e-4);
            }
            changed += usize::from(found[0].tokens != one(&toy, &src, &plain)[0].tokens);
        }
    }
    assert!(changed > 5, "coverage changed {changed} results");
}

fn sampled(
    toy: &Toy<'_>,
    sentences: Vec<SourceSentence>,
    options: &SearchOptions,
    together: usize,
) -> Vec<Vec<Hypothesis>> {
    let capacity = Capacity { sentences: together, positions: usize::MAX };
    search(toy, sentences.into_iter(), SearchContext { contract: contract(), options: *options, capacity })
        .collect()
}

fn sampling(count: usize, sampling: Sampling) -> SearchOptions {
    SearchOptions {
        strategy: Strategy::Sample { sampling, count },
        ..options(1, LengthPenaltyFormula::Gnmt, 0.6)
    }
}

fn streams(src: &[TokenId], streams: std::ops::Range<u64>) -> Vec<SourceSentence> {
    let sentence = |stream| SourceSentence { stream, ..src.to_vec().into() };
    streams.map(sentence).collect()
}

#[test]
fn samples_are_as_frequent_as_they_are_likely() {
    let logits = random_logits(5);
    let toy = Toy::new(&logits);
    let src = [4, 5];
    let options = SearchOptions { max_new_tokens: 2, ..sampling(20, Sampling::default()) };
    let mut counts: HashMap<(Vec<TokenId>, bool), usize> = HashMap::new();
    for hypothesis in sampled(&toy, streams(&src, 0..250), &options, 100).concat() {
        let key = (hypothesis.tokens, hypothesis.finished);
        *counts.entry(key).or_default() += 1;
    }
    // The probability of a token among those that may be drawn.
    let share = |prefix: &[TokenId], token: TokenId| {
        let all = toy.log_probs(&src, prefix);
        let allowed = (0..VOCAB).filter(|&token| is_allowed(token));
        let total: f64 = allowed.map(|token| all[token].exp()).sum();
        all[token as usize].exp() / total
    };
    let mut n_checked = 0;
    for (tokens, _, finished) in everything(&toy, &src, 2) {
        let mut expected = 5000.0;
        for (place, &token) in tokens.iter().enumerate() {
            expected *= share(&tokens[..place], token);
        }
        if finished {
            expected *= share(&tokens, SPECIAL.eos);
        }
        let count = counts.remove(&(tokens, finished)).unwrap_or(0) as f64;
        let deviation = (count - expected).abs();
        assert!(deviation < 5.0 * expected.sqrt() + 1.0, "{count}, not {expected}");
        n_checked += 1;
    }
    assert!(n_checked == 31 && counts.is_empty(), "{n_checked} {counts:?}");
}

#[test]
fn samples_depend_on_the_seed_and_their_line_only() {
    let logits = random_logits(6);
    let toy = Toy::new(&logits);
    let with_seed = |seed, n_best| sampling(n_best, Sampling { seed, ..Sampling::default() });
    let options = SearchOptions { no_repeat_ngram: 2, ..with_seed(1, 4) };
    let mut sentences = streams(&[4, 5, 6], 0..6);
    sentences[3].src = vec![7; 9];
    sentences[4].src.clear();
    let expected = sampled(&toy, sentences.clone(), &options, 1);
    assert_ne!(expected[0], expected[1]);
    for together in [2, 3, 100] {
        assert_eq!(sampled(&toy, sentences.clone(), &options, together), expected);
        let mut reversed = sentences.clone();
        reversed.reverse();
        let mut found = sampled(&toy, reversed, &options, together);
        found.reverse();
        assert_eq!(found, expected);
    }
    let draw = |seed, n_best| {
        let options = with_seed(seed, n_best);
        sampled(&toy, streams(&[4, 5, 6], 2..3), &options, 1).remove(0)
    };
    assert_eq!(draw(1, 2), draw(1, 5)[..2]);
    assert_ne!(draw(1, 5), draw(2, 5));
}

#[test]
fn the_limits_of_sampling_hold() {
    let logits = random_logits(7);
    let toy = Toy::new(&logits);
    let src = [4, 5, 6, 7];
    let greedy = one(&toy, &src, &options(1, LengthPenaltyFormula::Gnmt, 0.6));
    let narrow = [
        Sampling { temperature: 0.0, ..Sampling::default() },
        Sampling { top_k: 1, ..Sampling::default() },
        Sampling { top_p: 1e-9, ..Sampling::default() },
    ];
    for narrow in narrow {
        let found = sampled(&toy, vec![src.to_vec().into()], &sampling(2, narrow), 1);
        assert_eq!(found[0], [greedy.clone(), greedy.clone()].concat());
    }
    // A prefix is given, and what follows is drawn.
    let options = SearchOptions { guided: true, ..sampling(5, Sampling::default()) };
    let sentence = SourceSentence { prefix: vec![6, 6], ..src.to_vec().into() };
    let found = sampled(&toy, vec![sentence], &options, 1).remove(0);
    assert_eq!(found.len(), 5);
    assert!(found.iter().all(|found| found.tokens.starts_with(&[6, 6])));
    assert!(found.iter().any(|other| other.tokens != found[0].tokens));
}

#[test]
fn an_ensemble_searches_the_mean_distribution() {
    for seed in 0..10 {
        let (one_of, other) = (random_logits(seed), random_logits(seed + 100));
        let (first, second) = (Toy::new(&one_of), Toy::new(&other));
        let mean = |src: &[TokenId], prefix: &[TokenId]| {
            let [a, b] = [&first, &second].map(|toy| toy.log_probs(src, prefix));
            std::array::from_fn(|token| ((a[token].exp() + b[token].exp()) / 2.0).ln() as f32)
        };
        let expected = Toy::new(&mean);
        let members = [Toy::new(&one_of), Toy::new(&other)];
        let ensemble = Ensemble::new(members.iter().collect());
        for width in [1, 4] {
            let options =
                SearchOptions { coverage_penalty: 0.2, ..options(width, LengthPenaltyFormula::Gnmt, 0.6) };
            let sentences: [&[TokenId]; 3] = [&[4, 5], &[6, 7, 7], &[4]];
            let capacity = Capacity { sentences: 2, positions: usize::MAX };
            let all = sentences.iter().map(|sentence| sentence.to_vec().into());
            let found = search(&ensemble, all, SearchContext { contract: contract(), options, capacity });
            for (found, src) in found.zip(sentences) {
                let expected = one(&expected, src, &options);
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(&expected) {
                    assert_eq!(found.tokens, expected.tokens);
                    assert!((found.score - expected.score).abs() < 1e-4);
                }
            }
        }
    }
}
