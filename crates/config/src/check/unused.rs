//! Keys that have no effect in a configuration.

use attentive_base::error::Result;
use toml::Value;

use super::refuse;
use crate::{
    Config, Family, ModelConfig, OptimizerKind, Positions, RotaryScalingKind, StackKind, Task,
    TokenizerKind, Units,
};

/// Refuses unused keys, unless they have their default value, as in a configuration that is written out in full.
pub(super) fn check(config: &Config) -> Result<()> {
    let tables = [config, &Config::default()].map(|config| Value::try_from(config).ok());
    for (key, reason) in unused(config) {
        let [found, default] = tables.each_ref().map(|table| {
            let mut parts = key.split('.');
            parts.try_fold(table.as_ref()?, |table, part| table.get(part))
        });
        if found != default {
            let show = |value: Option<&Value>| value.map_or("nothing".into(), Value::to_string);
            let expected = match default {
                Some(default) => format!("its default, {default}, since {reason}"),
                None => format!("its default, which is to leave it out, since {reason}"),
            };
            return refuse(key, expected, show(found));
        }
    }
    Ok(())
}

impl Config {
    /// The keys without effect in this configuration, such as `model.d_ff` in a model without a Transformer stack.
    pub(crate) fn unused_keys(&self) -> Vec<&'static str> {
        unused(self).into_iter().map(|(key, _)| key).collect()
    }
}

/// Keys of Transformer stacks, whether they have attention or not.
const TRANSFORMER: &[&str] = &[
    "model.d_ff",
    "model.activation_dropout",
    "model.dropout_position",
    "model.norm_position",
    "model.final_norm",
    "model.activation",
    "model.feed_forward_gate",
    "model.feed_forward_bias",
    "model.positions",
];

/// Keys of multi-head attention.
const HEADS: &[&str] = &[
    "model.n_heads",
    "model.n_kv_heads",
    "model.d_head",
    "model.attention_dropout",
    "model.attention_bias",
    "model.attention_scale",
];

/// Where words are divided.
const SPLITS: &[&str] = &[
    "tokenizer.split_punctuation",
    "tokenizer.split_digits",
    "tokenizer.split_by_script",
];

/// Whether these keys are unused, and the reason.
type Rule = (bool, &'static [&'static str], &'static str);

/// Keys without effect, and the reasons.
pub(crate) fn unused(config: &Config) -> Vec<(&'static str, &'static str)> {
    let model = &config.model;
    let rules = [
        &transformer(model)[..],
        &stacks(model),
        &family(model),
        &tokenizer(config),
        &training(config),
    ];
    let unused = rules.concat().into_iter().filter(|(unused, ..)| *unused);
    unused
        .flat_map(|(_, keys, reason)| keys.iter().map(move |&key| (key, reason)))
        .collect()
}

fn transformer(model: &ModelConfig) -> [Rule; 8] {
    let has_transformer = model.has(StackKind::Transformer);
    let has_norm = has_transformer || model.embedding_norm;
    let no_transformer = "the model has no Transformer stack";
    let or_no_transformer = |reason| match has_transformer {
        true => reason,
        false => no_transformer,
    };
    let rotary = model.positions == Positions::Rotary;
    let (relative, learned) = (
        model.positions.are_relative(),
        model.positions.are_learned(),
    );
    [
        (!has_transformer, TRANSFORMER, no_transformer),
        (
            !model.attends(),
            HEADS,
            or_no_transformer("the model has no multi-head attention"),
        ),
        (
            !has_norm,
            &["model.norm", "model.norm_epsilon"],
            no_transformer,
        ),
        (
            has_transformer && (relative || rotary) && !model.self_attends(),
            &["model.positions"],
            "rotary and relative positions need self-attention, and the model has none",
        ),
        (
            !relative || !model.self_attends(),
            &["model.relative_buckets", "model.relative_distance"],
            or_no_transformer("`model.positions` is not `relative`"),
        ),
        (
            !rotary || !model.self_attends(),
            &[
                "model.rotary_base",
                "model.rotary_scaling.kind",
                "model.rotary_scaling.factor",
            ],
            or_no_transformer("`model.positions` is not `rotary`"),
        ),
        (
            model.rotary_scaling.kind != RotaryScalingKind::Llama3,
            &[
                "model.rotary_scaling.low_frequency_factor",
                "model.rotary_scaling.high_frequency_factor",
                "model.rotary_scaling.original_len",
            ],
            "`model.rotary_scaling.kind` is not `llama3`",
        ),
        (
            !learned || !has_transformer,
            &["model.position_offset"],
            or_no_transformer("`model.positions` is not `learned`"),
        ),
    ]
}

fn stacks(model: &ModelConfig) -> [Rule; 8] {
    let [encoder, decoder] = [model.encoder(), model.decoder()];
    let recurrent = Some(StackKind::Recurrent);
    let both = [encoder, decoder] == [Some(StackKind::Transformer); 2];
    [
        (
            !both,
            &["model.d_decoder_ff", "model.n_decoder_heads"],
            "encoder and decoder are not both Transformer stacks",
        ),
        (
            !model.has(StackKind::Recurrent),
            &["model.recurrent.cell", "model.recurrent.d_hidden"],
            "the model has no recurrent stack",
        ),
        (
            encoder != recurrent,
            &["model.recurrent.bidirectional"],
            "the model has no recurrent encoder",
        ),
        (
            decoder != recurrent || encoder.is_none(),
            &["model.recurrent.attention"],
            "the model has no recurrent decoder behind an encoder",
        ),
        (
            decoder != recurrent,
            &["model.recurrent.readout"],
            "the model has no recurrent decoder",
        ),
        (
            decoder != Some(StackKind::Transformer),
            &["model.decoder_mixing"],
            "the model has no Transformer decoder",
        ),
        (
            encoder.is_none(),
            &[
                "model.n_encoder_layers",
                "model.source_first",
                "model.source_last",
            ],
            "the model has no encoder",
        ),
        (
            decoder.is_none(),
            &["model.n_decoder_layers", "model.decoder_start_token"],
            "the model has no decoder",
        ),
    ]
}

fn family(model: &ModelConfig) -> [Rule; 11] {
    [
        (
            model.family == Family::Tagger && !model.word_pieces,
            &["model.source_first", "model.source_last"],
            "the model is a tagger without `model.word_pieces`, which reads nothing but the tokens that it labels",
        ),
        (
            model.family != Family::Tagger || model.recurrent.d_input > 0,
            &["model.word_pieces"],
            "the model reads vectors, since only taggers of text label words",
        ),
        (
            model.family != Family::Classifier,
            &["model.label_layer"],
            "only classifiers have such a layer",
        ),
        (
            model.family.task() != Task::Translate,
            &["model.forced_bos_token", "model.forced_eos_token"],
            "the model does not translate",
        ),
        (
            model.family.task() != Task::Generate,
            &["model.extra_eos_tokens"],
            "the model is no language model",
        ),
        (
            model.decoder().is_none(),
            &["model.suppress_tokens"],
            "the model has no decoder",
        ),
        (
            matches!(
                model.family,
                Family::Tagger | Family::Classifier | Family::Encoder
            ),
            &[
                "model.tie_embeddings",
                "model.output_bias",
                "model.logit_scale",
            ],
            "the model predicts labels",
        ),
        (
            model.family != Family::EncoderOnly,
            &["model.output_transform"],
            "only masked language models (`encoder_only`) have such a layer",
        ),
        (
            !matches!(model.family, Family::Classifier | Family::Encoder),
            &["model.pooling"],
            "only classifiers and encoders alone (`encoder`) reduce a text to one vector",
        ),
        (
            model.family != Family::Encoder,
            &["model.normalize_embeddings"],
            "only encoders alone (`encoder`) compute vectors of texts",
        ),
        (
            model.recurrent.d_input > 0,
            &["model.scale_embeddings"],
            "the model reads vectors, which are not scaled",
        ),
    ]
}

fn tokenizer(config: &Config) -> [Rule; 5] {
    let is_given = config.tokenizer.from.is_some();
    let is_learned = config.model.from.is_none() && !is_given;
    let has_subwords = matches!(
        config.tokenizer.kind,
        TokenizerKind::Bpe | TokenizerKind::Unigram
    );
    [
        (
            is_learned,
            &[
                "tokenizer.special.pad",
                "tokenizer.special.unk",
                "tokenizer.special.bos",
                "tokenizer.special.eos",
                "tokenizer.special.mask",
            ],
            "the vocabulary is learned, and only vocabularies that are given have other special tokens",
        ),
        (
            config.model.from.is_none(),
            &["tokenizer.special.unknown_from"],
            "`model.from` is not set, and only imported vocabularies have such tokens",
        ),
        (
            is_given,
            &[
                "tokenizer.kind",
                "tokenizer.vocab_size",
                "tokenizer.min_frequency",
                "tokenizer.lowercase",
                "tokenizer.normalization",
                "tokenizer.sample_lines",
            ],
            "`tokenizer.from` names a tokenizer that is taken as it is",
        ),
        (
            is_given,
            SPLITS,
            "`tokenizer.from` names a tokenizer that is taken as it is",
        ),
        (
            !is_given && !has_subwords,
            SPLITS,
            "tokens are words or characters, and only subwords (`bpe`, `unigram`) are learned within such limits",
        ),
    ]
}

fn training(config: &Config) -> [Rule; 4] {
    [
        (
            config.data.units == Units::Stream,
            &["model.decoder_start_token"],
            "`data.units` is `stream`, and windows of a stream have no start token",
        ),
        (
            config.data.units == Units::Stream,
            &["data.drop_repeated"],
            "`data.units` is `stream`, and a stream is not divided into lines",
        ),
        (
            config.model.family.task() != Task::Translate,
            &["data.max_ratio", "data.drop_copies"],
            "the training data are not pairs of sentences",
        ),
        (
            config.train.optimizer.kind == OptimizerKind::Sgd,
            &[
                "train.optimizer.beta1",
                "train.optimizer.beta2",
                "train.optimizer.epsilon",
            ],
            "`train.optimizer.kind` is `sgd`, and SGD has no such value",
        ),
    ]
}
