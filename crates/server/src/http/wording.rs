//! Names of options in the words of the APIs.

/// Options in the library's errors whose fields have other names than the last part of theirs.
const FIELDS: [(&str, &str); 4] = [
    ("`Strategy::Beam::width`", "`beam_width`"),
    ("`Strategy::Sample::count`", "`n_best`"),
    ("`Languages::source`", "`source`"),
    ("`Languages::target`", "`target`"),
];

/// Replaces the library's names of options in `text`, which are paths such as `Strategy::Beam` in backticks,
/// by those of fields.
pub(crate) fn with_fields(text: String) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_the_names_of_fields() {
        for (text, expected) in [
            ("`A::b_c` must be above 0", "`b_c` must be above 0"),
            ("widen the beam with `Strategy::Beam::width`", "widen the beam with `beam_width`"),
            ("`a b::c` and `x`, not a::b", "`a b::c` and `x`, not a::b"),
        ] {
            assert_eq!(with_fields(text.into()), expected);
        }
    }
}
