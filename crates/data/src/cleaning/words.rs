//! The words of a text.

/// Whether `c` is of a script that puts no blanks between words: Chinese characters, kana, Thai, Lao, Burmese
/// and Khmer.
pub(super) fn has_no_blanks(c: char) -> bool {
    matches!(
        c,
        '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3041}'..='\u{30FF}'
            | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}'
    )
}

/// The words of `text`, which has no blanks: each character of scripts without blanks, and what is between.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(has_no_blanks).flat_map(|part| {
        let last = part.char_indices().next_back().filter(|&(_, c)| has_no_blanks(c));
        let (before, character) = part.split_at(last.map_or(part.len(), |(place, _)| place));
        [before, character].into_iter().filter(|word| !word.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_scripts_without_blanks_are_words() {
        for (text, expected) in [
            ("word,", &["word,"][..]),
            ("", &[]),
            ("打开Word文档。", &["打", "开", "Word", "文", "档", "。"]),
            ("カタ", &["カ", "タ"]),
        ] {
            assert_eq!(words(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
