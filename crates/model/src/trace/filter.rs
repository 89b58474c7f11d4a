//! Which operations a trace keeps.

/// Chooses operations by their names and positions. The default chooses all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceFilter {
    /// Patterns of which one must fit the name, or the name with `@` and its position: it contains the
    /// pattern or, if that has a `*`, matches it. Without patterns, all names fit.
    pub patterns: Vec<String>,
    /// The only position, of decoders that compute one after the other. Operations of all positions stay.
    pub position: Option<usize>,
}

impl TraceFilter {
    /// Returns true if the operation `name` at `position` is chosen.
    pub fn keeps(&self, name: &str, position: Option<usize>) -> bool {
        let is_elsewhere = self.position.zip(position).is_some_and(|(wanted, at)| wanted != at);
        if is_elsewhere {
            return false;
        }
        let full = position.map(|position| format!("{name}@{position}"));
        let fits = |pattern: &String| {
            matches(pattern, name) || full.as_ref().is_some_and(|full| matches(pattern, full))
        };
        self.patterns.is_empty() || self.patterns.iter().any(fits)
    }
}

/// Whether `name` contains `pattern` or, if that has a `*`, matches it.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return name.contains(pattern);
    };
    let Some(mut behind) = name.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = rest.split('*').collect();
    let (last, middle) = parts.split_last().expect("what is split has a part");
    for part in middle {
        match behind.split_once(part) {
            Some((_, rest)) => behind = rest,
            None => return false,
        }
    }
    behind.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, is_match) in [
            ("scores", "decoder.attention.scores", true),
            ("scores@1", "decoder.attention.scores", true),
            ("scores@2", "decoder.attention.scores", false),
            ("decoder.*", "decoder.attention.scores", true),
            ("decoder.*", "encoder.decoder.x", false),
            ("*.scores", "decoder.attention.scores", true),
            ("*.scores", "decoder.attention.scores.x", false),
            ("encoder.*.query", "encoder.layers.0.self_attention.query", true),
            ("encoder.*.query", "encoder.query", false),
            ("*", "anything", true),
        ] {
            let filter = TraceFilter { patterns: vec![pattern.into()], position: None };
            assert_eq!(filter.keeps(name, Some(1)), is_match, "{pattern} {name}");
        }
    }

    #[test]
    fn a_position_keeps_what_belongs_to_all() {
        let filter = TraceFilter { position: Some(1), ..TraceFilter::default() };
        assert!(filter.keeps("a", Some(1)) && filter.keeps("a", None) && !filter.keeps("a", Some(2)));
    }
}
