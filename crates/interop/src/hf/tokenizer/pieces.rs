//! Tokenizers whose tokens are the pieces of SentencePiece models.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use serde_json::Value;

use super::super::json;
use super::files::TokenizerFiles;
use super::languages::{M2M_100, MBART, NLLB, WMT21};
use super::settings::{LLAMA, TokenizerSettings};
use super::surrounding_tokens::SurroundingTokens;
use super::{MAX_UNUSED_ROWS, added};
use crate::keys::not_understood;
use crate::sentencepiece::SentencePiece;

/// The first tokens of models that were trained with fairseq. They replace three pieces.
const FRONT: [&str; 4] = ["<s>", "<pad>", "</s>", "<unk>"];
/// The special tokens of MarianMT.
const MARIAN: [&str; 3] = ["</s>", "<unk>", "<pad>"];
/// XLM-R's `model_type`.
const XLM_R: &str = "xlm-roberta";
/// The number of T5's names of gaps, unless its settings say otherwise.
const GAPS: usize = 100;
/// The number of languages of the first version of mBART; a later version has more.
const FIRST_LANGUAGES: usize = 25;

/// Reads the tokenizer in `dir`, if it has such files.
pub(super) fn read(
    dir: &Path,
    kind: &str,
    vocab: usize,
    settings: &TokenizerSettings,
) -> Result<Option<TokenizerFiles>> {
    let find = |name: &str| Some(dir.join(name)).filter(|path| path.exists());
    if let (Some(source), Some(target)) = (find("source.spm"), find("target.spm")) {
        return marian(dir, [&source, &target], settings).map(Some);
    }
    // CamemBERT's pieces have another order.
    if let Some(path) = find("sentencepiece.bpe.model").filter(|_| kind != "camembert") {
        return Ok(Some(match find("vocab.json") {
            Some(ids) => m2m_100(path, &ids, vocab, settings)?,
            None => fairseq(path, kind, vocab)?,
        }));
    }
    if let Some(path) = find("spiece.model") {
        return t5(path, settings).map(Some);
    }
    if let Some(path) = find("tokenizer.model") {
        return llama(path, settings).map(Some);
    }
    Ok(None)
}

/// T5: the ids are those of the pieces. The names of gaps in a text follow in reverse order.
fn t5(path: PathBuf, settings: &TokenizerSettings) -> Result<TokenizerFiles> {
    let pieces = SentencePiece::read(&path)?;
    let mut side = pieces.tokenizer();
    let gaps = settings.number("extra_ids")?.unwrap_or(GAPS);
    let names: Vec<String> = (0..gaps).rev().map(|n| format!("<extra_id_{n}>")).collect();
    added::append(&mut side, pieces.texts().count() as TokenId, &names);
    let end = SurroundingTokens::new(None, Some("</s>"));
    let framed = end.write(&mut side, |token| pieces.id(token));
    framed.map_err(|problem| not_understood(&path, problem))?;
    Ok(TokenizerFiles::one(path, side))
}

/// Llama: the ids are those of the pieces. Its settings give the tokens around a text.
fn llama(path: PathBuf, settings: &TokenizerSettings) -> Result<TokenizerFiles> {
    match settings.class() {
        LLAMA => {
            let side = SentencePiece::read(&path)?.tokenizer();
            Ok(TokenizerFiles::one(path, side))
        }
        other => Err(not_understood(&path, format!("the class `{other}` of tokenizers is not supported"))),
    }
}

/// mBART, NLLB and XLM-R: the first tokens, the pieces, the languages if it has any, and the mask.
fn fairseq(path: PathBuf, kind: &str, vocab: usize) -> Result<TokenizerFiles> {
    let refuse = |problem: String| not_understood(&path, problem);
    let pieces = SentencePiece::read(&path)?;
    let mut side = pieces.tokenizer_behind(&FRONT).map_err(refuse)?;
    let first = pieces.texts().count() + 1;
    let codes: Vec<&str> = match kind {
        "mbart" => MBART.split(' ').collect(),
        XLM_R => Vec::new(),
        _ => NLLB.split(' ').collect(),
    };
    let n_codes = match kind {
        "mbart" if vocab < first + codes.len() => FIRST_LANGUAGES,
        _ => codes.len(),
    };
    let behind: Vec<String> =
        codes[..n_codes].iter().chain(&["<mask>"]).map(|&token| token.to_owned()).collect();
    added::append(&mut side, first as TokenId, &behind);
    if kind == XLM_R {
        added::take_blanks_before(&mut side, "<mask>");
        let surrounding = SurroundingTokens::new(Some("<s>"), Some("</s>"));
        let framed = surrounding.write(&mut side, |token| Some(if token == "<s>" { 0 } else { 2 }));
        framed.map_err(refuse)?;
        return Ok(TokenizerFiles::one(path, side));
    }
    ends_with(&mut side, 2).map_err(refuse)?;
    Ok(TokenizerFiles::one(path, side))
}

/// M2M-100: pieces are looked up as strings, and languages follow.
fn m2m_100(path: PathBuf, ids: &Path, vocab: usize, settings: &TokenizerSettings) -> Result<TokenizerFiles> {
    let codes = match settings.text("language_codes").as_deref() {
        None | Some("m2m100") => M2M_100,
        Some("wmt21") => WMT21,
        Some(other) => return Err(settings.refuse("language_codes", &other.into())),
    };
    let mut ids: HashMap<String, TokenId> = json(ids)?;
    let refuse = |problem: String| not_understood(&path, problem);
    let end = ids.get("</s>").copied();
    let end = end.ok_or_else(|| refuse("there is no token `</s>`".into()))?;
    let n_pieces = ids.len();
    let names = codes.split(' ').map(|code| format!("__{code}__"));
    ids.extend(names.zip(n_pieces as TokenId..));
    let used = ids.len();
    let unused =
        (used..vocab.min(used + MAX_UNUSED_ROWS)).map(|id| (format!("<unused-{id}>"), id as TokenId));
    ids.extend(unused);
    let made = SentencePiece::read(&path)?.tokenizer_with(&ids);
    let mut side = made.map_err(refuse)?;
    ends_with(&mut side, end).map_err(refuse)?;
    Ok(TokenizerFiles { known: Some(ids.len()), ..TokenizerFiles::one(path, side) })
}

/// MarianMT: two models of SentencePiece, whose pieces are looked up as strings in one vocabulary or two.
fn marian(dir: &Path, sides: [&Path; 2], settings: &TokenizerSettings) -> Result<TokenizerFiles> {
    let path = dir.join("vocab.json");
    let source: HashMap<String, TokenId> = json(&path)?;
    let target = match settings.flag("separate_vocabs")? {
        Some(true) => json(&dir.join("target_vocab.json"))?,
        Some(false) | None => source.clone(),
    };
    let refuse = |problem: String| not_understood(&path, problem);
    let same = |token: &&str| source.get(*token) == target.get(*token);
    if source.len() != target.len() || !MARIAN.iter().all(same) {
        let problem =
            "`target_vocab.json` has another number of tokens, or other ids of `</s>`, `<unk>` and `<pad>`";
        return Err(refuse(problem.into()));
    }
    let end = source.get("</s>").copied();
    let end = end.ok_or_else(|| refuse("there is no token `</s>`".into()))?;
    let mut made = Vec::new();
    for (side, ids) in sides.into_iter().zip([&source, &target]) {
        let side = SentencePiece::read(side)?.tokenizer_with(ids);
        let mut side = side.map_err(refuse)?;
        ends_with(&mut side, end).map_err(refuse)?;
        made.push(side);
    }
    Ok(TokenizerFiles { path: path.clone(), sides: made, known: Some(source.len()) })
}

/// Puts `</s>`, which has the id `end`, after texts.
fn ends_with(side: &mut Value, end: TokenId) -> Result<(), String> {
    SurroundingTokens::new(None, Some("</s>")).write(side, |_| Some(end))
}
