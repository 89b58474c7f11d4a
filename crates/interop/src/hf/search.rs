//! The generation settings in the files of a model.

use attentive_architecture::Task;
use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_config::{DecodeConfig, EarlyStopping, LengthPenaltyFormula};
use serde_json::{Value, json};

use crate::keys::UnreadKeys;

/// The `max_length` of files that set none.
const UNSET_LENGTH: usize = 20;
/// An old key by which the first token is forced to be the token that begins texts.
const FORCES_BOS: &str = "force_bos_token_to_be_generated";

/// The generation settings in the files of a model.
#[derive(Clone, Debug, Default)]
pub(super) struct HfSearchSettings {
    pub(super) forced_first: Option<TokenId>,
    pub(super) forced_last: Option<TokenId>,
    /// Tokens that are never written.
    bad: Vec<TokenId>,
    suppressed: Vec<TokenId>,
    /// True if the probabilities are renormalized, so that those of the remaining tokens sum to 1.
    pub(super) renormalizes: bool,
    beam_width: Option<usize>,
    length_penalty: Option<f64>,
    /// `None` for the tool's default.
    early_stopping: Option<EarlyStopping>,
    /// Includes the start token.
    max_length: Option<usize>,
    max_new_tokens: Option<usize>,
    /// Includes the start token.
    min_length: Option<usize>,
    min_new_tokens: Option<usize>,
    no_repeat_ngram: Option<usize>,
    repetition_penalty: Option<f64>,
}

/// The token that this kind of model's class forces at the end of a text of maximum length.
fn forced_last(kind: &str) -> Option<TokenId> {
    match kind {
        "bart" | "mbart" => Some(2),
        "marian" => Some(0),
        _ => None,
    }
}

/// True if the `config.json` of a model of the kind `kind` has generation settings that differ from the
/// defaults of its class.
pub(super) fn is_set_in(config: &UnreadKeys, kind: &str) -> bool {
    let of_class = json!({
        "bad_words_ids": null,
        "begin_suppress_tokens": null,
        "diversity_penalty": 0.0,
        "do_sample": false,
        "early_stopping": false,
        "encoder_no_repeat_ngram_size": 0,
        "exponential_decay_length_penalty": null,
        "forced_bos_token_id": null,
        "forced_eos_token_id": forced_last(kind),
        "length_penalty": 1.0,
        "max_length": UNSET_LENGTH,
        "min_length": 0,
        "no_repeat_ngram_size": 0,
        "num_beam_groups": 1,
        "num_beams": 1,
        "num_return_sequences": 1,
        "output_scores": false,
        "remove_invalid_values": false,
        "repetition_penalty": 1.0,
        "return_dict_in_generate": false,
        "suppress_tokens": null,
        "temperature": 1.0,
        "top_k": 50,
        "top_p": 1.0,
        "typical_p": 1.0,
    });
    let mut of_class = of_class.as_object().into_iter().flatten();
    of_class.any(|(key, value)| config.differs(key, value))
        || kind == "bart" && config.differs(FORCES_BOS, &false.into())
}

impl HfSearchSettings {
    /// Reads the settings in the `config.json` of a model of the kind `kind`, whose texts begin with `bos`.
    pub(super) fn of_config(kind: &str, bos: Option<TokenId>, config: &mut UnreadKeys) -> Result<Self> {
        let mut search = Self { forced_last: forced_last(kind), ..Self::default() };
        search.take(config)?;
        if config.or(FORCES_BOS, false)? && kind == "bart" {
            search.forced_first = search.forced_first.or(bos);
        }
        Ok(search)
    }

    /// Reads the settings in the file `keys`.
    pub(super) fn of_file(keys: &mut UnreadKeys) -> Result<Self> {
        let mut search = Self::default();
        search.take(keys)?;
        Ok(search)
    }

    fn take(&mut self, keys: &mut UnreadKeys) -> Result<()> {
        let numbers = [
            ("num_beams", &mut self.beam_width),
            ("max_length", &mut self.max_length),
            ("max_new_tokens", &mut self.max_new_tokens),
            ("min_length", &mut self.min_length),
            ("min_new_tokens", &mut self.min_new_tokens),
            ("no_repeat_ngram_size", &mut self.no_repeat_ngram),
        ];
        for (key, number) in numbers {
            keys.update(key, number)?;
        }
        let ids =
            [("forced_bos_token_id", &mut self.forced_first), ("forced_eos_token_id", &mut self.forced_last)];
        for (key, id) in ids {
            keys.update(key, id)?;
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
        self.length_penalty = keys.optional("length_penalty")?;
        self.repetition_penalty = keys.optional("repetition_penalty")?;
        self.renormalizes = keys.or("renormalize_logits", false)?;
        self.early_stopping = match keys.optional::<Value>("early_stopping")? {
            None => None,
            Some(value) => match stopping(&value) {
                Some(stopping) => Some(stopping),
                None => return Err(keys.refuse("early_stopping", &value)),
            },
        };
        for (key, without_effect) in [
            ("encoder_no_repeat_ngram_size", Value::from(0)),
            ("num_beam_groups", Value::from(1)),
            ("diversity_penalty", Value::from(0.0)),
            ("remove_invalid_values", Value::from(false)),
        ] {
            keys.only(key, without_effect)?;
        }
        Ok(())
    }

    /// The maximum number of tokens of a text, without the start token.
    fn longest(&self) -> Option<usize> {
        let set = self.max_length.filter(|&length| length != UNSET_LENGTH);
        let whole = set.map(|length| length.saturating_sub(1));
        self.max_new_tokens.or(whole)
    }

    /// The minimum number of tokens of a text, without the start token and the end.
    fn shortest(&self) -> usize {
        let whole = self.min_length.map(|length| length.saturating_sub(1));
        self.min_new_tokens.or(whole).unwrap_or(0)
    }

    /// Converts the settings of a model with this task. Missing ones are as in `transformers`, except for the
    /// length, which is limited there to 20 tokens.
    pub(super) fn decode(&self, task: Task) -> DecodeConfig {
        let (default, longest) = (DecodeConfig::default(), self.longest());
        if task != Task::Translate {
            return default;
        }
        DecodeConfig {
            beam_width: self.beam_width.unwrap_or(1),
            length_penalty_formula: LengthPenaltyFormula::Length,
            length_penalty: self.length_penalty.unwrap_or(1.0),
            max_new_factor: match longest {
                Some(_) => 0.0,
                None => default.max_new_factor,
            },
            max_new_extra: longest.unwrap_or(default.max_new_extra),
            early_stopping: self.early_stopping.unwrap_or(EarlyStopping::Heuristic),
            min_length: self.shortest(),
            no_repeat_ngram: self.no_repeat_ngram.unwrap_or(0),
            ..default
        }
    }

    /// Describes how the generation settings of a model with this task differ from those in its files.
    pub(super) fn notes(&self, task: Task) -> Vec<String> {
        let has_beam = self.beam_width.is_some_and(|width| width > 1);
        let notes: &[(bool, &str)] = match task {
            Task::Generate => &[
                (has_beam, "`num_beams` is not imported: texts are continued token by token"),
                (
                    self.bars_repeated(),
                    "`no_repeat_ngram_size` is not imported: texts are continued without it",
                ),
                (
                    self.penalizes_repeated(),
                    "`repetition_penalty` is not imported: texts are continued without it",
                ),
                (self.shortest() > 0, "`min_length` is not imported: texts may end at once"),
                (
                    self.longest().is_some(),
                    "`max_length` is not imported: the longest length is chosen when a text is continued",
                ),
            ],
            _ => &[],
        };
        let told = notes.iter().filter(|(differs, _)| *differs);
        told.map(|(_, note)| (*note).to_owned()).collect()
    }

    fn bars_repeated(&self) -> bool {
        self.no_repeat_ngram.is_some_and(|n| n > 0)
    }

    fn penalizes_repeated(&self) -> bool {
        self.repetition_penalty.is_some_and(|penalty| penalty != 1.0)
    }

    /// Names a setting for translation that is not supported.
    pub(super) fn unsupported(&self) -> Option<&'static str> {
        // In `transformers`, n-grams that must not be repeated include the start token.
        match self.no_repeat_ngram {
            Some(1) => Some("`no_repeat_ngram_size` = 1 is not supported"),
            _ if self.penalizes_repeated() => Some("`repetition_penalty` is not supported"),
            _ => None,
        }
    }

    /// True if some tokens are barred at some positions only.
    pub(super) fn bars_at_times(&self) -> bool {
        self.bars_repeated() || self.shortest() > 0
    }

    /// Tokens that are never written. Those among `ends`, which end a text, cannot be bad words.
    pub(super) fn never(&self, ends: &[TokenId]) -> impl Iterator<Item = TokenId> {
        let bad = self.bad.iter().filter(|token| !ends.contains(token));
        bad.chain(&self.suppressed).copied()
    }
}

/// Converts a value of `early_stopping`.
fn stopping(value: &Value) -> Option<EarlyStopping> {
    match value {
        Value::Bool(true) => Some(EarlyStopping::Always),
        Value::Bool(false) => Some(EarlyStopping::Heuristic),
        Value::String(name) if name == "never" => Some(EarlyStopping::Never),
        _ => None,
    }
}

/// Returns the value of `early_stopping` in `transformers`.
pub(super) fn early_stopping(early_stopping: EarlyStopping) -> Value {
    match early_stopping {
        EarlyStopping::Never => "never".into(),
        EarlyStopping::Heuristic => false.into(),
        EarlyStopping::Always => true.into(),
    }
}
