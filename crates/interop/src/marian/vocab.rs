//! The vocabularies of a model, with one additional token, whose vector is zero: the decoder's first input.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use attentive_base::batch::TokenId;
use attentive_base::count::count;
use attentive_base::error::Result;
use attentive_config::{SpecialNames, TokenizerConfig, TokenizerKind, Vocabulary};
use attentive_text::{Tokenizer, Tokenizers};
use serde_json::{Value, json};

use super::files::{Vocabs, beside};
use super::read_yaml;
use super::search::MarianSearchSettings;
use crate::keys::not_understood;
use crate::sentencepiece::{self, SentencePiece};

/// Possible names of the new token; the first one that is not in the vocabulary is used.
const STARTS: [&str; 2] = ["<pad>", "<start>"];
/// The token that ends a text, and the token for unknown text. Early vocabularies have other names for tokens
/// 0 and 1.
const EOS: [&str; 2] = ["</s>", "eos"];
const UNK: [&str; 2] = ["<unk>", "UNK"];
/// Models of SentencePiece beside a vocabulary of pieces as strings.
const PIECES: [&str; 2] = ["source.spm", "target.spm"];
/// The number of byte tokens for control characters, which are not generated.
pub(super) const N_CONTROL: TokenId = 32;

/// The vocabularies of a model.
#[derive(Debug)]
pub(super) struct MarianVocabularies {
    pub(super) config: TokenizerConfig,
    pub(super) tokenizers: Tokenizers,
    /// The new token.
    pub(super) start: String,
    /// Tokens that are never generated.
    pub(super) never: Vec<String>,
}

/// Reads the vocabularies of a model with these numbers of tokens on each side.
pub(super) fn read(
    vocabs: &Vocabs,
    sizes: [usize; 2],
    vocabulary: Vocabulary,
    search: &MarianSearchSettings,
) -> Result<MarianVocabularies> {
    let sides = sides(vocabs, sizes)?;
    let path = &sides[0].path;
    let refuse = |problem: String| not_understood(path, problem);
    let has = |token: &str| sides.iter().any(|side| side.tokens.contains(token));
    let start = STARTS.into_iter().find(|start| !has(start));
    let start = start.ok_or_else(|| refuse(format!("it has all of {STARTS:?}")))?;
    let named = |names: [&str; 2]| if has(names[0]) { names[0] } else { names[1] }.to_owned();
    let special = SpecialNames {
        pad: start.to_owned(),
        bos: start.to_owned(),
        eos: named(EOS),
        unk: named(UNK),
        unknown_from: if sides.iter().any(|side| side.has_more) { sizes[0] + 1 } else { 0 },
        ..SpecialNames::default()
    };
    if special.unknown_from != 0 && sizes[0] != sizes[1] {
        return Err(refuse("its sides are of different sizes".into()));
    }
    let kind = sides[0].kind;
    let control = (0..N_CONTROL).map(|byte| format!("<0x{byte:02X}>"));
    let control = control.filter(|token| !search.allow_special && has(token));
    let never = [special.pad.clone()]
        .into_iter()
        .chain((!search.allow_unk).then(|| special.unk.clone()))
        .chain(control)
        .collect();
    let mut loaded = Vec::new();
    for side in sides {
        let json = side.tokenizer(&special)?.to_string().into_bytes();
        let tokenizer = Tokenizer::from_json(json, &special);
        loaded.push(tokenizer.map_err(|problem| not_understood(&side.path, problem))?);
    }
    let tokenizers = match <[Tokenizer; 2]>::try_from(loaded) {
        Ok([src, tgt]) => Tokenizers::Separate { src, tgt },
        Err(mut one) => Tokenizers::Shared(one.remove(0)),
    };
    Ok(MarianVocabularies {
        config: TokenizerConfig {
            kind,
            vocab_size: sizes[1] + 1,
            vocabulary,
            special,
            ..TokenizerConfig::foreign()
        },
        tokenizers,
        start: start.to_owned(),
        never,
    })
}

/// Returns one vocabulary for both sides, or one for the source and one for the target.
fn sides(vocabs: &Vocabs, sizes: [usize; 2]) -> Result<Vec<Side>> {
    let pieces = |path: &Path| PIECES.map(|name| beside(path, name));
    match vocabs {
        Vocabs::Joint(path) if is_pieces(path) => {
            same_size(path, sizes)?;
            Ok(vec![Side::of_pieces(path, sizes[0])?])
        }
        Vocabs::Joint(path) => {
            same_size(path, sizes)?;
            let one = |spm| Side::of_words(path, spm, sizes[0]);
            match pieces(path) {
                [Some(src), Some(tgt)] => Ok(vec![one(Some(&src))?, one(Some(&tgt))?]),
                _ => Ok(vec![one(None)?]),
            }
        }
        Vocabs::Separate(paths) => {
            let spm = pieces(&paths[0]);
            let mut sides = Vec::new();
            for ((path, size), spm) in paths.iter().zip(sizes).zip(&spm) {
                sides.push(if is_pieces(path) {
                    Side::of_pieces(path, size)?
                } else {
                    Side::of_words(path, spm.as_deref(), size)?
                });
            }
            Ok(sides)
        }
    }
}

fn is_pieces(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "spm")
}

fn same_size(path: &Path, sizes: [usize; 2]) -> Result<()> {
    if sizes[0] == sizes[1] {
        Ok(())
    } else {
        Err(not_understood(
            path,
            format!("it is shared by both sides, but their vocabulary sizes differ: {sizes:?}"),
        ))
    }
}

/// The vocabulary of a side.
struct Side {
    path: PathBuf,
    kind: TokenizerKind,
    /// The number of tokens of the model.
    size: usize,
    /// The names of the model's tokens.
    tokens: HashSet<String>,
    /// True if there are pieces beyond the model's tokens.
    has_more: bool,
    source: Source,
}

/// The origin of a tokenizer.
enum Source {
    /// A model of SentencePiece, whose ids are those of the model.
    Pieces(SentencePiece),
    /// Words, or pieces as strings into which a model of SentencePiece divides a text.
    Words(HashMap<String, TokenId>, Option<SentencePiece>),
}

impl Side {
    fn of_pieces(path: &Path, size: usize) -> Result<Self> {
        let pieces = SentencePiece::read(path)?;
        let tokens: HashSet<String> = pieces.texts().map(str::to_owned).collect();
        if pieces.texts().count() > size {
            let problem = format!(
                "it has {} pieces, but the model has {}",
                pieces.texts().count(),
                count(size, "token")
            );
            return Err(not_understood(path, problem));
        }
        Ok(Self {
            path: path.to_path_buf(),
            kind: pieces.kind(),
            size,
            tokens,
            has_more: false,
            source: Source::Pieces(pieces),
        })
    }

    fn of_words(path: &Path, spm: Option<&Path>, size: usize) -> Result<Self> {
        let pieces = spm.map(SentencePiece::read).transpose()?;
        let ids = ids(path, size)?;
        Ok(Self {
            path: path.to_path_buf(),
            kind: match &pieces {
                Some(pieces) => pieces.kind(),
                None => TokenizerKind::Word,
            },
            size,
            tokens: ids.keys().cloned().collect(),
            has_more: pieces.is_some(),
            source: Source::Words(ids, pieces),
        })
    }

    /// Returns the `tokenizer.json`, with the new token after the model's tokens.
    fn tokenizer(&self, special: &SpecialNames) -> Result<Value> {
        let last = self.size as TokenId;
        match &self.source {
            Source::Pieces(pieces) => {
                let mut file = pieces.tokenizer();
                let missing = pieces.texts().count()..self.size;
                let unused = missing.map(|id| (id, unused(id)));
                let added = unused.chain([(self.size, special.pad.clone())]);
                if let Some(tokens) = file["added_tokens"].as_array_mut() {
                    tokens.extend(added.map(|(id, text)| sentencepiece::added(id, &text, true)));
                }
                Ok(file)
            }
            Source::Words(ids, pieces) => {
                let mut ids = ids.clone();
                ids.insert(special.pad.clone(), last);
                match pieces {
                    None => Ok(words(&ids, special)),
                    Some(pieces) => {
                        pieces.tokenizer_with(&ids).map_err(|problem| not_understood(&self.path, problem))
                    }
                }
            }
        }
    }
}

/// Reads the tokens of the vocabulary `path` with ids below `size`. An id without a token gets one that no
/// text contains.
fn ids(path: &Path, size: usize) -> Result<HashMap<String, TokenId>> {
    let mut tokens: BTreeMap<usize, String> = BTreeMap::new();
    for (token, id) in read_yaml(path)? {
        let id = id.as_u64().and_then(|id| usize::try_from(id).ok());
        let id = id.ok_or_else(|| not_understood(path, format!("`{token}` has no id")))?;
        if id < size
            && let Some(other) = tokens.insert(id, token.clone())
        {
            let problem = format!("`{token}` and `{other}` have the same id {id}");
            return Err(not_understood(path, problem));
        }
    }
    let token = |id| tokens.remove(&id).unwrap_or_else(|| unused(id));
    let ids: HashMap<String, TokenId> = (0..size).map(token).zip(0..).collect();
    if ids.len() == size {
        Ok(ids)
    } else {
        Err(not_understood(path, "it has gaps, and tokens named like the placeholders for them"))
    }
}

fn unused(id: usize) -> String {
    format!("<unused-{id}>")
}

/// Returns the `tokenizer.json` of words separated by blanks.
fn words(ids: &HashMap<String, TokenId>, special: &SpecialNames) -> Value {
    let SpecialNames { pad, unk, eos, .. } = special;
    let names = [pad, unk, eos].map(String::as_str);
    let added = names.iter().filter_map(|name| {
        let id = *ids.get(*name)? as usize;
        Some(sentencepiece::added(id, name, true))
    });
    let blanks = json!({"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": false});
    let mut pre_tokenizers = vec![blanks];
    pre_tokenizers.extend(sentencepiece::splitter(&names, false));
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added.collect::<Vec<_>>(),
        "normalizer": null,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": pre_tokenizers},
        "post_processor": null,
        "decoder": null,
        "model": {"type": "WordLevel", "vocab": ids, "unk_token": unk},
    })
}
