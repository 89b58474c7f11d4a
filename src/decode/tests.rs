//! The search against naive implementations, on toy models whose logits come from a hash of source and prefix.

use std::cell::RefCell;

use burn::tensor::{Device, Tensor, TensorData};

use super::{Capacity, Hypothesis, SearchOptions, search};
use crate::architecture::TokenContract;
use crate::batch::{Padded, TokenId};
use crate::config::LengthPenalty;
use crate::model::{NextToken, Stepper, likeliest};
use crate::random::Random;
use crate::text::SpecialTokens;

const SPECIAL: SpecialTokens = SpecialTokens {
    pad: 0,
    unk: 1,
    bos: 2,
    eos: 3,
    mask: None,
    start: 2,
};
const VOCAB: usize = 8;
const MAX_LEN: usize = 40;

/// Logits of the next token, given the source and the tokens so far.
type Logits = dyn Fn(&[TokenId], &[TokenId]) -> [f32; VOCAB];

struct Toy<'a> {
    logits: &'a Logits,
    /// The number of rows in each decoding step.
    rows: RefCell<Vec<usize>>,
}

impl<'a> Toy<'a> {
    fn new(logits: &'a Logits) -> Self {
        Self {
            logits,
            rows: RefCell::default(),
        }
    }

    fn log_probs(&self, src: &[TokenId], prefix: &[TokenId]) -> Vec<f64> {
        let logits = (self.logits)(src, prefix);
        let total: f64 = logits.iter().map(|&x| f64::from(x).exp()).sum();
        logits.iter().map(|&x| f64::from(x) - total.ln()).collect()
    }
}

#[derive(Clone)]
struct Row {
    src: Vec<TokenId>,
    prefix: Option<Vec<TokenId>>,
}

impl Stepper for Toy<'_> {
    type State = Vec<Row>;
    type Last = Tensor<2>;

    fn start(&self) -> Vec<Row> {
        Vec::new()
    }

    fn admit(&self, src: &Padded, state: &mut Vec<Row>) {
        let sentences = src.ids.chunks(src.width()).zip(src.lens());
        state.extend(sentences.map(|(ids, &len)| Row {
            src: ids[..len].to_vec(),
            prefix: None,
        }));
    }

    fn step(&self, next: &[TokenId], state: &mut Vec<Row>) -> Tensor<2> {
        assert_eq!(next.len(), state.len());
        self.rows.borrow_mut().push(next.len());
        let mut values = Vec::new();
        for (row, &next) in state.iter_mut().zip(next) {
            match &mut row.prefix {
                None => {
                    assert_eq!(next, SPECIAL.bos);
                    row.prefix = Some(Vec::new());
                }
                Some(prefix) => prefix.push(next),
            }
            values.extend((self.logits)(
                &row.src,
                row.prefix.as_deref().unwrap_or_default(),
            ));
        }
        let data = TensorData::new(values, [next.len(), VOCAB]);
        Tensor::from_data(data, &Device::flex())
    }

    fn read(&self, _: &Padded, _: &mut Vec<Row>) -> Tensor<2> {
        unreachable!("a search reads token by token")
    }

    fn select(&self, rows: &[usize], state: &mut Vec<Row>) {
        *state = rows.iter().map(|&row| state[row].clone()).collect();
    }

    fn likeliest(&self, logits: Tensor<2>, count: usize, never: &[TokenId]) -> Vec<Vec<NextToken>> {
        likeliest(logits, count, never)
    }

    fn logits(&self, logits: Tensor<2>) -> Tensor<2> {
        logits
    }

    fn max_len(&self) -> usize {
        MAX_LEN
    }
}

fn contract() -> TokenContract {
    TokenContract {
        start: SPECIAL.bos,
        end: SPECIAL.eos,
        pad: SPECIAL.pad,
        never: vec![SPECIAL.pad, SPECIAL.bos],
        forced_first: None,
        forced_last: None,
    }
}

/// The results for `sentences`, of which `together` are decoded at a time.
fn find(
    toy: &Toy<'_>,
    sentences: &[&[TokenId]],
    options: &SearchOptions,
    together: usize,
) -> Vec<Vec<Hypothesis>> {
    let capacity = Capacity {
        sentences: together,
        positions: usize::MAX,
    };
    let sentences = sentences.iter().map(|sentence| sentence.to_vec());
    search(toy, sentences, &contract(), options, capacity).collect()
}

fn random_logits(seed: u64) -> impl Fn(&[TokenId], &[TokenId]) -> [f32; VOCAB] {
    move |src, prefix| {
        let stream = src
            .iter()
            .chain([&99])
            .chain(prefix)
            .fold(17u64, |hash, &id| {
                hash.wrapping_mul(1_000_003) ^ u64::from(id)
            });
        let mut random = Random::new(seed, stream);
        std::array::from_fn(|_| 2.0 * random.normal() as f32)
    }
}

fn options(beam_width: usize, length_penalty: LengthPenalty, alpha: f64) -> SearchOptions {
    SearchOptions {
        beam_width,
        length_penalty,
        alpha,
        max_new_factor: 1.0,
        max_new_extra: 3,
        max_new_tokens: usize::MAX,
        n_best: beam_width.min(10),
    }
}

const PENALTIES: [(LengthPenalty, f64); 6] = [
    (LengthPenalty::Gnmt, 0.0),
    (LengthPenalty::Gnmt, 0.6),
    (LengthPenalty::Gnmt, 2.0),
    (LengthPenalty::Length, 0.5),
    (LengthPenalty::Length, 1.0),
    (LengthPenalty::Length, 1.5),
];

fn one(toy: &Toy<'_>, src: &[TokenId], options: &SearchOptions) -> Vec<Hypothesis> {
    find(toy, &[src], options, 1).remove(0)
}

fn is_allowed(token: usize) -> bool {
    ![SPECIAL.pad, SPECIAL.bos].contains(&(token as TokenId))
}

/// (tokens, log P, finished), in the order of a search's results.
type Found = (Vec<TokenId>, f64, bool);

fn ranked(mut found: Vec<Found>, options: &SearchOptions) -> Vec<Found> {
    let score = |(tokens, log_prob, finished): &Found| {
        options.score(*log_prob, tokens.len() + usize::from(*finished))
    };
    found.sort_by(|a, b| b.2.cmp(&a.2).then(score(b).total_cmp(&score(a))));
    found.truncate(options.n_best);
    found
}

fn assert_same(results: &[Hypothesis], expected: &[Found]) {
    assert_eq!(results.len(), expected.len());
    for (result, (tokens, log_prob, finished)) in results.iter().zip(expected) {
        assert_eq!((&result.tokens, result.finished), (tokens, *finished));
        assert!(
            (result.log_prob - log_prob).abs() < 1e-4,
            "{result:?}: {log_prob}"
        );
        let sum: f32 = result.token_log_probs.iter().sum();
        assert!((f64::from(sum) - log_prob).abs() < 1e-4, "{result:?}");
        assert_eq!(
            result.token_log_probs.len(),
            tokens.len() + usize::from(*finished)
        );
    }
}

/// Every sequence up to the limit.
fn everything(toy: &Toy<'_>, src: &[TokenId], limit: usize) -> Vec<Found> {
    let mut found = Vec::new();
    let mut open = vec![(Vec::new(), 0.0)];
    while let Some((prefix, log_prob)) = open.pop() {
        if prefix.len() == limit {
            found.push((prefix, log_prob, false));
            continue;
        }
        let next = toy.log_probs(src, &prefix);
        for token in (0..VOCAB).filter(|&token| is_allowed(token)) {
            let log_prob = log_prob + next[token];
            if token as TokenId == SPECIAL.eos {
                found.push((prefix.clone(), log_prob, true));
            } else {
                let longer = [prefix.as_slice(), &[token as TokenId]].concat();
                open.push((longer, log_prob));
            }
        }
    }
    found
}

/// Beam search without early stopping.
fn patient_beam(toy: &Toy<'_>, src: &[TokenId], options: &SearchOptions) -> Vec<Found> {
    let mut found = Vec::new();
    let mut live = vec![(Vec::new(), 0.0)];
    for _ in 0..options.limit(src.len(), MAX_LEN) {
        let mut candidates = Vec::new();
        for (prefix, log_prob) in &live {
            for (token, next) in toy.log_probs(src, prefix).into_iter().enumerate() {
                if is_allowed(token) {
                    candidates.push((prefix.clone(), token as TokenId, log_prob + next));
                }
            }
        }
        candidates.sort_by(|a, b| b.2.total_cmp(&a.2));
        candidates.truncate(2 * options.beam_width);
        live.clear();
        for (rank, (prefix, token, log_prob)) in candidates.into_iter().enumerate() {
            if token != SPECIAL.eos {
                live.push(([prefix.as_slice(), &[token]].concat(), log_prob));
            } else if rank < options.beam_width {
                found.push((prefix, log_prob, true));
            }
        }
        live.truncate(options.beam_width);
    }
    found.extend(
        live.into_iter()
            .map(|(tokens, log_prob)| (tokens, log_prob, false)),
    );
    ranked(found, options)
}

#[test]
fn a_beam_that_holds_all_hypotheses_equals_brute_force() {
    for seed in 0..4 {
        let logits = random_logits(seed);
        let toy = Toy::new(&logits);
        for (penalty, alpha) in PENALTIES {
            let options = options(700, penalty, alpha);
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
        for (penalty, alpha) in PENALTIES {
            for width in [2, 3, 5] {
                for n_best in [1, width] {
                    let options = SearchOptions {
                        n_best,
                        ..options(width, penalty, alpha)
                    };
                    assert_same(
                        &one(&toy, &src, &options),
                        &patient_beam(&toy, &src, &options),
                    );
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
        for (penalty, alpha) in PENALTIES {
            let results = one(&toy, &src, &options(1, penalty, alpha));
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
            let options = options(width, LengthPenalty::Gnmt, 0.6);
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
    let options = SearchOptions {
        max_new_extra: 20,
        ..options(1, LengthPenalty::Gnmt, 0.6)
    };
    let capacity = Capacity {
        sentences: 2,
        positions: usize::MAX,
    };
    let sentences = sentences.map(|sentence| sentence.to_vec());
    let mut found = search(&toy, sentences, &contract, &options, capacity);
    assert_eq!(taken.get(), 0, "nothing is read before it is asked for");
    let first = found.next().expect("a result");
    assert_eq!(first[0].tokens.len(), 9);
    assert_eq!(taken.get(), 6);
    let lens: Vec<usize> = found.map(|results| results[0].tokens.len()).collect();
    assert_eq!(lens, [1, 2, 1, 1, 1]);
    assert!(toy.rows.take().iter().all(|&rows| rows <= 2));
}

#[test]
fn long_sentences_are_decoded_alone() {
    let logits = closing_after_source();
    let toy = Toy::new(&logits);
    let capacity = Capacity {
        sentences: 8,
        positions: 6,
    };
    let sentences = [vec![1; 3], vec![1; 3], vec![1; 100], vec![1; 2]];
    let options = options(1, LengthPenalty::Gnmt, 0.6);
    let found: Vec<_> = search(&toy, sentences.into_iter(), &contract(), &options, capacity)
        .map(|results| results[0].tokens.len())
        .collect();
    assert_eq!(found, [1, 1, 1, 1]);
    assert_eq!(toy.rows.take(), [2, 2, 1, 1, 1, 1]);
}

#[test]
fn forced_tokens_are_first_and_last() {
    let never =
        |_: &[TokenId], _: &[TokenId]| [0.0, 0.0, 0.0, f32::NEG_INFINITY, 5.0, 1.0, 0.0, 0.0];
    let toy = Toy::new(&never);
    let forcing = TokenContract {
        forced_first: Some(6),
        forced_last: Some(SPECIAL.eos),
        ..contract()
    };
    let capacity = Capacity {
        sentences: 1,
        positions: usize::MAX,
    };
    for width in [1, 3] {
        let options = options(width, LengthPenalty::Length, 1.0);
        let sentences = std::iter::once(vec![4]);
        let found = search(&toy, sentences, &forcing, &options, capacity).next();
        let best = &found.expect("a result")[0];
        assert_eq!(best.tokens, [6, 4, 4]);
        assert!(best.finished);
        assert_eq!(best.token_log_probs[0], 0.0);
    }
}

/// Logits that close a sentence after as many tokens as its first source token says.
fn closing_after_source() -> impl Fn(&[TokenId], &[TokenId]) -> [f32; VOCAB] {
    |src, prefix| {
        let mut logits = [0.0; VOCAB];
        let likeliest = if prefix.len() < src[0] as usize {
            5
        } else {
            SPECIAL.eos
        };
        logits[likeliest as usize] = 30.0;
        logits
    }
}

#[test]
fn finished_sentences_leave_the_batch() {
    let logits = closing_after_source();
    let toy = Toy::new(&logits);
    let src: [&[TokenId]; 3] = [&[1, 9, 9], &[4, 9, 9], &[2, 9, 9]];
    let results = find(&toy, &src, &options(1, LengthPenalty::Gnmt, 0.6), 3);
    assert_eq!(toy.rows.take(), [3, 3, 2, 1, 1]);
    let lens: Vec<usize> = results.iter().map(|r| r[0].tokens.len()).collect();
    assert_eq!(lens, [1, 4, 2]);

    let results = find(&toy, &src, &options(3, LengthPenalty::Gnmt, 0.6), 3);
    assert_eq!(results[1][0].tokens, [5; 4]);
    let one_best = SearchOptions {
        n_best: 1,
        ..options(3, LengthPenalty::Gnmt, 0.6)
    };
    find(&toy, &src, &one_best, 3);
    let rows = toy.rows.take();
    assert_eq!(rows[rows.len() - 5..], [3, 9, 6, 3, 3]);
}

#[test]
fn the_limit_holds_and_cut_off_hypotheses_come_last() {
    let never =
        |_: &[TokenId], _: &[TokenId]| [9.0, 0.0, 9.0, f32::NEG_INFINITY, 5.0, 1.0, 0.0, 0.0];
    let toy = Toy::new(&never);
    for (width, src_len, expected) in [(1, 2, 5), (3, 2, 5), (2, 100, MAX_LEN)] {
        let results = one(
            &toy,
            &vec![4; src_len],
            &options(width, LengthPenalty::Length, 1.0),
        );
        assert_eq!(results.len(), width);
        assert_eq!(results[0].tokens, vec![4; expected]);
        assert!(results.iter().all(|result| !result.finished));
    }
    // `</s>` is very unlikely, yet the finished hypothesis is listed before the more likely one that was cut off.
    let rarely = |_: &[TokenId], _: &[TokenId]| [0.0, 0.0, 0.0, -3.0, 5.0, -9.0, -9.0, -9.0];
    let results = one(
        &Toy::new(&rarely),
        &[4],
        &options(3, LengthPenalty::Gnmt, 0.6),
    );
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
    let options = options(3, LengthPenalty::Gnmt, 0.0);
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
        let mut logits = [if prefix.first() == Some(&6) {
            f32::NAN
        } else {
            0.0
        }; VOCAB];
        logits[6] += 1.0;
        logits
    };
    for width in [1, 3] {
        let options = options(width, LengthPenalty::Length, 1.0);
        assert!(one(&Toy::new(&nan), &[4, 5], &options).is_empty());
        let results = one(&Toy::new(&later), &[4, 5], &options);
        assert!(results.iter().all(|result| result.finished), "{results:?}");
        let results = one(&Toy::new(&partly), &[4, 5], &options);
        assert_eq!(results.is_empty(), width == 1);
        assert!(
            results
                .iter()
                .all(|result| result.tokens.first() != Some(&6))
        );
    }
}

#[test]
fn empty_sources_have_empty_outputs() {
    let logits = random_logits(0);
    let toy = Toy::new(&logits);
    let options = options(2, LengthPenalty::Length, 1.0);
    assert!(find(&toy, &[], &options, 4).is_empty());
    let results = one(&toy, &[], &options);
    assert_eq!(results.len(), 1);
    assert_eq!((results[0].tokens.len(), results[0].log_prob), (0, 0.0));
    assert!(toy.rows.take().is_empty());
}

#[test]
fn invalid_options_are_refused() {
    let fits = options(5, LengthPenalty::Gnmt, 0.6);
    assert!(fits.check().is_ok());
    for wrong in [
        SearchOptions {
            beam_width: 0,
            ..fits
        },
        SearchOptions { n_best: 6, ..fits },
        SearchOptions { n_best: 0, ..fits },
        SearchOptions {
            alpha: f64::NAN,
            ..fits
        },
    ] {
        let error = wrong.check().unwrap_err();
        assert!(error.exit_code() == 2 && error.hint().is_some(), "{error}");
    }
}
