//! Settings in the files beside a tokenizer: `tokenizer_config.json`, `special_tokens_map.json` and
//! `added_tokens.json`.

use std::path::{Path, PathBuf};

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use serde_json::{Map, Value, json};

use crate::keys::not_understood;

const MAP: &str = "special_tokens_map.json";
const CONFIG: &str = "tokenizer_config.json";
const ADDED: &str = "added_tokens.json";
/// The description of the model, in which early versions name the class of the tokenizer.
const MODEL: &str = "config.json";
/// The classes of the tokenizers of Llama, MPNet and T5.
pub(super) const LLAMA: &str = "LlamaTokenizer";
pub(super) const MPNET: &str = "MPNetTokenizer";
pub(super) const T5: &str = "T5Tokenizer";
/// The default classes of tokenizers, by the kind of model (`model_type`).
const CLASSES: &[(&str, &str)] = &[
    ("bart", "BartTokenizer"),
    ("bert", "BertTokenizer"),
    ("camembert", "CamembertTokenizer"),
    ("distilbert", "DistilBertTokenizer"),
    ("gpt2", "GPT2Tokenizer"),
    ("llama", LLAMA),
    ("mpnet", MPNET),
    ("mt5", T5),
    ("roberta", "RobertaTokenizer"),
    ("t5", T5),
    ("xlm-roberta", "XLMRobertaTokenizer"),
];
const CLASS: &str = "tokenizer_class";
/// The largest number of tokens in any setting.
const LARGEST: u64 = 10_000;

/// The settings of a tokenizer; all files may be missing.
#[derive(Debug, Default)]
pub(super) struct TokenizerSettings {
    dir: PathBuf,
    map: Map<String, Value>,
    config: Map<String, Value>,
    added: Map<String, Value>,
    /// The class that the settings name, without the suffix of its fast variant.
    class: Option<String>,
    /// The class of tokenizers of this kind of model that name none.
    default_class: &'static str,
}

impl TokenizerSettings {
    /// Reads the settings in `dir` of a model of the kind `kind` (`model_type`).
    pub(super) fn read(dir: &Path, kind: &str) -> Result<Self> {
        let (config, model) = (object(&dir.join(CONFIG))?, object(&dir.join(MODEL))?);
        let named = |file: &Map<String, Value>| Some(file.get(CLASS)?.as_str()?.to_owned());
        let class = named(&config).or_else(|| named(&model));
        let default = CLASSES.iter().find(|(of, _)| *of == kind);
        Ok(Self {
            dir: dir.to_path_buf(),
            map: object(&dir.join(MAP))?,
            added: object(&dir.join(ADDED))?,
            class: class.map(|class| class.strip_suffix("Fast").unwrap_or(&class).to_owned()),
            default_class: default.map_or("", |(_, class)| class),
            config,
        })
    }

    /// The special token that `key` names.
    pub(super) fn token(&self, key: &str) -> Option<String> {
        let named = |value: &Value| {
            let text = value.as_str().or_else(|| value["content"].as_str());
            text.map(str::to_owned)
        };
        let in_map = self.map.get(key).and_then(named);
        in_map.or_else(|| self.config.get(key).and_then(named))
    }

    /// True if a setting gives `token` a role.
    pub(super) fn is_special(&self, token: &str) -> bool {
        let text = |value: &Value| {
            let text = value.as_str().or_else(|| value["content"].as_str());
            text == Some(token)
        };
        let in_list = |value: &Value| value.as_array().is_some_and(|list| list.iter().any(text));
        let roles = |file: &Map<String, Value>| {
            let mut roles = file.iter().filter(|(key, _)| is_role(key));
            roles.any(|(_, value)| text(value) || in_list(value))
        };
        roles(&self.map) || roles(&self.config)
    }

    /// The text value of `key`.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.config.get(key)?.as_str().map(str::to_owned)
    }

    /// Returns the value of `key`; `None` if it is missing or null.
    ///
    /// # Errors
    /// Fails if the value is not a Boolean.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>> {
        match self.config.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(self.refuse(key, other)),
        }
    }

    /// Returns the number that is the value of `key`; `None` if it is missing or null.
    ///
    /// # Errors
    /// Fails if the value is not such a number.
    pub(super) fn number(&self, key: &str) -> Result<Option<usize>> {
        match self.config.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64().filter(|&number| number <= LARGEST) {
                Some(number) => Ok(Some(number as usize)),
                None => Err(self.refuse(key, value)),
            },
        }
    }

    /// Refuses any value of `key` but `only`. It may be missing.
    pub(super) fn only(&self, key: &str, only: bool) -> Result<()> {
        match self.flag(key)? {
            Some(flag) if flag != only => Err(self.refuse(key, &flag.into())),
            _ => Ok(()),
        }
    }

    /// The class of the tokenizer in its tool, without the suffix of its fast variant; `None` if the settings
    /// name none.
    pub(super) fn named_class(&self) -> Option<&str> {
        self.class.as_deref()
    }

    /// The class of the tokenizer: the one that the settings name, otherwise the default of the kind of
    /// model.
    pub(super) fn class(&self) -> &str {
        self.named_class().unwrap_or(self.default_class)
    }

    /// Returns the tokens with ids that the settings add to the vocabulary, in the order of their ids, from
    /// `added_tokens_decoder` or from the `added_tokens.json` of early versions.
    ///
    /// # Errors
    /// Fails if an entry is not a token.
    pub(super) fn added(&self) -> Result<Vec<(TokenId, Value)>> {
        let key = "added_tokens_decoder";
        let mut tokens = Vec::new();
        match self.config.get(key) {
            None | Some(Value::Null) => {
                for (content, id) in &self.added {
                    let id = id.as_u64().and_then(|id| TokenId::try_from(id).ok());
                    let id = id.ok_or_else(|| {
                        let problem = format!("`{content}` has no valid id");
                        not_understood(&self.dir.join(ADDED), problem)
                    })?;
                    tokens.push((id, json!({ "content": content })));
                }
            }
            Some(entries) => {
                let object = entries.as_object();
                for (id, token) in object.ok_or_else(|| self.refuse(key, entries))? {
                    let id = id.parse();
                    let id = id.map_err(|_| self.refuse(key, entries))?;
                    tokens.push((id, token.clone()));
                }
            }
        }
        tokens.sort_by_key(|&(id, _)| id);
        Ok(tokens)
    }

    /// The error for a `value` of `key` that is not supported.
    pub(super) fn refuse(&self, key: &str, value: &Value) -> Error {
        let problem = format!("`{key}` = {value} is not supported");
        not_understood(&self.dir.join(CONFIG), problem)
    }
}

/// True if `key` names special tokens.
fn is_role(key: &str) -> bool {
    key.ends_with("_token") || key == "additional_special_tokens"
}

/// The JSON object in the file `path`, empty if there is no file.
fn object(path: &Path) -> Result<Map<String, Value>> {
    if !path.exists() {
        return Ok(Map::new());
    }
    let text = regular_file::read(path, regular_file::DESCRIPTION)?;
    let object = serde_json::from_slice(&text);
    object.map_err(|error| not_understood(path, format!("not a JSON object: {error}")))
}
