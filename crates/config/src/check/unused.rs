//! Keys that have no effect in a configuration.

use attentive_base::error::Result;
use serde_json::Value as Json;
use toml::{Table, Value};

use super::refuse;
use crate::schema::{self, KEYS, KeyType, fact};
use crate::show::toml;
use crate::table::get;
use crate::{
    Config, FamilyConfig, OptimizerKind, Positions, RotaryScalingKind, StackKind, TokenizerKind, Units, users,
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
        let rule = rules(key).find(|(_, applies, _)| applies(config));
        rule.map(|(.., reason)| (*reason).to_owned())
    };
    let keys = KEYS.iter().filter(|key| key.kind != KeyType::Section);
    keys.filter_map(|key| Some((key.path.as_str(), reason(&key.path)?))).collect()
}

/// The reasons for which `key` may have no effect in families that use it.
pub(crate) fn reasons(key: &str) -> impl Iterator<Item = &'static str> {
    rules(key).map(|(.., reason)| *reason)
}

fn rules(key: &str) -> impl Iterator<Item = &'static KeyRule> {
    let needs = fact(schema::of(key), "x-needs").split_whitespace();
    needs.map(|name| RULES.iter().find(|(known, ..)| *known == name).expect("a rule has this name"))
}

/// What keys may need (`x-needs`), whether a configuration lacks it, and how that is said.
pub(crate) type KeyRule = (&'static str, fn(&Config) -> bool, &'static str);

/// What decides, besides the family, whether keys have an effect.
pub(crate) const RULES: &[KeyRule] = &[
    ("transformer", |config| !config.model.has(StackKind::Transformer), "the model has no Transformer stack"),
    (
        "transformer_or_embedding_norm",
        |config| !config.model.has(StackKind::Transformer) && !config.model.embedding_norm,
        "the model has no Transformer stack",
    ),
    ("multi_head_attention", |config| !config.model.attends(), "the model has no multi-head attention"),
    (
        "positions_in_self_attention",
        |config| {
            let positions = config.model.positions;
            let is_relative = positions.are_relative() || positions == Positions::Rotary;
            is_relative && !config.model.self_attends()
        },
        "`model.positions` is `rotary` or `relative`, which need self-attention, and the model has none",
    ),
    (
        "relative_positions",
        |config| !config.model.positions.are_relative() || !config.model.self_attends(),
        "`model.positions` is not `relative`",
    ),
    (
        "rotary_positions",
        |config| config.model.positions != Positions::Rotary || !config.model.self_attends(),
        "`model.positions` is not `rotary`",
    ),
    (
        "llama3",
        |config| config.model.rotary_scaling.kind != RotaryScalingKind::Llama3,
        "`model.rotary_scaling.kind` is not `llama3`",
    ),
    (
        "learned_positions",
        |config| !config.model.positions.are_learned(),
        "`model.positions` is not `learned`",
    ),
    (
        "transformers",
        |config| config.model.has(StackKind::Recurrent),
        "encoder and decoder are not both Transformer stacks",
    ),
    (
        "transformer_decoder",
        |config| decoder_is(config, StackKind::Recurrent),
        "the model has no Transformer decoder",
    ),
    ("recurrent", |config| !config.model.has(StackKind::Recurrent), "the model has no recurrent stack"),
    (
        "recurrent_encoder",
        |config| {
            let encoder = config.model.family.encoder();
            encoder.is_some_and(|encoder| encoder.stack == StackKind::Transformer)
        },
        "the model has no recurrent encoder",
    ),
    (
        "recurrent_decoder",
        |config| decoder_is(config, StackKind::Transformer),
        "the model has no recurrent decoder",
    ),
    (
        "source_tokens",
        |config| matches!(config.model.family, FamilyConfig::Tagger { word_pieces, .. } if !word_pieces),
        "the model is a tagger without `model.word_pieces`, which reads nothing but the tokens that it \
         labels",
    ),
    ("tokens", |config| config.model.family.d_input().is_some(), "the model reads vectors"),
    (
        "start_token",
        |config| config.data.units == Units::Stream,
        "`data.units` is `stream`, and windows of a stream have no start token",
    ),
    (
        "lines",
        |config| config.data.units == Units::Stream,
        "`data.units` is `stream`, and a stream is not divided into lines",
    ),
    (
        "given_vocabulary",
        |config| config.model.from.is_none() && config.tokenizer.from.is_none(),
        "the vocabulary is learned, and only vocabularies that are given have other special tokens",
    ),
    (
        "imported_vocabulary",
        |config| config.model.from.is_none(),
        "`model.from` is not set, and only imported vocabularies have such tokens",
    ),
    (
        "learned_vocabulary",
        |config| config.tokenizer.from.is_some(),
        "`tokenizer.from` names a tokenizer that is taken as it is",
    ),
    (
        "subwords",
        |config| matches!(config.tokenizer.kind, TokenizerKind::Word | TokenizerKind::Char),
        "tokens are words or characters, and only subwords (`bpe`, `unigram`) are learned within such limits",
    ),
    (
        "adam",
        |config| config.train.optimizer.kind == OptimizerKind::Sgd,
        "`train.optimizer.kind` is `sgd`, and SGD has no such value",
    ),
];

/// Whether the decoder has a stack of this kind.
fn decoder_is(config: &Config, kind: StackKind) -> bool {
    let decoder = config.model.family.decoder();
    decoder.is_some_and(|decoder| decoder.stack == kind)
}
