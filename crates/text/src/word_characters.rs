//! The characters of words.

/// Returns true if a word that ends before `c` would go on with it: for letters, digits and combining marks,
/// but not in scripts that write no spaces between words.
pub fn is_in_word(c: char) -> bool {
    let is_mark = matches!(c, '\u{300}'..='\u{36f}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}');
    (c.is_alphanumeric() || is_mark) && !is_without_spaces(c)
}

/// Returns true for the characters of scripts that write no spaces between words: Chinese, Japanese, Thai,
/// Lao, Tibetan, Burmese and Khmer.
fn is_without_spaces(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_on_with_letters_digits_and_marks() {
        for c in ['a', 'ß', '7', 'и', '\u{301}', 'ה', '한', 'क'] {
            assert!(is_in_word(c), "{c}");
        }
        for c in ['.', ' ', '-', '犬', 'い', 'カ', 'ส', '\u{2019}'] {
            assert!(!is_in_word(c), "{c}");
        }
    }
}
