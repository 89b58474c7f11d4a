//! The model of SentencePiece that divides texts as a tokenizer does.

use std::collections::{BTreeSet, HashMap};

use attentive_base::batch::TokenId;
use attentive_text::{Tokenizer, UNKNOWN_SPELLING, UNREACHABLE, check_normalization, compiled_normalization};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{Kind, Piece, Role, SentencePiece};

/// Steps of a division into words that no piece crosses.
const DIVISIONS: [&str; 2] = ["Metaspace", "Split"];

impl SentencePiece {
    /// Returns the model whose pieces are the first `n` tokens of `tokenizer`.
    ///
    /// # Errors
    /// Describes a tokenizer that divides texts in another way.
    pub(crate) fn of(tokenizer: &Tokenizer, n: usize) -> Result<Self, String> {
        let file: Value = serde_json::from_slice(tokenizer.to_json()).map_err(|error| error.to_string())?;
        let kind = Self::kind_of(tokenizer)?;
        let model = &file["model"];
        let byte_fallback = model["byte_fallback"] == true;
        let pieces = Pieces { file: &file, kind, byte_fallback, unk: tokenizer.special().unk };
        let pieces = pieces.of(tokenizer, n)?;
        let steps = steps(&file["normalizer"], "normalizers");
        let has = |kind: &str| steps.iter().any(|step| step["type"] == kind);
        let own = Self {
            pieces,
            kind,
            byte_fallback,
            charsmap: Vec::new(),
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
        };
        if !has_own_blanks(&file) {
            let alphabet: BTreeSet<char> = own.texts().flat_map(str::chars).collect();
            let charsmap = compiled_normalization(&file["normalizer"], &alphabet)?;
            return Ok(Self { charsmap, ..own });
        }
        let charsmap = steps.iter().find_map(|step| step["precompiled_charsmap"].as_str());
        let charsmap = charsmap.map(|map| STANDARD.decode(map)).transpose();
        Ok(Self {
            charsmap: charsmap.map_err(|error| error.to_string())?.unwrap_or_default(),
            add_dummy_prefix: has("Prepend"),
            remove_extra_whitespaces: steps.iter().any(|step| step["pattern"]["Regex"] == "^ +| +$"),
            ..own
        })
    }

    fn kind_of(tokenizer: &Tokenizer) -> Result<Kind, String> {
        let file: Value = serde_json::from_slice(tokenizer.to_json()).map_err(|error| error.to_string())?;
        let kind = kind(&file)?;
        let end = tokenizer.token(tokenizer.special().eos).unwrap_or_default();
        if end != END {
            return Err(format!("the token that ends a text is `{end}`, not `{END}`"));
        }
        if !has_own_blanks(&file) {
            check_normalization(&file["normalizer"])?;
        }
        Ok(kind)
    }

    /// Adds pieces that no text has, until there are `n`.
    pub(crate) fn pad(&mut self, n: usize) {
        for id in self.pieces.len()..n {
            self.pieces.push(Piece { text: format!("<unused-{id}>"), score: 0.0, role: Role::Control });
        }
    }
}

/// True if the normalizer makes a word mark of each blank, as that of a model of SentencePiece does.
fn has_own_blanks(file: &Value) -> bool {
    steps(&file["normalizer"], "normalizers").iter().any(|step| step["pattern"]["Regex"] == " ")
}

/// The name of the token that ends a text, by which programs find it.
const END: &str = "</s>";

fn kind(file: &Value) -> Result<Kind, String> {
    let model = &file["model"];
    let has_merges = model["merges"].as_array().is_some_and(|merges| !merges.is_empty());
    let kind = match model["type"].as_str() {
        Some("Unigram") => Kind::Unigram,
        Some("BPE") if has_merges => Kind::Bpe,
        _ => return Err("its tokens are not subwords of `bpe` or `unigram`".into()),
    };
    let pre_tokenizers = steps(&file["pre_tokenizer"], "pretokenizers");
    match pre_tokenizers.iter().find(|step| !DIVISIONS.iter().any(|known| step["type"] == *known)) {
        Some(step) => {
            Err(format!("it divides texts by a step `{}`", step["type"].as_str().unwrap_or_default()))
        }
        None => Ok(kind),
    }
}

/// The steps of a sequence, or a single one.
fn steps<'a>(file: &'a Value, sequence: &str) -> Vec<&'a Value> {
    match &file[sequence] {
        Value::Array(steps) => steps.iter().flat_map(|step| self::steps(step, sequence)).collect(),
        _ if file.is_null() => Vec::new(),
        _ => vec![file],
    }
}

/// What the pieces are made of.
struct Pieces<'a> {
    file: &'a Value,
    kind: Kind,
    byte_fallback: bool,
    unk: TokenId,
}

impl Pieces<'_> {
    fn of(&self, tokenizer: &Tokenizer, n: usize) -> Result<Vec<Piece>, String> {
        let added = self.file["added_tokens"].as_array();
        let is_special: HashMap<&str, bool> = added
            .into_iter()
            .flatten()
            .filter_map(|token| Some((token["content"].as_str()?, token["special"] == true)))
            .collect();
        let scores = self.scores();
        let merged: BTreeSet<String> =
            merges_of(&self.file["model"]).map(|[left, right]| format!("{left}{right}")).collect();
        let spelled = spellings(self.file);
        let mut pieces = Vec::with_capacity(n);
        for id in 0..n as TokenId {
            let text = match spelled.get(&id) {
                Some(text) => (*text).to_owned(),
                None => tokenizer.token(id).unwrap_or_default(),
            };
            let text = text.as_str();
            if text.starts_with(UNKNOWN_SPELLING) {
                return Err("it has tokens of the other side".into());
            }
            let (text, is_unreachable) = match text.strip_prefix(UNREACHABLE) {
                Some(text) => (text, true),
                None => (text, false),
            };
            let score = scores.get(&id).copied().unwrap_or(0.0);
            // No piece of a text has a probability above 1, and all pieces of several characters are merged.
            let is_symbol = match self.kind {
                Kind::Unigram => score > 0.0,
                Kind::Bpe => text.chars().nth(1).is_some() && !merged.contains(text),
            };
            let role = match is_special.get(text) {
                _ if id == self.unk => Role::Unknown,
                Some(true) => Role::Control,
                Some(false) => Role::Symbol,
                None if is_unreachable => Role::Unused,
                None if self.byte_fallback && is_byte(text) => Role::Byte,
                None if is_symbol => Role::Symbol,
                None => Role::Normal,
            };
            let score = if matches!(role, Role::Normal | Role::Unused) { score } else { 0.0 };
            pieces.push(Piece { text: text.to_owned(), score, role });
        }
        Ok(pieces)
    }

    /// The scores of the tokens. Those of BPE tell the order of merges.
    fn scores(&self) -> HashMap<TokenId, f32> {
        let model = &self.file["model"];
        if self.kind == Kind::Unigram {
            let vocab = model["vocab"].as_array().into_iter().flatten();
            return (0..).zip(vocab.map(|token| token[1].as_f64().unwrap_or_default() as f32)).collect();
        }
        let Some(ids) = model["vocab"].as_object() else {
            return HashMap::new();
        };
        let id = |text: &str| Some(ids.get(text)?.as_u64()? as TokenId);
        let merged = merges_of(model).filter_map(|[left, right]| id(&format!("{left}{right}")));
        let mut ranks: HashMap<TokenId, usize> = HashMap::new();
        for (rank, id) in merged.enumerate() {
            ranks.entry(id).or_insert(rank);
        }
        let last = ranks.len();
        let mut by_rank: Vec<(usize, TokenId)> = ranks.iter().map(|(&id, &rank)| (rank, id)).collect();
        by_rank.sort_unstable();
        let merged = by_rank.into_iter().enumerate().map(|(place, (_, id))| (id, -(place as f32)));
        let mut scores: HashMap<TokenId, f32> = merged.collect();
        // Characters come last.
        for id in ids.values().filter_map(Value::as_u64).map(|id| id as TokenId) {
            scores.entry(id).or_insert(-((last + id as usize) as f32));
        }
        scores
    }
}

/// The tokens of the vocabulary as the file spells them.
fn spellings(file: &Value) -> HashMap<TokenId, &str> {
    match &file["model"]["vocab"] {
        Value::Array(tokens) => {
            (0..).zip(tokens).filter_map(|(id, token)| Some((id, token[0].as_str()?))).collect()
        }
        Value::Object(ids) => {
            ids.iter().filter_map(|(text, id)| Some((id.as_u64()? as TokenId, text.as_str()))).collect()
        }
        _ => HashMap::new(),
    }
}

/// The pairs that BPE merges, in their order.
fn merges_of(model: &Value) -> impl Iterator<Item = [&str; 2]> {
    let merges = model["merges"].as_array().into_iter().flatten();
    merges.filter_map(|merge| match merge {
        Value::String(both) => both.split_once(' ').map(|(left, right)| [left, right]),
        pair => Some([pair[0].as_str()?, pair[1].as_str()?]),
    })
}

/// True for the spelling of a byte, such as `<0x0A>`.
fn is_byte(text: &str) -> bool {
    let digits = text.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
    digits.is_some_and(|digits| digits.len() == 2 && u8::from_str_radix(digits, 16).is_ok())
}
