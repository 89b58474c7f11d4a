//! Tests that tokenizers give the same ids as in `transformers` (scripts/fixtures/hf_tokenizers.py).

mod hostile;
mod settings;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use attentive_config::Family;
use attentive_samples::variant;
use attentive_text::{Detokenizer, Joint, SpecialTokens};
use serde::Deserialize;

use super::*;
use crate::keys::UnreadKeys;

#[derive(Deserialize)]
struct Fixture {
    lines: Vec<String>,
    models: BTreeMap<String, Expected>,
}

#[derive(Deserialize)]
struct Expected {
    ids: Vec<Vec<TokenId>>,
    texts: Option<Vec<String>>,
    special: BTreeMap<String, TokenId>,
    languages: Option<[String; 2]>,
    target: Option<TokenId>,
    mask: Option<TokenId>,
    gaps: Option<[TokenId; 2]>,
    /// Texts after a language token, with their ids.
    #[serde(default)]
    chosen: Vec<(String, Vec<TokenId>)>,
    /// Texts of the target, with their ids and the text that the ids spell.
    #[serde(default)]
    targets: Vec<(String, Vec<TokenId>, String)>,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

fn fixture() -> Fixture {
    let file = fs::File::open(fixtures().join("hf_tokenizers/lines.json.gz")).unwrap();
    serde_json::from_reader(flate2::read::GzDecoder::new(file)).unwrap()
}

/// The files of the model `name` in a folder of their own, with a shared model of SentencePiece if it needs
/// one.
fn folder(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(fixtures().join("hf_tokenizers").join(name)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let share = |model: &str, pieces: &str| {
        let model = fixtures().join("sentencepiece").join(model);
        fs::copy(model, folder.path().join(pieces)).unwrap();
    };
    match name {
        "t5" => share("unigram.model", "spiece.model"),
        "xlm_roberta" | "mbart" | "mbart50" | "nllb" | "nllb_legacy" | "m2m_100" => {
            share("unigram.model", "sentencepiece.bpe.model");
        }
        "llama" | "llama_bare" => share("bytes.model", "tokenizer.model"),
        "marian" => {
            share("unigram.model", "source.spm");
            share("bpe.model", "target.spm");
        }
        _ => {}
    }
    folder
}

/// The tokenizers and the model's settings after an import.
#[derive(Debug)]
struct Opened {
    tokenizers: Tokenizers,
    model: ModelConfig,
    config: TokenizerConfig,
    units: Units,
}

impl Opened {
    /// The ids of `text` with the tokens around it.
    fn framed(&self, text: &str) -> Vec<TokenId> {
        let tokenizer = self.tokenizers.src();
        let special = tokenizer.special();
        let ids = tokenizer.encode(text).unwrap();
        match (self.model.family.encoder(), self.units) {
            (Some(_), _) => special.framed(ids),
            (None, Units::Lines) => [&[special.start], &*ids].concat(),
            (None, Units::Stream) => ids,
        }
    }
}

fn opened(dir: &Path, languages: &Languages) -> Result<Opened> {
    let mut keys = UnreadKeys::read(&dir.join("config.json"))?;
    let kind: String = keys.required("model_type")?;
    let generation = HfGenerationConfig::read(dir, &kind, &mut keys)?;
    let tokenizer = read(dir, &kind, keys.required("vocab_size")?, &generation)?;
    let family = match kind.as_str() {
        "bert" | "roberta" | "xlm-roberta" | "mpnet" => Family::EncoderOnly,
        "gpt2" | "llama" => Family::DecoderOnly,
        _ => Family::Transformer,
    };
    let mut model = variant(&format!("family = '{family}'"));
    generation.apply(&tokenizer, &mut model)?;
    tokenizer.apply(languages, &mut model)?;
    Ok(Opened {
        units: tokenizer.units(model.family.task()),
        tokenizers: tokenizer.tokenizers.for_model(&model)?,
        model,
        config: tokenizer.config,
    })
}

fn languages(source: &str, target: &str) -> Languages {
    Languages { source: Some(source.to_owned()), target: Some(target.to_owned()) }
}

#[test]
fn ids_are_those_of_transformers() {
    let Fixture { lines, models } = fixture();
    for (name, expected) in &models {
        let folder = folder(name);
        let chosen = expected.languages.clone();
        let chosen = chosen.map_or(Languages::default(), |[source, target]| languages(&source, &target));
        let opened = opened(folder.path(), &chosen).unwrap();
        let Opened { tokenizers, model, .. } = &opened;
        let tokenizer = tokenizers.src();
        let framed = |text: &str| opened.framed(text);
        let different: Vec<_> =
            lines.iter().zip(&expected.ids).filter(|(text, ids)| framed(text) != **ids).collect();
        for (text, ids) in different.iter().take(5) {
            println!(
                "{name}: {text:?}\n  {:?}\n  {:?}",
                tokenizer.spelled(&framed(text)),
                tokenizer.spelled(ids)
            );
        }
        assert!(different.is_empty(), "{name}: {} of {} lines differ", different.len(), lines.len());
        check_special(name, tokenizer.special(), expected);
        check_masked(name, tokenizer, expected);
        if let Some(target) = expected.target {
            let contract = tokenizers.contract(model).unwrap();
            let found = match name.as_str() {
                "mbart" => contract.start,
                _ => contract.forced_first.unwrap(),
            };
            assert_eq!(found, target, "{name}");
        }
        if let Some(gaps) = expected.gaps {
            let names = ["<extra_id_0>", "<extra_id_99>"];
            assert_eq!(names.map(|token| tokenizer.id(token)), gaps.map(Some));
        }
    }
}

/// The tokens of words are the tokens of their text, divided between the words.
#[test]
fn tokens_are_divided_between_words() {
    for name in ["bert", "roberta", "xlm_roberta", "mpnet"] {
        let opened = opened(folder(name).path(), &Languages::default()).unwrap();
        let tokenizer = opened.tokenizers.src();
        for text in fixture().lines.iter().take(100) {
            let words: Vec<&str> = text.split_whitespace().collect();
            let pieces = tokenizer.encode_pieces(&words).unwrap();
            assert_eq!(pieces.len(), words.len(), "{name}: {text:?}");
            let whole = tokenizer.encode(&words.join(" ")).unwrap();
            let found = pieces.concat();
            // A word without tokens, such as a soft hyphen, becomes the unknown token.
            let unk = tokenizer.special().unk;
            let known = |ids: &[TokenId]| ids.iter().filter(|&&id| id != unk).count();
            assert_eq!(known(&found), known(&whole), "{name}: {text:?}");
            assert!(found.len() >= whole.len(), "{name}: {text:?}");
        }
        let pieces = tokenizer.encode_pieces(&["house", "children", "\u{ad}", "a"]);
        let spelled = |ids: &Vec<TokenId>| {
            let text = tokenizer.spelled(ids).concat();
            text.replace(['Ġ', '▁'], "").replace("##", "")
        };
        let words: Vec<String> = pieces.unwrap().iter().map(spelled).collect();
        assert_eq!([&*words[0], &*words[1], &*words[3]], ["house", "children", "a"], "{name}");
        assert!(!words[2].is_empty(), "{name}");
    }
}

/// Checks texts with masks, in models that read them.
fn check_masked(name: &str, tokenizer: &Tokenizer, expected: &Expected) {
    let special = tokenizer.special();
    let Some(mask) = special.mask.filter(|_| name != "marian") else {
        return;
    };
    for (text, ids) in &expected.chosen {
        let found = tokenizer.encode_masked(text, mask).unwrap();
        assert_eq!(found, ids[1..ids.len() - 1], "{name}: {text:?}");
    }
}

fn check_special(name: &str, special: SpecialTokens, expected: &Expected) {
    let is_bert = name.starts_with("bert");
    let roles = [
        ("pad_token", Some(special.pad).filter(|_| name != "t5")),
        ("unk_token", Some(special.unk).filter(|_| !["gpt2", "bart", "roberta"].contains(&name))),
        ("mask_token", special.mask),
        ("bos_token", Some(special.bos).filter(|_| name != "t5")),
        ("eos_token", Some(special.eos).filter(|_| name != "t5")),
        ("cls_token", Some(special.bos).filter(|_| is_bert)),
        ("sep_token", Some(special.eos).filter(|_| is_bert)),
    ];
    for (key, found) in roles {
        if let (Some(id), Some(found)) = (expected.special.get(key), found) {
            assert_eq!(found, *id, "{name}: {key}");
        }
    }
    if let Some(mask) = expected.mask {
        assert!(name == "m2m_100" || special.mask == Some(mask), "{name}");
    }
}

#[test]
fn texts_are_those_of_transformers_whole_and_token_by_token() {
    for (name, expected) in fixture().models {
        let Some(texts) = &expected.texts else {
            continue;
        };
        let folder = folder(&name);
        let opened = opened(folder.path(), &Languages::default()).unwrap();
        let tokenizer = opened.tokenizers.tgt();
        for (ids, text) in expected.ids.iter().zip(texts) {
            let decoded = tokenizer.decode(ids).unwrap();
            let mut detokenizer = Detokenizer::after(tokenizer, &[]).unwrap();
            let mut streamed: String = ids.iter().map(|&id| detokenizer.push(id).unwrap()).collect();
            streamed += &detokenizer.finish().unwrap();
            assert_eq!(streamed, decoded, "{name}");
            match name.as_str() {
                // MarianMT drops blanks at the ends.
                "marian" => assert_eq!(decoded.trim(), text, "{name}"),
                _ => assert_eq!(decoded, *text, "{name}"),
            }
        }
    }
}
