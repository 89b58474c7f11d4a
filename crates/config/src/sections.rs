//! `[model]` in TOML: the keys of `[model.recurrent]`, which belong to several structs, and the keys that
//! decide which keys there are.

use serde::de::{Deserializer, Error as _};
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::{Family, ModelConfig, table};

/// Reads `[model]`. Without a family, it is that of [`ModelConfig::default`]; without a kind of stack, it is
/// that of the family.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ModelConfig, D::Error> {
    let mut model = Table::deserialize(from)?;
    if let Some(Value::Table(keys)) = model.remove("recurrent") {
        let dotted = |(name, value)| (format!("recurrent.{name}"), value);
        model.extend(keys.into_iter().map(dotted));
    }
    let default = ModelConfig::default().family.family().to_string();
    let family = model.entry("family").or_insert(default.into()).clone();
    let family = Family::deserialize(family).map_err(D::Error::custom)?;
    for (key, kind) in family.stacks() {
        table::add(&mut model, key.trim_start_matches("model."), *kind);
    }
    ModelConfig::deserialize(model).map_err(D::Error::custom)
}

/// Writes `[model]`, without the keys that are not set.
pub(super) fn serialize<S: Serializer>(model: &ModelConfig, to: S) -> Result<S::Ok, S::Error> {
    let mut sections = Table::new();
    for (key, value) in Table::try_from(model).map_err(S::Error::custom)? {
        table::add(&mut sections, &key, value);
    }
    sections.serialize(to)
}
