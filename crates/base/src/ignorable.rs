//! Characters that are not displayed and mean nothing by themselves: zero-width spaces, soft hyphens, marks
//! of writing direction, joiners and selectors that join and select nothing.
//!
//! These are Unicode's default ignorable code points (Unicode Standard, section 5.21).

use std::borrow::Cow;
use std::fmt::Write;
use std::iter;

type Ranges = &'static [(char, char)];

/// All default ignorable code points.
const IGNORABLE: Ranges = &[
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fff8}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Scripts whose characters join each other: Arabic and its relatives, and those of South and Southeast Asia.
const JOINED: Ranges = &[
    ('\u{620}', '\u{8ff}'),
    ('\u{900}', '\u{dff}'),
    ('\u{f00}', '\u{109f}'),
    ('\u{1780}', '\u{17b3}'),
    ('\u{17b6}', '\u{17ff}'),
    ('\u{1820}', '\u{18af}'),
    ('\u{1a20}', '\u{1c4f}'),
    ('\u{1cd0}', '\u{1cff}'),
    ('\u{a840}', '\u{a8ff}'),
    ('\u{a980}', '\u{aaff}'),
    ('\u{fb50}', '\u{fdff}'),
    ('\u{fe70}', '\u{fefc}'),
    ('\u{10a00}', '\u{10fff}'),
    ('\u{11000}', '\u{11fff}'),
    ('\u{1e900}', '\u{1e95f}'),
];

/// Emoji, and signs that may be displayed as emoji.
const EMOJI: Ranges = &[
    ('\u{a9}', '\u{a9}'),
    ('\u{ae}', '\u{ae}'),
    ('\u{203c}', '\u{203c}'),
    ('\u{2049}', '\u{2049}'),
    ('\u{2122}', '\u{2122}'),
    ('\u{2139}', '\u{2139}'),
    ('\u{2190}', '\u{21ff}'),
    ('\u{2300}', '\u{23ff}'),
    ('\u{24c2}', '\u{24c2}'),
    ('\u{25a0}', '\u{27bf}'),
    ('\u{2900}', '\u{297f}'),
    ('\u{2b00}', '\u{2bff}'),
    ('\u{3030}', '\u{3030}'),
    ('\u{303d}', '\u{303d}'),
    ('\u{3297}', '\u{3299}'),
    ('\u{1f000}', '\u{1faff}'),
];

/// Signs that become keycaps.
const KEYS: Ranges = &[('#', '#'), ('*', '*'), ('0', '9')];

/// The selector of emoji.
const SELECTOR_16: char = '\u{fe0f}';

/// Letters of flags such as that of Scotland, which follow each other.
const TAGS: Ranges = &[('\u{e0020}', '\u{e007f}')];

/// An ignorable character that is kept where it shapes the characters beside it.
struct Shaping {
    chars: Ranges,
    /// What must stand before it: any of these that is not ignorable itself.
    before: &'static [Ranges],
    /// True if the selector of emoji may stand between.
    selected: bool,
    /// What must stand after it; nothing for anything.
    after: &'static [Ranges],
}

const SHAPING: &[Shaping] = &[
    // Zero-width non-joiners.
    Shaping { chars: &[('\u{200c}', '\u{200c}')], before: &[JOINED], selected: false, after: &[JOINED] },
    // Zero-width joiners of letters, and of emoji.
    Shaping { chars: &[('\u{200d}', '\u{200d}')], before: &[JOINED], selected: false, after: &[] },
    Shaping { chars: &[('\u{200d}', '\u{200d}')], before: &[EMOJI, KEYS], selected: true, after: &[EMOJI] },
    // Selectors of text or emoji; digits become keycaps.
    Shaping { chars: &[('\u{fe0e}', '\u{fe0f}')], before: &[EMOJI, KEYS], selected: false, after: &[] },
    // Variants of Han characters, mathematical signs and others.
    Shaping {
        chars: &[('\u{fe00}', '\u{fe0d}'), ('\u{e0100}', '\u{e01ef}')],
        before: &[&[
            ('\u{1000}', '\u{200a}'),
            ('\u{2200}', '\u{22ff}'),
            ('\u{2e80}', '\u{fdff}'),
            ('\u{10000}', '\u{3ffff}'),
        ]],
        selected: false,
        after: &[],
    },
    Shaping {
        chars: &[('\u{180b}', '\u{180d}'), ('\u{180f}', '\u{180f}')],
        before: &[&[('\u{1820}', '\u{18aa}')]],
        selected: false,
        after: &[],
    },
    // Fillers in syllables of old Hangul.
    Shaping {
        chars: &[('\u{1160}', '\u{1160}')],
        before: &[&[('\u{1100}', '\u{115e}')]],
        selected: false,
        after: &[],
    },
];

/// Returns `text` without the characters that are ignored where they stand.
///
/// Joiners and variation selectors are kept where they shape the letters or emoji beside them.
///
/// ```
/// use attentive_base::ignorable::without_ignorable;
///
/// assert_eq!(without_ignorable("a\u{200b} soft\u{ad}ly"), "a softly");
/// let shaped = "می\u{200c}خواهم 👩\u{200d}🚀 ❤\u{fe0f}";
/// assert_eq!(without_ignorable(shaped), shaped);
/// ```
pub fn without_ignorable(text: &str) -> Cow<'_, str> {
    if !has_ignorable(text) {
        return text.into();
    }
    examined(text).filter(|&(_, _, is_kept)| is_kept).map(|(_, c, _)| c).collect::<String>().into()
}

/// Returns each character of `text` with its place in bytes, and whether [`without_ignorable`] keeps it.
pub fn examined(text: &str) -> impl Iterator<Item = (usize, char, bool)> {
    let mut chars = text.char_indices().peekable();
    let mut before = Before::default();
    iter::from_fn(move || {
        let (place, c) = chars.next()?;
        let after = chars.peek().map(|&(_, after)| after);
        let is_kept = !is_ignorable(c) || before.is_shaped_by(c, after);
        before = before.and(c, is_kept);
        Some((place, c, is_kept))
    })
}

/// What stands before a character.
#[derive(Clone, Copy, Default)]
struct Before {
    /// A character that is not ignorable.
    base: Option<char>,
    /// True if the selector of emoji follows it, and is kept.
    selected: bool,
    /// True if letters of a flag follow it, and are kept.
    tagged: bool,
}

impl Before {
    /// Whether the ignorable character `c` changes how the characters beside it look.
    fn is_shaped_by(self, c: char, after: Option<char>) -> bool {
        let is_any = |c: char, all: &[Ranges]| all.iter().any(|ranges| is_in(c, ranges));
        let Some(base) = self.base else { return false };
        if is_in(c, TAGS) {
            return is_in(base, EMOJI) && !self.selected;
        }
        !self.tagged
            && SHAPING.iter().any(|one| {
                is_in(c, one.chars)
                    && is_any(base, one.before)
                    && (one.selected || !self.selected)
                    && (one.after.is_empty() || after.is_some_and(|after| is_any(after, one.after)))
            })
    }

    /// What stands before the character after `c`.
    fn and(self, c: char, is_kept: bool) -> Self {
        match c {
            c if !is_ignorable(c) => Self { base: Some(c), ..Self::default() },
            SELECTOR_16 if is_kept => Self { selected: true, ..self },
            c if is_kept && is_in(c, TAGS) => Self { tagged: true, ..self },
            _ => Self::default(),
        }
    }
}

/// Returns true if `text` has any ignorable character, shaping ones included.
pub fn has_ignorable(text: &str) -> bool {
    !text.is_ascii() && text.contains(is_ignorable)
}

/// Returns true if `text` has ignorable characters and nothing else but blanks.
pub fn is_only_ignorable(text: &str) -> bool {
    has_ignorable(text) && text.chars().all(|c| c.is_whitespace() || is_ignorable(c))
}

/// Returns true for a character that is not displayed by itself.
pub fn is_ignorable(c: char) -> bool {
    is_in(c, IGNORABLE)
}

/// Returns the regular expression that matches what [`without_ignorable`] removes.
pub fn pattern() -> String {
    let class = |ranges: &mut dyn Iterator<Item = (char, char)>| {
        let mut class = String::new();
        for (first, last) in ranges {
            // Writing to a string never fails.
            let _ = write!(class, r"\x{{{:X}}}-\x{{{:X}}}", u32::from(first), u32::from(last));
        }
        class
    };
    let all = class(&mut IGNORABLE.iter().copied());
    let tags = class(&mut TAGS.iter().copied());
    let emoji = class(&mut EMOJI.iter().copied());
    let mut kept = Vec::new();
    for Shaping { chars, before, selected, after } in SHAPING {
        let chars = class(&mut chars.iter().copied());
        let before = format!("[{}&&[^{all}]]", class(&mut before.iter().copied().flatten().copied()));
        let selector = format!(r"|{before}\x{{{:X}}}", u32::from(SELECTOR_16));
        let after = class(&mut after.iter().copied().flatten().copied());
        let after = if after.is_empty() { String::new() } else { format!("(?=[{after}])") };
        kept.push(format!("(?<={before}{})[{chars}]{after}", if *selected { &selector } else { "" }));
    }
    // Tags are kept or removed together.
    format!("(?<![{emoji}{tags}])[{tags}]+|(?!{})[{all}&&[^{tags}]]", kept.join("|"))
}

fn is_in(c: char, ranges: Ranges) -> bool {
    let next = ranges.partition_point(|&(first, _)| first <= c);
    next > 0 && c <= ranges[next - 1].1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shapes_nothing_goes() {
        let ignored = [
            '\u{200b}',
            '\u{200e}',
            '\u{200f}',
            '\u{2060}',
            '\u{ad}',
            '\u{202a}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{180e}',
            '\u{34f}',
            '\u{3164}',
            '\u{feff}',
            '\u{200c}',
            '\u{200d}',
            '\u{fe0f}',
            '\u{fe00}',
            '\u{e0041}',
        ];
        for c in ignored {
            assert_eq!(without_ignorable(&format!("a{c}b")), "ab", "{c:?}");
            assert_eq!(without_ignorable(&format!("{c}a {c} b{c}")), "a  b", "{c:?}");
            assert_eq!(without_ignorable(&format!("a{c}{c}{c}b{c}{c}")), "ab", "{c:?}");
            assert!(is_only_ignorable(&format!(" {c}{c}")), "{c:?}");
            assert!(!is_only_ignorable(&format!("{c}a")), "{c:?}");
        }
        for blank in ["", " ", "\u{a0}", "\u{3000}"] {
            assert!(!is_only_ignorable(blank));
        }
    }

    #[test]
    fn what_shapes_letters_and_emoji_stays() {
        for text in [
            "می\u{200c}خواهم",
            "नमस्\u{200d}ते",
            "ක්\u{200d}ෂ",
            "ه\u{200d} ",
            "👩\u{200d}🚀",
            "❤\u{fe0f}\u{200d}🔥",
            "❤\u{fe0f}",
            "1\u{fe0f}\u{20e3}",
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            "葛\u{e0100}城",
            "\u{1820}\u{180b}",
        ] {
            assert_eq!(without_ignorable(text), text, "{text:?}");
        }
        assert_eq!(without_ignorable("é\u{200c} می\u{200c} x"), "é می x");
    }

    #[test]
    fn ranges_ascend() {
        let shaping = SHAPING.iter().flat_map(|one| [&[one.chars], one.before, one.after].concat());
        for ranges in [IGNORABLE].into_iter().chain(shaping) {
            assert!(ranges.iter().all(|(first, last)| first <= last));
            assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }
}
