//! JSON of any shape, with a limit on the number of values that are read.

use std::cell::Cell;
use std::fmt;

use attentive_base::shown::shown;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};

/// The maximum number of values and fields of a body whose shape is not known while it is read: each takes
/// many times the memory of its text.
pub(crate) const MAX_VALUES: usize = 1 << 16;

/// Reads an object that has at most [`MAX_VALUES`] values, including nested ones.
///
/// # Errors
/// The error in the text.
pub(crate) fn object(text: &str) -> serde_json::Result<Map<String, Value>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let values = Counted { left: &Cell::new(MAX_VALUES), rest: Rest::Refused };
    let fields = reader.deserialize_map(Object(values))?;
    reader.end()?;
    Ok(fields)
}

/// Reads a value and keeps only the first `most` values, including itself and nested ones.
///
/// # Errors
/// The error in the text.
pub(crate) fn beginning<'de, D: Deserializer<'de>>(from: D, most: usize) -> Result<Value, D::Error> {
    let values = Counted { left: &Cell::new(most), rest: Rest::Skipped };
    Ok(values.deserialize(from)?.unwrap_or_default())
}

/// The treatment of values beyond the limit.
#[derive(Clone, Copy)]
enum Rest {
    Refused,
    Skipped,
}

/// The remaining number of values. Reads `None` for a value that is skipped.
#[derive(Clone, Copy)]
struct Counted<'a> {
    left: &'a Cell<usize>,
    rest: Rest,
}

impl<'de> DeserializeSeed<'de> for Counted<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Option<Value>, D::Error> {
        match (self.left.get().checked_sub(1), self.rest) {
            (Some(left), _) => {
                self.left.set(left);
                reader.deserialize_any(self).map(Some)
            }
            (None, Rest::Refused) => Err(D::Error::custom(format!("more than {MAX_VALUES} values"))),
            (None, Rest::Skipped) => IgnoredAny::deserialize(reader).map(|_| None),
        }
    }
}

impl<'de> Visitor<'de> for Counted<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.extend(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Value, A::Error> {
        Object(self).visit_map(fields).map(Value::Object)
    }
}

/// The fields of an object, none of which may be repeated.
struct Object<'a>(Counted<'a>);

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format_args!("duplicate field `{}`", shown(&name))));
            }
            if let Some(value) = fields.next_value_seed(self.0)? {
                object.insert(name, value);
            }
        }
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_text() {
        let text = r#"{"a": [1, -2, 2.5, "x\n", null, true, {"b": []}], "c": 18446744073709551615}"#;
        let expected: Map<String, Value> = serde_json::from_str(text).unwrap();
        assert_eq!(object(text).unwrap(), expected);
    }

    #[test]
    fn values_are_counted_wherever_they_are() {
        let list = |count: usize| vec!["1"; count].join(",");
        object(&format!(r#"{{"q": [{}]}}"#, list(MAX_VALUES - 1))).unwrap();
        let fields = (0..=MAX_VALUES).map(|number| format!("\"{number}\":0"));
        let fields = fields.collect::<Vec<_>>().join(",");
        for text in [
            format!(r#"{{"q": [{}]}}"#, list(MAX_VALUES)),
            format!(r#"{{"q": [[{}], {{"x": [1, 2]}}]}}"#, list(MAX_VALUES - 4)),
            format!("{{{fields}}}"),
        ] {
            let error = object(&text).unwrap_err();
            assert!(error.is_data(), "{error}");
            assert!(error.to_string().contains("more than 65536"), "{error}");
        }
    }

    #[test]
    fn what_is_not_kept_is_read_all_the_same() {
        let read = |text: &str| {
            let mut reader = serde_json::Deserializer::from_str(text);
            let value = beginning(&mut reader, 4)?;
            reader.end().map(|()| value.to_string())
        };
        for (text, kept) in [
            (r#"{"a": [1, 2]}"#, r#"{"a":[1,2]}"#),
            (r#"[1, 2, 3, 4, {"": 0}]"#, "[1,2,3]"),
            (r#"{"a": {"b": {"c": {"d": 0}}, "x": 0}, "y": 0}"#, r#"{"a":{"b":{"c":{}}}}"#),
            (r#"{"a": 0, "b": 1, "c": 2, "d": 3}"#, r#"{"a":0,"b":1,"c":2}"#),
        ] {
            assert_eq!(read(text).unwrap(), kept);
        }
        assert!(read("[1, 2, 3, 4, {]").unwrap_err().is_syntax());
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for (text, is_data) in [
            (r#"{"a": 1, "b": {"c": 1, "c": 2}}"#, true),
            ("[1]", true),
            ("{} x", false),
            ("{", false),
            ("", false),
        ] {
            assert_eq!(object(text).unwrap_err().is_data(), is_data, "{text}");
        }
        let deep = format!("{{\"q\": {}", "[".repeat(100_000));
        assert!(object(&deep).unwrap_err().to_string().contains("recursion limit"));
    }
}
