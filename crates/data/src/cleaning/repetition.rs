//! Words that follow themselves.

use super::words::has_no_blanks;

/// The most words of a group that is looked for.
const LONGEST_GROUP: usize = 4;

/// How often a group of up to four words follows itself in `words`: 1 if none does.
pub(super) fn longest_repetition(words: &[&str]) -> usize {
    let times = |size: usize| {
        let mut best = 1;
        // The words that equal the one a group earlier, in a row.
        let mut equal = 0;
        for (place, word) in words.iter().enumerate().skip(size) {
            // Of scripts without blanks, a word is a character, which may well be repeated: 哈哈哈哈.
            let is_word = size > 1 || !word.starts_with(has_no_blanks);
            equal = if is_word && *word == words[place - size] { equal + 1 } else { 0 };
            best = best.max(1 + equal / size);
        }
        best
    };
    (1..=LONGEST_GROUP).map(times).max().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_counted_in_a_row() {
        let times = |text: &str| longest_repetition(&text.split(' ').collect::<Vec<_>>());
        for (text, expected) in [
            ("a", 1),
            ("a b c", 1),
            ("a a b", 2),
            ("a b a b a b", 3),
            ("x a b a b y", 2),
            ("a a a a a", 5),
            ("a b c d a b c d", 2),
            ("哈 哈 哈 哈", 2),
            ("买 卖 买 卖 买 卖", 3),
        ] {
            assert_eq!(times(text), expected, "{text}");
        }
        assert_eq!(longest_repetition(&[]), 1);
    }
}
