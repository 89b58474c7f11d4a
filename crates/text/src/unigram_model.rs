//! The search for the most likely pieces of a text, with the same arithmetic as SentencePiece (Kudo and
//! Richardson 2018).

use std::collections::HashMap;

use serde::Deserialize;
use tokenizers::Token;

use super::growth::{REPEATED, TOKEN, check_text};

/// Above this value, sums of scores restart from 0, before they become so large that single scores make no
/// difference.
const MAX_SCORE: f32 = 100_000.0;
/// The difference between the score of the least likely piece and the score of an unknown character.
const UNKNOWN_PENALTY: f32 = 10.0;

/// A unigram model with 32-bit sums.
#[derive(Clone, Debug)]
pub(super) struct UnigramModel {
    /// Tokens in the order of their ids.
    pub(super) tokens: Vec<String>,
    pub(super) ids: HashMap<String, u32>,
    /// The tokens that can be matched in texts, in the order of their bytes.
    matched: Vec<Match>,
    unk: Option<u32>,
    unknown_score: f32,
    /// The ids of the tokens of all bytes, which spell unknown characters.
    bytes: Option<Vec<u32>>,
}

/// A token that can be matched in texts.
#[derive(Clone, Debug)]
struct Match {
    text: Box<[u8]>,
    id: u32,
    score: f32,
}

/// The `model` section of a file.
#[derive(Deserialize)]
pub(super) struct Section {
    vocab: Vec<(String, f64)>,
    unk_id: Option<u32>,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    unmatched: Vec<u32>,
}

/// The best path to a position of a text.
#[derive(Clone, Copy, Default)]
struct Best {
    score: f32,
    /// The start of the last piece, and its id; `None` before any path is found.
    last: Option<(usize, Option<u32>)>,
}

impl UnigramModel {
    pub(super) fn new(section: Section) -> Result<Self, String> {
        let (tokens, scores): (Vec<String>, Vec<f64>) = section.vocab.into_iter().unzip();
        let n = tokens.len();
        for (id, token) in (0..).zip(&tokens) {
            let most = if section.unk_id == Some(id) { REPEATED } else { TOKEN };
            check_text("a token", token, most)?;
        }
        let listed = section.unmatched.iter().chain(&section.unk_id);
        if let Some(id) = listed.clone().find(|&&id| id as usize >= n) {
            return Err(format!("there is no token {id}"));
        }
        let mut is_matched = vec![true; n];
        for &id in &section.unmatched {
            is_matched[id as usize] = false;
        }
        let found = (0..n).filter(|&id| is_matched[id] && !tokens[id].is_empty());
        let mut matched: Vec<Match> = found
            .map(|id| Match { text: tokens[id].as_bytes().into(), id: id as u32, score: scores[id] as f32 })
            .collect();
        matched.sort_by(|a, b| a.text.cmp(&b.text));
        let least = matched.iter().map(|one| one.score).fold(f32::MAX, f32::min);
        let ids: HashMap<String, u32> = tokens.iter().cloned().zip(0..).collect();
        let byte = |byte: u8| ids.get(&format!("<0x{byte:02X}>")).copied();
        let bytes: Option<Vec<u32>> = (0..=u8::MAX).map(byte).collect();
        Ok(Self {
            matched,
            unk: section.unk_id,
            unknown_score: least - UNKNOWN_PENALTY,
            bytes: bytes.filter(|_| section.byte_fallback),
            tokens,
            ids,
        })
    }

    /// Returns true if `token` can be matched in texts.
    pub(super) fn matches(&self, token: &str) -> bool {
        self.matched.binary_search_by(|one| (*one.text).cmp(token.as_bytes())).is_ok()
    }

    /// Calls `each` with the number of bytes, the id and the score of each token that is a prefix of the
    /// bytes `text`, the shortest first.
    pub(super) fn prefixes(&self, text: &[u8], mut each: impl FnMut(usize, u32, f32)) {
        let mut left = &self.matched[..];
        for (depth, &byte) in text.iter().enumerate() {
            let at = |one: &Match| one.text.get(depth).copied();
            let start = left.partition_point(|one| at(one) < Some(byte));
            let end = start + left[start..].partition_point(|one| at(one) == Some(byte));
            left = &left[start..end];
            match left.first() {
                None => return,
                Some(first) if first.text.len() == depth + 1 => each(depth + 1, first.id, first.score),
                Some(_) => {}
            }
        }
    }

    /// The most likely pieces of `text`: the start and end of each, and its id, `None` for an unknown
    /// character. Of two paths that are equally likely, the one that is found first is taken.
    fn divide(&self, text: &str) -> Vec<(usize, usize, Option<u32>)> {
        let mut ways = vec![Best::default(); text.len() + 1];
        let mut furthest = 0;
        for (start, char) in text.char_indices() {
            if ways[start].score.abs() > MAX_SCORE {
                begin_again(&mut ways[start..=furthest]);
            }
            let until_here = ways[start].score;
            let (width, mut has_single) = (char.len_utf8(), false);
            self.prefixes(&text.as_bytes()[start..], |len, id, score| {
                has_single |= len == width;
                furthest = furthest.max(start + len);
                ways[start + len].offer(until_here + score, start, Some(id));
            });
            if !has_single {
                furthest = furthest.max(start + width);
                ways[start + width].offer(until_here + self.unknown_score, start, None);
            }
        }
        let mut pieces = Vec::new();
        let mut end = text.len();
        while let Some((start, id)) = ways[end].last {
            pieces.push((start, end, id));
            end = start;
        }
        pieces.reverse();
        pieces
    }

    /// The tokens of `text`. Adjacent unknown characters become one token, or their bytes.
    pub(super) fn tokenize(&self, text: &str) -> tokenizers::Result<Vec<Token>> {
        let mut tokens = Vec::new();
        let mut pieces = self.divide(text).into_iter().peekable();
        while let Some((start, mut end, id)) = pieces.next() {
            if let Some(id) = id {
                tokens.push(self.token(id, text[start..end].to_owned(), (start, end)));
                continue;
            }
            while let Some((_, next, _)) = pieces.next_if(|(.., id)| id.is_none()) {
                end = next;
            }
            let unknown = &text[start..end];
            match (&self.bytes, self.unk) {
                (Some(bytes), _) => tokens.extend(unknown.bytes().map(|byte| {
                    let id = bytes[usize::from(byte)];
                    self.token(id, self.tokens[id as usize].clone(), (start, end))
                })),
                (None, Some(unk)) => tokens.push(self.token(unk, unknown.to_owned(), (start, end))),
                (None, None) => {
                    return Err(format!("there is no token for unknown text, such as `{unknown}`").into());
                }
            }
        }
        Ok(tokens)
    }

    fn token(&self, id: u32, value: String, offsets: (usize, usize)) -> Token {
        Token { id, value, offsets }
    }
}

impl Best {
    /// Takes the path whose last piece begins at `start`, if it is better.
    fn offer(&mut self, score: f32, start: usize, id: Option<u32>) {
        if self.last.is_none() || score > self.score {
            *self = Self { score, last: Some((start, id)) };
        }
    }
}

/// Makes the sum of the first of these `ways` 0, and keeps the differences between it and the others.
fn begin_again(ways: &mut [Best]) {
    let offset = ways[0].score;
    let found = ways.iter_mut().filter(|way| way.last.is_some());
    found.for_each(|way| way.score -= offset);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn unigram(extra: Value) -> UnigramModel {
        let mut file = json!({
            "unk_id": 0, "unmatched": [0],
            "vocab": [["<unk>", 0.0], ["a", -1.0], ["aa", -2.0], ["b", -3.0], ["ab", -9.0]],
        });
        let extra = extra.as_object().unwrap().clone();
        file.as_object_mut().unwrap().extend(extra);
        UnigramModel::new(serde_json::from_value(file).unwrap()).unwrap()
    }

    fn divided(model: &UnigramModel, text: &str) -> Vec<String> {
        let tokens = model.tokenize(text).unwrap().into_iter();
        tokens.map(|token| token.value).collect()
    }

    #[test]
    fn of_ways_that_are_as_likely_the_first_counts() {
        let model = unigram(json!({}));
        assert_eq!(divided(&model, "aa"), ["aa"]);
        assert_eq!(divided(&model, "aaa"), ["a", "aa"]);
        assert_eq!(divided(&model, "ab"), ["a", "b"]);
        assert!(divided(&model, "").is_empty());
    }

    #[test]
    fn sums_of_long_texts_stay_exact() {
        // Two pieces for `ab` are more likely than one by 1/64, which a sum of hundreds of thousands cannot
        // represent.
        let vocab =
            json!([["<unk>", 0.0], ["a", -10.0], ["b", -10.0], ["ab", -20.0 - 1.0 / 64.0], ["c", -100.0]]);
        let model = unigram(json!({"vocab": vocab}));
        for before in [0, 10, 6000] {
            let text = "c".repeat(before) + "ab";
            let pieces = divided(&model, &text);
            assert_eq!(pieces[before..], ["a", "b"], "behind {before}");
        }
    }

    #[test]
    fn unknown_characters_are_joined_or_spelled_in_bytes() {
        let model = unigram(json!({}));
        assert_eq!(divided(&model, "aéèb"), ["a", "éè", "b"]);
        assert_eq!(model.tokenize("é").unwrap()[0].id, 0);
        assert_eq!(divided(&model, "<unk>"), ["<unk>"]);
        assert_eq!(model.tokenize("<unk>").unwrap()[0].id, 0);
        let mut vocab = vec![json!(["<unk>", 0.0]), json!(["a", -1.0])];
        vocab.extend((0..=255).map(|byte: u8| json!([format!("<0x{byte:02X}>"), 0.0])));
        let unmatched: Vec<u32> = [0].into_iter().chain(2..258).collect();
        let bytes = json!({"vocab": vocab, "byte_fallback": true, "unmatched": unmatched});
        let tokens = unigram(bytes).tokenize("aé").unwrap();
        assert_eq!(tokens[1].id, 2 + 0xC3);
        assert_eq!(tokens.len(), 3);
    }

    #[test]
    fn tokens_that_are_not_there_are_refused() {
        let section = json!({"vocab": [["a", 0.0]], "unk_id": 3});
        assert!(UnigramModel::new(serde_json::from_value(section).unwrap()).is_err());
    }
}
