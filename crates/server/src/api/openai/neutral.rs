//! Fields that clients send with values that have no effect. Only such values are accepted.

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny};
use serde_json::{Value, json};

use crate::http::values::beginning;

/// The number of values of a field that are kept, including nested ones: more than any neutral value has.
const MAX_VALUES: usize = 8;

/// Reads `null`, or a value for which `is_neutral` is true.
///
/// # Errors
/// An error that only `expected` is supported.
fn only<'de, D: Deserializer<'de>>(
    from: D,
    expected: &str,
    is_neutral: impl Fn(&Value) -> bool,
) -> Result<(), D::Error> {
    let value = beginning(from, MAX_VALUES)?;
    if value.is_null() || is_neutral(&value) {
        Ok(())
    } else {
        Err(D::Error::custom(format!("only {expected} is supported")))
    }
}

/// Reads any value and discards it.
pub(super) fn anything<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    IgnoredAny::deserialize(from).map(|_| ())
}

/// Reads `null`.
pub(super) fn null<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    only(from, "`null`", Value::is_null)
}

pub(super) fn no<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    only(from, "`false`", |value| *value == json!(false))
}

pub(super) fn zero<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    only(from, "0", |value| value.as_f64() == Some(0.0))
}

pub(super) fn empty_text<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    only(from, "an empty string", |value| *value == json!(""))
}

pub(super) fn empty_list<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    only(from, "an empty list", |value| *value == json!([]))
}

pub(super) fn empty_object<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    only(from, "an empty object", |value| *value == json!({}))
}

/// Accepts text as the format of answers.
pub(super) fn text_format<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    let text = json!({"type": "text"});
    only(from, "`{\"type\": \"text\"}`", |value| *value == text)
}

/// Accepts text as the modality of answers.
pub(super) fn text_alone<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    only(from, "`[\"text\"]`", |value| *value == json!(["text"]))
}

/// Accepts values that do not require a tool call.
pub(super) fn no_call<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    let none = [json!("none"), json!("auto")];
    only(from, "`none` or `auto`", |value| none.contains(value))
}

/// Accepts the default service tier.
pub(super) fn usual_tier<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    let usual = [json!("auto"), json!("default")];
    only(from, "`auto` or `default`", |value| usual.contains(value))
}

/// Accepts that there is no reasoning before the answer.
pub(super) fn no_reasoning<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    only(from, "`none`", |value| *value == json!("none"))
}

/// Accepts the usual length of answers.
pub(super) fn usual_length<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    only(from, "`medium`", |value| *value == json!("medium"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_for_something_is_refused_whatever_it_is() {
        let many = r#"{"":0},"#.repeat(10_000);
        for text in [
            format!("[{many}0]"),
            format!(r#"{{"type": [{many}0]}}"#),
            format!(r#"{{"type": "text", "x": [{many}0]}}"#),
            format!(r#"["text", {many}0]"#),
            // A tree this deep is refused by the parser.
            "[".repeat(10_000) + &"]".repeat(10_000),
        ] {
            let read = || serde_json::Deserializer::from_str(&text);
            for error in [
                null(&mut read()).unwrap_err(),
                empty_list(&mut read()).unwrap_err(),
                empty_object(&mut read()).unwrap_err(),
                text_format(&mut read()).unwrap_err(),
                text_alone(&mut read()).unwrap_err(),
            ] {
                let error = error.to_string();
                assert!(error.starts_with("only "), "{error}");
            }
            anything(&mut read()).unwrap();
        }
    }
}
