//! Learning a shortlist from parallel text, with IBM Model 1 (Brown et al. 1993): the probability that a
//! source token is translated by a target token is estimated by expectation maximization over all ways of
//! aligning each sentence pair.

use std::cmp::Ordering;
use std::ops::Range;

use attentive_base::batch::TokenId;

use super::Shortlist;

/// Limits of the candidates in a shortlist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShortlistLimits {
    /// Maximum number of candidates of a source token.
    pub per_token: usize,
    /// Minimum probability of a candidate, given its source token.
    pub min_probability: f32,
    /// Number of the most frequent target tokens that are candidates of every sentence.
    pub frequent: usize,
}

impl Default for ShortlistLimits {
    fn default() -> Self {
        Self { per_token: 50, min_probability: 1e-4, frequent: 1000 }
    }
}

/// Iterations of expectation maximization.
const ITERATIONS: usize = 5;
/// Probabilities below this are taken to be zero, which saves RAM.
const NEGLIGIBLE: f32 = 1e-6;

/// Learns the shortlist of sentence pairs, whose tokens are below `vocabs` (source and target). The
/// candidates of every sentence are the tokens `special` and the most frequent ones. The result does not
/// depend on the number of threads.
///
/// # Panics
/// Panics if a token is not in its vocabulary.
pub fn learn(
    pairs: &[(Vec<TokenId>, Vec<TokenId>)],
    vocabs: [usize; 2],
    special: &[TokenId],
    limits: ShortlistLimits,
) -> Shortlist {
    let [src_vocab, tgt_vocab] = vocabs;
    let mut model = Model1::new(pairs, vocabs);
    (0..ITERATIONS).for_each(|_| model.improve());
    let mut ends = Vec::with_capacity(src_vocab);
    let mut candidates = Vec::new();
    for mut likely in model.probabilities.into_iter().flatten().take(src_vocab) {
        likely.retain(|&(_, probability)| probability >= limits.min_probability);
        let descending = |a: f32, b: f32| b.partial_cmp(&a).unwrap_or(Ordering::Equal);
        likely.sort_by(|a, b| descending(a.1, b.1).then(a.0.cmp(&b.0)));
        candidates.extend(likely.iter().take(limits.per_token).map(|&(token, _)| token));
        ends.push(candidates.len() as u32);
    }
    let mut always = frequent(pairs, tgt_vocab, limits.frequent);
    always.extend_from_slice(special);
    always.sort_unstable();
    always.dedup();
    Shortlist::new(ends, candidates, always, tgt_vocab).expect("tokens of the vocabularies")
}

/// The `count` most frequent target tokens.
fn frequent(pairs: &[(Vec<TokenId>, Vec<TokenId>)], tgt_vocab: usize, count: usize) -> Vec<TokenId> {
    let mut counts = vec![0usize; tgt_vocab];
    let tokens = pairs.iter().flat_map(|(_, tgt)| tgt);
    tokens.for_each(|&token| counts[token as usize] += 1);
    let mut seen: Vec<TokenId> =
        (0..tgt_vocab as TokenId).filter(|&token| counts[token as usize] > 0).collect();
    seen.sort_by_key(|&token| std::cmp::Reverse(counts[token as usize]));
    seen.truncate(count);
    seen
}

/// The state of IBM Model 1 in training.
struct Model1<'a> {
    pairs: &'a [(Vec<TokenId>, Vec<TokenId>)],
    /// The index of the first target token of each pair among the target tokens of all pairs.
    starts: Vec<usize>,
    /// For each source token, the pairs that contain it, once for each occurrence. The last token stands for
    /// the empty word, which occurs once in every pair.
    occurrences: Vec<Vec<u32>>,
    /// For each source token, its target tokens with their probabilities; all are equal before the first
    /// iteration.
    probabilities: Option<Vec<Vec<(TokenId, f32)>>>,
    tgt_vocab: usize,
}

impl<'a> Model1<'a> {
    fn new(pairs: &'a [(Vec<TokenId>, Vec<TokenId>)], [src_vocab, tgt_vocab]: [usize; 2]) -> Self {
        let mut starts = vec![0];
        let mut occurrences = vec![Vec::new(); src_vocab + 1];
        for (number, (src, tgt)) in pairs.iter().enumerate() {
            starts.push(starts[number] + tgt.len());
            for &token in src.iter().chain([&(src_vocab as TokenId)]) {
                occurrences[token as usize].push(number as u32);
            }
        }
        Self { pairs, starts, occurrences, probabilities: None, tgt_vocab }
    }

    /// Runs an iteration of expectation maximization; the first one begins with equal probabilities.
    fn improve(&mut self) {
        let totals = self.totals();
        let mut counts = vec![0.0f32; self.tgt_vocab];
        let mut improved = Vec::with_capacity(self.occurrences.len());
        self.for_each_token(|probability_of, occurrences| {
            let mut seen = Vec::new();
            for &pair in occurrences {
                let (tgt, range) = self.target(pair);
                for (&tgt, &total) in tgt.iter().zip(&totals[range]) {
                    let share = probability_of[tgt as usize] / total;
                    if share > 0.0 {
                        if counts[tgt as usize] == 0.0 {
                            seen.push(tgt);
                        }
                        counts[tgt as usize] += share;
                    }
                }
            }
            seen.sort_unstable();
            let sum: f32 = seen.iter().map(|&tgt| counts[tgt as usize]).sum();
            let take = |tgt: TokenId| (tgt, std::mem::take(&mut counts[tgt as usize]) / sum);
            let all = seen.into_iter().map(take);
            improved.push(all.filter(|&(_, p)| p >= NEGLIGIBLE).collect());
        });
        self.probabilities = Some(improved);
    }

    /// For each target token of each pair, the sum of its probabilities over all source tokens of the pair.
    fn totals(&self) -> Vec<f32> {
        let mut totals = vec![0.0; self.starts.last().copied().unwrap_or(0)];
        self.for_each_token(|probability_of, occurrences| {
            for &pair in occurrences {
                let (tgt, range) = self.target(pair);
                for (&tgt, total) in tgt.iter().zip(&mut totals[range]) {
                    *total += probability_of[tgt as usize];
                }
            }
        });
        totals
    }

    /// Calls `each` for all source tokens with the probability of every target token, and the pairs that
    /// contain it.
    fn for_each_token(&self, mut each: impl FnMut(&[f32], &[u32])) {
        let Some(probabilities) = &self.probabilities else {
            let equal = vec![1.0; self.tgt_vocab];
            return self.occurrences.iter().for_each(|pairs| each(&equal, pairs));
        };
        let mut of_token = vec![0.0; self.tgt_vocab];
        for (given, pairs) in probabilities.iter().zip(&self.occurrences) {
            given.iter().for_each(|&(tgt, p)| of_token[tgt as usize] = p);
            each(&of_token, pairs);
            given.iter().for_each(|&(tgt, _)| of_token[tgt as usize] = 0.0);
        }
    }

    /// Returns the target tokens of a pair, and their range among the target tokens of all pairs.
    fn target(&self, pair: u32) -> (&[TokenId], Range<usize>) {
        let pair = pair as usize;
        (&self.pairs[pair].1, self.starts[pair]..self.starts[pair + 1])
    }
}
