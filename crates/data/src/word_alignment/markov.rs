//! The probabilities of the alignments of a pair in a hidden Markov model.
//!
//! A state is the given word with which a word is aligned, or the empty word after such a word. How likely a
//! state is depends on how far it is from the one before (Och and Ney 2003, equation 14, and section 2.1 for
//! the empty word).

/// The probability of the empty word.
pub(super) const EMPTY: f64 = 0.3;
/// The distances that are told apart; farther ones count as the farthest.
const FARTHEST: isize = 12;
/// The share of the probability that is spread over all words, however far they are.
const EVEN: f64 = 0.1;

/// How often the alignment moves how far.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Jumps([f64; 2 * FARTHEST as usize + 1]);

impl Default for Jumps {
    fn default() -> Self {
        Self([0.0; 2 * FARTHEST as usize + 1])
    }
}

impl Jumps {
    /// Short moves forward are likelier, before anything is known.
    pub(super) fn guessed() -> Self {
        let mut jumps = Self::default();
        for (place, jump) in (-FARTHEST..=FARTHEST).zip(&mut jumps.0) {
            *jump = (-(place as f64 - 1.0).abs()).exp();
        }
        jumps
    }

    fn place(from: usize, to: usize) -> usize {
        let distance = (to as isize - from as isize).clamp(-FARTHEST, FARTHEST);
        (distance + FARTHEST) as usize
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, one)| *sum += one);
    }

    /// The probabilities of the moves from each of `n` words to each, `[from · n + to]`.
    fn matrix(&self, n: usize) -> Vec<f64> {
        let mut matrix = Vec::with_capacity(n * n);
        for from in 0..n {
            let row = matrix.len();
            matrix.extend((0..n).map(|to| self.0[Self::place(from, to)]));
            let total: f64 = matrix[row..].iter().sum();
            for one in &mut matrix[row..] {
                let own = if total > 0.0 { *one / total } else { 1.0 / n as f64 };
                *one = (1.0 - EVEN) * own + EVEN / n as f64;
            }
        }
        matrix
    }
}

/// The probabilities of a pair's alignments.
#[derive(Debug)]
pub(super) struct Posterior {
    /// `[word · n + given]`: that a word is aligned with a given one.
    pub(super) aligned: Vec<f64>,
    /// `[word]`: that a word is aligned with the empty word.
    pub(super) empty: Vec<f64>,
    /// The expected number of moves.
    pub(super) jumps: Jumps,
}

impl Posterior {
    /// The probabilities in IBM Model 1, in which each word is aligned by itself. For the arguments, see
    /// [`Posterior::new`].
    pub(super) fn of_model1(n: usize, translated: &[f64], unaligned: &[f64]) -> Self {
        let mut posterior =
            Self { aligned: translated.to_vec(), empty: unaligned.to_vec(), jumps: Jumps::default() };
        for (aligned, empty) in posterior.aligned.chunks_mut(n).zip(&mut posterior.empty) {
            let total = aligned.iter().sum::<f64>() + *empty;
            aligned.iter_mut().for_each(|one| *one /= total);
            *empty /= total;
        }
        posterior
    }

    /// The likeliest given word for each word that is rather aligned than not, and the word.
    pub(super) fn best(&self) -> impl Iterator<Item = (usize, usize)> {
        let n = self.aligned.len() / self.empty.len();
        let words = self.aligned.chunks(n).zip(&self.empty).enumerate();
        words.filter_map(move |(word, (aligned, empty))| {
            let best = (0..n).rev().max_by(|&a, &b| aligned[a].total_cmp(&aligned[b]))?;
            (aligned[best] > *empty).then_some((best, word))
        })
    }

    /// Makes the probabilities of each word add up to 1, whatever that of the empty word is.
    fn spread(&mut self, n: usize) {
        for (aligned, empty) in self.aligned.chunks_mut(n).zip(&self.empty) {
            let total = aligned.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            aligned.iter_mut().for_each(|one| *one *= (1.0 - empty) / total);
        }
    }

    /// Makes two posteriors of the same pair, one in each direction, agree: the probability of a link becomes
    /// the product of both (Liang et al. 2006, section 3.2).
    pub(super) fn agree(&mut self, other: &mut Self) {
        let (len, n) = (self.empty.len(), other.empty.len());
        for word in 0..len {
            for one in 0..n {
                let (own, theirs) = (&mut self.aligned[word * n + one], &mut other.aligned[one * len + word]);
                let product = *own * *theirs;
                (*own, *theirs) = (product, product);
            }
        }
        self.spread(n);
        other.spread(len);
    }

    /// Computes the probabilities by the forward–backward algorithm. `translated` `[word · n + given]` and
    /// `unaligned` `[word]` are the translation probabilities, of which the latter are those of the empty
    /// word.
    pub(super) fn new(n: usize, translated: &[f64], unaligned: &[f64], jumps: &Jumps) -> Self {
        let (len, moves) = (unaligned.len(), jumps.matrix(n));
        // States of a word: aligned with each given word, then empty after each. Each row sums to 1.
        let mut forward = vec![0.0; 2 * n * len];
        for word in 0..len {
            let (before, here) = forward.split_at_mut(2 * n * word);
            let here = &mut here[..2 * n];
            let last = (word > 0).then(|| &before[2 * n * (word - 1)..]);
            for to in 0..n {
                let (reached, stayed) = match last {
                    None => (1.0 / n as f64, 1.0 / n as f64),
                    Some(last) => {
                        let from = |from: usize| last[from] + last[n + from];
                        ((0..n).map(|one| from(one) * moves[one * n + to]).sum(), from(to))
                    }
                };
                here[to] = (1.0 - EMPTY) * reached * translated[word * n + to];
                here[n + to] = EMPTY * stayed * unaligned[word];
            }
            let total: f64 = here.iter().sum();
            here.iter_mut().for_each(|one| *one /= total);
        }
        let mut posterior =
            Self { aligned: vec![0.0; n * len], empty: vec![0.0; len], jumps: Jumps::default() };
        // What follows a state, as a factor of its probability; the same for both kinds of states.
        let mut after = vec![1.0; n];
        for word in (0..len).rev() {
            let here = &forward[2 * n * word..][..2 * n];
            let total: f64 = (0..n).map(|one| (here[one] + here[n + one]) * after[one]).sum();
            for one in 0..n {
                posterior.aligned[word * n + one] = here[one] * after[one] / total;
                posterior.empty[word] += here[n + one] * after[one] / total;
            }
            if word == 0 {
                break;
            }
            let last = &forward[2 * n * (word - 1)..][..2 * n];
            let mut before = vec![0.0; n];
            let mut moved = 0.0;
            let mut expected = Jumps::default();
            for from in 0..n {
                let weight = last[from] + last[n + from];
                let mut reached = EMPTY * unaligned[word] * after[from];
                moved += weight * reached;
                for to in 0..n {
                    let one = (1.0 - EMPTY) * moves[from * n + to] * translated[word * n + to] * after[to];
                    expected.0[Jumps::place(from, to)] += weight * one;
                    moved += weight * one;
                    reached += one;
                }
                before[from] = reached;
            }
            expected.0.iter_mut().for_each(|one| *one /= moved);
            posterior.jumps.add(&expected);
            let largest = before.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            after = before.into_iter().map(|one| one / largest).collect();
        }
        posterior
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by enumeration of all alignments.
    fn enumerated(n: usize, translated: &[f64], unaligned: &[f64], jumps: &Jumps) -> (Vec<f64>, Vec<f64>) {
        let (len, moves) = (unaligned.len(), jumps.matrix(n));
        let (mut aligned, mut empty, mut total) = (vec![0.0; n * len], vec![0.0; len], 0.0);
        for path in 0..(2 * n).pow(len as u32) {
            let states: Vec<usize> = (0..len).map(|word| path / (2 * n).pow(word as u32) % (2 * n)).collect();
            let mut probability = 1.0;
            for (word, &state) in states.iter().enumerate() {
                let (at, is_empty) = (state % n, state >= n);
                let before = word.checked_sub(1).map(|last| states[last] % n);
                probability *= match (is_empty, before) {
                    (true, Some(before)) if before != at => 0.0,
                    (true, Some(_)) => EMPTY * unaligned[word],
                    (true, None) => EMPTY / n as f64 * unaligned[word],
                    (false, before) => {
                        let moved = before.map_or(1.0 / n as f64, |before| moves[before * n + at]);
                        (1.0 - EMPTY) * moved * translated[word * n + at]
                    }
                };
            }
            total += probability;
            for (word, &state) in states.iter().enumerate() {
                match state.checked_sub(n) {
                    Some(_) => empty[word] += probability,
                    None => aligned[word * n + state] += probability,
                }
            }
        }
        aligned.iter_mut().chain(&mut empty).for_each(|one| *one /= total);
        (aligned, empty)
    }

    #[test]
    fn probabilities_are_those_of_all_alignments() {
        for (n, len) in [(1, 1), (1, 3), (2, 3), (3, 4)] {
            let translated: Vec<f64> = (0..n * len).map(|i| 0.05 + (i * 7 % 11) as f64 / 20.0).collect();
            let unaligned: Vec<f64> = (0..len).map(|i| 0.1 + (i % 3) as f64 / 10.0).collect();
            let jumps = Jumps::guessed();
            let found = Posterior::new(n, &translated, &unaligned, &jumps);
            let (aligned, empty) = enumerated(n, &translated, &unaligned, &jumps);
            for (a, b) in found.aligned.iter().zip(&aligned).chain(found.empty.iter().zip(&empty)) {
                assert!((a - b).abs() < 1e-12, "{n} {len}: {found:?}");
            }
            // As many moves as words that are aligned, but for the first.
            let aligned: f64 = aligned[n..].iter().sum();
            assert!((found.jumps.0.iter().sum::<f64>() - aligned).abs() < 1e-12);
        }
    }
}
