//! The keys of a configuration with their types, ranges and meanings, from the JSON Schema that is derived
//! from the structs.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::{Config, Family, FamilyConfig, ModelConfig, TrainDevice, format};

/// The type of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyType {
    /// Further keys.
    Section,
    /// `true` or `false`.
    Switch,
    /// A whole number, 0 or more.
    Whole,
    /// Any number.
    Number,
    /// A string.
    Text,
    /// A [`TrainDevice`].
    Device,
    /// A list of strings.
    Texts,
    /// A list of strings or whole numbers from 1.
    Columns,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A list of some of these strings.
    SomeOf(&'static [&'static str]),
}

/// A key.
pub(super) struct Key {
    /// The dotted path.
    pub(super) path: String,
    /// The type of its value.
    pub(super) kind: KeyType,
    /// Its JSON Schema.
    pub(super) schema: &'static Value,
}

/// The JSON Schema of all keys.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = schema_of::<Config>();
    schema["title"] = "Attentive configuration".into();
    join_families(&mut schema["properties"]["model"]);
    schema
});

fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .with_transform(RecursiveTransform(simplify));
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Makes the schema of `[model]`, which has one for each family, that of a section with the keys of all
/// families.
fn join_families(model: &mut Value) {
    let mut keys = json!({ "family": schema_of::<Family>(), "recurrent": {} });
    keys["family"]["default"] = json!(ModelConfig::default().family.family());
    let families = model["oneOf"].take();
    let all = std::iter::once(&*model).chain(families.as_array().into_iter().flatten());
    for (name, schema) in all.filter_map(properties).flatten() {
        let place = match name.strip_prefix("recurrent.") {
            Some(name) => &mut keys["recurrent"][name],
            None => &mut keys[name],
        };
        if place.is_null() {
            *place = schema.clone();
        }
    }
    keys["recurrent"] = section("Recurrent layers.", keys["recurrent"].take());
    *model = section(description(model), keys);
}

/// The schema of a section with these keys.
fn section(description: &str, keys: Value) -> Value {
    json!({ "type": "object", "description": description, "properties": keys, "additionalProperties": false })
}

/// The keys of `[model]` that not all families have, for each family.
pub(super) fn keys_of_families() -> Vec<Vec<String>> {
    let schema = schema_of::<FamilyConfig>();
    let keys = |family| -> Vec<String> {
        let names = properties(family).into_iter().flatten();
        names.map(|(name, _)| join("model", name)).collect()
    };
    let families = schema["oneOf"].as_array();
    families.into_iter().flatten().map(keys).collect()
}

/// Every key in the order of the structs, sections before their keys.
pub(super) static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let mut keys = Vec::new();
    walk("", &DOCUMENT, &mut keys);
    keys
});

/// The type of every key, keyed by its dotted path.
pub(super) static SCHEMA: LazyLock<BTreeMap<String, KeyType>> = LazyLock::new(|| {
    let keys = KEYS.iter().map(|key| (key.path.clone(), key.kind));
    keys.collect()
});

impl Config {
    /// The JSON Schema (draft 2020-12) of a configuration file.
    pub fn json_schema() -> Value {
        let mut schema = DOCUMENT.clone();
        remove_facts(&mut schema);
        schema["properties"][format::KEY] = json!({
            "const": format::FORMAT,
            "description": "The format of a stored configuration. Other configurations need none."
        });
        schema
    }
}

/// The JSON Schema of the known key `path`.
pub(super) fn of(path: &str) -> &'static Value {
    static BY_PATH: LazyLock<BTreeMap<&str, &Value>> = LazyLock::new(|| {
        let keys = KEYS.iter().map(|key| (key.path.as_str(), key.schema));
        keys.collect()
    });
    let found = BY_PATH.get(path);
    found.unwrap_or_else(|| panic!("`{path}` is a key of the configuration"))
}

/// `section.name`, or `name` at the top level.
pub(super) fn join(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}

/// A fact about a key that its field states with `#[schemars(extend("name" = "…"))]`, and that the published
/// schema leaves out; "" if there is none:
///
/// - `x-also`: what papers and other programs call the key, separated by blanks
/// - `x-needs`: what it has no effect without, as `check/unused.rs` names it, separated by blanks
/// - `x-task`: the task of the families that use a key outside `[model]`, if not all do: `translate`
/// - `x-resume`: `free` if it may change when a run is resumed; `kept` if its default is computed from keys
///   that may
/// - `x-weights`: `none` if the weights of a trained model do not depend on it
pub(super) fn fact<'a>(schema: &'a Value, name: &str) -> &'a str {
    schema.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Removes the facts for which [`fact`] asks.
fn remove_facts(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.retain(|name, _| !name.starts_with("x-"));
            map.values_mut().for_each(remove_facts);
        }
        Value::Array(list) => list.iter_mut().for_each(remove_facts),
        _ => {}
    }
}

/// The values of a key with a choice, or with a list of choices, each with its schema.
pub(super) fn choices(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let choices = schema.get("oneOf").or_else(|| schema.get("items")?.get("oneOf"));
    let choices = choices.and_then(Value::as_array);
    let choices = choices.into_iter().flatten();
    choices.filter_map(|choice| Some((choice.get("const")?.as_str()?, choice)))
}

/// What a key means.
pub(super) fn description(schema: &Value) -> &str {
    let description = schema.get("description").and_then(Value::as_str);
    description.unwrap_or_default()
}

/// Adds the keys of `section` and those of the sections in it.
fn walk(section: &str, schema: &'static Value, keys: &mut Vec<Key>) {
    for (name, schema) in properties(schema).into_iter().flatten() {
        let path = join(section, name);
        let kind = kind(schema);
        let kind = kind.unwrap_or_else(|| panic!("the type of `{path}` is known"));
        keys.push(Key { path: path.clone(), kind, schema });
        walk(&path, schema, keys);
    }
}

/// The keys of a section, of which there may be a list.
fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    let own = schema.get("properties").and_then(Value::as_object);
    own.or_else(|| {
        let either = schema.get("anyOf")?.as_array()?;
        either.iter().find_map(|one| properties(one.get("items")?))
    })
}

fn kind(schema: &'static Value) -> Option<KeyType> {
    if properties(schema).is_some() {
        return Some(KeyType::Section);
    }
    let choices: Vec<&'static str> = choices(schema).map(|(value, _)| value).collect();
    if !choices.is_empty() {
        // Once for each of a few keys.
        let choices = choices.leak();
        let is_list = schema.get("items").is_some();
        return Some(if is_list { KeyType::SomeOf(choices) } else { KeyType::OneOf(choices) });
    }
    match schema.get("type")?.as_str()? {
        "boolean" => Some(KeyType::Switch),
        "integer" => Some(KeyType::Whole),
        "number" => Some(KeyType::Number),
        "string" => match schema.get("pattern") {
            Some(pattern) if pattern == TrainDevice::PATTERN => Some(KeyType::Device),
            Some(_) => None,
            None => Some(KeyType::Text),
        },
        "array" if schema["items"].get("anyOf").is_some() => Some(KeyType::Columns),
        "array" => Some(KeyType::Texts),
        _ => None,
    }
}

/// Removes what TOML does not have (null) and what says nothing to a user (formats, defaults of sections),
/// and joins the lines of descriptions.
fn simplify(schema: &mut Schema) {
    schema.remove("format");
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            schema.insert("type".into(), one);
        }
    }
    if let Some(Value::Array(either)) = schema.get_mut("anyOf") {
        either.retain(|one| one.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(one)] = either.as_slice() {
            let one = one.clone();
            schema.remove("anyOf");
            for (name, value) in one {
                let object = schema.ensure_object();
                object.entry(name).or_insert(value);
            }
        }
    }
    let default = schema.get("default");
    if default.is_some_and(|default| default.is_null() || default.is_object()) {
        schema.remove("default");
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ").replace("\\[", "[").replace("\\]", "]");
    }
}
