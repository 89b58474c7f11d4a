//! Compiled normalization (Kudo and Richardson 2018, section 3.3): a map of byte strings to texts.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokenizers::NormalizedString;

use super::growth::Bound;

/// A map from byte strings to texts, with which a text is rewritten.
#[derive(Clone, Debug)]
pub(super) struct Charsmap {
    /// A trie as a double array (Aoe 1989).
    units: Vec<Unit>,
    /// The texts, each of which ends with a zero.
    texts: String,
    /// Texts that are left unchanged, by their first byte, the longest first.
    kept: HashMap<u8, Vec<String>>,
}

/// A unit of the double array: a node of the trie, or the value of one.
#[derive(Clone, Copy, Debug)]
struct Unit(u32);

impl Unit {
    fn is_value(self) -> bool {
        self.0 >> 31 == 1
    }

    fn value(self) -> usize {
        (self.0 & ((1 << 31) - 1)) as usize
    }

    fn has_value(self) -> bool {
        self.0 >> 8 & 1 == 1
    }

    /// The byte on the edge to this node.
    fn label(self) -> u32 {
        self.0 & (1 << 31 | 0xFF)
    }

    fn offset(self) -> usize {
        ((self.0 >> 10) << ((self.0 & 1 << 9) >> 6)) as usize
    }
}

impl Charsmap {
    /// Reads a map in base 64. Texts in `kept` are left unchanged.
    ///
    /// # Errors
    /// A description of the damage, for a damaged map.
    pub(super) fn parse(base64: &str, kept: Vec<String>) -> Result<Self, String> {
        let damaged = || "the compiled normalization is damaged".to_owned();
        let bytes = STANDARD.decode(base64).map_err(|_| damaged())?;
        let (size, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
        let size = u32::from_le_bytes(*size) as usize;
        let (units, texts) = rest.split_at_checked(size).ok_or_else(damaged)?;
        let (units, []) = units.as_chunks() else {
            return Err(damaged());
        };
        let units = units.iter().map(|&unit| Unit(u32::from_le_bytes(unit)));
        let mut by_byte: HashMap<u8, Vec<String>> = HashMap::new();
        for text in kept {
            if let Some(&first) = text.as_bytes().first() {
                by_byte.entry(first).or_default().push(text);
            }
        }
        for texts in by_byte.values_mut() {
            texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        }
        let map = Self {
            units: units.collect(),
            texts: str::from_utf8(texts).map_err(|_| damaged())?.to_owned(),
            kept: by_byte,
        };
        map.is_sound().then_some(map).ok_or_else(damaged)
    }

    /// Returns true if every step from one unit to another stays within the array, and every value is the
    /// position of a text.
    fn is_sound(&self) -> bool {
        let n_units = self.units.len();
        let is_sound = |(place, unit): (usize, &Unit)| {
            if unit.is_value() {
                self.texts.is_char_boundary(unit.value())
            } else {
                (place ^ unit.offset()) | 0xFF < n_units
            }
        };
        n_units > 0 && self.units.iter().enumerate().all(is_sound)
    }

    /// The number of bytes of the longest text that replaces another one.
    pub(super) fn longest_text(&self) -> usize {
        self.texts.split('\0').map(str::len).max().unwrap_or(0)
    }

    /// Rewrites `text` from left to right: at each position, the longest text that is kept, or else the
    /// longest match of the map.
    ///
    /// # Errors
    /// A text that becomes longer than `bound`.
    pub(super) fn normalize(&self, text: &mut NormalizedString, bound: Bound) -> Result<(), String> {
        let mut changes = Changes::default();
        let mut rest = text.get();
        while let Some(first) = rest.chars().next() {
            let (length, new) = match (self.kept(rest), self.longest(rest)) {
                (Some(kept), _) => (kept.len(), kept),
                (None, Some(found)) => found,
                (None, None) => (first.len_utf8(), &rest[..first.len_utf8()]),
            };
            let (old, after) = rest.split_at(length);
            changes.replace(old, new);
            bound.check(changes.bytes, "normalizer")?;
            rest = after;
        }
        if changes.changed {
            text.transform(changes.characters, changes.removed_first);
        }
        Ok(())
    }

    /// The longest text at the beginning of `rest` that is kept.
    fn kept(&self, rest: &str) -> Option<&str> {
        let kept = self.kept.get(rest.as_bytes().first()?)?;
        let found = kept.iter().find(|text| rest.starts_with(*text));
        found.map(String::as_str)
    }

    /// The longest beginning of `rest` in the map: its length, and the new text.
    fn longest(&self, rest: &str) -> Option<(usize, &str)> {
        let mut place = self.units.first()?.offset();
        let mut longest = None;
        for (end, &byte) in (1..).zip(rest.as_bytes()) {
            place ^= usize::from(byte);
            let unit = *self.units.get(place)?;
            if unit.label() != u32::from(byte) {
                break;
            }
            place ^= unit.offset();
            if unit.has_value() && rest.is_char_boundary(end) {
                longest = Some((end, self.units.get(place)?.value()));
            }
        }
        let (length, start) = longest?;
        let text = self.texts.get(start..)?.split('\0').next()?;
        Some((length, text))
    }
}

/// The characters of a new text, each with the change of their number against the old one.
#[derive(Debug, Default)]
struct Changes {
    characters: Vec<(char, isize)>,
    /// The number of characters of the old text that were removed before the first new one.
    removed_first: usize,
    changed: bool,
    /// The number of bytes of the new text.
    bytes: usize,
}

impl Changes {
    fn replace(&mut self, old: &str, new: &str) {
        self.changed |= old != new;
        self.bytes += new.len();
        let n_old = old.chars().count();
        let n_new = new.chars().count();
        let change = |place: usize| isize::from(place >= n_old);
        self.characters.extend(new.chars().zip(0..).map(|(one, place)| (one, change(place))));
        if n_new < n_old {
            let removed = n_old - n_new;
            match self.characters.last_mut() {
                Some((_, change)) => *change -= removed as isize,
                None => self.removed_first += removed,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use attentive_base::random::Random;

    use super::*;

    /// The trie of the strings `a` to `B`, `ab` to nothing, and `é` to `ee`.
    fn map(kept: &[&str]) -> Charsmap {
        let mut units = vec![0u32; 1024];
        let node =
            |label: u32, offset: u32, has_value: bool| label | offset << 10 | u32::from(has_value) << 8;
        let value = |text: u32| 1 << 31 | text;
        units[0] = node(0, 256, false);
        units[256 ^ 0x61] = node(0x61, (256 ^ 0x61) ^ 512, true);
        units[512] = value(0);
        units[512 ^ 0x62] = node(0x62, (512 ^ 0x62) ^ 640, true);
        units[640] = value(1);
        units[256 ^ 0xC3] = node(0xC3, (256 ^ 0xC3) ^ 768, false);
        units[768 ^ 0xA9] = node(0xA9, (768 ^ 0xA9) ^ 900, true);
        units[900] = value(3);
        let mut bytes = 4096u32.to_le_bytes().to_vec();
        bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        bytes.extend(b"B\0\0ee\0");
        let kept = kept.iter().map(|&text| text.to_owned()).collect();
        Charsmap::parse(&STANDARD.encode(bytes), kept).unwrap()
    }

    fn normalized(map: &Charsmap, text: &str) -> NormalizedString {
        let mut text = NormalizedString::from(text);
        let bound = Bound::of(text.get().len());
        map.normalize(&mut text, bound).unwrap();
        text
    }

    #[test]
    fn the_longest_text_is_replaced() {
        for (text, expected) in
            [("", ""), ("cab", "c"), ("aab", "B"), ("aba", "B"), ("ab", ""), ("xéa", "xeeB"), ("éab", "ee")]
        {
            assert_eq!(normalized(&map(&[]), text).get(), expected, "{text}");
        }
    }

    #[test]
    fn kept_texts_are_not_changed() {
        let map = map(&["ab", "abé", "c"]);
        assert_eq!(normalized(&map, "abab").get(), "abab");
        assert_eq!(normalized(&map, "abéa").get(), "abéB");
    }

    #[test]
    fn new_text_knows_where_it_comes_from() {
        let text = normalized(&map(&[]), "abxéya");
        assert_eq!(text.get(), "xeeyB");
        let original = |range: std::ops::Range<usize>| {
            let range = tokenizers::tokenizer::normalizer::Range::Normalized(range);
            text.get_range_original(range).unwrap().to_owned()
        };
        assert_eq!([0..1, 1..3, 3..4, 4..5].map(original), ["x", "é", "y", "a"]);
    }

    #[test]
    fn damaged_maps_are_refused_or_harmless() {
        let whole = map(&[]);
        let mut bytes = 4096u32.to_le_bytes().to_vec();
        bytes.extend(whole.units.iter().flat_map(|unit| unit.0.to_le_bytes()));
        bytes.extend(whole.texts.as_bytes());
        let mut random = Random::new(1, 0);
        for _ in 0..3000 {
            let mut damaged = bytes.clone();
            damaged.truncate(random.below(bytes.len() * 2));
            for _ in 0..random.below(4) {
                if let Some(place) = damaged.len().checked_sub(1) {
                    damaged[random.below(place + 1)] = random.below(256) as u8;
                }
            }
            if let Ok(map) = Charsmap::parse(&STANDARD.encode(damaged), Vec::new()) {
                let mut text = NormalizedString::from("abaéxab\0");
                let _ = map.normalize(&mut text, Bound::of(10));
            }
        }
    }
}
