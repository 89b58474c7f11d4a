//! Toy models whose logits come from a hash of source and prefix, and naive searches.

use std::cell::RefCell;

use attentive_architecture::TokenContract;
use attentive_base::batch::{Padded, TokenId};
use attentive_base::random::Random;
use attentive_config::{EarlyStopping, LengthPenaltyFormula};
use attentive_text::SpecialTokens;

use super::super::{Capacity, Hypothesis, SearchContext, SearchOptions, Strategy, search};
use crate::{Logits, NextToken, Stepper, likeliest};

pub(super) const SPECIAL: SpecialTokens = SpecialTokens {
    pad: 0,
    unk: 1,
    bos: 2,
    eos: 3,
    mask: None,
    start: 2,
    first: None,
    forced: None,
    last: None,
};
pub(super) const VOCAB: usize = 8;
pub(super) const MAX_LEN: usize = 40;

/// Logits of the next token, given the source and the tokens so far.
pub(super) type Formula<'a> = dyn Fn(&[TokenId], &[TokenId]) -> [f32; VOCAB] + 'a;

pub(super) struct Toy<'a> {
    logits: &'a Formula<'a>,
    /// The number of rows in each decoding step.
    pub(super) rows: RefCell<Vec<usize>>,
}

impl<'a> Toy<'a> {
    pub(super) fn new(logits: &'a Formula<'a>) -> Self {
        Self { logits, rows: RefCell::default() }
    }

    pub(super) fn log_probs(&self, src: &[TokenId], prefix: &[TokenId]) -> Vec<f64> {
        let logits = (self.logits)(src, prefix);
        let total: f64 = logits.iter().map(|&x| f64::from(x).exp()).sum();
        logits.iter().map(|&x| f64::from(x) - total.ln()).collect()
    }
}

#[derive(Clone)]
pub(super) struct Row {
    src: Vec<TokenId>,
    prefix: Option<Vec<TokenId>>,
}

impl Stepper for Toy<'_> {
    type State = Vec<Row>;
    type Last = Logits;

    fn start(&self) -> Vec<Row> {
        Vec::new()
    }

    fn start_watched(&self) -> Option<Vec<Row>> {
        Some(Vec::new())
    }

    fn admit(&self, src: &Padded, state: &mut Vec<Row>) {
        let sentences = src.ids.chunks(src.width()).zip(src.lens());
        state.extend(sentences.map(|(ids, &len)| Row { src: ids[..len].to_vec(), prefix: None }));
    }

    fn step(&self, next: &[TokenId], state: &mut Vec<Row>) -> Logits {
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
            values.extend((self.logits)(&row.src, row.prefix.as_deref().unwrap_or_default()));
        }
        Logits::new(values, VOCAB)
    }

    fn read(&self, _: &Padded, _: &mut Vec<Row>) -> Logits {
        unreachable!("a search reads token by token")
    }

    fn select(&self, rows: &[usize], state: &mut Vec<Row>) {
        *state = rows.iter().map(|&row| state[row].clone()).collect();
    }

    fn likeliest(&self, logits: Logits, count: usize, never: &[TokenId]) -> Vec<Vec<NextToken>> {
        likeliest(logits, count, never)
    }

    fn logits(&self, logits: Logits) -> Logits {
        logits
    }

    fn cross_attention(&self, state: &Vec<Row>) -> Vec<Vec<f32>> {
        let attention = |row: &Row| attention(&row.src, row.prefix.as_deref().unwrap_or_default());
        state.iter().map(attention).collect()
    }

    fn max_len(&self) -> usize {
        MAX_LEN
    }
}

/// The weights over the positions of the source with which the toy predicts the token after `prefix`.
pub(super) fn attention(src: &[TokenId], prefix: &[TokenId]) -> Vec<f32> {
    let seed = prefix.iter().fold(7, |hash, &id| hash * 31 + u64::from(id));
    let mut random = Random::new(seed, 1);
    let powers: Vec<f64> = src.iter().map(|_| (2.0 * random.normal()).exp()).collect();
    let total: f64 = powers.iter().sum();
    powers.iter().map(|power| (power / total) as f32).collect()
}

pub(super) fn contract() -> &'static TokenContract {
    static CONTRACT: std::sync::LazyLock<TokenContract> = std::sync::LazyLock::new(|| TokenContract {
        start: SPECIAL.bos,
        end: SPECIAL.eos,
        pad: SPECIAL.pad,
        never: vec![SPECIAL.pad, SPECIAL.bos],
        forced_first: None,
        forced_last: None,
    });
    &CONTRACT
}

/// The results for `sentences`, of which `together` are decoded at a time.
pub(super) fn find(
    toy: &Toy<'_>,
    sentences: &[&[TokenId]],
    options: &SearchOptions,
    together: usize,
) -> Vec<Vec<Hypothesis>> {
    let capacity = Capacity { sentences: together, positions: usize::MAX };
    let sentences = sentences.iter().map(|sentence| sentence.to_vec().into());
    search(toy, sentences, SearchContext { contract: contract(), options: *options, capacity }).collect()
}

pub(super) fn random_logits(seed: u64) -> impl Fn(&[TokenId], &[TokenId]) -> [f32; VOCAB] {
    move |src, prefix| {
        let stream = src
            .iter()
            .chain([&99])
            .chain(prefix)
            .fold(17u64, |hash, &id| hash.wrapping_mul(1_000_003) ^ u64::from(id));
        let mut random = Random::new(seed, stream);
        std::array::from_fn(|_| 2.0 * random.normal() as f32)
    }
}

pub(super) fn options(
    beam_width: usize,
    length_penalty_formula: LengthPenaltyFormula,
    length_penalty: f64,
) -> SearchOptions {
    SearchOptions {
        strategy: Strategy::beam(beam_width, beam_width.min(10), EarlyStopping::Never),
        length_penalty_formula,
        length_penalty,
        word_penalty: 0.0,
        max_new_factor: 1.0,
        max_new_extra: 3,
        max_new_tokens: usize::MAX,
        min_length: 0,
        no_repeat_ngram: 0,
        coverage_penalty: 0.0,
        guided: false,
    }
}

pub(super) const PENALTIES: [(LengthPenaltyFormula, f64); 6] = [
    (LengthPenaltyFormula::Gnmt, 0.0),
    (LengthPenaltyFormula::Gnmt, 0.6),
    (LengthPenaltyFormula::Gnmt, 2.0),
    (LengthPenaltyFormula::Length, 0.5),
    (LengthPenaltyFormula::Length, 1.0),
    (LengthPenaltyFormula::Length, 1.5),
];

pub(super) fn one(toy: &Toy<'_>, src: &[TokenId], options: &SearchOptions) -> Vec<Hypothesis> {
    find(toy, &[src], options, 1).remove(0)
}

pub(super) fn is_allowed(token: usize) -> bool {
    ![SPECIAL.pad, SPECIAL.bos].contains(&(token as TokenId))
}

/// (tokens, log P, finished), in the order of a search's results.
pub(super) type Found = (Vec<TokenId>, f64, bool);

pub(super) fn ranked(mut found: Vec<Found>, options: &SearchOptions) -> Vec<Found> {
    let score = |(tokens, log_prob, finished): &Found| {
        options.score(*log_prob, tokens.len() + usize::from(*finished))
    };
    found.sort_by(|a, b| b.2.cmp(&a.2).then(score(b).total_cmp(&score(a))));
    found.truncate(options.strategy.n_best());
    found
}

pub(super) fn assert_same(results: &[Hypothesis], expected: &[Found]) {
    assert_eq!(results.len(), expected.len());
    for (result, (tokens, log_prob, finished)) in results.iter().zip(expected) {
        assert_eq!((&result.tokens, result.finished), (tokens, *finished));
        assert!((result.log_prob - log_prob).abs() < 1e-4, "{result:?}: {log_prob}");
        let sum: f32 = result.token_log_probs.iter().sum();
        assert!((f64::from(sum) - log_prob).abs() < 1e-4, "{result:?}");
        assert_eq!(result.token_log_probs.len(), tokens.len() + usize::from(*finished));
    }
}

/// Every sequence up to the limit.
pub(super) fn everything(toy: &Toy<'_>, src: &[TokenId], limit: usize) -> Vec<Found> {
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
pub(super) fn patient_beam(toy: &Toy<'_>, src: &[TokenId], options: &SearchOptions) -> Vec<Found> {
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
        candidates.truncate(2 * options.strategy.rows());
        live.clear();
        for (rank, (prefix, token, log_prob)) in candidates.into_iter().enumerate() {
            if token != SPECIAL.eos {
                live.push(([prefix.as_slice(), &[token]].concat(), log_prob));
            } else if rank < options.strategy.rows() {
                found.push((prefix, log_prob, true));
            }
        }
        live.truncate(options.strategy.rows());
    }
    found.extend(live.into_iter().map(|(tokens, log_prob)| (tokens, log_prob, false)));
    ranked(found, options)
}

/// Logits that end a sentence after the number of tokens that its first source token gives.
pub(super) fn closing_after_source() -> impl Fn(&[TokenId], &[TokenId]) -> [f32; VOCAB] {
    |src, prefix| {
        let mut logits = [0.0; VOCAB];
        let likeliest = if prefix.len() < src[0] as usize { 5 } else { SPECIAL.eos };
        logits[likeliest as usize] = 30.0;
        logits
    }
}
