//! Stop strings.

use std::ops::ControlFlow;
use std::sync::Arc;

/// Passes text through until one of the stop strings appears. If the text ends with a possible beginning of
/// one, that end is held back until it is decided. The result does not depend on how the text is split into
/// pieces.
#[derive(Debug)]
pub(super) struct StopStrings {
    strings: Arc<[String]>,
    held: String,
}

impl StopStrings {
    pub(super) fn new(strings: Arc<[String]>) -> Self {
        Self { strings, held: String::new() }
    }

    /// Adds a piece of text and returns what may pass. Breaks with the text before the stop string that is
    /// completed first.
    pub(super) fn push(&mut self, piece: &str) -> ControlFlow<String, String> {
        self.held.push_str(piece);
        let found = self.strings.iter().filter_map(|string| {
            let start = self.held.find(string.as_str())?;
            Some((start + string.len(), start))
        });
        if let Some((_, start)) = found.min() {
            self.held.truncate(start);
            return ControlFlow::Break(std::mem::take(&mut self.held));
        }
        let passed = self.held.len() - self.beginning();
        let kept = self.held.split_off(passed);
        ControlFlow::Continue(std::mem::replace(&mut self.held, kept))
    }

    /// Returns the text held back, once no more text follows.
    pub(super) fn finish(self) -> String {
        self.held
    }

    /// Length in bytes of the longest end of the text that may begin a stop string.
    fn beginning(&self) -> usize {
        let beginnings = self.strings.iter().flat_map(|string| {
            let ends = string.char_indices().map(|(end, _)| end);
            // However long the string is, only this many bytes of it can have been read.
            let ends = ends.take_while(|&end| end <= self.held.len());
            ends.map(move |end| &string[..end])
        });
        let possible = beginnings.filter(|beginning| self.held.ends_with(beginning));
        possible.map(str::len).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use attentive_base::random::Random;

    use super::*;

    /// The text passed when `text` comes in pieces of up to `longest` characters, and whether it was stopped.
    fn passing(text: &str, strings: &[&str], longest: usize, random: &mut Random) -> (String, bool) {
        let strings = strings.iter().map(|&string| string.into()).collect();
        let mut stop = StopStrings::new(strings);
        let mut passed = String::new();
        let mut rest: Vec<char> = text.chars().collect();
        while !rest.is_empty() {
            let len = (1 + random.below(longest)).min(rest.len());
            let piece: String = rest.drain(..len).collect();
            match stop.push(&piece) {
                ControlFlow::Continue(text) => passed += &text,
                ControlFlow::Break(text) => return (passed + &text, true),
            }
        }
        (passed + &stop.finish(), false)
    }

    #[test]
    fn text_passes_up_to_a_stop_string_however_it_is_split() {
        let mut random = Random::new(1, 0);
        let cases: &[(&str, &[&str], &str, bool)] = &[
            ("a dog runs.", &[], "a dog runs.", false),
            ("a dog runs.", &["dog"], "a ", true),
            ("a dog runs.", &["run", "dog"], "a ", true),
            ("a dog runs.", &["dogs", "."], "a dog runs", true),
            ("ababac", &["abac"], "ab", true),
            ("abcd", &["abcd", "bc"], "a", true),
            ("abcd", &["abc", "bc"], "", true),
            ("schön öfter", &["ör", "öf"], "schön ", true),
            ("ends in a sto", &["stop"], "ends in a sto", false),
            ("\n\n", &["\n\n"], "", true),
        ];
        for &(text, strings, expected, stopped) in cases {
            for longest in [1, 2, 3, 20] {
                let (passed, met) = passing(text, strings, longest, &mut random);
                assert_eq!((passed.as_str(), met), (expected, stopped), "{text}, {strings:?}");
            }
        }
    }

    #[test]
    fn no_more_is_held_back_than_necessary() {
        let mut stop = StopStrings::new(["END".to_owned()].into());
        assert_eq!(stop.push("THE E"), ControlFlow::Continue("THE ".into()));
        assert_eq!(stop.push("N"), ControlFlow::Continue("".into()));
        assert_eq!(stop.push("TRY"), ControlFlow::Continue("ENTRY".into()));
    }
}
