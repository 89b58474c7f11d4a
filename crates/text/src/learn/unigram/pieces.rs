//! Pieces with probabilities, and the segmentations of a word into pieces.

use std::collections::HashMap;

use super::seeds::Seed;

/// Lower bound of the counts, so that every piece keeps a positive probability.
const MIN_COUNT: f64 = 0.5;

/// A unigram model. The first pieces are the single characters, which are never removed.
pub(super) struct UnigramPieces {
    texts: Vec<Vec<char>>,
    log_probs: Vec<f64>,
    n_characters: usize,
    /// A prefix tree that maps a node and a character to a child node; node 0 is the root.
    children: HashMap<(usize, char), usize>,
    /// The piece that ends at each node.
    piece_at: Vec<Option<usize>>,
}

/// An occurrence of a piece in a word.
struct Edge {
    start: usize,
    end: usize,
    piece: usize,
}

impl UnigramPieces {
    /// Pieces with probabilities proportional to their counts; the first `n_characters` are single
    /// characters.
    pub(super) fn new(seeds: Vec<Seed>, n_characters: usize) -> Self {
        let (texts, counts): (Vec<_>, Vec<_>) =
            seeds.into_iter().map(|(text, count)| (text, count as f64)).unzip();
        let mut pieces =
            Self { texts, log_probs: vec![], n_characters, children: HashMap::new(), piece_at: vec![None] };
        for (piece, text) in pieces.texts.iter().enumerate() {
            let mut node = 0;
            for &character in text {
                node = *pieces.children.entry((node, character)).or_insert_with(|| {
                    pieces.piece_at.push(None);
                    pieces.piece_at.len() - 1
                });
            }
            pieces.piece_at[node] = Some(piece);
        }
        pieces.estimate(&counts);
        pieces
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Sets the probabilities to the maximum-likelihood estimate for these counts.
    pub(super) fn estimate(&mut self, counts: &[f64]) {
        let total: f64 = counts.iter().map(|count| count.max(MIN_COUNT)).sum();
        self.log_probs = counts.iter().map(|count| (count.max(MIN_COUNT) / total).ln()).collect();
    }

    /// Adds to each piece's `sum` its expected number of occurrences in `count` times `word`, averaged over
    /// all segmentations.
    pub(super) fn add_expected(&self, word: &[char], count: f64, sum: &mut [f64]) {
        let edges = self.edges(word);
        let mut before = vec![f64::NEG_INFINITY; word.len() + 1];
        let mut behind = before.clone();
        before[0] = 0.0;
        behind[word.len()] = 0.0;
        for edge in &edges {
            before[edge.end] = log_add(before[edge.end], before[edge.start] + self.log_probs[edge.piece]);
        }
        for edge in edges.iter().rev() {
            behind[edge.start] = log_add(behind[edge.start], behind[edge.end] + self.log_probs[edge.piece]);
        }
        let all = before[word.len()];
        for Edge { start, end, piece } in edges {
            sum[piece] += count * (before[start] + self.log_probs[piece] + behind[end] - all).exp();
        }
    }

    /// Keeps the characters and the best other pieces, `size` in total: those whose removal would reduce the
    /// likelihood most if each of their `expected` occurrences were spelled with other pieces.
    pub(super) fn pruned(&self, expected: &[f64], size: usize) -> Self {
        let mut losses: Vec<(f64, usize)> = (self.n_characters..self.len())
            .map(|piece| (expected[piece] * (self.log_probs[piece] - self.best_without(piece)), piece))
            .collect();
        losses.sort_by(|(a, a_piece), (b, b_piece)| b.total_cmp(a).then(a_piece.cmp(b_piece)));
        losses.truncate(size.saturating_sub(self.n_characters));
        let mut kept: Vec<usize> = losses.into_iter().map(|(_, piece)| piece).collect();
        kept.sort_unstable();
        let kept = (0..self.n_characters).chain(kept);
        let (seeds, log_probs) =
            kept.map(|piece| ((self.texts[piece].clone(), 0), self.log_probs[piece])).unzip();
        Self { log_probs, ..Self::new(seeds, self.n_characters) }
    }

    /// The pieces and their log-probabilities, most likely first.
    pub(super) fn into_sorted(self) -> Vec<(String, f64)> {
        let texts = self.texts.into_iter().map(|text| text.into_iter().collect());
        let mut pieces: Vec<(String, f64)> = texts.zip(self.log_probs).collect();
        pieces.sort_by(|(a, a_score), (b, b_score)| b_score.total_cmp(a_score).then_with(|| a.cmp(b)));
        pieces
    }

    /// The log-probability of the best segmentation of a piece into other pieces.
    fn best_without(&self, piece: usize) -> f64 {
        let text = &self.texts[piece];
        let mut best = vec![f64::NEG_INFINITY; text.len() + 1];
        best[0] = 0.0;
        for edge in self.edges(text).into_iter().filter(|edge| edge.piece != piece) {
            best[edge.end] = best[edge.end].max(best[edge.start] + self.log_probs[edge.piece]);
        }
        best[text.len()]
    }

    /// All occurrences of pieces in `word`, by start position.
    fn edges(&self, word: &[char]) -> Vec<Edge> {
        let mut edges = Vec::new();
        for start in 0..word.len() {
            let mut node = 0;
            for (end, &character) in (start + 1..).zip(&word[start..]) {
                let Some(&child) = self.children.get(&(node, character)) else {
                    break;
                };
                node = child;
                edges.extend(self.piece_at[node].map(|piece| Edge { start, end, piece }));
            }
        }
        edges
    }
}

/// ln(eᵃ + eᵇ)
fn log_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(seeds: &[(&str, u64)], n_characters: usize) -> UnigramPieces {
        UnigramPieces::new(
            seeds.iter().map(|(text, count)| (text.chars().collect(), *count)).collect(),
            n_characters,
        )
    }

    /// All segmentations of a word, enumerated.
    fn segmentations(word: &str, texts: &[&str]) -> Vec<Vec<usize>> {
        if word.is_empty() {
            return vec![vec![]];
        }
        let mut all = Vec::new();
        for (piece, text) in texts.iter().enumerate() {
            for mut rest in word.strip_prefix(text).map_or(vec![], |rest| segmentations(rest, texts)) {
                rest.insert(0, piece);
                all.push(rest);
            }
        }
        all
    }

    #[test]
    fn expected_counts_average_over_all_segmentations() {
        let seeds = [("a", 3), ("b", 2), ("ab", 4), ("ba", 1), ("bab", 5)];
        let pieces = pieces(&seeds, 2);
        let texts: Vec<&str> = seeds.iter().map(|(text, _)| *text).collect();
        let mut expected = vec![0.0; 5];
        let mut all = 0.0;
        for segmentation in segmentations("ababab", &texts) {
            let likelihood: f64 = segmentation.iter().map(|&piece| seeds[piece].1 as f64 / 15.0).product();
            all += likelihood;
            segmentation.into_iter().for_each(|piece| expected[piece] += likelihood);
        }
        let mut found = vec![0.0; 5];
        pieces.add_expected(&"ababab".chars().collect::<Vec<_>>(), 7.0, &mut found);
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - 7.0 * expected / all).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn pruning_keeps_characters_and_useful_pieces() {
        let pieces = pieces(&[("a", 1), ("b", 1), ("aa", 10), ("ab", 10), ("ba", 10)], 2);
        // The two rarest longer pieces are removed, although some characters are rarer.
        let kept = pieces.pruned(&[0.0, 0.0, 5.0, 9.0, 1.0], 3).into_sorted();
        let kept: Vec<&str> = kept.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(kept, ["ab", "a", "b"]);
    }
}
