//! Imports the model of the Python package `g2p-en`, which writes the pronunciation of English words: a GRU
//! encoder and decoder without attention.

use std::path::{Path, PathBuf};

use attentive_architecture::{AttentionKind, CellKind, TieEmbeddings};
use attentive_base::error::Result;
use attentive_config::{
    Config, DataConfig, DecodeConfig, DecoderConfig, EncoderConfig, FamilyConfig, ModelConfig, OutputConfig,
    RecurrentConfig, SpecialNames, StackKind, TokenizerConfig, TokenizerKind, Translator, Vocabulary,
};
use attentive_text::{Tokenizer, Tokenizers};
use serde_json::{Value, json};

use super::ForeignModel;
use super::keys::not_understood;
use super::recipe::SourcePattern::{Extended, Same};
use super::recipe::{NameMapping, Recipe, names};
use super::tensors::Tensors;

const FILE: &str = "checkpoint20.npz";
/// The maximum number of phonemes of a word.
const LONGEST: usize = 20;
/// The maximum length of a word.
const MAX_LEN: usize = 256;

const NAMES: NameMapping = names! {
    "src.embedding.weight" => Extended(&Same("enc_emb"), 0.0),
    "tgt.embedding.weight" => Same("dec_emb"),
    "encoder.layers.0.forward.input.weight" => Same("enc_w_ih"),
    "encoder.layers.0.forward.input.bias" => Same("enc_b_ih"),
    "encoder.layers.0.forward.hidden.weight" => Same("enc_w_hh"),
    "encoder.layers.0.forward.hidden.bias" => Same("enc_b_hh"),
    "decoder.layers.0.input.weight" => Same("dec_w_ih"),
    "decoder.layers.0.input.bias" => Same("dec_b_ih"),
    "decoder.layers.0.hidden.weight" => Same("dec_w_hh"),
    "decoder.layers.0.hidden.bias" => Same("dec_b_hh"),
    "head.weight" => Same("fc_w"),
    "head.bias" => Same("fc_b"),
};

/// True if `path`, a file or directory, looks like this model.
pub(super) fn recognizes(path: &Path) -> bool {
    let file = weights(path);
    file.file_name().is_some_and(|name| name == FILE) && file.exists()
}

fn weights(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(FILE) } else { path.to_path_buf() }
}

/// Reads the model `path`, the file of its weights or its directory.
pub(super) fn open(path: &Path) -> Result<ForeignModel> {
    let weights = &*weights(path);
    let tensors = Tensors::npz(weights)?;
    let width = |name: &str| -> Result<usize> {
        let shape = tensors.shape(name)?;
        let found = shape.get(1).copied();
        found.ok_or_else(|| not_understood(weights, format!("`{name}` is not a matrix")))
    };
    let config = config(width("enc_emb")?, width("enc_w_hh")?);
    let tokenizers = tokenizers().map_err(|problem| not_understood(weights, problem))?;
    let recipe = Recipe::new(weights, tensors, vec![NAMES]);
    ForeignModel::new("g2p-en".into(), config, tokenizers, recipe)
}

fn config(d_model: usize, d_hidden: usize) -> Config {
    Config {
        model: ModelConfig {
            family: FamilyConfig::Seq2seq(Translator {
                encoder: EncoderConfig {
                    stack: StackKind::Recurrent,
                    n_encoder_layers: 1,
                    bidirectional: false,
                    ..EncoderConfig::default()
                },
                decoder: DecoderConfig {
                    stack: StackKind::Recurrent,
                    n_decoder_layers: 1,
                    readout: false,
                    suppress_tokens: Some(Vec::new()),
                    ..DecoderConfig::default()
                },
                output: OutputConfig {
                    tie_embeddings: TieEmbeddings::None,
                    output_bias: true,
                    ..OutputConfig::default()
                },
                attention: AttentionKind::None,
                ..Translator::default()
            }),
            d_model,
            max_len: MAX_LEN,
            scale_embeddings: false,
            recurrent: RecurrentConfig { cell: CellKind::Gru, d_hidden },
            ..ModelConfig::default()
        },
        tokenizer: TokenizerConfig {
            kind: TokenizerKind::Word,
            vocabulary: Vocabulary::Separate,
            ..TokenizerConfig::foreign()
        },
        data: DataConfig { max_len: MAX_LEN, ..DataConfig::default() },
        decode: DecodeConfig {
            beam_width: 1,
            max_new_factor: 0.0,
            max_new_extra: LONGEST,
            ..DecodeConfig::default()
        },
        ..Config::default()
    }
}

/// Tokenizers for letters on one side and phonemes on the other. The letters have no `<s>`, which is added.
fn tokenizers() -> std::result::Result<Tokenizers, String> {
    let special = SpecialNames::default();
    let letters = ["<pad>", "<unk>", "</s>"].map(str::to_owned);
    let letters = letters.into_iter().chain(('a'..='z').map(String::from));
    let letters: Vec<String> = letters.chain(["<s>".to_owned()]).collect();
    let each =
        json!({"type": "Split", "pattern": {"Regex": "(?s)."}, "behavior": "Isolated", "invert": false});
    let words = json!({"type": "WhitespaceSplit"});
    let load = |tokens: &[String], normalizer: Value, division: Value| {
        let file = file(tokens, normalizer, division);
        Tokenizer::from_json(file.to_string().into_bytes(), &special)
    };
    Ok(Tokenizers::Separate {
        src: load(&letters, json!({"type": "Lowercase"}), each)?,
        tgt: load(&phonemes(), Value::Null, words)?,
    })
}

/// The phonemes of ARPAbet in the order of their names, vowels with each stress.
fn phonemes() -> Vec<String> {
    const VOWELS: [&str; 15] =
        ["AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY", "OW", "OY", "UH", "UW"];
    const CONSONANTS: [&str; 24] = [
        "B", "CH", "D", "DH", "F", "G", "HH", "JH", "K", "L", "M", "N", "NG", "P", "R", "S", "SH", "T", "TH",
        "V", "W", "Y", "Z", "ZH",
    ];
    let stressed = |vowel: &&str| [0, 1, 2].map(|stress| format!("{vowel}{stress}"));
    let mut phonemes: Vec<String> = VOWELS.iter().flat_map(stressed).collect();
    // "UW" also occurs without a stress.
    phonemes.extend(CONSONANTS.iter().chain(&["UW"]).map(|&name| name.to_owned()));
    phonemes.sort();
    let special = ["<pad>", "<unk>", "<s>", "</s>"].map(str::to_owned);
    special.into_iter().chain(phonemes).collect()
}

/// The `tokenizer.json` of a tokenizer with these tokens, which divides texts by `division`.
fn file(tokens: &[String], normalizer: Value, division: Value) -> Value {
    let is_special = |token: &str| token.starts_with('<');
    let vocabulary: serde_json::Map<String, Value> =
        (0..).zip(tokens).map(|(id, token): (u32, _)| (token.clone(), id.into())).collect();
    let special = |(id, token): (usize, &String)| {
        json!({
            "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
            "special": true,
        })
    };
    let added = tokens.iter().enumerate();
    let added: Vec<Value> = added.filter(|(_, token)| is_special(token)).map(special).collect();
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": normalizer,
        "pre_tokenizer": division,
        "post_processor": null,
        "decoder": null,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_phonemes_have_the_ids_of_the_package() {
        let Tokenizers::Separate { src, tgt } = tokenizers().unwrap() else {
            panic!("two sides");
        };
        assert_eq!(src.encode("Ab!").unwrap(), [3, 4, 1]);
        assert_eq!((src.special().eos, src.special().bos), (2, 29));
        assert_eq!(tgt.vocab_size(), 74);
        assert_eq!((tgt.special().bos, tgt.special().eos), (2, 3));
        assert_eq!(tgt.token(4).as_deref(), Some("AA0"));
        assert_eq!(tgt.token(73).as_deref(), Some("ZH"));
        assert_eq!(tgt.decode(&[7, 73]).unwrap(), "AE0 ZH");
    }
}
