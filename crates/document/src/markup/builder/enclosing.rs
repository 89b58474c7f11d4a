//! Brackets and quotation marks around nothing but what is kept.

use super::super::blanks::{Neighbor, begins_pair, ends_pair, is_space};
use super::super::tree::{MarkupEvent, MarkupKind, MarkupText};
use super::{Between, Builder};

/// The maximum number of pairs within each other that stay with what is kept.
const MAX_OPENINGS: usize = 8;

/// A mark that begins a pair, and what a builder was before it.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) mark: char,
    pub(super) text: usize,
    /// The length of the text with the mark.
    pub(super) end: usize,
    pub(super) events: usize,
    pub(super) seams: usize,
    pub(super) before_last: usize,
    pub(super) before_blank: usize,
    pub(super) blank: bool,
    pub(super) broken: bool,
    pub(super) between: Option<Between>,
}

impl Builder {
    /// What this builder is before the character `c`, if that begins a pair.
    pub(super) fn opening(&self, c: char) -> Option<Opening> {
        let begins = self.openings.len() < MAX_OPENINGS && begins_pair(c, &self.text, self.blank);
        begins.then(|| Opening {
            mark: c,
            text: self.text.len(),
            end: 0,
            events: self.events.len(),
            seams: self.seams.len(),
            before_last: self.before_last,
            before_blank: self.before_blank,
            blank: self.blank,
            broken: self.broken,
            between: self.between.clone(),
        })
    }

    /// Makes a pair of brackets or quotation marks part of what is kept, if `c` ends it and it has kept
    /// content but no words in it: a model that reads marks around nothing leaves them out.
    pub(super) fn enclose(&mut self, c: char) -> bool {
        let Some(place) = self.openings.iter().rposition(|one| ends_pair(one.mark, c)) else {
            return false;
        };
        let is_visible = |event: &MarkupEvent| matches!(event.kind, MarkupKind::Visible(_));
        if !self.events[self.openings[place].events..].iter().any(is_visible) {
            return false;
        }
        let opening = self.openings.swap_remove(place);
        self.openings.truncate(place);
        let inside = self.events.split_off(opening.events);
        let text = self.text.split_off(opening.end);
        let gap: String = self.trailing.0.iter().map(|(_, c)| *c).collect();
        let ends_in_blank = self.blank;
        self.text.truncate(opening.text);
        self.seams.truncate(opening.seams);
        (self.before_last, self.before_blank) = (opening.before_last, opening.before_blank);
        (self.blank, self.broken, self.between) = (opening.blank, opening.broken, opening.between);
        self.keep(opening.mark.to_string());
        let mut at = 0;
        for mut event in inside {
            let next = event.at - opening.end;
            self.keep_marks(&text[at..next]);
            at = next;
            event.at = self.text.len();
            if let (MarkupKind::Visible(neighbors), Some(between)) = (&mut event.kind, &mut self.between) {
                // A no-break space is one of the marks.
                if matches!(neighbors.before, Neighbor::Mark(_))
                    || text[..next].ends_with(char::is_whitespace)
                {
                    neighbors.before = Neighbor::Kept;
                }
                between.last = self.events.len();
                between.neighbors.after = Neighbor::Edge;
            }
            self.events.push(event);
        }
        self.keep_marks(&text[at..]);
        // Such as the no-break space before a French quotation mark.
        let own_gap = gap.chars().all(|c| !is_space(c)) && !gap.is_empty();
        if own_gap
            && let Some(between) = &self.between
            && let MarkupKind::Visible(neighbors) = &mut self.events[between.last].kind
        {
            neighbors.after = Neighbor::Kept;
        }
        self.blank = ends_in_blank && !own_gap;
        self.keep(if own_gap { gap } else { String::new() } + &c.to_string());
        true
    }

    /// Keeps marks between what is kept.
    fn keep_marks(&mut self, marks: &str) {
        if !marks.is_empty() {
            let kept = marks.trim_start_matches([' ', '\n']);
            self.blank = kept.len() < marks.len();
            self.keep(kept.to_owned());
        }
    }

    /// Keeps `text`, which a model does not read.
    fn keep(&mut self, text: String) {
        let own =
            MarkupText::Text(if self.format.has_references() { text } else { self.format.spelled(&text) });
        self.visible_as(0..0, Some(own));
    }
}
