//! Tokenizers of other tools, for training with their vocabulary.

use std::collections::HashMap;
use std::path::Path;

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_config::SpecialNames;
use attentive_text::{Masks, Tokenizer, Tokenizers, vocabulary};
use serde_json::{Value, json};

use super::sentencepiece::{SentencePiece, added};

/// File names of a tokenizer for both sides.
const SHARED: [&str; 4] = ["tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"];
/// File names of separate tokenizers for source and target.
const SEPARATE: [[&str; 2]; 2] = [["tokenizer.src.json", "tokenizer.tgt.json"], ["source.spm", "target.spm"]];

/// Reads the tokenizers at `from`: a SentencePiece model or a `tokenizer.json`, or a folder with one or with
/// one for each side. Special tokens of `names` that a vocabulary lacks are added after it.
///
/// # Errors
/// [`Error::Config`] for a path without tokenizers; [`Error::Model`] for a damaged file, for one that is not
/// understood, and if its token for unknown text has another name; [`Error::Io`] if it cannot be read.
pub fn tokenizers(from: &Path, names: &SpecialNames, masks: Masks) -> Result<Tokenizers> {
    let read = |path: &Path| read(path, names, masks);
    if from.is_file() {
        return read(from).map(Tokenizers::Shared);
    }
    let find = |name: &str| Some(from.join(name)).filter(|path| path.is_file());
    if let Some(path) = SHARED.into_iter().find_map(find) {
        return read(&path).map(Tokenizers::Shared);
    }
    for [src, tgt] in SEPARATE {
        if let (Some(src), Some(tgt)) = (find(src), find(tgt)) {
            return Ok(Tokenizers::Separate { src: read(&src)?, tgt: read(&tgt)? });
        }
    }
    Err(nothing(from))
}

fn nothing(from: &Path) -> Error {
    let path = from.display();
    Error::Config {
        key: "tokenizer.from".into(),
        expected: "a SentencePiece model, a `tokenizer.json`, or a folder with such files".into(),
        found: if from.exists() {
            format!("`{path}`, a folder without")
        } else {
            format!("`{path}`, which does not exist")
        },
        hint: Some(format!(
            "a relative path starts at the working directory; files in a folder are called {}, or {} for \
             both sides",
            SHARED.map(|name| format!("`{name}`")).join(", "),
            SEPARATE.map(|[src, tgt]| format!("`{src}` and `{tgt}`")).join(", ")
        )),
    }
}

fn read(path: &Path, names: &SpecialNames, masks: Masks) -> Result<Tokenizer> {
    let refuse = |problem: String| {
        Error::Model {
        path: path.to_path_buf(),
        problem,
        hint: Some(
            "`tokenizer.special` tells how its vocabulary spells the special tokens; `attentive help import` \
             lists the tokenizers that can be read"
                .into(),
        ),
    }
    };
    let mut file = if path.extension().is_some_and(|end| end == "json") {
        let text = regular_file::read(path, regular_file::DESCRIPTION)?;
        serde_json::from_slice(&text).map_err(|error| refuse(error.to_string()))?
    } else {
        SentencePiece::read(path)?.tokenizer()
    };
    complete(&mut file, names, masks).map_err(refuse)?;
    Tokenizer::from_json(file.to_string().into_bytes(), names).map_err(refuse)
}

/// Makes the tokens `names` special tokens of `file`, and adds those that it lacks after its vocabulary.
fn complete(file: &mut Value, names: &SpecialNames, masks: Masks) -> Result<(), String> {
    let vocab = vocabulary(file.to_string().as_bytes())?;
    check_unknown(file, &vocab, names)?;
    let mut next = vocab.values().max().map_or(0, |last| last + 1);
    let mask = (masks == Masks::With).then_some(&names.mask);
    let wanted = [&names.pad, &names.unk, &names.bos, &names.eos];
    if !file["added_tokens"].is_array() {
        file["added_tokens"] = json!([]);
    }
    let tokens = file["added_tokens"].as_array_mut();
    let Some(tokens) = tokens else { return Ok(()) };
    // A token with several roles is already known the second time.
    for name in wanted.into_iter().chain(mask) {
        let known = tokens.iter_mut().find(|token| token["content"] == **name);
        if let Some(token) = known {
            token["special"] = true.into();
            continue;
        }
        let id = vocab.get(name).copied().unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        tokens.push(added(id as usize, name, true));
    }
    // Libraries number added tokens in this order.
    tokens.sort_by_key(|token| token["id"].as_u64());
    Ok(())
}

/// Refuses a token for unknown text whose name differs from the one in `names`.
fn check_unknown(file: &Value, vocab: &HashMap<String, TokenId>, names: &SpecialNames) -> Result<(), String> {
    let model = &file["model"];
    let numbered = || {
        let id = model["unk_id"].as_u64()?;
        let found = vocab.iter().find(|(_, own)| u64::from(**own) == id);
        found.map(|(token, _)| token.as_str())
    };
    match model["unk_token"].as_str().or_else(numbered) {
        Some(token) if token != names.unk => Err(format!(
            "its token for unknown text is `{token}`, not `{}`: set `tokenizer.special.unk`",
            names.unk
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures");

    fn fixture(name: &str) -> std::path::PathBuf {
        Path::new(FIXTURES).join(name)
    }

    fn names() -> SpecialNames {
        SpecialNames::default()
    }

    #[test]
    fn sentencepiece_models_get_the_special_tokens_that_they_lack() {
        for name in ["unigram", "bpe", "bytes", "symbols"] {
            let path = fixture(&format!("sentencepiece/{name}.model"));
            let pieces = SentencePiece::read(&path).unwrap();
            let n_pieces = pieces.texts().count();
            for masks in [Masks::Without, Masks::With] {
                let tokenizers = tokenizers(&path, &names(), masks).unwrap();
                let tokenizer = tokenizers.src();
                // Pieces keep their ids.
                for (id, text) in pieces.texts().enumerate() {
                    assert_eq!(tokenizer.id(text), Some(id as TokenId), "{name}");
                }
                let has = |token: &str| pieces.texts().any(|text| text == token);
                let new = ["<pad>", "<unk>", "<s>", "</s>"];
                let new = new.into_iter().filter(|token| !has(token)).count();
                let masked = usize::from(masks == Masks::With);
                assert_eq!(tokenizer.vocab_size(), n_pieces + new + masked, "{name}");
                assert_eq!(tokenizer.special().mask.is_some(), masks == Masks::With);
                // Special tokens in a text are treated as text.
                let ids = tokenizer.encode("a </s> b <pad>").unwrap();
                let special = tokenizer.special();
                assert!(!ids.contains(&special.eos) && !ids.contains(&special.pad));
            }
        }
    }

    #[test]
    fn a_folder_may_have_a_tokenizer_for_each_side() {
        let folder = tempfile::tempdir().unwrap();
        let read = || tokenizers(folder.path(), &names(), Masks::Without);
        let problem = read().unwrap_err().to_string();
        assert!(problem.contains("a folder without"), "{problem}");
        let copy = |from: &str, to: &str| {
            fs::copy(fixture(from), folder.path().join(to)).unwrap();
        };
        copy("sentencepiece/unigram.model", "source.spm");
        copy("sentencepiece/bpe.model", "target.spm");
        assert!(matches!(read().unwrap(), Tokenizers::Separate { .. }));
        copy("sentencepiece/bpe.model", "tokenizer.model");
        assert!(matches!(read().unwrap(), Tokenizers::Shared(_)));
        let missing = tokenizers(&folder.path().join("none"), &names(), Masks::Without);
        let problem = missing.unwrap_err().to_string();
        assert!(problem.contains("which does not exist"), "{problem}");
    }

    #[test]
    fn a_token_of_several_roles_is_added_once() {
        let path = fixture("sentencepiece/unigram.model");
        let of = |names: &SpecialNames| {
            let tokenizers = tokenizers(&path, names, Masks::Without).unwrap();
            let tokenizer = tokenizers.src();
            let [pad, end] = [&names.pad, &names.eos].map(|name| tokenizer.id(name));
            (tokenizer.vocab_size(), pad, end)
        };
        let different = SpecialNames { pad: "<filler>".into(), eos: "<end>".into(), ..names() };
        let same = SpecialNames { pad: "<end>".into(), ..different.clone() };
        let ((two, ..), (one, pad, end)) = (of(&different), of(&same));
        assert!(pad.is_some() && pad == end);
        assert_eq!(one + 1, two);
    }

    #[test]
    fn tokens_of_other_names_are_named_in_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words.json");
        let file = json!({
            "version": "1.0", "added_tokens": [], "normalizer": null, "post_processor": null, "decoder": null,
            "pre_tokenizer": {"type": "WhitespaceSplit"},
            "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1, "[SEP]": 2}, "unk_token": "[UNK]"},
        });
        fs::write(&path, file.to_string()).unwrap();
        let problem = tokenizers(&path, &names(), Masks::Without).unwrap_err();
        let problem = problem.to_string();
        assert!(problem.contains("is `[UNK]`, not `<unk>`: set"), "{problem}");
        let names = SpecialNames { unk: "[UNK]".into(), eos: "[SEP]".into(), ..names() };
        let read = tokenizers(&path, &names, Masks::Without).unwrap();
        let tokenizer = read.src();
        let special = tokenizer.special();
        assert_eq!((special.unk, special.eos, tokenizer.vocab_size()), (0, 2, 5));
        assert_eq!(tokenizer.encode("a b").unwrap(), [1, 0]);
    }
}
