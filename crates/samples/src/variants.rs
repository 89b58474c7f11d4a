//! The variants on which every property is tested.

use attentive_config::{Config, ModelConfig};
use serde::Deserialize;
use serde_json::Value as Json;
use toml::{Table, Value};

/// The small model that the variants change.
const BASE: &str = "d_model = 12, d_ff = 20, n_heads = 3, n_encoder_layers = 2, n_decoder_layers = 2, \
                    max_len = 32, init = 'pytorch'";

/// The small model that the variants change.
pub fn base() -> ModelConfig {
    variant("")
}

/// The small model with these changes to `[model]`, in TOML on one line.
pub fn variant(changes: &str) -> ModelConfig {
    read(BASE, changes)
}

/// `[model]` with the keys of `base` and `changes`. Keys of `base` that the family does not have are left
/// out.
pub(crate) fn read(base: &str, changes: &str) -> ModelConfig {
    let mut model = Table::new();
    for keys in [base, changes] {
        let text: Table = format!("keys = {{ {keys} }}").parse().unwrap();
        for (key, value) in text["keys"].as_table().unwrap().clone() {
            match (model.get_mut(&key), value) {
                (Some(Value::Table(section)), Value::Table(keys)) => section.extend(keys),
                (_, value) => drop(model.insert(key, value)),
            }
        }
    }
    let known = &Config::json_schema()["properties"]["model"];
    check(&model, known);
    let config = Table::from_iter([("model".to_owned(), Value::Table(model))]);
    Config::deserialize(config).unwrap().model
}

/// Panics at unknown keys.
fn check(table: &Table, known: &Json) {
    for (key, value) in table {
        let known = &known["properties"][key];
        assert!(known.is_object(), "`{key}` is no key");
        if let Value::Table(section) = value {
            check(section, known);
        }
    }
}

/// A model of each family for each value of each variant.
pub fn variants() -> Vec<ModelConfig> {
    let mut variants: Vec<String> = TRANSFORMERS.map(str::to_owned).into();
    variants.extend(recurrent());
    variants.extend(MIXED.map(str::to_owned));
    variants.extend(PUBLISHED.map(|keys| format!("family = 'decoder_only', {keys}")));
    variants.extend(PUBLISHED.map(str::to_owned));
    variants.extend(labeling());
    for family in ["decoder_only", "encoder_only"] {
        variants.push(format!("family = '{family}'"));
        for positions in ["sinusoidal_interleaved", "learned", "rotary"] {
            variants.push(format!(
                "family = '{family}', positions = '{positions}', norm_position = 'pre', tie_embeddings = \
                 'none', output_bias = true"
            ));
        }
    }
    variants.extend(MASKED.map(str::to_owned));
    variants.extend(fed());
    variants.push("attention_bias = false, attention_output_bias = true".into());
    variants.iter().map(|changes| variant(changes)).collect()
}

/// One Transformer for each value of each variant.
const TRANSFORMERS: [&str; 21] = [
    "",
    "norm_position = 'pre'",
    "dropout_position = 'after_norm'",
    "norm_position = 'pre', dropout_position = 'after_norm'",
    "norm = 'rms'",
    "norm = 'scalar'",
    "positions = 'sinusoidal_concatenated'",
    "positions = 'sinusoidal_tensor2tensor'",
    "positions = 'learned'",
    "positions = 'rotary'",
    "positions = 'none'",
    "tie_embeddings = 'none', output_bias = true",
    "tie_embeddings = 'decoder', output_bias = true",
    "tie_embeddings = 'inputs', output_bias = true",
    "init = 'xavier_uniform'",
    "init = 'normal'",
    "init = 'gpt2'",
    "activation = 'gelu', attention_bias = false, scale_embeddings = false",
    "n_decoder_heads = 4, d_decoder_ff = 28",
    "decoder_mixing = 'ssru'",
    "decoder_mixing = 'lstm'",
];

/// Stacks of both kinds.
const MIXED: [&str; 6] = [
    "decoder = 'recurrent', recurrent = { cell = 'lstm', d_hidden = 12, attention = 'additive' }",
    "decoder = 'recurrent', recurrent = { cell = 'gru', d_hidden = 12, attention = 'dot' }",
    "decoder = 'recurrent', recurrent = { cell = 'ssru', d_hidden = 12, attention = 'general' }",
    "encoder = 'recurrent', recurrent = { d_hidden = 10 }",
    "family = 'decoder_only', decoder = 'recurrent', recurrent = { cell = 'gru', d_hidden = 12 }",
    "decoder_mixing = 'gru'",
];

/// The features in which published Transformers differ: Llama, T5 and BART.
const PUBLISHED: [&str; 3] = [
    "positions = 'rotary', rotary_base = 500.0, rotary_scaling = { kind = 'llama3', factor = 4.0, \
     original_len = 16 }, norm = 'rms', norm_position = 'pre', norm_epsilon = 1e-6, activation = 'silu', \
     feed_forward_gate = true, feed_forward_bias = false, attention_bias = false, n_kv_heads = 1, d_head = 6",
    "positions = 'relative', relative_buckets = 8, relative_distance = 8, attention_scale = 1.0, logit_scale \
     = 0.5, activation = 'gelu_tanh', feed_forward_gate = true, norm_position = 'pre'",
    "positions = 'learned', position_offset = 2, embedding_norm = true, final_norm = true, activation = \
     'gelu_tanh'",
];

/// The features of published masked language models.
const MASKED: [&str; 2] = [
    "family = 'encoder_only', activation = 'gelu', output_transform = true",
    "family = 'encoder_only', positions = 'learned_relative', position_offset = 2, relative_buckets = 8, \
     relative_distance = 12",
];

/// Recurrent encoders with and without a decoder.
fn recurrent() -> Vec<String> {
    let mut variants = Vec::new();
    for cell in ["rnn", "lstm", "coupled_lstm", "gru", "ssru"] {
        for bidirectional in [true, false] {
            let mut push = |family: &str, key: &str| {
                variants.push(format!(
                    "family = '{family}', recurrent = {{ cell = '{cell}', d_hidden = 10, bidirectional = \
                     {bidirectional}, {key} }}"
                ));
            };
            // The gates of an SSRU read no context.
            let attentions = ["none", "dot", "general", "additive"];
            let fits = if cell == "ssru" { 3 } else { 4 };
            for attention in &attentions[..fits] {
                push("seq2seq", &format!("attention = '{attention}'"));
            }
            push("tagger", "d_input = 0");
            push("tagger", "d_input = 3");
        }
    }
    let others = [
        "family = 'seq2seq', n_encoder_layers = 1, n_decoder_layers = 3, recurrent = { cell = 'rnn', \
         d_hidden = 10, attention = 'none' }",
        "family = 'seq2seq', recurrent = { cell = 'gru', d_hidden = 12, bidirectional = false, attention = \
         'none', readout = false }",
    ];
    variants.extend(others.map(str::to_owned));
    variants
}

/// Recurrent decoders that attend from the current state, read the position before, or have no readout.
fn fed() -> Vec<String> {
    let mut variants = Vec::new();
    for cell in ["rnn", "lstm", "coupled_lstm", "gru", "ssru"] {
        let mut push = |keys: &str| {
            let family = "family = 'seq2seq', tie_embeddings = 'none'";
            variants.push(format!("{family}, recurrent = {{ cell = '{cell}', d_hidden = 10, {keys} }}"));
        };
        push("attention = 'concat'");
        push("attention = 'concat', input_feeding = 'context', readout = false");
        push("attention = 'general', input_feeding = 'output'");
        push("attention = 'none', input_feeding = 'output', readout = false");
        if cell != "ssru" {
            push("attention = 'additive', input_feeding = 'context'");
        }
    }
    let others = [
        "family = 'seq2seq', recurrent = { d_hidden = 12, attention = 'dot', input_feeding = 'context' }",
        "decoder = 'recurrent', tie_embeddings = 'none', recurrent = { cell = 'gru', d_hidden = 10, attention = \
         'concat', input_feeding = 'context', readout = false }",
        "family = 'decoder_only', decoder = 'recurrent', recurrent = { cell = 'rnn', d_hidden = 10, \
         input_feeding = 'output' }",
        "family = 'decoder_only', decoder = 'recurrent', tie_embeddings = 'none', recurrent = { d_hidden = 10, \
         readout = false }",
    ];
    variants.extend(others.map(str::to_owned));
    variants
}

/// Labels for positions and for whole texts.
fn labeling() -> Vec<String> {
    let mut variants = Vec::new();
    for encoder in ["transformer", "recurrent"] {
        let keys = format!("encoder = '{encoder}', recurrent = {{ d_hidden = 10 }}");
        variants.push(format!("family = 'tagger', {keys}"));
        for pooling in ["mean", "first", "last"] {
            variants.push(format!("family = 'classifier', pooling = '{pooling}', {keys}"));
        }
    }
    for layer in ["tanh", "relu"] {
        variants.push(format!("family = 'classifier', pooling = 'first', label_layer = '{layer}'"));
    }
    variants.push("family = 'tagger', encoder = 'transformer', recurrent = { d_input = 12 }".into());
    variants
}
