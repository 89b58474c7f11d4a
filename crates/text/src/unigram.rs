//! The search for the most likely pieces of a text, with the same arithmetic as SentencePiece (Kudo and
//! Richardson 2018).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::{BPE, Merges, Vocab};
use tokenizers::{Model, ModelWrapper, Token};

use super::growth::{REPEATED, TOKEN, check_text};

/// The value of `"sums"` in the `model` of a tokenizer file whose texts are segmented as in SentencePiece.
pub const SUMS: &str = "f32";
/// Above this value, sums of scores restart from 0, before they become so large that single scores make no
/// difference.
const MOST: f32 = 100_000.0;
/// The difference between the score of the least likely piece and the score of an unknown character.
const UNKNOWN_PENALTY: f32 = 10.0;

/// The `model` of a tokenizer file. A unigram model may have an entry `"sums": "f32"`, which makes it add
/// scores in 32 bits over the whole text, as SentencePiece does, so that ties are resolved in the same way;
/// other programs ignore it and add in 64 bits. `"unmatched"` lists the ids of tokens that are never matched
/// in a text.
#[derive(Clone, Debug)]
pub(super) enum Pieces {
    /// A model of the `tokenizers` library.
    Plain {
        model: ModelWrapper,
        /// See [`Pieces::is_whole`].
        is_whole: bool,
    },
    /// A unigram model with 32-bit sums.
    Single(Unigram),
}

/// A unigram model with 32-bit sums.
#[derive(Clone, Debug)]
pub(super) struct Unigram {
    /// Tokens in the order of their ids.
    tokens: Vec<String>,
    ids: HashMap<String, u32>,
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
struct Section {
    vocab: Vec<(String, f64)>,
    unk_id: Option<u32>,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    unmatched: Vec<u32>,
}

/// The `model` section of a file with merges. The library would keep all merges in another form while it
/// reads them, which takes twice the time and several times the RAM.
#[derive(Deserialize)]
struct Merged {
    /// In most files, this is the first entry, so that other models are recognized at once.
    #[serde(rename = "type")]
    _kind: MergedKind,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    fuse_unk: Option<bool>,
    byte_fallback: Option<bool>,
    ignore_merges: Option<bool>,
    vocab: Vocab,
    merges: Merges,
}

/// The type of a model with merges.
#[derive(Deserialize)]
enum MergedKind {
    #[serde(rename = "BPE")]
    Bpe,
}

impl Merged {
    /// The model, without the `dropout` of merges, which would make its results random.
    fn build(self) -> Result<Pieces, String> {
        self.vocab.keys().try_for_each(|token| check_text("a token", token, TOKEN))?;
        let repeated = [&self.unk_token, &self.continuing_subword_prefix, &self.end_of_word_suffix];
        repeated.into_iter().flatten().try_for_each(|text| check_text(REPEATED_TEXT, text, REPEATED))?;
        let is_whole = are_whole(self.vocab.values().copied());
        let mut builder = BPE::builder()
            .vocab_and_merges(self.vocab, self.merges)
            .fuse_unk(self.fuse_unk.unwrap_or_default())
            .byte_fallback(self.byte_fallback.unwrap_or_default())
            .ignore_merges(self.ignore_merges.unwrap_or_default());
        if let Some(token) = self.unk_token {
            builder = builder.unk_token(token);
        }
        if let Some(prefix) = self.continuing_subword_prefix {
            builder = builder.continuing_subword_prefix(prefix);
        }
        if let Some(suffix) = self.end_of_word_suffix {
            builder = builder.end_of_word_suffix(suffix);
        }
        let model = builder.build().map_err(|error| error.to_string())?;
        Ok(Pieces::Plain { model: ModelWrapper::BPE(model), is_whole })
    }
}

/// The best path to a position of a text.
#[derive(Clone, Copy, Default)]
struct Best {
    score: f32,
    /// The start of the last piece, and its id; `None` before any path is found.
    last: Option<(usize, Option<u32>)>,
}

/// What says how to read a `model` section, and what is bounded in it.
#[derive(Deserialize)]
struct Kind {
    #[serde(default, rename = "type")]
    name: Value,
    #[serde(default)]
    sums: Value,
    #[serde(default)]
    unk_token: Value,
    #[serde(default)]
    unk_id: Value,
    #[serde(default)]
    continuing_subword_prefix: Value,
    #[serde(default)]
    end_of_word_suffix: Value,
}

/// What is added to pieces or stands for them.
const REPEATED_TEXT: &str = "the unknown token, or what marks parts of words,";

impl<'de> Deserialize<'de> for Pieces {
    /// Reads the text of the section directly into the model: the `tokenizers` library would copy all tokens
    /// several times.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let file = <&RawValue>::deserialize(deserializer)?.get();
        Self::parse(file).map_err(D::Error::custom)
    }
}

impl Pieces {
    /// Reads the JSON of a `model` section.
    fn parse(file: &str) -> Result<Self, String> {
        let invalid = |error: serde_json::Error| error.to_string();
        if let Ok(section) = serde_json::from_str::<Merged>(file) {
            return section.build();
        }
        let kind: Kind = serde_json::from_str(file).map_err(invalid)?;
        let repeated = [&kind.unk_token, &kind.continuing_subword_prefix, &kind.end_of_word_suffix];
        let mut repeated = repeated.into_iter().filter_map(|text| text.as_str());
        repeated.try_for_each(|text| check_text(REPEATED_TEXT, text, REPEATED))?;
        let model = match kind.name.as_str() {
            Some("Unigram") if kind.sums == SUMS => {
                let section = serde_json::from_str(file).map_err(invalid)?;
                return Unigram::new(section).map(Self::Single);
            }
            // The library reads merges in an older form too, and names mistakes.
            Some("BPE") => serde_json::from_str(file).map(ModelWrapper::BPE),
            Some("WordLevel") => serde_json::from_str(file).map(ModelWrapper::WordLevel),
            _ => serde_json::from_str(file),
        };
        let model = match model.map_err(invalid)? {
            // See `Merged::build`.
            ModelWrapper::BPE(mut model) => {
                model.dropout = None;
                ModelWrapper::BPE(model)
            }
            model => model,
        };
        let unk_id = kind.unk_id.as_u64().and_then(|id| u32::try_from(id).ok());
        let mut is_whole = true;
        for id in 0..model.get_vocab_size() as u32 {
            let Some(token) = model.id_to_token(id) else {
                is_whole = false;
                continue;
            };
            let most = if unk_id == Some(id) { REPEATED } else { TOKEN };
            check_text("a token", &token, most)?;
            is_whole &= model.token_to_id(&token) == Some(id);
        }
        Ok(Self::Plain { model, is_whole })
    }

    /// True if the ids are the numbers below the number of tokens, one for each.
    pub(super) fn is_whole(&self) -> bool {
        match self {
            Self::Plain { is_whole, .. } => *is_whole,
            Self::Single(model) => model.ids.len() == model.tokens.len(),
        }
    }
}

/// True if `ids` are the numbers below the number of ids, each once.
fn are_whole(ids: impl ExactSizeIterator<Item = u32>) -> bool {
    let mut free = vec![true; ids.len()];
    for id in ids {
        match free.get_mut(id as usize) {
            Some(free @ true) => *free = false,
            _ => return false,
        }
    }
    true
}

impl Unigram {
    fn new(section: Section) -> Result<Self, String> {
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

    /// Calls `each` with each token that is a prefix of the bytes `text`, the shortest first.
    fn prefixes(&self, text: &[u8], mut each: impl FnMut(&Match)) {
        let mut left = &self.matched[..];
        for (depth, &byte) in text.iter().enumerate() {
            let at = |one: &Match| one.text.get(depth).copied();
            let start = left.partition_point(|one| at(one) < Some(byte));
            let end = start + left[start..].partition_point(|one| at(one) == Some(byte));
            left = &left[start..end];
            match left.first() {
                None => return,
                Some(first) if first.text.len() == depth + 1 => each(first),
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
            if ways[start].score.abs() > MOST {
                begin_again(&mut ways[start..=furthest]);
            }
            let until_here = ways[start].score;
            let (width, mut has_single) = (char.len_utf8(), false);
            self.prefixes(&text.as_bytes()[start..], |found| {
                let len = found.text.len();
                has_single |= len == width;
                furthest = furthest.max(start + len);
                ways[start + len].offer(until_here + found.score, start, Some(found.id));
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
    fn tokenize(&self, text: &str) -> tokenizers::Result<Vec<Token>> {
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

impl Model for Pieces {
    type Trainer = TrainerWrapper;

    fn tokenize(&self, text: &str) -> tokenizers::Result<Vec<Token>> {
        match self {
            Self::Plain { model, .. } => model.tokenize(text),
            Self::Single(model) => model.tokenize(text),
        }
    }

    fn token_to_id(&self, token: &str) -> Option<u32> {
        match self {
            Self::Plain { model, .. } => model.token_to_id(token),
            Self::Single(model) => model.ids.get(token).copied(),
        }
    }

    fn id_to_token(&self, id: u32) -> Option<String> {
        match self {
            Self::Plain { model, .. } => model.id_to_token(id),
            Self::Single(model) => model.tokens.get(id as usize).cloned(),
        }
    }

    fn get_vocab(&self) -> HashMap<String, u32> {
        match self {
            Self::Plain { model, .. } => model.get_vocab(),
            Self::Single(model) => model.ids.clone(),
        }
    }

    fn get_vocab_size(&self) -> usize {
        match self {
            Self::Plain { model, .. } => model.get_vocab_size(),
            Self::Single(model) => model.tokens.len(),
        }
    }

    fn save(&self, folder: &Path, prefix: Option<&str>) -> tokenizers::Result<Vec<PathBuf>> {
        match self {
            Self::Plain { model, .. } => model.save(folder, prefix),
            Self::Single(_) => Err("tokenizers are written as they were read".into()),
        }
    }

    fn get_trainer(&self) -> TrainerWrapper {
        match self {
            Self::Plain { model, .. } => model.get_trainer(),
            Self::Single(_) => tokenizers::models::unigram::UnigramTrainer::default().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn unigram(extra: Value) -> Unigram {
        let mut file = json!({
            "type": "Unigram", "sums": SUMS, "unk_id": 0, "unmatched": [0],
            "vocab": [["<unk>", 0.0], ["a", -1.0], ["aa", -2.0], ["b", -3.0], ["ab", -9.0]],
        });
        let extra = extra.as_object().unwrap().clone();
        file.as_object_mut().unwrap().extend(extra);
        match Pieces::parse(&file.to_string()).unwrap() {
            Pieces::Single(model) => model,
            Pieces::Plain { .. } => panic!("another model"),
        }
    }

    fn divided(model: &Unigram, text: &str) -> Vec<String> {
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
        let file = json!({"type": "Unigram", "sums": SUMS, "vocab": [["a", 0.0]], "unk_id": 3});
        assert!(Pieces::parse(&file.to_string()).is_err());
    }
}
