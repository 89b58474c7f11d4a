//! Sampling from the segmentations of a unigram model (Kudo 2018).

use attentive_base::batch::TokenId;
use attentive_base::random::Random;

use crate::unigram_model::{Section, UnigramModel};

/// The pieces of a unigram model.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    model: UnigramModel,
    /// The text of each token; `None` for tokens that stay as they are.
    texts: Vec<Option<Box<str>>>,
    alpha: f64,
}

/// A way to reach a place in a text by a last piece.
struct Way {
    start: usize,
    token: TokenId,
    /// The logarithm of the weight of all segmentations that end in this way.
    weight: f64,
}

impl Pieces {
    pub(super) fn new(
        section: Section,
        tokens: &[String],
        is_special: impl Fn(TokenId) -> bool,
        alpha: f64,
    ) -> Result<Self, String> {
        let model = UnigramModel::new(section)?;
        let text = |(id, token): (TokenId, &String)| {
            let is_piece = model.matches(token) && !is_special(id);
            is_piece.then(|| token.as_str().into())
        };
        let texts = (0..).zip(tokens).map(text).collect();
        Ok(Self { model, texts, alpha })
    }

    /// Appends a segmentation of `word` to `sampled`.
    pub(super) fn sample(&self, word: &[TokenId], random: &mut Random, sampled: &mut Vec<TokenId>) {
        let text_of = |id: TokenId| self.texts.get(id as usize).and_then(Option::as_deref);
        for part in word.chunk_by(|&left, &right| text_of(left).is_some() == text_of(right).is_some()) {
            let text: String = part.iter().filter_map(|&id| text_of(id)).collect();
            if text.is_empty() {
                sampled.extend_from_slice(part);
            } else {
                self.sample_text(&text, random, sampled);
            }
        }
    }

    /// Appends a segmentation of `text`, which some pieces spell (forward filtering, backward sampling).
    fn sample_text(&self, text: &str, random: &mut Random, sampled: &mut Vec<TokenId>) {
        let mut ways: Vec<Vec<Way>> = Vec::new();
        ways.resize_with(text.len() + 1, Vec::new);
        for (start, _) in text.char_indices() {
            let until_here = if start == 0 { 0.0 } else { log_sum(&ways[start]) };
            if until_here == f64::NEG_INFINITY {
                continue;
            }
            self.model.prefixes(&text.as_bytes()[start..], |len, token, score| {
                let weight = until_here + self.alpha * f64::from(score);
                ways[start + len].push(Way { start, token, weight });
            });
        }
        let first = sampled.len();
        let mut end = text.len();
        while end > 0 {
            let way = choose(&ways[end], random);
            sampled.push(way.token);
            end = way.start;
        }
        sampled[first..].reverse();
    }
}

/// Draws one of `ways` by its weight.
fn choose<'a>(ways: &'a [Way], random: &mut Random) -> &'a Way {
    let total = log_sum(ways);
    let mut left = random.uniform();
    for way in ways {
        left -= (way.weight - total).exp();
        if left < 0.0 {
            return way;
        }
    }
    ways.last().expect("a way that leads here")
}

fn log_sum(ways: &[Way]) -> f64 {
    let most = ways.iter().map(|way| way.weight).fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + ways.iter().map(|way| (way.weight - most).exp()).sum::<f64>().ln()
}
