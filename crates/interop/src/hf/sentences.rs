//! The modules of Sentence Transformers (Reimers and Gurevych 2019), which turn the outputs of an encoder
//! into one vector for each text.

use std::collections::BTreeMap;
use std::path::Path;

use attentive_architecture::Pooling;
use attentive_base::error::Result;
use attentive_config::{FamilyConfig, ModelConfig};
use serde::Deserialize;
use serde_json::{Value, json};

use super::json as read;
use crate::keys::{UnreadKeys, not_understood};

pub(super) const MODULES: &str = "modules.json";
pub(super) const POOLING_CONFIG: &str = "1_Pooling/config.json";
const POOLING: &str = "1_Pooling";
/// Names of the file with settings; the first file that exists is used.
const SETTINGS: [&str; 7] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
];
const PROMPTS: &str = "config_sentence_transformers.json";
const TOKENIZER: &str = "tokenizer_config.json";
const MODES: [(&str, Pooling); 3] = [
    ("pooling_mode_mean_tokens", Pooling::Mean),
    ("pooling_mode_cls_token", Pooling::First),
    ("pooling_mode_lasttoken", Pooling::Last),
];

/// The conversion of outputs to a vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SentencePooling {
    pub(super) pooling: Pooling,
    /// True if the vector is scaled to length 1.
    pub(super) unit: bool,
    /// The maximum length of a text, in tokens including those around it; by default, the maximum length of
    /// the encoder.
    pub(super) longest: Option<usize>,
}

/// An entry of `modules.json`.
#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

impl SentencePooling {
    /// Reads the modules in `dir`. The default is mean pooling.
    pub(super) fn read(dir: &Path) -> Result<Self> {
        let mut found = Self { pooling: pooling(&dir.join(POOLING_CONFIG))?, unit: false, longest: None };
        if !Self::is_in(dir) {
            return Ok(found);
        }
        let path = dir.join(MODULES);
        let modules: Vec<Module> = read(&path)?;
        for (number, Module { path: folder, kind }) in modules.iter().enumerate() {
            match (number, kind.rsplit('.').next()) {
                (0, Some("Transformer")) if folder.is_empty() => {}
                (1, Some("Pooling")) if folder == POOLING => {}
                (2, Some("Normalize")) => found.unit = true,
                _ => {
                    let problem = format!("the module `{kind}` in `{folder}` is not supported");
                    return Err(not_understood(&path, problem));
                }
            }
        }
        if modules.len() < 2 {
            return Err(not_understood(&path, "it names no pooling"));
        }
        if let Some(mut keys) = settings(dir)? {
            found.longest = keys.optional("max_seq_length")?;
        }
        let tokenizer = dir.join(TOKENIZER);
        if found.longest.is_none() && tokenizer.exists() {
            let longest = &read::<Value>(&tokenizer)?["model_max_length"];
            found.longest = longest.as_u64().and_then(|longest| longest.try_into().ok());
        }
        Ok(found)
    }

    /// True if `dir` is a directory of Sentence Transformers.
    pub(super) fn is_in(dir: &Path) -> bool {
        dir.join(MODULES).exists()
    }
}

/// Refuses settings in `dir` that change a text before it is tokenized, for example to lower case, unless the
/// tokenizer `lowercases` itself. Returns a note if there are prompts.
pub(super) fn note_on_texts(dir: &Path, lowercases: bool) -> Result<Option<String>> {
    if !SentencePooling::is_in(dir) {
        return Ok(None);
    }
    if let Some(mut keys) = settings(dir)?.filter(|_| !lowercases) {
        keys.only("do_lower_case", false)?;
    }
    let path = dir.join(PROMPTS);
    if !path.exists() {
        return Ok(None);
    }
    let mut keys = UnreadKeys::read(&path)?;
    let mut prompts: BTreeMap<String, String> = keys.or("prompts", BTreeMap::new())?;
    prompts.retain(|_, prompt| !prompt.is_empty());
    if let Some(name) = keys.optional::<String>("default_prompt_name")?
        && prompts.contains_key(&name)
    {
        return Err(keys.refuse("default_prompt_name", &name.into()));
    }
    let list: Vec<String> = { prompts.iter() }.map(|(name, prompt)| format!("{prompt:?} ({name})")).collect();
    let note = format!("prompts are not imported; write them before the texts: {}", list.join(", "));
    Ok(Some(note).filter(|_| !list.is_empty()))
}

/// The settings of the encoder in `dir`.
fn settings(dir: &Path) -> Result<Option<UnreadKeys>> {
    let files = SETTINGS.map(|name| dir.join(name));
    let file = files.iter().find(|path| path.exists());
    file.map(|path| UnreadKeys::read(path)).transpose()
}

/// Returns the contents of `modules.json` and of the description of the pooling for a model that computes
/// vectors of texts.
pub(super) fn files(model: &ModelConfig) -> Option<[Value; 2]> {
    let FamilyConfig::Encoder { pooling, normalize_embeddings, .. } = model.family else {
        return None;
    };
    let module = |number: usize, folder: &str, kind: &str| {
        let kind = format!("sentence_transformers.models.{kind}");
        json!({"idx": number, "name": number.to_string(), "path": folder, "type": kind})
    };
    let mut modules = vec![module(0, "", "Transformer"), module(1, POOLING, "Pooling")];
    if normalize_embeddings {
        modules.push(module(2, "2_Normalize", "Normalize"));
    }
    let mut modes = json!({"word_embedding_dimension": model.d_model});
    for (key, mode) in MODES {
        modes[key] = (mode == pooling).into();
    }
    Some([modules.into(), modes])
}

/// Reads the pooling that the file `path` describes; mean pooling if there is none.
fn pooling(path: &Path) -> Result<Pooling> {
    if !path.exists() {
        return Ok(Pooling::Mean);
    }
    let mut keys = UnreadKeys::read(path)?;
    keys.ignore(&["word_embedding_dimension", "embedding_dimension", "include_prompt"]);
    // Recent versions name one mode.
    if let Some(mode) = keys.optional::<Value>("pooling_mode")? {
        let of_name = |(key, pooling): &(&str, Pooling)| {
            let name = key.trim_start_matches("pooling_mode_").trim_end_matches("_tokens");
            (mode == name.trim_end_matches("_token")).then_some(*pooling)
        };
        let found = MODES.iter().find_map(of_name);
        let found = found.ok_or_else(|| keys.refuse("pooling_mode", &mode))?;
        keys.finish()?;
        return Ok(found);
    }
    for key in
        ["pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens"]
    {
        keys.only(key, false)?;
    }
    let mut found = Vec::new();
    for (key, pooling) in MODES {
        if keys.or(key, pooling == Pooling::Mean)? {
            found.push((key, pooling));
        }
    }
    let pooling = match found[..] {
        [(_, pooling)] => pooling,
        [] => return Err(not_understood(path, "it names no pooling")),
        [_, (key, _), ..] => return Err(keys.refuse(key, &Value::from(true))),
    };
    keys.finish()?;
    Ok(pooling)
}
