//! Small models with the files of every format.

use std::path::Path;

use super::writers::{
    byte_level, byte_level_file, copy, g2p, listed, llama, m2m_100, marian_binary, marian_mt, mbart, nllb,
    sentences, shards, t5, t5_normalized, wordpiece, wordpiece_file,
};

/// A model, and its files that are damaged.
pub(super) struct Model {
    pub(super) name: &'static str,
    /// Writes the model of this name into a folder.
    pub(super) make: fn(&str, &Path),
    pub(super) files: &'static [&'static str],
}

const fn model(name: &'static str, make: fn(&str, &Path), files: &'static [&'static str]) -> Model {
    Model { name, make, files }
}

pub(super) const MODELS: &[Model] = &[
    model("hf/bart", copy, &["config.json", "generation_config.json"]),
    model("hf/mbart", copy, &["config.json"]),
    model("hf/marian_separate", copy, &["config.json"]),
    model("hf/bart_min_length", copy, &["generation_config.json"]),
    model("hf/m2m_100", copy, &["config.json", "generation_config.json"]),
    model(
        "hf/marian",
        copy,
        &["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"],
    ),
    model("hf/t5", copy, &["config.json"]),
    model("hf/t5_gated", copy, &["config.json", "model.safetensors"]),
    model("hf/llama", copy, &["config.json", "generation_config.json"]),
    model("hf/llama3", copy, &["config.json"]),
    model("hf/gpt2", copy, &["config.json", "model.safetensors"]),
    model("hf/bert", copy, &["config.json", "model.safetensors"]),
    model("hf/distilbert", copy, &["config.json", "tokenizer.json"]),
    model("hf/roberta_classifier", copy, &["config.json"]),
    model("hf/mpnet_tagger", copy, &["config.json"]),
    model(
        "hf/bert_encoder",
        sentences,
        &["config.json", "modules.json", "1_Pooling/config.json", "sentence_bert_config.json"],
    ),
    model("Llama in shards", shards, &["model.safetensors.index.json", "0.safetensors"]),
    model(
        "BERT with `vocab.txt`",
        wordpiece,
        &["vocab.txt", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"],
    ),
    model("GPT-2 with pairs", byte_level, &["vocab.json", "merges.txt", "tokenizer_config.json"]),
    model("GPT-2 with pairs in one file", byte_level_file, &["tokenizer.json"]),
    model("BERT with pieces of words in one file", wordpiece_file, &["tokenizer.json"]),
    model("T5 with SentencePiece", t5, &["spiece.model"]),
    model("T5 with a normalizer", t5_normalized, &["spiece.model"]),
    model("Llama with SentencePiece", llama, &["tokenizer.model", "tokenizer_config.json"]),
    model("mBART with SentencePiece", mbart, &["sentencepiece.bpe.model", "tokenizer_config.json"]),
    model("NLLB with SentencePiece", nllb, &["sentencepiece.bpe.model"]),
    model("M2M-100 with SentencePiece", m2m_100, &["sentencepiece.bpe.model", "vocab.json"]),
    model("MarianMT with SentencePiece", marian_mt, &["source.spm", "target.spm", "vocab.json"]),
    model("marian/npz", copy, &["model.npz", "vocab.yml", "decoder.yml"]),
    model("marian/ssru", copy, &["model.npz", "vocab.spm"]),
    model("marian/prenorm", copy, &["vocab.src.yml"]),
    model(
        "marian/firefox",
        copy,
        &["model.xxyy.intgemm.alphas.bin", "lex.50.50.xxyy.s2t.bin", "vocab.xxyy.spm"],
    ),
    model("Marian in a binary file", marian_binary, &["model.bin"]),
    model("Marian with a shortlist", listed, &["lex", "decoder.yml"]),
    model("g2p-en", g2p, &["checkpoint20.npz"]),
];
