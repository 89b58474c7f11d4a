//! Word splitting and lowercasing like Python's `str`, on which sacreBLEU relies.

/// `str.isspace` of one character: Unicode white space and the four ASCII separators that Rust excludes.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// `str.split()`: the words separated by white space.
pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(is_space).filter(|word| !word.is_empty())
}

/// `"".join(str.split())`, character by character.
pub(super) fn visible_chars(line: &str) -> impl Iterator<Item = char> {
    line.chars().filter(|&c| !is_space(c))
}

/// `str.rstrip()`.
pub(super) fn strip_end(line: &str) -> &str {
    line.trim_end_matches(is_space)
}

/// `str.strip()`.
pub(super) fn strip(line: &str) -> &str {
    line.trim_matches(is_space)
}

/// `str.lower()`: both follow Unicode's full mappings, final sigma included.
pub(super) fn lower(line: &str) -> String {
    line.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_at_python_white_space() {
        let line = "\u{1c}a\u{1d}b\u{1f}\u{a0}c\u{3000}d\u{85}e\u{200b}f\u{feff}";
        assert_eq!(words(line).collect::<Vec<_>>(), ["a", "b", "c", "d", "e\u{200b}f\u{feff}"]);
        assert_eq!(visible_chars(" a\u{1e}\tb ").collect::<String>(), "ab");
        assert_eq!(strip_end("a b\u{1f}\r\n"), "a b");
    }

    #[test]
    fn lowercases_like_python() {
        assert_eq!(lower("ΟΔΟΣ ΣΑΣ İ ẞ"), "οδος σας i\u{307} ß");
    }
}
