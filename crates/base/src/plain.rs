//! Messages of serde in plain words.

/// Types as serde calls them, and in plain words.
const TYPES: [(&str, &str); 10] = [
    ("usize", "a whole number, 0 or more"),
    ("a nonzero usize", "a whole number, 1 or more"),
    ("u64", "a whole number, 0 or more"),
    ("i64", "a whole number"),
    ("f32", "a number"),
    ("f64", "a number"),
    ("a boolean", "`true` or `false`"),
    ("a sequence", "a list"),
    ("a map", "an object"),
    ("string or map", "a string"),
];

/// Returns the `message` of serde without the names of Rust's types. Objects of the format that was read are
/// called `object`.
pub fn plain(message: &str, object: &str) -> String {
    // After the name of a field, too.
    let message = match message.split_once("unknown variant `") {
        Some((before, rest)) if before.is_empty() || before.ends_with("`: ") => {
            format!("{before}unknown value `{rest}")
        }
        _ => message.replace("invalid type: sequence", "invalid type: a list"),
    };
    let message = message.replace("invalid type: map", "invalid type: an object");
    let Some((found, expected)) = message.rsplit_once(", expected ") else {
        return message;
    };
    let end = expected.find(" at line ").unwrap_or(expected.len());
    let (kind, place) = expected.split_at(end);
    let known = TYPES.iter().find(|(name, _)| *name == kind);
    let kind = match known {
        Some((_, words)) => words,
        None if kind.starts_with("struct ") => object,
        None => kind,
    };
    format!("{found}, expected {kind}{place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_plain_names() {
        for (message, expected) in [
            (
                "invalid value: integer `-1`, expected usize at line 1 column 9",
                "invalid value: integer `-1`, expected a whole number, 0 or more at line 1 column 9",
            ),
            (
                "invalid type: string \"x, expected f64\", expected f64",
                "invalid type: string \"x, expected f64\", expected a number",
            ),
            (
                "invalid type: integer `5`, expected struct Draw at line 1 column 4",
                "invalid type: integer `5`, expected an object at line 1 column 4",
            ),
            (
                "unknown variant `f8`, expected one of `f32`, `bf16`",
                "unknown value `f8`, expected one of `f32`, `bf16`",
            ),
            ("missing field `text`", "missing field `text`"),
        ] {
            assert_eq!(plain(message, "an object"), expected);
        }
    }
}
