//! Keys that have no effect in a configuration.

use attentive_base::error::Result;
use serde_json::Value as Json;
use toml::{Table, Value};

use super::refuse;
use crate::schema::{self, KEYS, KeyType, fact};
use crate::show::toml;
use crate::table::get;
use crate::{
    Config, FamilyConfig, OptimizerKind, Positions, RotaryScalingKind, ScheduleKind, StackKind, Task,
    TokenizerKind, Units, users,
};

impl Config {
    /// The keys without effect in this configuration, such as `model.d_ff` in a model without a Transformer
    /// stack.
    pub(crate) fn unused_keys(&self) -> Vec<&'static str> {
        unused(self).into_iter().map(|(key, _)| key).collect()
    }
}

/// Refuses unused keys of `config`, which was read from `table`, unless they have their default value, as in
/// a configuration that is written out in full.
pub(super) fn check(config: &Config, table: &Table) -> Result<()> {
    let own = Table::try_from(config).unwrap_or_default();
    for (key, reason) in unused(config) {
        let default = schema::of(key).get("default");
        let found = get(&own, key).or_else(|| get(table, key));
        if let Some(found) = found.filter(|found| !is_default(found, default)) {
            let expected = match default {
                Some(default) => format!("its default, {}, since {reason}", toml(default)),
                None => format!("its default, which is to leave it out, since {reason}"),
            };
            return refuse(key, expected, found);
        }
    }
    Ok(())
}

/// Whether `found` means the default. A number without a default is 0 if it is not set.
fn is_default(found: &Value, default: Option<&Json>) -> bool {
    let number = |found: &Value| found.as_float().or(found.as_integer().map(|n| n as f64));
    match (default, number(found)) {
        (Some(default), Some(number)) => default.as_f64() == Some(number),
        (Some(default), None) => serde_json::to_value(found).is_ok_and(|found| found == *default),
        (None, _) => found.as_integer() == Some(0),
    }
}

/// The keys without effect, each with a reason.
fn unused(config: &Config) -> Vec<(&'static str, String)> {
    let family = config.model.family.family();
    let reason = |key: &str| {
        let users = users::of(key);
        if !users.contains(&family) {
            return Some(users::reason(&users));
        }
        let rule = rules(key).find(|rule| (rule.is_lacking)(config));
        rule.map(|rule| rule.reason.to_owned())
    };
    let keys = KEYS.iter().filter(|key| key.kind != KeyType::Section);
    keys.filter_map(|key| Some((key.path.as_str(), reason(&key.path)?))).collect()
}

/// The reasons for which `key` may have no effect in families that use it.
pub(crate) fn reasons(key: &str) -> impl Iterator<Item = &'static str> {
    rules(key).map(|rule| rule.reason)
}

fn rules(key: &str) -> impl Iterator<Item = &'static KeyRule> {
    let needs = fact(schema::of(key), "x-needs").split_whitespace();
    needs.map(|name| RULES.iter().find(|rule| rule.name == name).expect("a rule has this name"))
}

/// Something without which keys have no effect.
pub(crate) struct KeyRule {
    /// The name by which keys refer to it (`x-needs`).
    pub(crate) name: &'static str,
    /// Whether a configuration lacks it.
    is_lacking: fn(&Config) -> bool,
    /// Why keys that need it have no effect then, for messages.
    reason: &'static str,
}

/// Everything without which keys have no effect, besides the families that use them.
pub(crate) const RULES: &[KeyRule] = &[
    KeyRule {
        name: "transformer",
        is_lacking: |config| !config.model.has(StackKind::Transformer),
        reason: "the model has no Transformer stack",
    },
    KeyRule {
        name: "transformer_or_embedding_norm",
        is_lacking: |config| !config.model.has(StackKind::Transformer) && !config.model.embedding_norm,
        reason: "the model has no Transformer stack",
    },
    KeyRule {
        name: "multi_head_attention",
        is_lacking: |config| !config.model.attends(),
        reason: "the model has no multi-head attention",
    },
    KeyRule {
        name: "positions_in_self_attention",
        is_lacking: |config| config.model.positions.are_in_self_attention() && !config.model.self_attends(),
        reason: "positions such as `rotary` and `relative` need self-attention, and the model has none",
    },
    KeyRule {
        name: "relative_positions",
        is_lacking: |config| !config.model.positions.are_relative() || !config.model.self_attends(),
        reason: "`model.positions` is not `relative`",
    },
    KeyRule {
        name: "rotary_positions",
        is_lacking: |config| config.model.positions != Positions::Rotary || !config.model.self_attends(),
        reason: "`model.positions` is not `rotary`",
    },
    KeyRule {
        name: "llama3",
        is_lacking: |config| config.model.rotary_scaling.kind != RotaryScalingKind::Llama3,
        reason: "`model.rotary_scaling.kind` is not `llama3`",
    },
    KeyRule {
        name: "learned_positions",
        is_lacking: |config| !config.model.positions.are_learned(),
        reason: "`model.positions` is not `learned`",
    },
    KeyRule {
        name: "both_transformers",
        is_lacking: |config| config.model.has(StackKind::Recurrent),
        reason: "encoder and decoder are not both Transformer stacks",
    },
    KeyRule {
        name: "transformer_decoder",
        is_lacking: |config| decoder_is(config, StackKind::Recurrent),
        reason: "the model has no Transformer decoder",
    },
    KeyRule {
        name: "recurrent",
        is_lacking: |config| !config.model.has(StackKind::Recurrent),
        reason: "the model has no recurrent stack",
    },
    KeyRule {
        name: "recurrent_encoder",
        is_lacking: |config| {
            let encoder = config.model.family.encoder();
            encoder.is_some_and(|encoder| encoder.stack == StackKind::Transformer)
        },
        reason: "the model has no recurrent encoder",
    },
    KeyRule {
        name: "recurrent_decoder",
        is_lacking: |config| decoder_is(config, StackKind::Transformer),
        reason: "the model has no recurrent decoder",
    },
    KeyRule {
        name: "source_tokens",
        is_lacking: |config| matches!(config.model.family, FamilyConfig::Tagger { word_pieces, .. } if !word_pieces),
        reason: "the model is a tagger without `model.word_pieces`, which reads nothing but the tokens that \
                 it labels",
    },
    KeyRule {
        name: "tokens",
        is_lacking: |config| config.model.family.d_input().is_some(),
        reason: "the model reads vectors",
    },
    KeyRule {
        name: "start_token",
        is_lacking: |config| config.data.units == Units::Stream,
        reason: "`data.units` is `stream`, and windows of a stream have no start token",
    },
    KeyRule {
        name: "lines",
        is_lacking: |config| config.data.units == Units::Stream,
        reason: "`data.units` is `stream`, and a stream is not divided into lines",
    },
    KeyRule {
        name: "given_vocabulary",
        is_lacking: |config| config.model.from.is_none() && config.tokenizer.from.is_none(),
        reason: "the vocabulary is learned, and only vocabularies that are given have other special tokens",
    },
    KeyRule {
        name: "imported_vocabulary",
        is_lacking: |config| config.model.from.is_none(),
        reason: "`model.from` is not set, and only imported vocabularies have such tokens",
    },
    KeyRule {
        name: "learned_vocabulary",
        is_lacking: |config| config.tokenizer.from.is_some(),
        reason: "`tokenizer.from` names a tokenizer that is taken as it is",
    },
    KeyRule {
        name: "subwords",
        is_lacking: |config| matches!(config.tokenizer.kind, TokenizerKind::Word | TokenizerKind::Char),
        reason: "tokens are words or characters, and only subwords (`bpe`, `unigram`) are learned within \
                 such limits",
    },
    KeyRule {
        name: "use_of_alignments",
        is_lacking: |config| !config.train.reads_alignments(),
        reason: "`train.guided_alignment` and `train.augmentation.inline_tags` are 0",
    },
    KeyRule {
        name: "bpe",
        is_lacking: |config| learns_other_than(config, TokenizerKind::Bpe),
        reason: "`tokenizer.kind` is not `bpe`, and other vocabularies have no merges",
    },
    KeyRule {
        name: "unigram",
        is_lacking: |config| learns_other_than(config, TokenizerKind::Unigram),
        reason: "`tokenizer.kind` is not `unigram`, and the pieces of other vocabularies have no probabilities",
    },
    KeyRule {
        name: "untagged",
        is_lacking: |config| config.model.family.task() == Task::Tag,
        reason: "the pieces of words that have labels stay the same",
    },
    KeyRule {
        name: "patience",
        is_lacking: |config| config.train.patience == 0,
        reason: "`train.patience` is 0, so that training does not stop early",
    },
    KeyRule {
        name: "several_criteria",
        is_lacking: |config| config.train.keep_best_by.is_empty(),
        reason: "`train.keep_best_by` names no further criterion",
    },
    KeyRule {
        name: "adam",
        is_lacking: |config| config.train.optimizer.kind == OptimizerKind::Sgd,
        reason: "`train.optimizer.kind` is `sgd`, and SGD has no such value",
    },
    KeyRule {
        name: "muon",
        is_lacking: |config| config.train.optimizer.kind != OptimizerKind::Muon,
        reason: "`train.optimizer.kind` is not `muon`",
    },
    KeyRule {
        name: "wsd",
        is_lacking: |config| config.train.schedule.kind != ScheduleKind::Wsd,
        reason: "`train.schedule.kind` is not `wsd`",
    },
];

/// Whether the decoder has a stack of this kind.
fn decoder_is(config: &Config, kind: StackKind) -> bool {
    let decoder = config.model.family.decoder();
    decoder.is_some_and(|decoder| decoder.stack == kind)
}

/// Whether a vocabulary of another kind is learned. One that is given may be of any kind.
fn learns_other_than(config: &Config, kind: TokenizerKind) -> bool {
    let is_learned = config.model.from.is_none() && config.tokenizer.from.is_none();
    is_learned && config.tokenizer.kind != kind
}
