//! Numbers and counted nouns for messages.

/// Returns `n` with a comma before every three digits: "10,000".
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns `n` followed by the noun `one`, in the plural unless `n` is 1: "1 update", "2,000 updates".
pub fn count(n: usize, one: &str) -> String {
    format!("{} {}", number(n as u64), plural(n as u64, one))
}

/// Returns the regular plural of the noun `one`, or the noun itself if `n` is 1.
pub fn plural(n: u64, one: &str) -> String {
    match n {
        1 => one.to_owned(),
        _ => format!("{one}s"),
    }
}

/// Returns "is" if `n` is 1, otherwise "are".
pub fn are(n: usize) -> &'static str {
    match n {
        1 => "is",
        _ => "are",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        let numbers = [0, 999, 1000, 29_000, 1_048_576].map(number);
        assert_eq!(numbers, ["0", "999", "1,000", "29,000", "1,048,576"]);
    }

    #[test]
    fn only_one_is_singular() {
        assert_eq!(count(0, "update"), "0 updates");
        assert_eq!(count(1, "update"), "1 update");
        assert_eq!(count(2, "control character"), "2 control characters");
        assert_eq!([0, 1, 2].map(are), ["are", "is", "are"]);
    }
}
