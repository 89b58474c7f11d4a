//! Tables that say from which tensors of another tool our parameters are made.

use super::parameter_source::ParameterSource;

/// Placeholder for the number of a layer.
const NUMBER: &str = "{}";
/// Placeholder for the number of a layer, counted from 1.
const FROM_ONE: &str = "{1}";

/// The names in a kind of model: the path of a layer or parameter of our model, and its source. The first
/// entry that matches is used. `{}` stands for the number of a layer.
pub(crate) type NameMapping = &'static [(&'static str, SourcePattern)];

/// A table of [`NameMapping`], with an entry a line: `ours => source`.
macro_rules! names {
    ($($ours:literal => $source:expr),* $(,)?) => {
        &[$(($ours, $source)),*]
    };
}
pub(crate) use names;

/// The source of a parameter. For the path of a layer, `.weight` or `.bias` is appended to the name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SourcePattern {
    /// The same tensor.
    Same(&'static str),
    /// A matrix `[in, out]`, which is transposed. A bias is the same.
    Transposed(&'static str),
    /// Part `part` of `of` of a matrix `[in, of * out]`, which is transposed, and of its bias.
    Part {
        /// The name of the matrix or bias.
        name: &'static str,
        /// The number of the part, counted from 0.
        part: usize,
        /// The number of equal parts.
        of: usize,
    },
    /// The first rows of a table.
    Rows(&'static str),
    /// The first rows of a table, to each of which the first row of another is added.
    Plus(&'static str, &'static str),
    /// This number everywhere; no tensor is read.
    Filled(f32),
    /// Another source, with one more row of this number at the end. In a vector, a row is a number.
    Extended(&'static SourcePattern, f32),
}

/// Returns the source of our parameter `name`, by the first of these tables that has it.
pub(crate) fn parameter_source(names: &[NameMapping], name: &str) -> Option<ParameterSource> {
    let mut names = names.iter().copied().flatten();
    names.find_map(|(ours, source)| source.of(ours, name))
}

impl SourcePattern {
    /// Returns the tensors of our parameter `name`, if its path begins like `ours`.
    fn of(self, ours: &str, name: &str) -> Option<ParameterSource> {
        let (number, rest) = numbered_prefix(ours, name)?;
        let rest = match rest {
            "" => "",
            ".weight" | ".gain" => ".weight",
            ".bias" => ".bias",
            _ => return None,
        };
        let is_vector = rest == ".bias";
        let full = |tensor: &str| with_number(tensor, number) + rest;
        Some(match self {
            Self::Transposed(tensor) if !is_vector => ParameterSource::Transposed(full(tensor)),
            Self::Same(tensor) | Self::Transposed(tensor) => ParameterSource::Same(full(tensor)),
            Self::Part { name, part, of } => ParameterSource::Part(full(name), part, of),
            Self::Rows(table) => ParameterSource::Rows(full(table)),
            Self::Plus(table, added) => ParameterSource::Plus(full(table), full(added)),
            Self::Filled(number) => ParameterSource::Filled(number),
            Self::Extended(source, number) => {
                ParameterSource::Extended(Box::new(source.of(ours, name)?), number)
            }
        })
    }
}

/// Returns the name `pattern` with the number of the layer, which is `number` in our name.
fn with_number(pattern: &str, number: &str) -> String {
    let from_one = number.parse().map_or(0, |number: usize| number + 1);
    pattern.replace(NUMBER, number).replace(FROM_ONE, &from_one.to_string())
}

/// Returns the number in `name` and the text after the match, if `name` begins like `pattern`.
fn numbered_prefix<'a>(pattern: &str, name: &'a str) -> Option<(&'a str, &'a str)> {
    let Some((before, after)) = pattern.split_once(NUMBER) else {
        return Some(("", name.strip_prefix(pattern)?));
    };
    let rest = name.strip_prefix(before)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, rest) = rest.split_at(end);
    Some((number, rest.strip_prefix(after)?)).filter(|_| !number.is_empty())
}

/// Returns the number in `name`, if it matches `pattern`.
pub(super) fn numbered<'a>(pattern: &str, name: &'a str) -> Option<&'a str> {
    let (number, rest) = numbered_prefix(pattern, name)?;
    rest.is_empty().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_layers_are_found() {
        let pattern = "layers.{}.query";
        assert_eq!(numbered_prefix(pattern, "layers.12.query.weight"), Some(("12", ".weight")));
        assert_eq!(numbered_prefix(pattern, "layers.x.query"), None);
        assert_eq!(numbered_prefix("head", "head.bias"), Some(("", ".bias")));
        assert_eq!(numbered("h.{}.mask", "h.3.mask"), Some("3"));
        assert_eq!(numbered("h.{}.mask", "h.3.masks"), None);
    }

    #[test]
    fn sources_name_their_tensors() {
        let attention = "layers.{}.attention";
        let name = "layers.3.attention.weight";
        let same = |name: &str| Some(ParameterSource::Same(name.into()));
        let one_based = SourcePattern::Transposed("l{1}_W");
        assert_eq!(
            one_based.of("layers.{}.attention.weight", name),
            Some(ParameterSource::Transposed("l4_W".into()))
        );
        let bias = "layers.3.attention.bias";
        assert_eq!(SourcePattern::Transposed("h.{}").of(attention, bias), same("h.3.bias"));
        assert_eq!(SourcePattern::Same("h.{}").of(attention, name), same("h.3.weight"));
        assert_eq!(SourcePattern::Same("h.{}").of(attention, "layers.3.attentions"), None);
    }
}
