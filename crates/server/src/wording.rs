//! Messages of serde in plain words.

/// Types as serde calls them, and in plain words.
const TYPES: [(&str, &str); 9] = [
    ("usize", "a whole number, 0 or more"),
    ("a nonzero usize", "a whole number, 1 or more"),
    ("u64", "a whole number, 0 or more"),
    ("i64", "a whole number"),
    ("f32", "a number"),
    ("f64", "a number"),
    ("a boolean", "`true` or `false`"),
    ("a sequence", "a list"),
    ("a map", "an object"),
];

/// Options in the library's errors whose fields have other names than the last part of theirs.
const FIELDS: [(&str, &str); 4] = [
    ("`Strategy::Beam::width`", "`beam_width`"),
    ("`Strategy::Sample::count`", "`n_best`"),
    ("`Languages::source`", "`source`"),
    ("`Languages::target`", "`target`"),
];

/// Replaces the library's names of options in `text`, which are paths such as `Sampling::top_p` in backticks,
/// by those of fields.
pub(super) fn with_fields(text: String) -> String {
    let text = FIELDS.iter().fold(text, |text, (option, field)| text.replace(option, field));
    let parts = text.split('`').enumerate().map(|(number, part)| {
        let is_path =
            |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:".contains(&byte));
        match part.rsplit_once("::") {
            Some((_, name)) if number % 2 == 1 && is_path(part) => name,
            _ => part,
        }
    });
    parts.collect::<Vec<_>>().join("`")
}

/// Returns the `message` of serde without the names of Rust's types. Objects of the format that was read are
/// called `object`.
pub(super) fn plain(message: &str, object: &str) -> String {
    let message = match message.strip_prefix("unknown variant") {
        Some(rest) => format!("unknown value{rest}"),
        None => message.replace("invalid type: sequence", "invalid type: a list"),
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
    fn options_have_the_names_of_fields() {
        for (text, expected) in [
            ("`Sampling::top_p` must be above 0", "`top_p` must be above 0"),
            ("widen the beam with `Strategy::Beam::width`", "widen the beam with `beam_width`"),
            ("`a b::c` and `x`, not a::b", "`a b::c` and `x`, not a::b"),
        ] {
            assert_eq!(with_fields(text.into()), expected);
        }
    }

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
