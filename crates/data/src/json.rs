//! JSON lines: sentence pairs, tagged sequences, labeled texts.

use attentive_base::count::count;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::form::Form;
use super::item::{Item, TagInput};

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
    label: String,
}

/// Parses the item on a line; describes the problem if it is invalid.
pub(super) fn parse(line: &str, form: Form) -> Result<Item, String> {
    match form {
        Form::TaggedTokens => {
            let expected = "lists of strings `tokens` and `tags`";
            let TaggedTokens { tokens, tags } = object(line, expected)?;
            Ok(Item::Tagged {
                input: TagInput::Tokens(whole_words(tokens, "token")?),
                tags: whole_words(tags, "tag")?,
            })
        }
        Form::TaggedVectors(width) => {
            let expected = "lists `vectors` of lists of numbers and `tags` of strings";
            let TaggedVectors { vectors, tags } = object(line, expected)?;
            Ok(Item::Tagged {
                input: TagInput::Vectors(flatten(&vectors, width)?),
                tags: whole_words(tags, "tag")?,
            })
        }
        Form::Labeled => {
            let Labeled { text, label } = object(line, "string fields `text` and `label`")?;
            Item::labeled(text, &label)
        }
        Form::Translations => {
            let Translated { src, tgt } = object(line, "string fields `src` and `tgt`")?;
            Ok(Item::Translation { src, tgt })
        }
        Form::Lines | Form::Stream => Err(format!("expected {}, found JSON", form.name())),
    }
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
