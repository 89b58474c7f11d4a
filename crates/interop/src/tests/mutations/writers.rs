//! Writers of small models.

use super::super::tensors::{change_tensors, into_halves_and_shards};
use super::super::*;
use super::pieces::Pieces;
use crate::tensors::Archive;

pub(super) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

/// Copies the fixture `name`.
pub(super) fn copy(name: &str, dir: &Path) {
    for entry in fs::read_dir(fixtures().join(name)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), dir.join(entry.file_name())).unwrap();
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn write(dir: &Path, file: &str, value: &Value) {
    fs::write(dir.join(file), value.to_string()).unwrap();
}

fn change_json(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = read(path);
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

/// Copies the fixture `name` without its tokenizer, and changes its number of tokens from `before` to
/// `after`.
fn without_tokenizer(name: &str, dir: &Path, [before, after]: [usize; 2]) {
    copy(name, dir);
    fs::remove_file(dir.join("tokenizer.json")).unwrap();
    change_json(&dir.join("config.json"), |keys| {
        assert_eq!(keys["vocab_size"], before);
        keys["vocab_size"] = after.into();
    });
    change_tensors(&dir.join("model.safetensors"), |tensors| {
        for (shape, values) in tensors.values_mut() {
            if let Some(place) = shape.iter().position(|&size| size == before) {
                shape[place] = after;
                values.resize(shape.iter().product(), 0.0);
            }
        }
    });
}

pub(super) fn sentences(name: &str, dir: &Path) {
    copy(name, dir);
    let modules = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")];
    let modules = modules.map(|(kind, path)| {
        let kind = format!("sentence_transformers.models.{kind}");
        json!({"idx": 0, "name": "0", "path": path, "type": kind})
    });
    write(dir, "modules.json", &json!(modules));
    let settings = json!({"max_seq_length": 20, "do_lower_case": false});
    write(dir, "sentence_bert_config.json", &settings);
    fs::create_dir(dir.join("1_Pooling")).unwrap();
    let pooling = json!({
        "word_embedding_dimension": 24, "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true,
        "pooling_mode_max_tokens": false, "pooling_mode_mean_sqrt_len_tokens": false,
    });
    write(dir, "1_Pooling/config.json", &pooling);
}

pub(super) fn shards(_: &str, dir: &Path) {
    copy("hf/llama", dir);
    into_halves_and_shards(dir);
}

pub(super) fn wordpiece(_: &str, dir: &Path) {
    without_tokenizer("hf/bert", dir, [45, 48]);
    let stored = read(&fixtures().join("hf/bert/tokenizer.json"));
    let vocabulary = stored["model"]["vocab"].as_object().unwrap();
    let mut tokens: Vec<&String> = vocabulary.keys().collect();
    tokens.sort_by_key(|token| vocabulary[*token].as_u64());
    let lines: String = tokens.iter().map(|token| format!("{token}\n")).collect();
    fs::write(dir.join("vocab.txt"), lines).unwrap();
    let added = json!({"[NEW]": 45, "walks": 46, "talks": 47});
    write(dir, "added_tokens.json", &added);
    let mask = json!({"content": "[MASK]", "lstrip": false, "normalized": false, "rstrip": false, "single_word": false});
    let roles = json!({
        "unk_token": "[UNK]", "pad_token": "[PAD]", "mask_token": mask, "additional_special_tokens": ["[NEW]"],
    });
    write(dir, "special_tokens_map.json", &roles);
    let settings = json!({
        "tokenizer_class": "BertTokenizer", "do_lower_case": true, "strip_accents": null,
        "tokenize_chinese_chars": true, "model_max_length": 512, "sep_token": "[SEP]",
    });
    write(dir, "tokenizer_config.json", &settings);
}

/// The number of tokens of the tokenizer `name`.
fn n_tokens(name: &str) -> usize {
    let config = read(&fixtures().join("hf_tokenizers").join(name).join("config.json"));
    config["vocab_size"].as_u64().unwrap() as usize
}

/// Copies `file` of the tokenizer `name`.
fn copy_file(name: &str, file: &str, dir: &Path) {
    let from = fixtures().join("hf_tokenizers").join(name).join(file);
    fs::copy(from, dir.join(file)).unwrap();
}

pub(super) fn byte_level(_: &str, dir: &Path) {
    let n = n_tokens("gpt2");
    without_tokenizer("hf/gpt2", dir, [45, n + 1]);
    copy_file("gpt2", "vocab.json", dir);
    copy_file("gpt2", "merges.txt", dir);
    name_ids(dir, [n - 1, n - 1, n - 1]);
    let token =
        json!({"content": "walks", "lstrip": true, "normalized": false, "rstrip": false, "special": false});
    let settings = json!({
        "tokenizer_class": "GPT2Tokenizer", "add_prefix_space": true, "added_tokens_decoder": {n.to_string(): token},
    });
    write(dir, "tokenizer_config.json", &settings);
}

pub(super) fn byte_level_file(_: &str, dir: &Path) {
    without_tokenizer("hf/gpt2", dir, [45, n_tokens("llama3")]);
    copy_file("llama3", "tokenizer.json", dir);
    let end = n_tokens("llama3") - 1;
    name_ids(dir, [end, end, end]);
}

pub(super) fn wordpiece_file(_: &str, dir: &Path) {
    without_tokenizer("hf/bert", dir, [45, n_tokens("bert_settings")]);
    copy_file("bert_settings", "tokenizer.json", dir);
}

/// Sets the tokens for padding, and for the beginning and the end of a text.
fn name_ids(dir: &Path, [pad, bos, eos]: [usize; 3]) {
    for file in ["config.json", "generation_config.json"] {
        change_json(&dir.join(file), |keys| {
            keys["pad_token_id"] = pad.into();
            keys["bos_token_id"] = bos.into();
            keys["eos_token_id"] = eos.into();
        });
    }
}

pub(super) fn t5(_: &str, dir: &Path) {
    t5_with("bpe", dir);
}

pub(super) fn t5_normalized(_: &str, dir: &Path) {
    t5_with("unigram", dir);
}

fn t5_with(name: &str, dir: &Path) {
    let pieces = Pieces::of(name);
    without_tokenizer("hf/t5", dir, [47, pieces.texts.len() + 103]);
    name_ids(dir, [0, 1, 2]);
    fs::write(dir.join("spiece.model"), pieces.file).unwrap();
}

pub(super) fn llama(_: &str, dir: &Path) {
    let pieces = Pieces::of("bytes");
    without_tokenizer("hf/llama", dir, [43, pieces.texts.len()]);
    fs::write(dir.join("tokenizer.model"), pieces.file).unwrap();
    let settings = json!({
        "tokenizer_class": "LlamaTokenizer", "add_bos_token": true, "add_eos_token": false,
        "add_prefix_space": true, "bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>",
    });
    write(dir, "tokenizer_config.json", &settings);
}

/// Writes the settings of a multilingual tokenizer.
fn choose_languages(dir: &Path, class: &str, [source, target]: [&str; 2]) {
    let settings =
        json!({"tokenizer_class": class, "src_lang": source, "tgt_lang": target, "mask_token": "<mask>"});
    write(dir, "tokenizer_config.json", &settings);
}

pub(super) fn mbart(_: &str, dir: &Path) {
    let pieces = Pieces::of("bpe");
    without_tokenizer("hf/mbart", dir, [45, pieces.texts.len() + 1 + 25 + 1]);
    fs::write(dir.join("sentencepiece.bpe.model"), pieces.file).unwrap();
    choose_languages(dir, "MBartTokenizer", ["en_XX", "ro_RO"]);
}

pub(super) fn nllb(_: &str, dir: &Path) {
    let pieces = Pieces::of("bpe");
    without_tokenizer("hf/m2m_100", dir, [45, pieces.texts.len() + 1 + 202 + 1]);
    fs::write(dir.join("sentencepiece.bpe.model"), pieces.file).unwrap();
    choose_languages(dir, "NllbTokenizer", ["eng_Latn", "deu_Latn"]);
}

pub(super) fn m2m_100(_: &str, dir: &Path) {
    let pieces = Pieces::of("bpe");
    let front = ["<s>", "<pad>", "</s>", "<unk>"].map(str::to_owned);
    let tokens = [&front[..], &pieces.texts[3..]].concat();
    without_tokenizer("hf/m2m_100", dir, [45, tokens.len() + 108]);
    write(dir, "vocab.json", &numbered(&tokens));
    fs::write(dir.join("sentencepiece.bpe.model"), pieces.file).unwrap();
    choose_languages(dir, "M2M100Tokenizer", ["en", "de"]);
}

/// OPUS-MT: `</s>` is the first token, and the padding the last one.
pub(in crate::tests) fn marian_mt(_: &str, dir: &Path) {
    let [source, target] = ["bpe", "unigram"].map(Pieces::of);
    let mut tokens = ["</s>", "<unk>", ">>de<<"].map(str::to_owned).to_vec();
    for piece in source.texts[3..].iter().chain(&target.texts[3..]) {
        if !tokens.contains(piece) {
            tokens.push(piece.clone());
        }
    }
    tokens.push("<pad>".to_owned());
    let n = tokens.len();
    without_tokenizer("hf/marian", dir, [45, n]);
    name_ids(dir, [n - 1, 0, 0]);
    for file in ["config.json", "generation_config.json"] {
        change_json(&dir.join(file), |keys| keys["decoder_start_token_id"] = (n - 1).into());
    }
    change_json(&dir.join("generation_config.json"), |keys| keys["bad_words_ids"] = json!([[n - 1]]));
    change_json(&dir.join("config.json"), |keys| keys["decoder_vocab_size"] = n.into());
    write(dir, "vocab.json", &numbered(&tokens));
    fs::write(dir.join("source.spm"), source.file).unwrap();
    fs::write(dir.join("target.spm"), target.file).unwrap();
}

/// `vocab.json` with these tokens.
fn numbered(tokens: &[String]) -> Value {
    let ids = tokens.iter().cloned().zip((0_u32..).map(Value::from));
    Value::Object(ids.collect())
}

/// Marian's binary format with numbers in `f32`.
pub(super) fn marian_binary(_: &str, dir: &Path) {
    let made = crate::marian::tests::changed("npz", |options| options, &[]);
    for entry in fs::read_dir(made.path()).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), dir.join(entry.file_name())).unwrap();
    }
}

/// A shortlist in text format.
pub(super) fn listed(_: &str, dir: &Path) {
    copy("marian/npz", dir);
    let search = dir.join("decoder.yml");
    let text = fs::read_to_string(&search).unwrap();
    fs::write(search, text + "shortlist: [lex, 5, 2, 0.1]\n").unwrap();
    let lines = [": - 0.5", "- : 0.25", "NULL : 1e-3", ": NULL 0.75"];
    fs::write(dir.join("lex"), lines.join("\n")).unwrap();
}

pub(super) fn g2p(_: &str, dir: &Path) {
    let mut archive = Archive::new(Vec::new());
    let arrays: [(&str, &[usize]); 12] = [
        ("enc_emb", &[29, 5]),
        ("dec_emb", &[74, 5]),
        ("enc_w_ih", &[15, 5]),
        ("enc_b_ih", &[15]),
        ("enc_w_hh", &[15, 5]),
        ("enc_b_hh", &[15]),
        ("dec_w_ih", &[15, 5]),
        ("dec_b_ih", &[15]),
        ("dec_w_hh", &[15, 5]),
        ("dec_b_hh", &[15]),
        ("fc_w", &[74, 5]),
        ("fc_b", &[74]),
    ];
    for (name, shape) in arrays {
        let values = vec![0.25; shape.iter().product()];
        archive.array(name, shape, &values).unwrap();
    }
    fs::write(dir.join("checkpoint20.npz"), archive.finish().unwrap()).unwrap();
}
