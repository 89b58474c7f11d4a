//! JSON lines: sentence pairs, tagged sequences, labeled texts.

use attentive_base::count::count;
use attentive_config::Column;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use crate::corpus::data_kind::DataKind;
use crate::corpus::item::{Item, TagInput};

#[derive(Deserialize)]
struct Translated {
    src: String,
    tgt: String,
}

#[derive(Deserialize)]
struct TaggedTokens {
    tokens: Vec<String>,
    tags: Vec<String>,
}

#[derive(Deserialize)]
struct Vectors {
    vectors: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct TaggedVectors {
    vectors: Vec<Vec<f32>>,
    tags: Vec<String>,
}

#[derive(Deserialize)]
struct Labeled {
    text: String,
    label: Label,
}

/// A label, which may be the number of a class.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a string")]
enum Label {
    Text(String),
    Number(Number),
}

/// Parses the item on a line; describes the problem if it is invalid.
pub(crate) fn parse(line: &str, kind: DataKind) -> Result<Item, String> {
    match kind {
        DataKind::TaggedTokens => {
            let expected = "lists of strings `tokens` and `tags`";
            let TaggedTokens { tokens, tags } = object(line, expected)?;
            Ok(Item::Tagged {
                input: TagInput::Tokens(whole_words(tokens, "token")?),
                tags: whole_words(tags, "tag")?,
            })
        }
        DataKind::TaggedVectors(width) => {
            let expected = "lists `vectors` of lists of numbers and `tags` of strings";
            let TaggedVectors { vectors, tags } = object(line, expected)?;
            Ok(Item::Tagged {
                input: TagInput::Vectors(flatten(&vectors, width)?),
                tags: whole_words(tags, "tag")?,
            })
        }
        DataKind::Labeled => {
            let Labeled { text, label } = object(line, "string fields `text` and `label`")?;
            match label {
                Label::Text(label) => Item::labeled(text, &label),
                Label::Number(label) => Item::labeled(text, &label.to_string()),
            }
        }
        DataKind::Translations => {
            let Translated { src, tgt } = object(line, "string fields `src` and `tgt`")?;
            Ok(Item::Translation { src, tgt })
        }
        DataKind::Lines | DataKind::Stream => Err(format!("expected {}, found JSON", kind.name())),
    }
}

/// Parses the item on a line with the fields `columns`; describes the problem if it is invalid.
pub(crate) fn parse_fields(line: &str, columns: &[Column; 2], kind: DataKind) -> Result<Item, String> {
    let expected = format!("the fields {} and {}", columns[0], columns[1]);
    let object: Map<String, Value> = object(line, &expected)?;
    let object = Value::Object(object);
    let [src, tgt] = columns.each_ref().map(|column| field(&object, column));
    let (src, tgt) = (src?, tgt?);
    let text = |value: &Value, column: &Column| match value {
        Value::String(text) => Ok(text.clone()),
        // Numbers of classes are labels.
        Value::Number(number) if kind == DataKind::Labeled => Ok(number.to_string()),
        other => Err(format!("the field {column}: expected a string, found {other}")),
    };
    let words = |value: &Value, column: &Column, what| match value.as_array() {
        Some(list) => whole_words(list.iter().map(|one| text(one, column)).collect::<Result<_, _>>()?, what),
        None => Err(format!("the field {column}: expected a list of strings")),
    };
    match kind {
        DataKind::TaggedTokens => Ok(Item::Tagged {
            input: TagInput::Tokens(words(src, &columns[0], "token")?),
            tags: words(tgt, &columns[1], "tag")?,
        }),
        _ => Item::from_columns(&text(src, &columns[0])?, &text(tgt, &columns[1])?, kind),
    }
}

/// The field of `object` with this name; dots lead into fields, unless a field has the whole name.
fn field<'a>(object: &'a Value, column: &Column) -> Result<&'a Value, String> {
    let found = match column {
        Column::Number(_) => None,
        Column::Name(name) => {
            let path = || name.split('.').try_fold(object, |place, name| place.get(name));
            object.get(name).or_else(path)
        }
    };
    found.ok_or_else(|| {
        let names = object.as_object().into_iter().flat_map(|fields| fields.keys());
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        format!("there is no field {column}; the object has {}", names.join(", "))
    })
}

/// Parses the `vectors` of `width` numbers on a line and concatenates them; describes the problem if they are
/// invalid.
pub fn parse_vectors(line: &str, width: usize) -> Result<Vec<f32>, String> {
    let Vectors { vectors } = object(line, "a list `vectors` of lists of numbers")?;
    flatten(&vectors, width)
}

/// Concatenates vectors if each has `width` numbers; otherwise, describes the problem.
fn flatten(vectors: &[Vec<f32>], width: usize) -> Result<Vec<f32>, String> {
    for (number, vector) in (1..).zip(vectors) {
        if vector.len() != width {
            let found = count(vector.len(), "number");
            return Err(format!("vector {number} has {found}, but `model.recurrent.d_input` is {width}"));
        }
    }
    Ok(vectors.concat())
}

/// Checks that no part is empty or contains white space.
fn whole_words(parts: Vec<String>, what: &str) -> Result<Vec<String>, String> {
    for (number, part) in (1..).zip(&parts) {
        if part.is_empty() || part.contains(char::is_whitespace) {
            return Err(format!("{what} {number} is empty or contains white space: `{part}`"));
        }
    }
    Ok(parts)
}

fn object<T: DeserializeOwned>(line: &str, expected: &str) -> Result<T, String> {
    // A list would be read as the fields in their order.
    if line.trim_start().starts_with('[') {
        return Err(format!("expected a JSON object with {expected}, but at column 1: a list"));
    }
    serde_json::from_str(line).map_err(|error| {
        let message = error.to_string();
        // The parser sees one line at a time, so its line number is always 1.
        let problem = message.split(" at line 1").next().unwrap_or_default();
        let column = error.column();
        format!("expected a JSON object with {expected}, but at column {column}: {problem}")
    })
}
