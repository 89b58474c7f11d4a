//! How the owner of a model decodes: `generation_config.json`, or the same keys in `config.json`.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::tokenizer::Read;
use crate::architecture::Task;
use crate::batch::TokenId;
use crate::config::{DecodeConfig, LengthPenalty, ModelConfig};
use crate::error::Result;
use crate::interop::keys::Keys;

const FILE: &str = "generation_config.json";

/// Keys without an effect on greedy and beam search.
const IGNORED: &[&str] = &[
    "_from_model_config",
    "cache_implementation",
    "max_time",
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
    "use_cache",
];

/// Special tokens and the search.
#[derive(Clone, Debug, Default)]
pub(super) struct Generation {
    pub(super) pad: Option<TokenId>,
    pub(super) bos: Option<TokenId>,
    /// All tokens that end a text.
    ends: Vec<TokenId>,
    start: Option<TokenId>,
    forced_first: Option<TokenId>,
    forced_last: Option<TokenId>,
    never: Vec<TokenId>,
    beam_width: Option<usize>,
    alpha: Option<f64>,
    max_length: Option<usize>,
    no_repeat_ngram: Option<usize>,
}

impl Generation {
    /// Reads the keys of `config`, and of the file, whose values count more.
    pub(super) fn read(dir: &Path, config: &mut Keys) -> Result<Self> {
        let mut generation = Self::default();
        generation.take(config)?;
        let path = dir.join(FILE);
        if path.exists() {
            let mut keys = Keys::read(&path)?;
            keys.ignore(IGNORED);
            generation.take(&mut keys)?;
            keys.finish()?;
        }
        Ok(generation)
    }

    fn take(&mut self, keys: &mut Keys) -> Result<()> {
        let ids = [
            ("pad_token_id", &mut self.pad),
            ("bos_token_id", &mut self.bos),
            ("decoder_start_token_id", &mut self.start),
            ("forced_bos_token_id", &mut self.forced_first),
            ("forced_eos_token_id", &mut self.forced_last),
        ];
        for (key, id) in ids {
            *id = keys.optional(key)?.or(*id);
        }
        match keys.optional("eos_token_id")? {
            None => {}
            Some(OneOrMore::One(end)) => self.ends = vec![end],
            Some(OneOrMore::More(ends)) => self.ends = ends,
        }
        if let Some(words) = keys.optional::<Vec<Vec<TokenId>>>("bad_words_ids")? {
            self.never.clear();
            for word in words {
                match word[..] {
                    [id] => self.never.push(id),
                    _ => return Err(keys.refuse("bad_words_ids", &Value::from(word))),
                }
            }
        }
        self.never
            .extend(keys.or("suppress_tokens", Vec::<TokenId>::new())?);
        self.beam_width = keys.optional("num_beams")?.or(self.beam_width);
        self.alpha = keys.optional("length_penalty")?.or(self.alpha);
        self.max_length = keys.optional("max_length")?.or(self.max_length);
        self.max_length = keys.optional("max_new_tokens")?.or(self.max_length);
        let ngram = keys.optional("no_repeat_ngram_size")?;
        self.no_repeat_ngram = ngram.or(self.no_repeat_ngram);
        keys.ignore(&["early_stopping", "do_sample", "num_return_sequences"]);
        for (key, without_effect) in [
            ("encoder_no_repeat_ngram_size", Value::from(0)),
            ("min_length", Value::from(0)),
            ("num_beam_groups", Value::from(1)),
            ("diversity_penalty", Value::from(0.0)),
            ("repetition_penalty", Value::from(1.0)),
            ("renormalize_logits", Value::from(false)),
            ("remove_invalid_values", Value::from(false)),
        ] {
            keys.only(key, without_effect)?;
        }
        Ok(())
    }

    /// The search. What its owner does not say is as in `transformers`, but for the length, which is limited there to 20 tokens.
    pub(super) fn decode(&self) -> DecodeConfig {
        let default = DecodeConfig::default();
        DecodeConfig {
            beam_width: self.beam_width.unwrap_or(1),
            length_penalty: LengthPenalty::Length,
            alpha: self.alpha.unwrap_or(1.0),
            max_new_factor: match self.max_length {
                Some(_) => 0.0,
                None => default.max_new_factor,
            },
            max_new_extra: self.max_length.unwrap_or(default.max_new_extra),
            no_repeat_ngram: self.no_repeat_ngram.unwrap_or(0),
            ..default
        }
    }

    /// The token that ends a text: `last`, which the tokenizer puts there, if it is one of them, or else the first.
    pub(super) fn eos(&self, last: Option<TokenId>) -> Option<TokenId> {
        let last = last.filter(|last| self.ends.contains(last));
        last.or(self.ends.first().copied())
    }

    /// Names the special tokens in `model`.
    pub(super) fn apply(&self, read: &Read, model: &mut ModelConfig) -> Result<()> {
        let name = |id: Option<TokenId>| id.map(|id| read.token(id)).transpose();
        let never =
            || -> Result<Vec<String>> { self.never.iter().map(|&id| read.token(id)).collect() };
        match model.family.task() {
            Task::Translate => {
                model.decoder_start = name(self.start.or(self.bos))?;
                model.forced_first = name(self.forced_first)?;
                model.forced_last = name(self.forced_last)?;
                model.never_generated = Some(never()?);
                self.has_one_end(read)?;
            }
            Task::Generate => {
                let ends = self.further_ends(read)?;
                model.further_ends = Some(ends).filter(|ends| !ends.is_empty());
                model.decoder_start = name(self.bos)?;
                model.never_generated = Some(never()?);
            }
            Task::Fill | Task::Tag | Task::Classify | Task::Embed => {}
        }
        Ok(())
    }

    /// The tokens that end a text, other than `</s>`.
    fn further_ends(&self, read: &Read) -> Result<Vec<String>> {
        let ends: Result<Vec<String>> = self.ends.iter().map(|&id| read.token(id)).collect();
        let mut ends = ends?;
        ends.retain(|end| *end != read.config.special.eos);
        Ok(ends)
    }

    /// Refuses a model whose translations end in several ways.
    fn has_one_end(&self, read: &Read) -> Result<()> {
        match self.further_ends(read)?.first() {
            None => Ok(()),
            Some(end) => Err(read.refuse(format!("translations must not end with `{end}`, too"))),
        }
    }
}

/// A token, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(TokenId),
    More(Vec<TokenId>),
}
