//! The model of a tokenizer file.

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
use super::unigram_model::UnigramModel;

/// The value of `"sums"` in the `model` of a tokenizer file whose texts are segmented as in SentencePiece.
pub const SUMS: &str = "f32";

/// The `model` of a tokenizer file. A unigram model may have an entry `"sums": "f32"`, which makes it add
/// scores in 32 bits over the whole text, as SentencePiece does, so that ties are resolved in the same way;
/// other programs ignore it and add in 64 bits. `"unmatched"` lists the ids of tokens that are never matched
/// in a text.
#[derive(Clone, Debug)]
pub(super) enum TokenizerModel {
    /// A model of the `tokenizers` library.
    Plain {
        model: ModelWrapper,
        /// See [`TokenizerModel::is_whole`].
        is_whole: bool,
    },
    /// A unigram model with 32-bit sums.
    Single(UnigramModel),
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
    fn build(self) -> Result<TokenizerModel, String> {
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
        Ok(TokenizerModel::Plain { model: ModelWrapper::BPE(model), is_whole })
    }
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

impl<'de> Deserialize<'de> for TokenizerModel {
    /// Reads the text of the section directly into the model: the `tokenizers` library would copy all tokens
    /// several times.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let file = <&RawValue>::deserialize(deserializer)?.get();
        Self::parse(file).map_err(D::Error::custom)
    }
}

impl TokenizerModel {
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
                return UnigramModel::new(section).map(Self::Single);
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

impl Model for TokenizerModel {
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
