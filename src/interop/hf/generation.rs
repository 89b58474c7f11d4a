//! How the owner of a model decodes: `generation_config.json`, or the same keys in `config.json`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::tokenizer::Read;
use crate::architecture::Task;
use crate::batch::TokenId;
use crate::config::{DecodeConfig, LengthPenalty, ModelConfig};
use crate::error::Result;
use crate::interop::keys::{Keys, not_understood};

const FILE: &str = "generation_config.json";

/// Keys without an effect on greedy and beam search.
const IGNORED: &[&str] = &[
    "cache_implementation",
    "do_sample",
    "max_time",
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
    "typical_p",
    "use_cache",
];

/// Special tokens and the search.
#[derive(Clone, Debug, Default)]
pub(super) struct Generation {
    /// For messages.
    path: PathBuf,
    pub(super) pad: Option<TokenId>,
    pub(super) bos: Option<TokenId>,
    /// All tokens that end a text.
    ends: Vec<TokenId>,
    start: Option<TokenId>,
    search: Search,
}

/// What the owner set of the search.
#[derive(Clone, Debug, Default)]
struct Search {
    forced_first: Option<TokenId>,
    forced_last: Option<TokenId>,
    /// Tokens that are never written.
    bad: Vec<TokenId>,
    suppressed: Vec<TokenId>,
    /// Whether the probabilities of the other tokens sum to 1.
    renormalizes: bool,
    beam_width: Option<usize>,
    alpha: Option<f64>,
    stops_early: bool,
    /// With the start token.
    max_length: Option<usize>,
    max_new_tokens: Option<usize>,
    /// With the start token.
    min_length: Option<usize>,
    min_new_tokens: Option<usize>,
    no_repeat_ngram: Option<usize>,
}

impl Generation {
    /// What the files in `dir` of a model of the kind `kind` (`model_type`) say. The search is that of the file, if there is one,
    /// or else that of `config`. A file that says that it was made from `config` gives way to it.
    pub(super) fn read(dir: &Path, kind: &str, config: &mut Keys) -> Result<Self> {
        let path = dir.join(FILE);
        if !path.exists() {
            let mut generation = Self {
                path: dir.join("config.json"),
                ..Self::default()
            };
            generation.search.forced_last = forced_last(kind);
            generation.take(config)?;
            return Ok(generation);
        }
        let mut keys = Keys::read(&path)?;
        let mut generation = Self::default();
        match keys.or("_from_model_config", false)? {
            true => {
                generation.take(&mut keys)?;
                generation.take(config)?;
            }
            false => {
                generation.take(config)?;
                generation.search = Search::default();
                generation.take(&mut keys)?;
            }
        }
        keys.finish()?;
        Ok(Self { path, ..generation })
    }

    fn take(&mut self, keys: &mut Keys) -> Result<()> {
        keys.ignore(IGNORED);
        let ids = [
            ("pad_token_id", &mut self.pad),
            ("bos_token_id", &mut self.bos),
            ("decoder_start_token_id", &mut self.start),
        ];
        for (key, id) in ids {
            *id = keys.optional(key)?.or(*id);
        }
        match keys.optional("eos_token_id")? {
            None => {}
            Some(OneOrMore::One(end)) => self.ends = vec![end],
            Some(OneOrMore::More(ends)) => self.ends = ends,
        }
        self.search.take(keys)
    }
}

/// The class of this kind of model sets a token that ends a text of the longest length.
fn forced_last(kind: &str) -> Option<TokenId> {
    match kind {
        "bart" | "mbart" => Some(2),
        "marian" => Some(0),
        _ => None,
    }
}

impl Search {
    fn take(&mut self, keys: &mut Keys) -> Result<()> {
        let numbers = [
            ("num_beams", &mut self.beam_width),
            ("max_length", &mut self.max_length),
            ("max_new_tokens", &mut self.max_new_tokens),
            ("min_length", &mut self.min_length),
            ("min_new_tokens", &mut self.min_new_tokens),
            ("no_repeat_ngram_size", &mut self.no_repeat_ngram),
        ];
        for (key, number) in numbers {
            *number = keys.optional(key)?.or(*number);
        }
        let ids = [
            ("forced_bos_token_id", &mut self.forced_first),
            ("forced_eos_token_id", &mut self.forced_last),
        ];
        for (key, id) in ids {
            *id = keys.optional(key)?.or(*id);
        }
        if let Some(words) = keys.optional::<Vec<Vec<TokenId>>>("bad_words_ids")? {
            self.bad = words.concat();
            if let Some(word) = words.into_iter().find(|word| word.len() != 1) {
                return Err(keys.refuse("bad_words_ids", &Value::from(word)));
            }
        }
        if let Some(tokens) = keys.optional("suppress_tokens")? {
            self.suppressed = tokens;
        }
        self.alpha = keys.optional("length_penalty")?.or(self.alpha);
        self.renormalizes = keys.or("renormalize_logits", self.renormalizes)?;
        self.stops_early = match keys.optional("early_stopping")? {
            None => self.stops_early,
            Some(EarlyStopping::Always(stops)) => stops,
            Some(EarlyStopping::Named(name)) if name == "never" => false,
            Some(EarlyStopping::Named(name)) => {
                return Err(keys.refuse("early_stopping", &name.into()));
            }
        };
        for (key, without_effect) in [
            ("encoder_no_repeat_ngram_size", Value::from(0)),
            ("num_beam_groups", Value::from(1)),
            ("diversity_penalty", Value::from(0.0)),
            ("repetition_penalty", Value::from(1.0)),
            ("remove_invalid_values", Value::from(false)),
        ] {
            keys.only(key, without_effect)?;
        }
        Ok(())
    }

    /// The most tokens of a text, without the start token.
    fn longest(&self) -> Option<usize> {
        let whole = self.max_length.map(|length| length.saturating_sub(1));
        self.max_new_tokens.or(whole)
    }

    /// The fewest tokens of a text, without the start token and the end.
    fn shortest(&self) -> usize {
        let whole = self.min_length.map(|length| length.saturating_sub(1));
        self.min_new_tokens.or(whole).unwrap_or(0)
    }
}

impl Generation {
    /// The search. What its owner does not say is as in `transformers`, but for the length, which is limited there to 20 tokens.
    pub(super) fn decode(&self) -> DecodeConfig {
        let (default, search) = (DecodeConfig::default(), &self.search);
        let longest = search.longest();
        DecodeConfig {
            beam_width: search.beam_width.unwrap_or(1),
            length_penalty: LengthPenalty::Length,
            alpha: search.alpha.unwrap_or(1.0),
            max_new_factor: match longest {
                Some(_) => 0.0,
                None => default.max_new_factor,
            },
            max_new_extra: longest.unwrap_or(default.max_new_extra),
            min_length: search.shortest(),
            no_repeat_ngram: search.no_repeat_ngram.unwrap_or(0),
            ..default
        }
    }

    /// What the search of a model does in another way than its owner's.
    pub(super) fn notes(&self, model: &ModelConfig) -> Vec<String> {
        let search = &self.search;
        let has_beam = search.beam_width.is_some_and(|width| width > 1);
        let bars = search.no_repeat_ngram.is_some_and(|n| n > 0);
        let notes: &[(bool, &str)] = match model.family.task() {
            Task::Translate => &[(
                has_beam && search.stops_early,
                "`early_stopping` is not imported: the search stops when no hypothesis can overtake the best ones",
            )],
            Task::Generate => &[
                (
                    has_beam,
                    "`num_beams` is not imported: texts are continued token by token",
                ),
                (
                    bars,
                    "`no_repeat_ngram_size` is not imported: texts are continued without it",
                ),
                (
                    search.shortest() > 0,
                    "`min_length` is not imported: texts may end at once",
                ),
            ],
            Task::Fill | Task::Tag | Task::Classify | Task::Embed => &[],
        };
        let told = notes.iter().filter(|(differs, _)| *differs);
        told.map(|(_, note)| (*note).to_owned()).collect()
    }

    /// The tokens that get probability 0 in `model`, so that those of the others sum to 1.
    ///
    /// # Errors
    /// If the model has no bias of the output, or the search bars other tokens now and then.
    pub(super) fn impossible(&self, model: &ModelConfig) -> Result<Vec<TokenId>> {
        let search = &self.search;
        if !search.renormalizes || model.family.task() != Task::Translate {
            return Ok(Vec::new());
        }
        let bars = search.no_repeat_ngram.is_some_and(|n| n > 0) || search.shortest() > 0;
        if bars || !model.output_bias {
            let problem = "`renormalize_logits` = true is only supported with `bad_words_ids` in models whose output has a bias";
            return Err(not_understood(&self.path, problem));
        }
        Ok(self.never().collect())
    }

    fn never(&self) -> impl Iterator<Item = TokenId> {
        let Search {
            bad, suppressed, ..
        } = &self.search;
        bad.iter().chain(suppressed).copied()
    }

    /// The token that ends a text: `last`, which the tokenizer puts there, if it is one of them, or else the first.
    pub(super) fn eos(&self, last: Option<TokenId>) -> Option<TokenId> {
        let last = last.filter(|last| self.ends.contains(last));
        last.or(self.ends.first().copied())
    }

    /// Names the special tokens in `model`.
    pub(super) fn apply(&self, read: &Read, model: &mut ModelConfig) -> Result<()> {
        let name = |id: Option<TokenId>| id.map(|id| read.token(id)).transpose();
        let never = || -> Result<Vec<String>> { self.never().map(|id| read.token(id)).collect() };
        match model.family.task() {
            Task::Translate => {
                model.decoder_start = name(self.start.or(self.bos))?;
                model.forced_first = name(self.search.forced_first)?;
                model.forced_last = name(self.search.forced_last)?;
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

/// Whether a search ends with the first hypotheses that are complete, or `never` before it must.
#[derive(Deserialize)]
#[serde(untagged)]
enum EarlyStopping {
    Always(bool),
    Named(String),
}

/// A token, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(TokenId),
    More(Vec<TokenId>),
}
