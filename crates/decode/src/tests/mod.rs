//! Tests of the search against naive implementations, on toy models.

mod constraints;
mod options;
mod toy;
mod variations;

use attentive_architecture::TokenContract;
use attentive_base::batch::TokenId;
use attentive_config::{EarlyStopping, LengthPenaltyFormula};

use super::{Capacity, Decoding, SearchContext, SearchOptions, SourceSentence, Strategy, search};
use toy::*;

#[test]
fn a_beam_that_holds_all_hypotheses_equals_brute_force() {
    for seed in 0..4 {
        let logits = random_logits(seed);
        let toy = Toy::new(&logits);
        for (penalty, length_penalty) in PENALTIES {
            let options = options(700, penalty, length_penalty);
            let src = [7];
            let expected = ranked(everything(&toy, &src, 4), &options);
            assert_same(&one(&toy, &src, &options), &expected);
        }
    }
}

#[test]
fn early_stopping_never_changes_the_results() {
    let (mut steps, mut most) = (0, 0);
    for seed in 0..60 {
        let logits = random_logits(seed);
        let toy = Toy::new(&logits);
        let src: Vec<TokenId> = (0..seed as TokenId % 9 + 1).collect();
        for (penalty, length_penalty) in PENALTIES {
            for width in [2, 3, 5] {
                for n_best in [1, width] {
                    let options = SearchOptions {
                        strategy: Strategy::beam(width, n_best, EarlyStopping::Never),
                        ..options(width, penalty, length_penalty)
                    };
                    assert_same(&one(&toy, &src, &options), &patient_beam(&toy, &src, &options));
                    steps += toy.rows.take().len();
                    most += options.limit(src.len(), MAX_LEN);
                }
            }
        }
    }
    assert!(steps < most * 9 / 10, "{steps} of {most} steps");
}

#[test]
fn a_beam_of_one_is_greedy() {
    for seed in 0..50 {
        let logits = random_logits(seed);
        let toy = Toy::new(&logits);
        let src = [4, 5, 6, 7];
        let mut expected = (Vec::new(), 0.0, false);
        while expected.0.len() < 7 && !expected.2 {
            let next = toy.log_probs(&src, &expected.0);
            let best = (0..VOCAB)
                .filter(|&token| is_allowed(token))
                .max_by(|&a, &b| next[a].total_cmp(&next[b]))
                .unwrap();
            expected.1 += next[best];
            expected.2 = best as TokenId == SPECIAL.eos;
            if !expected.2 {
                expected.0.push(best as TokenId);
            }
        }
        for (penalty, length_penalty) in PENALTIES {
            let results = one(&toy, &src, &options(1, penalty, length_penalty));
            assert_same(&results, std::slice::from_ref(&expected));
        }
    }
}

#[test]
fn a_sentence_does_not_depend_on_its_batch() {
    let sentences: [&[TokenId]; 6] = [&[4, 5], &[6], &[], &[7, 7, 7, 5, 4, 4], &[5, 6, 4], &[4, 5]];
    for seed in 0..10 {
        let logits = random_logits(seed);
        let toy = Toy::new(&logits);
        for width in [1, 4] {
            let options = options(width, LengthPenaltyFormula::Gnmt, 0.6);
            for capacity in [1, 2, 6, 100] {
                let together = find(&toy, &sentences, &options, capacity);
                assert_eq!(together[0], together[5]);
                for (sentence, results) in sentences.iter().zip(together) {
                    assert_eq!(one(&toy, sentence, &options), results);
                }
            }
        }
    }
}

/// The first sentence takes longest, but results are returned in order.
#[test]
fn sentences_are_taken_when_there_is_room() {
    let logits = closing_after_source();
    let toy = Toy::new(&logits);
    let taken = std::cell::Cell::new(0);
    let sentences = [[9, 1], [1, 1], [2, 2], [1, 3], [1, 4], [1, 5]];
    let sentences = sentences.iter().inspect(|_| taken.set(taken.get() + 1));
    let contract = contract();
    let options = SearchOptions { max_new_extra: 20, ..options(1, LengthPenaltyFormula::Gnmt, 0.6) };
    let capacity = Capacity { sentences: 2, positions: usize::MAX };
    let sentences = sentences.map(|sentence| sentence.to_vec().into());
    let mut found = search(&toy, sentences, SearchContext { contract, options, capacity });
    assert_eq!(taken.get(), 0, "nothing is read before it is asked for");
    let first = found.next().expect("a result");
    assert_eq!(first[0].tokens.len(), 9);
    assert_eq!(taken.get(), 6);
    let lens: Vec<usize> = found.map(|results| results[0].tokens.len()).collect();
    assert_eq!(lens, [1, 2, 1, 1, 1]);
    assert!(toy.rows.take().iter().all(|&rows| rows <= 2));
}

/// When several searches share a queue, none keeps a sentence that another could begin at once.
#[test]
fn no_sentence_is_taken_before_there_is_room() {
    let logits = closing_after_source();
    let toy = Toy::new(&logits);
    let taken = std::cell::Cell::new(0);
    let sentences = (0..6).inspect(|_| taken.set(taken.get() + 1));
    let options = options(1, LengthPenaltyFormula::Gnmt, 0.6);
    let setting = SearchContext {
        contract: contract(),
        options,
        capacity: Capacity { sentences: 4, positions: usize::MAX },
    };
    let mut found = search(&toy, sentences.map(|_| vec![1, 1].into()), setting);
    assert!(found.next().is_some());
    assert_eq!(taken.get(), 4);
    assert_eq!(found.count(), 5);
}

#[test]
fn sentences_leave_at_any_step() {
    let logits = random_logits(3);
    let options = options(3, LengthPenaltyFormula::Gnmt, 0.6);
    let sources: Vec<Vec<TokenId>> = (0..9).map(|number| vec![4 + number % 4; 5]).collect();
    for leaving in 0..9 {
        let toy = Toy::new(&logits);
        let setting = SearchContext {
            contract: contract(),
            options,
            capacity: Capacity { sentences: 9, positions: usize::MAX },
        };
        let mut decoding = Decoding::new(&toy, setting);
        for (number, src) in sources.iter().enumerate() {
            assert!(decoding.offer(number, src.clone().into()).is_ok());
        }
        let (mut ended, mut step) = (Vec::new(), 0);
        while !decoding.is_empty() {
            if step == leaving / 2 {
                decoding.retain(|number| *number != leaving);
                assert!(decoding.best().all(|(number, _)| *number != leaving));
            }
            for (number, tokens) in decoding.best() {
                assert_eq!(tokens.len(), step, "of sentence {number}");
            }
            ended.extend(decoding.advance());
            step += 1;
        }
        assert_eq!(ended.len(), 8);
        for (number, found) in ended {
            assert_eq!(found, one(&Toy::new(&logits), &sources[number], &options));
        }
    }
}

#[test]
fn long_sentences_are_decoded_alone() {
    let logits = closing_after_source();
    let toy = Toy::new(&logits);
    let capacity = Capacity { sentences: 8, positions: 6 };
    let sentences = [vec![1; 3], vec![1; 3], vec![1; 100], vec![1; 2]];
    let options = options(1, LengthPenaltyFormula::Gnmt, 0.6);
    let sentences = sentences.into_iter().map(SourceSentence::from);
    let found: Vec<_> = search(&toy, sentences, SearchContext { contract: contract(), options, capacity })
        .map(|results| results[0].tokens.len())
        .collect();
    assert_eq!(found, [1, 1, 1, 1]);
    assert_eq!(toy.rows.take(), [2, 2, 1, 1, 1, 1]);
}

#[test]
fn forced_tokens_are_first_and_last() {
    let never = |_: &[TokenId], _: &[TokenId]| [0.0, 0.0, 0.0, f32::NEG_INFINITY, 5.0, 1.0, 0.0, 0.0];
    let toy = Toy::new(&never);
    let forcing =
        TokenContract { forced_first: Some(6), forced_last: Some(SPECIAL.eos), ..contract().clone() };
    let capacity = Capacity { sentences: 1, positions: usize::MAX };
    for width in [1, 3] {
        let options = options(width, LengthPenaltyFormula::Length, 1.0);
        let sentences = std::iter::once(vec![4].into());
        let found = search(&toy, sentences, SearchContext { contract: &forcing, options, capacity }).next();
        let best = &found.expect("a result")[0];
        assert_eq!(best.tokens, [6, 4, 4]);
        assert!(best.finished);
        assert_eq!(best.token_log_probs[0], 0.0);
    }
}

#[test]
fn finished_sentences_leave_the_batch() {
    let logits = closing_after_source();
    let toy = Toy::new(&logits);
    let src: [&[TokenId]; 3] = [&[1, 9, 9], &[4, 9, 9], &[2, 9, 9]];
    let results = find(&toy, &src, &options(1, LengthPenaltyFormula::Gnmt, 0.6), 3);
    assert_eq!(toy.rows.take(), [3, 3, 2, 1, 1]);
    let lens: Vec<usize> = results.iter().map(|r| r[0].tokens.len()).collect();
    assert_eq!(lens, [1, 4, 2]);

    let results = find(&toy, &src, &options(3, LengthPenaltyFormula::Gnmt, 0.6), 3);
    assert_eq!(results[1][0].tokens, [5; 4]);
    let one_best = SearchOptions {
        strategy: Strategy::beam(3, 1, EarlyStopping::Never),
        ..options(3, LengthPenaltyFormula::Gnmt, 0.6)
    };
    find(&toy, &src, &one_best, 3);
    let rows = toy.rows.take();
    assert_eq!(rows[rows.len() - 5..], [3, 9, 6, 3, 3]);
}

#[test]
fn the_limit_holds_and_cut_off_hypotheses_come_last() {
    let never = |_: &[TokenId], _: &[TokenId]| [9.0, 0.0, 9.0, f32::NEG_INFINITY, 5.0, 1.0, 0.0, 0.0];
    let toy = Toy::new(&never);
    for (width, src_len, expected) in [(1, 2, 5), (3, 2, 5), (2, 100, MAX_LEN)] {
        let results = one(&toy, &vec![4; src_len], &options(width, LengthPenaltyFormula::Length, 1.0));
        assert_eq!(results.len(), width);
        assert_eq!(results[0].tokens, vec![4; expected]);
        assert!(results.iter().all(|result| !result.finished));
    }
    // `</s>` is very unlikely, but the finished hypothesis comes before the more likely one that was cut off.
    let rarely = |_: &[TokenId], _: &[TokenId]| [0.0, 0.0, 0.0, -3.0, 5.0, -9.0, -9.0, -9.0];
    let results = one(&Toy::new(&rarely), &[4], &options(3, LengthPenaltyFormula::Gnmt, 0.6));
    assert!(results[0].finished && results[0].score < results[2].score && !results[2].finished);
}

#[test]
fn ties_are_broken_in_order() {
    // `</s>` closes all hypotheses of the beam in one decoding step, with the same score.
    let flat = |_: &[TokenId], _: &[TokenId]| {
        let mut logits = [0.0; VOCAB];
        logits[SPECIAL.eos as usize] = 1.0;
        logits
    };
    let options = options(3, LengthPenaltyFormula::Gnmt, 0.0);
    let results = one(&Toy::new(&flat), &[4], &options);
    let tokens: Vec<&[TokenId]> = results.iter().map(|r| r.tokens.as_slice()).collect();
    assert_eq!(tokens, [&[][..], &[1], &[4]]);
}

#[test]
fn no_hypothesis_survives_nan() {
    let nan = |_: &[TokenId], _: &[TokenId]| [f32::NAN; VOCAB];
    let later = |_: &[TokenId], prefix: &[TokenId]| match prefix {
        [] | [_] => [0.0; VOCAB],
        _ => [f32::NAN; VOCAB],
    };
    // Only hypotheses that start with token 6, the most likely one, get NaN.
    let partly = |_: &[TokenId], prefix: &[TokenId]| {
        let mut logits = [if prefix.first() == Some(&6) { f32::NAN } else { 0.0 }; VOCAB];
        logits[6] += 1.0;
        logits
    };
    for width in [1, 3] {
        let options = options(width, LengthPenaltyFormula::Length, 1.0);
        assert!(one(&Toy::new(&nan), &[4, 5], &options).is_empty());
        let results = one(&Toy::new(&later), &[4, 5], &options);
        assert!(results.iter().all(|result| result.finished), "{results:?}");
        let results = one(&Toy::new(&partly), &[4, 5], &options);
        assert_eq!(results.is_empty(), width == 1);
        assert!(results.iter().all(|result| result.tokens.first() != Some(&6)));
    }
}

#[test]
fn empty_sources_have_empty_outputs() {
    let logits = random_logits(0);
    let toy = Toy::new(&logits);
    let options = options(2, LengthPenaltyFormula::Length, 1.0);
    assert!(find(&toy, &[], &options, 4).is_empty());
    let results = one(&toy, &[], &options);
    assert_eq!(results.len(), 1);
    assert_eq!((results[0].tokens.len(), results[0].log_prob), (0, 0.0));
    assert!(toy.rows.take().is_empty());
}
