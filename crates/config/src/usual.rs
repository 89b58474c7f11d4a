//! What papers and other programs call our values, and what they have and we lack, for hints.

use super::schema::{KEYS, fact};

/// Values, each with its other names, separated by blanks.
const VALUES: [(&str, &str); 31] = [
    ("rotary", "rope roformer"),
    ("relative", "t5 relative_bias bucketed"),
    ("learned", "absolute trained embedding embeddings"),
    ("sinusoidal_interleaved", "sinusoidal sin sincos fixed"),
    ("none", "nope off no false"),
    ("rms", "rmsnorm rms_norm t5norm"),
    ("layer", "layernorm layer_norm ln"),
    ("pre", "prenorm pre_norm pre_ln preln before"),
    ("post", "postnorm post_norm post_ln postln after"),
    ("silu", "swish"),
    ("gelu_tanh", "gelu_new gelu_fast gelu_approximate"),
    ("f32", "fp32 float32 float single full"),
    ("bf16", "bfloat16 bfloat half fp16 f16 mixed amp"),
    ("transformer", "encoder_decoder t5 bart marian nmt"),
    ("seq2seq", "rnn lstm gru"),
    ("decoder_only", "gpt gpt2 causal clm decoder llama lm"),
    ("encoder_only", "bert mlm masked roberta"),
    ("tagger", "token_classification tagging ner pos"),
    ("classifier", "sequence_classification classification"),
    ("bpe", "sentencepiece subword spm wordpiece byte_pair"),
    ("char", "character characters chars"),
    ("word", "words whitespace"),
    ("shared", "joint joined both"),
    ("separate", "split two"),
    ("adamw", "adam_w"),
    ("inverse_sqrt", "inv_sqrt inverse_square_root rsqrt"),
    ("plateau", "reduce_on_plateau reducelronplateau"),
    ("constant", "linear_warmup constant_with_warmup"),
    ("linear", "linear_decay polynomial polynomial_decay"),
    ("wsd", "warmup_stable_decay trapezoidal"),
    ("length", "average mean normalize marian"),
];

/// Values that stand for another key.
const OTHERWISE: [(&str, &str, &str); 5] = [
    ("model.activation", "swiglu", "write `activation = \"silu\"` and `feed_forward_gate = true`"),
    ("model.activation", "geglu", "write `activation = \"gelu\"` and `feed_forward_gate = true`"),
    ("model.activation", "glu", "choose an activation and write `feed_forward_gate = true`"),
    (
        "model.positions",
        "alibi",
        "there is no ALiBi; `relative` also adds a bias to the attention for each distance",
    ),
    ("tokenizer.kind", "byte", "there is no vocabulary of bytes; `char` has characters"),
];

/// Whether `word` is one of `words`, which are separated by blanks.
fn has_word(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|one| one == word)
}

/// Whether the value `name` is usually called `other`.
pub(super) fn is(name: &str, other: &str) -> bool {
    let mut found = VALUES.iter().filter(|(known, _)| *known == name);
    found.any(|(_, names)| has_word(names, other))
}

/// What to write in place of the value `other` of `key`, if it is no other value of that key.
pub(super) fn hint(key: &str, other: &str) -> Option<&'static str> {
    let found = OTHERWISE.iter();
    let mut found = found.filter(|(of, name, _)| (*of, *name) == (key, other));
    found.next().map(|(_, _, hint)| *hint)
}

/// What to do in place of a key `name` that has no equal here.
pub(super) fn instead(name: &str) -> Option<&'static str> {
    let devices = "device devices gpu gpus cuda use_gpu use_cuda accelerator";
    match name {
        "rope" | "rotary" | "use_rope" => Some("write `positions = \"rotary\"` in `[model]`"),
        "test" | "test_sets" | "testpref" => {
            Some("a test set belongs to no run: leave it out, and name its files when you evaluate the model")
        }
        _ if has_word(devices, name) => Some("write `device = \"gpu\"` in `[train]`"),
        _ => None,
    }
}

/// The key that is usually called `name`.
pub(super) fn key(name: &str) -> Option<&'static str> {
    let found = KEYS.iter().find(|key| has_word(fact(key.schema, "x-also"), name));
    found.map(|key| key.path.as_str())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::schema::{KeyType, SCHEMA};

    /// The tables name what there is, and nothing that is a name here already.
    #[test]
    fn the_names_are_those_of_the_schema() {
        let mut known = BTreeSet::new();
        for key in KEYS.iter() {
            let section = key.path.rsplit_once('.').map_or("", |(section, _)| section);
            for name in fact(key.schema, "x-also").split_whitespace() {
                let own = format!("{section}.{name}");
                assert!(!SCHEMA.contains_key(&own), "{own}");
                assert!(known.insert(name), "two keys are called {name}");
            }
        }
        assert!(known.contains("lr") && known.contains("dim_emb"));
        let all = SCHEMA.values().filter_map(|kind| match kind {
            KeyType::OneOf(values) => Some(*values),
            _ => None,
        });
        let all: Vec<&str> = all.flatten().copied().collect();
        for (value, _) in VALUES {
            assert!(all.contains(&value), "{value}");
        }
        for (key, other, _) in OTHERWISE {
            let Some(KeyType::OneOf(values)) = SCHEMA.get(key) else {
                panic!("{key} has no list of values");
            };
            assert!(!values.contains(&other), "{key} = {other}");
        }
    }
}
