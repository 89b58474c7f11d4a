//! `[model]` in TOML: the keys of `[model.recurrent]`, which belong to several structs, and the keys that say which keys there
//! are.

use serde::de::{Deserializer, Error as _};
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use toml::{Table, Value};

use super::schema::join;
use super::{Family, ModelConfig};

/// The section whose keys have dotted names in structs.
pub(super) const RECURRENT: &str = "recurrent";

/// Reads `[model]`. Without a family, it is that of [`ModelConfig::default`]; without a kind of stack, it is that of the family.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ModelConfig, D::Error> {
    let mut table = Table::deserialize(from)?;
    if let Some(Value::Table(section)) = table.remove(RECURRENT) {
        let dotted = section.into_iter();
        table.extend(dotted.map(|(name, value)| (join(RECURRENT, &name), value)));
    }
    let default = ModelConfig::default().family.family().to_string();
    let family = table.entry("family").or_insert(default.into()).clone();
    let family = Family::deserialize(family).map_err(D::Error::custom)?;
    for (key, stack) in family.stacks() {
        table.entry(*key).or_insert(stack.to_string().into());
    }
    ModelConfig::deserialize(table).map_err(D::Error::custom)
}

/// Writes `[model]`, without the keys that are not set.
pub(super) fn serialize<S: Serializer>(model: &ModelConfig, to: S) -> Result<S::Ok, S::Error> {
    let flat = serde_json::to_value(model).map_err(S::Error::custom)?;
    let mut sections = json!({});
    for (name, value) in flat.as_object().into_iter().flatten() {
        match name.split_once('.') {
            _ if value.is_null() => {}
            Some((section, name)) => sections[section][name] = value.clone(),
            None => sections[name] = value.clone(),
        }
    }
    Json::serialize(&sections, to)
}
