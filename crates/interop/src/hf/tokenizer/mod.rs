//! Reads the tokenizer of a model with a given number of tokens, as `tokenizer.json`.

mod added;
mod byte_level;
mod files;
mod languages;
mod multilingual;
mod overrides;
mod pieces;
mod settings;
mod special;
mod surrounding_tokens;
#[cfg(test)]
mod tests;
mod wordpiece;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use attentive_architecture::Task;
use attentive_base::batch::TokenId;
use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_config::{
    FamilyConfig, ModelConfig, SpecialNames, TokenizerConfig, TokenizerKind, Translator, Units,
};
use attentive_text::{Languages, Tokenizer, Tokenizers, vocabulary};
use serde_json::Value;

use self::files::TokenizerFiles;
use self::multilingual::Multilingual;
use self::settings::TokenizerSettings;
use self::surrounding_tokens::SurroundingTokens;
use super::generation::HfGenerationConfig;
use crate::keys::not_understood;

/// The maximum number of rows that a model may have beyond the tokens of its tokenizer.
const MAX_UNUSED_ROWS: usize = 1 << 16;

/// The tokenizer of a model.
#[derive(Debug)]
pub(super) struct HfTokenizer {
    path: PathBuf,
    pub(super) config: TokenizerConfig,
    pub(super) tokenizers: Tokenizers,
    surrounding: SurroundingTokens,
    multilingual: Option<Multilingual>,
    /// True if the tool drops blanks before punctuation in outputs.
    cleans_up: bool,
    /// True if the tokenizer does not distinguish upper and lower case.
    pub(super) lowercases: bool,
}

impl HfTokenizer {
    /// Returns the token with this id.
    pub(super) fn token(&self, id: TokenId) -> Result<String> {
        let token = self.tokenizers.tgt().token(id);
        token.ok_or_else(|| self.refuse(format!("there is no token {id}")))
    }

    /// Returns the units in which a language model reads texts: lines, if each begins with a token, otherwise
    /// parts of a stream.
    pub(super) fn units(&self, task: Task) -> Units {
        match (task, &self.surrounding.first) {
            (Task::Generate, None) => Units::Stream,
            _ => Units::Lines,
        }
    }

    /// Describes how the tokenizer of a model with this task differs from its behavior in its tool.
    pub(super) fn notes(&self, task: Task) -> Option<String> {
        let differs = self.cleans_up && matches!(task, Task::Translate | Task::Generate);
        let note = "`clean_up_tokenization_spaces` is not imported: blanks before punctuation stay where the \
                    model writes them";
        differs.then(|| note.to_owned())
    }

    /// The error for something in the tokenizer that is not understood.
    pub(super) fn refuse(&self, problem: String) -> Error {
        not_understood(&self.path, problem)
    }

    /// Writes to `model` the tokens around a text, and the `languages` between which it translates.
    pub(super) fn apply(&self, languages: &Languages, model: &mut ModelConfig) -> Result<()> {
        let (first, last) = (&self.surrounding.first, &self.surrounding.last);
        match &mut model.family {
            FamilyConfig::DecoderOnly { decoder, .. } => {
                if let Some(last) = last {
                    let problem = format!("it puts `{last}` at the end of a text, which is to be continued");
                    return Err(self.refuse(problem));
                }
                if first.is_some() {
                    decoder.decoder_start_token.clone_from(first);
                }
            }
            FamilyConfig::Transformer(Translator { encoder, .. })
            | FamilyConfig::Seq2seq(Translator { encoder, .. })
            | FamilyConfig::EncoderOnly { encoder, .. }
            | FamilyConfig::Tagger { encoder, .. }
            | FamilyConfig::Classifier { encoder, .. }
            | FamilyConfig::Encoder { encoder, .. } => {
                if last.is_none() {
                    return Err(self.refuse("it puts no token at the end of a text".into()));
                }
                encoder.source_first.clone_from(first);
                encoder.source_last.clone_from(&self.surrounding.language);
            }
        }
        match (&mut model.family, &self.multilingual) {
            (FamilyConfig::Transformer(model), Some(multilingual)) => {
                multilingual.apply(languages, &self.tokenizers, model)
            }
            (family, _) => languages.apply(&self.tokenizers, family),
        }
    }
}

/// Reads the tokenizer in `dir` of a model of the kind `kind` (`model_type`), and completes its vocabulary to
/// `vocab` tokens.
pub(super) fn read(
    dir: &Path,
    kind: &str,
    vocab: usize,
    generation: &HfGenerationConfig,
) -> Result<HfTokenizer> {
    let settings = TokenizerSettings::read(dir, kind)?;
    let TokenizerFiles { path, mut sides, known } = TokenizerFiles::read(dir, kind, vocab, &settings)?;
    let refuse = |problem: String| not_understood(&path, problem);
    let known = known.or(added::beyond(&sides[0], vocab).map_err(refuse)?);
    let tokens = tokens(&sides[0], known).map_err(refuse)?;
    let last = tokens.last_key_value();
    let n_tokens = last.map_or(0, |(&id, _)| id as usize + 1);
    let fits = n_tokens <= vocab && vocab - n_tokens <= MAX_UNUSED_ROWS;
    if !fits || tokens.len() != n_tokens || known.is_some_and(|known| known != vocab) {
        return Err(refuse(format!(
            "it has {} with ids below {n_tokens}, but the model has {vocab}",
            count(tokens.len(), "token")
        )));
    }
    let unused: Vec<String> = (n_tokens..vocab).map(unused).collect();
    for side in &mut sides {
        added::append(side, n_tokens as TokenId, &unused);
    }
    let surrounding = SurroundingTokens::read(&sides[0]).map_err(refuse)?;
    let special = special::names(&sides[0], &tokens, &surrounding, generation, &settings);
    let special = SpecialNames { unknown_from: known.unwrap_or(0), ..special.map_err(refuse)? };
    let load = |side: &Value| Tokenizer::from_json(side.to_string().into_bytes(), &special);
    let tokenizers = match &sides[..] {
        [src, tgt] => {
            Tokenizers::Separate { src: load(src).map_err(refuse)?, tgt: load(tgt).map_err(refuse)? }
        }
        both => Tokenizers::Shared(load(&both[0]).map_err(refuse)?),
    };
    let multilingual = Multilingual::of(kind, &settings, &surrounding, &tokenizers)?;
    Ok(HfTokenizer {
        config: TokenizerConfig {
            kind: kind_of(&sides[0]),
            vocab_size: vocab,
            special,
            ..TokenizerConfig::foreign()
        },
        tokenizers,
        surrounding,
        multilingual,
        lowercases: lowercases(&sides[0]["normalizer"]),
        cleans_up: settings.flag("clean_up_tokenization_spaces")? == Some(true),
        path: path.clone(),
    })
}

/// The name of the token with this id that no text contains.
fn unused(id: impl Display) -> String {
    format!("<unused-{id}>")
}

/// Our kind of tokenizer that is most similar to the model of `file`.
fn kind_of(file: &Value) -> TokenizerKind {
    match file["model"]["type"].as_str() {
        Some("Unigram") => TokenizerKind::Unigram,
        Some("WordLevel") => TokenizerKind::Word,
        _ => TokenizerKind::Bpe,
    }
}

/// True if this normalizer converts letters to lower case.
fn lowercases(normalizer: &Value) -> bool {
    match normalizer["type"].as_str() {
        Some("BertNormalizer") => normalizer["lowercase"] == true,
        Some("Lowercase") => true,
        Some("Sequence") => {
            let parts = normalizer["normalizers"].as_array();
            parts.into_iter().flatten().any(lowercases)
        }
        _ => false,
    }
}

/// Returns the tokens of the vocabulary of `file`: the first `known`, if there are others.
fn tokens(file: &Value, known: Option<usize>) -> Result<BTreeMap<TokenId, String>, String> {
    let all = vocabulary(file.to_string().as_bytes())?;
    let is_known = |id: TokenId| known.is_none_or(|known| (id as usize) < known);
    Ok(all.into_iter().map(|(token, id)| (id, token)).filter(|(id, _)| is_known(*id)).collect())
}
