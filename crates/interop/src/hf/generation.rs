//! Reads the generation settings of a model: `generation_config.json`, or the same keys in `config.json`.

use std::path::{Path, PathBuf};

use attentive_architecture::Task;
use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_config::{DecodeConfig, FamilyConfig, ModelConfig};
use serde::Deserialize;

use super::search::{self, HfSearchSettings};
use super::tokenizer::HfTokenizer;
use crate::keys::{UnreadKeys, not_understood};

const FILE: &str = "generation_config.json";

/// Keys without an effect on greedy and beam search.
const IGNORED: &[&str] = &[
    "cache_implementation",
    "do_sample",
    "epsilon_cutoff",
    "eta_cutoff",
    "max_time",
    "min_p",
    "num_assistant_tokens",
    "num_assistant_tokens_schedule",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_logits",
    "output_scores",
    "return_dict",
    "return_dict_in_generate",
    "temperature",
    "top_k",
    "top_p",
    "transformers_version",
    "trust_remote_code",
    "typical_p",
    "use_cache",
];

/// Special tokens and generation settings.
#[derive(Clone, Debug, Default)]
pub(super) struct HfGenerationConfig {
    /// The file, for messages.
    path: PathBuf,
    pub(super) pad: Option<TokenId>,
    pub(super) bos: Option<TokenId>,
    /// All tokens that end a text.
    ends: Vec<TokenId>,
    start: Option<TokenId>,
    search: HfSearchSettings,
}

impl HfGenerationConfig {
    /// Reads the files in `dir` of a model of the kind `kind` (`model_type`). Generation settings come from
    /// `generation_config.json`. If there is none, or if it was made from a `config.json` that has generation
    /// settings, they come from `config`. Tokens that `generation_config.json` does not name come from
    /// `config`.
    pub(super) fn read(dir: &Path, kind: &str, config: &mut UnreadKeys) -> Result<Self> {
        let is_set = search::is_set_in(config, kind);
        let mut generation = Self { path: dir.join("config.json"), start: start(kind), ..Self::default() };
        generation.take(config)?;
        generation.search = HfSearchSettings::of_config(kind, generation.bos, config)?;
        let path = dir.join(FILE);
        if !path.exists() {
            return Ok(generation);
        }
        let mut keys = UnreadKeys::read(&path)?;
        let was_made = keys.or("_from_model_config", false)?;
        let mut of_file = Self { path, ..generation.clone() };
        of_file.take(&mut keys)?;
        of_file.search = HfSearchSettings::of_file(&mut keys)?;
        keys.finish()?;
        Ok(if was_made && is_set { generation } else { of_file })
    }

    /// Reads the tokens that `keys` names.
    fn take(&mut self, keys: &mut UnreadKeys) -> Result<()> {
        keys.ignore(IGNORED);
        let ids = [
            ("pad_token_id", &mut self.pad),
            ("bos_token_id", &mut self.bos),
            ("decoder_start_token_id", &mut self.start),
        ];
        for (key, id) in ids {
            keys.update(key, id)?;
        }
        match keys.optional("eos_token_id")? {
            None => {}
            Some(OneOrMore::One(end)) => self.ends = vec![end],
            Some(OneOrMore::More(ends)) => self.ends = ends,
        }
        Ok(())
    }

    /// Returns the settings that matter to `task`: to a model that only reads, tokens that begin or end a
    /// text do not.
    pub(super) fn of(self, task: Task) -> Self {
        match task {
            Task::Translate | Task::Generate => self,
            Task::Fill | Task::Tag | Task::Classify | Task::Embed => {
                Self { path: self.path, pad: self.pad, ..Self::default() }
            }
        }
    }

    /// The generation settings of `model`.
    pub(super) fn decode(&self, model: &ModelConfig) -> DecodeConfig {
        self.search.decode(model.family.task())
    }

    /// Describes how the generation settings of `model` differ from those in its files.
    pub(super) fn notes(&self, model: &ModelConfig) -> Vec<String> {
        self.search.notes(model.family.task())
    }

    /// Returns the tokens whose probability in `model` is 0, so that the other probabilities sum to 1.
    ///
    /// # Errors
    /// Fails if the model has no output bias, or if the search bars other tokens at some positions.
    pub(super) fn impossible(&self, model: &ModelConfig) -> Result<Vec<TokenId>> {
        if !self.search.renormalizes || model.family.task() != Task::Translate {
            return Ok(Vec::new());
        }
        let barred: Vec<TokenId> = self.search.never(&self.ends).collect();
        let output = model.family.output();
        let has_bias = output.is_some_and(|output| output.output_bias);
        let obstacle = match (self.search.bars_at_times(), has_bias) {
            (true, _) => "with `no_repeat_ngram_size` or `min_length`",
            (false, false) if !barred.is_empty() => {
                "with `bad_words_ids` in a model whose output has no bias"
            }
            _ => return Ok(barred),
        };
        let problem = format!("`renormalize_logits` = true is not supported {obstacle}");
        Err(not_understood(&self.path, problem))
    }

    /// Returns the token that ends a text: `last`, which the tokenizer puts there, if it is such a token,
    /// otherwise the first such token.
    pub(super) fn eos(&self, last: Option<TokenId>) -> Option<TokenId> {
        let last = last.filter(|last| self.ends.contains(last));
        last.or(self.ends.first().copied())
    }

    /// Writes the names of the special tokens to `model`.
    pub(super) fn apply(&self, tokenizer: &HfTokenizer, model: &mut ModelConfig) -> Result<()> {
        let name = |id: Option<TokenId>| id.map(|id| tokenizer.token(id)).transpose();
        let never = || -> Result<Vec<String>> {
            let ids = self.search.never(&self.ends);
            ids.map(|id| tokenizer.token(id)).collect()
        };
        match &mut model.family {
            FamilyConfig::Transformer(translator) | FamilyConfig::Seq2seq(translator) => {
                if let Some(problem) = self.search.unsupported() {
                    return Err(not_understood(&self.path, problem));
                }
                let decoder = &mut translator.decoder;
                decoder.decoder_start_token = name(self.start.or(self.bos))?;
                decoder.suppress_tokens = Some(never()?);
                translator.forced_bos_token = name(self.search.forced_first)?;
                translator.forced_eos_token = name(self.search.forced_last)?;
                self.has_one_end(tokenizer)?;
            }
            FamilyConfig::DecoderOnly { decoder, extra_eos_tokens, .. } => {
                let ends = self.further_ends(tokenizer)?;
                *extra_eos_tokens = Some(ends).filter(|ends| !ends.is_empty());
                decoder.decoder_start_token = name(self.bos)?;
                decoder.suppress_tokens = Some(never()?);
            }
            _ => {}
        }
        Ok(())
    }

    /// The tokens that end a text, other than `</s>`.
    fn further_ends(&self, tokenizer: &HfTokenizer) -> Result<Vec<String>> {
        let ends: Result<Vec<String>> = self.ends.iter().map(|&id| tokenizer.token(id)).collect();
        let mut ends = ends?;
        ends.retain(|end| *end != tokenizer.config.special.eos);
        Ok(ends)
    }

    /// Refuses a model whose translations may end with several tokens.
    fn has_one_end(&self, tokenizer: &HfTokenizer) -> Result<()> {
        match self.further_ends(tokenizer)?.first() {
            None => Ok(()),
            Some(end) => {
                Err(tokenizer.refuse(format!("`{end}` as a second end of translations is not supported")))
            }
        }
    }
}

/// The start token of the decoder of this kind of model, unless its files name another.
fn start(kind: &str) -> Option<TokenId> {
    match kind {
        "bart" | "m2m_100" => Some(2),
        "mt5" => Some(0),
        _ => None,
    }
}

/// A token, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(TokenId),
    More(Vec<TokenId>),
}
