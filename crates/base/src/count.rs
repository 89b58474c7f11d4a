//! Counted nouns for messages.

/// Returns `n` followed by the noun `one`, in the plural unless `n` is 1: "1 update", "2 updates".
pub fn count(n: usize, one: &str) -> String {
    format!("{n} {}", plural(n as u64, one))
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
    fn only_one_is_singular() {
        assert_eq!(count(0, "update"), "0 updates");
        assert_eq!(count(1, "update"), "1 update");
        assert_eq!(count(2, "control character"), "2 control characters");
        assert_eq!([0, 1, 2].map(are), ["are", "is", "are"]);
    }
}
