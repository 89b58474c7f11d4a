//! Options and answers of the library as fields of requests and responses.

use std::borrow::Cow;

use attentive_decode::{SamplingChanges, SearchChanges};
use attentive_pipeline::{CandidateAnswer, GenerationAnswer};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::http::objects::AsObject;

/// The fields of `T` among those of a request, with `#[serde(flatten)]`. Errors name the field, which serde
/// forgets there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fields<T>(pub(crate) T);

/// The fields of `T` as an object within a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<T>(pub(crate) T);

/// The options of a search among others.
pub(crate) type SearchFields = Fields<SearchChanges>;

/// The options of sampling among others.
pub(crate) type SamplingFields = Fields<SamplingChanges>;

/// The options of sampling.
pub(crate) type SamplingObject = Object<SamplingChanges>;

/// A translation.
pub(crate) type CandidateObject = Object<CandidateAnswer>;

/// A continuation with other fields.
pub(crate) type GenerationFields = Fields<GenerationAnswer>;

impl<'de, T: DeserializeOwned> Deserialize<'de> for Fields<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        serde_path_to_error::deserialize(from).map(Self).map_err(|error| match error.path().to_string() {
            path if path == "." => D::Error::custom(error.into_inner()),
            path => D::Error::custom(format!("`{path}`: {}", error.into_inner())),
        })
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::deserialize(AsObject(from)).map(Self)
    }
}

/// The field that an error about a request with [`Fields`] names.
pub(crate) fn named(message: &str) -> Option<&str> {
    let starts = ["unknown field `", "duplicate field `"];
    let rest = starts.iter().find_map(|start| message.strip_prefix(start));
    let (name, _) = match rest {
        Some(rest) => rest.split_once('`')?,
        None => message.strip_prefix('`')?.split_once("`: ")?,
    };
    (!name.contains('`')).then_some(name)
}

/// `message` with the fields that `T` has, if it says that one is unknown, and nothing more.
pub(crate) fn with_known<T: PartialSchema>(message: String) -> String {
    if !message.starts_with("unknown field `") || message.contains(", expected ") {
        return message;
    }
    let mut schema = serde_json::to_value(T::schema()).unwrap_or_default();
    merge_parts(&mut schema);
    let names = schema["properties"].as_object().into_iter().flat_map(|fields| fields.keys());
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let end = message.find(" at line ").unwrap_or(message.len());
    format!("{}, expected one of {}", &message[..end], names.join(", "))
}

impl<T: JsonSchema> PartialSchema for Fields<T> {
    fn schema() -> RefOr<Schema> {
        schema::<T>()
    }
}

impl<T: JsonSchema> ToSchema for Fields<T> {
    fn name() -> Cow<'static, str> {
        T::schema_name()
    }
}

impl<T: JsonSchema> PartialSchema for Object<T> {
    fn schema() -> RefOr<Schema> {
        schema::<T>()
    }
}

impl<T: JsonSchema> ToSchema for Object<T> {
    fn name() -> Cow<'static, str> {
        T::schema_name()
    }
}

/// The schema of a struct, which is also one of OpenAPI's.
fn schema<T: JsonSchema>() -> RefOr<Schema> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let mut schema = Value::from(settings.into_generator().into_root_schema_for::<T>());
    without_constants(&mut schema);
    serde_json::from_value(schema).expect("a schema of OpenAPI")
}

/// Writes constants as lists of one value, which is how utoipa knows them.
fn without_constants(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(value) = map.remove("const") {
                map.insert("enum".into(), Value::Array(vec![value]));
            }
            for name in ["$schema", "title", "format"] {
                map.remove(name);
            }
            map.values_mut().for_each(without_constants);
        }
        Value::Array(list) => list.iter_mut().for_each(without_constants),
        _ => {}
    }
}

/// Merges the parts of each object that `#[serde(flatten)]` divides in a description of the API: no object
/// fits two parts that both refuse further fields.
pub(crate) fn merge_parts(description: &mut Value) {
    match description {
        Value::Object(map) => {
            map.values_mut().for_each(merge_parts);
            if let Some(merged) = map.get("allOf").and_then(merged) {
                map.remove("allOf");
                map.extend(merged);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(merge_parts),
        _ => {}
    }
}

/// The object that consists of these `parts`; `None` if they are something else.
fn merged(parts: &Value) -> Option<Map<String, Value>> {
    let parts = parts.as_array()?.iter().map(Value::as_object).collect::<Option<Vec<_>>>()?;
    let (own, rest) = parts.split_last()?;
    let mut merged = (*own).clone();
    let properties = merged.get_mut("properties")?.as_object_mut()?;
    for part in rest {
        properties.extend(part.get("properties")?.as_object()?.clone());
    }
    if parts.iter().any(|part| part.get("additionalProperties") == Some(&false.into())) {
        merged.insert("additionalProperties".into(), false.into());
    }
    Some(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_field() {
        for (message, expected) in [
            ("`beam_width`: invalid type: string \"5\", expected usize", Some("beam_width")),
            ("unknown field `x`", Some("x")),
            ("duplicate field `x` at line 1", Some("x")),
            ("missing field `x`", None),
            ("`a` or `b`: c", None),
            ("", None),
        ] {
            assert_eq!(named(message), expected);
        }
    }
}
