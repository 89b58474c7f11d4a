//! Pairs of braces.

use std::collections::HashMap;

use regex::Regex;

/// The braces of a text that end what others begin, by the places of these.
pub(super) struct Braces(HashMap<usize, usize>);

impl Braces {
    pub(super) fn new(text: &str) -> Self {
        let (mut open, mut pairs) = (Vec::new(), HashMap::new());
        for (at, c) in text.match_indices(['{', '}']) {
            match c {
                "{" => open.push(at),
                _ => drop(open.pop().map(|start| pairs.insert(start, at))),
            }
        }
        Self(pairs)
    }

    /// The place of the brace that ends what the one at `start` begins.
    pub(super) fn end(&self, start: usize) -> Option<usize> {
        self.0.get(&start).copied()
    }

    /// The end of the placeable whose first brace is at `start`. After a sign such as that of a shell
    /// (`is_marked`), or with two braces, anything may be in them; otherwise, what `inside` matches.
    pub(super) fn end_of_placeable(
        &self,
        text: &str,
        start: usize,
        is_marked: bool,
        inside: &Regex,
    ) -> Option<usize> {
        let end = self.end(start)?;
        let is_double = || self.end(start + 1).is_some_and(|inner| inner + 1 == end);
        let is_placeable = is_marked || is_double() || inside.is_match(&text[start + 1..end]);
        is_placeable.then_some(end + 1)
    }
}
