//! What papers and other programs call our keys and values, for hints.

/// Values, each with its other names, separated by blanks.
const VALUES: [(&str, &str); 29] = [
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

/// Keys, each with its other names, separated by blanks.
const KEYS: [(&str, &str); 38] = [
    ("decode.length_penalty", "alpha normalize lenpen beam_alpha"),
    ("model.d_model", "hidden_size dim d_hidden emb_dim embed_dim width dim_emb encoder_embed_dim"),
    ("model.d_ff", "ffn_dim intermediate_size dim_feedforward ffn transformer_dim_ffn encoder_ffn_embed_dim"),
    ("model.n_heads", "num_heads heads nhead attention_heads transformer_heads encoder_attention_heads"),
    (
        "model.n_encoder_layers",
        "encoder_layers num_encoder_layers enc_layers layers n_layers num_layers enc_depth",
    ),
    ("model.n_decoder_layers", "decoder_layers num_decoder_layers dec_layers dec_depth"),
    ("model.n_kv_heads", "num_key_value_heads kv_heads"),
    ("model.positions", "position_encoding positional_encoding pos_encoding pe"),
    ("model.max_len", "max_position_embeddings max_seq_len context context_length block_size"),
    ("train.batch_tokens", "batch_size max_tokens tokens_per_batch mini_batch_words"),
    (
        "train.micro_batches_per_update",
        "accumulate grad_accum gradient_accumulation gradient_accumulation_steps update_freq optimizer_delay",
    ),
    ("train.max_epochs", "epochs num_epochs n_epochs"),
    ("train.max_steps", "steps max_updates max_update updates iterations after after_batches"),
    ("train.clip_norm", "max_grad_norm grad_clip gradient_clip clip"),
    ("train.precision", "matmul_precision dtype amp fp16 bf16"),
    ("train.optimizer.learning_rate", "lr learn_rate"),
    ("train.schedule.warmup_steps", "warmup warmup_updates lr_warmup"),
    ("train.patience", "early_stopping early_stopping_patience"),
    ("train.validate_every", "eval_every eval_steps validation_every valid_freq validate_interval_updates"),
    ("decode.beam_width", "beam beam_size beams num_beams n_beams validate_beam valid_beam_size"),
    ("tokenizer.vocab_size", "vocabulary_size n_vocab vocab dim_vocabs"),
    (
        "train.schedule.kind",
        "lr_scheduler lr_scheduler_type lr_schedule lr_decay_strategy scheduler scheduling decay_method",
    ),
    ("train.optimizer.kind", "optim"),
    ("train.save_every", "save_freq save_interval_updates save_steps"),
    ("train.best_by", "valid_metrics best_checkpoint_metric metric_for_best_model"),
    ("model.family", "arch architecture model_type"),
    ("model.from", "pretrained_model finetune_from_model"),
    ("model.dropout", "transformer_dropout"),
    ("model.attention_dropout", "transformer_dropout_attention"),
    ("model.activation_dropout", "transformer_dropout_ffn"),
    (
        "model.tie_embeddings",
        "tied_embeddings tied_embeddings_all tied_embeddings_src share_all_embeddings \
         share_decoder_input_output_embed tie_word_embeddings",
    ),
    ("data.train", "train_sets trainpref"),
    ("data.valid", "valid_sets validpref"),
    ("data.max_len", "max_source_positions max_target_positions"),
    ("tokenizer.from", "vocabs vocab_file model_file sentencepiece_model spm_model tokenizer_file"),
    ("tokenizer.kind", "tokenizer_type vocab_type bpe_type"),
    (
        "model.norm_position",
        "pre_norm prenorm norm_first normalize_before encoder_normalize_before layer_norm",
    ),
    ("train.log_every", "logging_steps log_interval logging_freq disp_freq report_every"),
];

/// Whether `word` is one of `words`, which are separated by blanks.
pub(super) fn has_word(words: &str, word: &str) -> bool {
    words.split(' ').any(|one| one == word)
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
        "csv" => Some(
            "CSV is not read: convert it to tab-separated columns without header, index and quotes, and name \
             the file with `tsv`",
        ),
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
    let found = KEYS.iter().find(|(_, names)| has_word(names, name));
    found.map(|(key, _)| *key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Kind, SCHEMA};

    /// The tables name what there is, and nothing that is a name here already.
    #[test]
    fn the_names_are_those_of_the_schema() {
        for (key, names) in KEYS {
            assert!(SCHEMA.contains_key(key), "{key}");
            let section = key.rsplit_once('.').unwrap().0;
            for name in names.split(' ') {
                let own = format!("{section}.{name}");
                assert!(!SCHEMA.contains_key(&own), "{own}");
            }
        }
        let all = SCHEMA.values().filter_map(|kind| match kind {
            Kind::OneOf(values) => Some(*values),
            _ => None,
        });
        let all: Vec<&str> = all.flatten().copied().collect();
        for (value, _) in VALUES {
            assert!(all.contains(&value), "{value}");
        }
        for (key, other, _) in OTHERWISE {
            let Some(Kind::OneOf(values)) = SCHEMA.get(key) else {
                panic!("{key} has no list of values");
            };
            assert!(!values.contains(&other), "{key} = {other}");
        }
    }
}
