//! Changes of sentence pairs that make a translator robust: letter case, typing errors, missing punctuation,
//! tags.

use std::ops::Range;

use attentive_base::random::Random;
use attentive_config::AugmentationConfig;

/// The average number of characters to a typing error.
const CHARACTERS_PER_TYPO: usize = 30;
/// What ends a sentence.
const FINAL: [char; 9] = ['.', '!', '?', '…', ':', ';', '。', '！', '？'];

/// The names of tags.
const TAGS: [&str; 10] = ["a", "b", "code", "em", "g", "i", "span", "strong", "u", "x1"];
/// The maximum number of source words between two tags.
const TAGGED_WORDS: usize = 4;

/// Changes the pair of a source and its translation, whose words `links` links, by their numbers from 0.
/// Returns true if it did.
pub(super) fn augment(
    shares: &AugmentationConfig,
    src: &mut String,
    tgt: &mut String,
    links: &[[u16; 2]],
    random: &mut Random,
) -> bool {
    let before = (src.clone(), tgt.clone());
    let case = random.uniform();
    if random.chance(shares.no_final_punctuation) {
        remove_final_punctuation(src, tgt);
    }
    if random.chance(shares.typos) {
        *src = with_typos(src, random);
    }
    if case < shares.upper_case {
        (*src, *tgt) = (src.to_uppercase(), tgt.to_uppercase());
    } else if case < shares.upper_case + shares.title_case {
        (*src, *tgt) = (in_title_case(src), in_title_case(tgt));
    }
    let n_words = src.split_whitespace().count();
    // The links number the words as they were; a missing blank, letter or full stop may have changed their number.
    if random.chance(shares.inline_tags) && before.0.split_whitespace().count() == n_words {
        add_tags(src, tgt, links, random);
    }
    before.0 != *src || before.1 != *tgt
}

/// Removes the punctuation at the ends, if both have some and more than that.
fn remove_final_punctuation(src: &mut String, tgt: &mut String) {
    let is_final = |c: char| FINAL.contains(&c) || c.is_whitespace();
    let kept = [&src, &tgt].map(|text| text.trim_end_matches(is_final).len());
    if kept[0] > 0 && kept[1] > 0 && kept[0] < src.trim_end().len() && kept[1] < tgt.trim_end().len() {
        src.truncate(kept[0]);
        tgt.truncate(kept[1]);
    }
}

fn in_title_case(text: &str) -> String {
    let mut titled = String::with_capacity(text.len());
    let mut is_first = true;
    for c in text.chars() {
        if is_first && c.is_alphabetic() {
            titled.extend(c.to_uppercase());
        } else {
            titled.push(c);
        }
        is_first = c.is_whitespace();
    }
    titled
}

fn with_typos(text: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let letters: Vec<char> = chars.iter().copied().filter(|c| c.is_alphabetic()).collect();
    if letters.len() < 2 {
        return text.to_owned();
    }
    for _ in 0..chars.len().div_ceil(CHARACTERS_PER_TYPO) {
        add_typo(&mut chars, &letters, random);
    }
    chars.into_iter().collect()
}

/// Changes a letter of `chars`, or a blank; `letters` are those of the text.
fn add_typo(chars: &mut Vec<char>, letters: &[char], random: &mut Random) {
    let is_place = |place: &usize| chars[*place].is_alphabetic() || chars[*place] == ' ';
    // Numbers and marks stay as they are.
    let places: Vec<usize> = (0..chars.len()).filter(is_place).collect();
    if places.len() < 2 {
        return;
    }
    let place = *random.choose(&places);
    if chars[place] == ' ' {
        chars.remove(place);
        return;
    }
    match random.below(4) {
        0 if chars.get(place + 1).is_some_and(|next| next.is_alphabetic()) => chars.swap(place, place + 1),
        1 => chars.insert(place, chars[place]),
        2 => chars[place] = *random.choose(letters),
        _ => drop(chars.remove(place)),
    }
}

/// Puts tags around a phrase and its translation, if there is one whose words are linked to no others.
fn add_tags(src: &mut String, tgt: &mut String, links: &[[u16; 2]], random: &mut Random) {
    let (src_words, tgt_words) = (cores(src), cores(tgt));
    if src_words.is_empty() {
        return;
    }
    let first = random.below(src_words.len());
    let last = (first + random.below(TAGGED_WORDS)).min(src_words.len() - 1);
    let links = || links.iter().map(|link| link.map(usize::from));
    let inside = links().filter(|[src, _]| (first..=last).contains(src)).map(|[_, tgt]| tgt);
    let (Some(start), Some(end)) = (inside.clone().min(), inside.max()) else {
        return;
    };
    let is_closed = links().all(|[src, tgt]| {
        (start..=end).contains(&tgt) <= (first..=last).contains(&src) && tgt < tgt_words.len()
    });
    if !is_closed {
        return;
    }
    let name = random.choose(&TAGS);
    for (text, words) in [(src, &src_words[first..=last]), (tgt, &tgt_words[start..=end])] {
        text.insert_str(words[words.len() - 1].end, &format!("</{name}>"));
        text.insert_str(words[0].start, &format!("<{name}>"));
    }
}

/// The places of the words of `text`, without the punctuation around them, unless they consist of it.
fn cores(text: &str) -> Vec<Range<usize>> {
    let place = |word: &str| {
        let core = word.trim_matches(|c: char| !c.is_alphanumeric());
        let core = if core.is_empty() { word } else { core };
        let start = core.as_ptr().addr() - text.as_ptr().addr();
        start..start + core.len()
    };
    text.split_whitespace().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn augmented(shares: &AugmentationConfig, src: &str, tgt: &str) -> (String, String) {
        let (mut src, mut tgt) = (src.to_owned(), tgt.to_owned());
        augment(shares, &mut src, &mut tgt, &[], &mut Random::new(5, 5));
        (src, tgt)
    }

    #[test]
    fn both_sides_get_the_same_letter_case() {
        let upper = AugmentationConfig { upper_case: 1.0, ..Default::default() };
        assert_eq!(augmented(&upper, "a cat", "eine große"), ("A CAT".into(), "EINE GROSSE".into()));
        let title = AugmentationConfig { title_case: 1.0, ..Default::default() };
        assert_eq!(augmented(&title, "a (b) éa", "x 2y"), ("A (b) Éa".into(), "X 2y".into()));
    }

    #[test]
    fn punctuation_goes_from_both_sides_or_from_none() {
        let shares = AugmentationConfig { no_final_punctuation: 1.0, ..Default::default() };
        for ((src, tgt), (new_src, new_tgt)) in [
            (("a.", "b ."), ("a", "b")),
            (("a?!", "b。"), ("a", "b")),
            (("a.", "b"), ("a.", "b")),
            (("...", "b."), ("...", "b.")),
            (("a ", "b."), ("a ", "b.")),
        ] {
            assert_eq!(augmented(&shares, src, tgt), (new_src.into(), new_tgt.into()));
        }
    }

    #[test]
    fn typing_errors_are_few_and_only_in_the_source() {
        let shares = AugmentationConfig { typos: 1.0, ..Default::default() };
        let (src, tgt) = ("the little cat sleeps in room 1234 of the house", "die Katze schläft");
        let mut seen = std::collections::BTreeSet::new();
        for stream in 0..200 {
            let (mut new, mut same) = (src.to_owned(), tgt.to_owned());
            augment(&shares, &mut new, &mut same, &[], &mut Random::new(5, stream));
            assert_eq!(same, tgt);
            assert!(new.contains("1234"), "{new}");
            assert!(new.len().abs_diff(src.len()) <= 2, "{new}");
            seen.insert(new);
        }
        assert!(seen.len() > 150, "{}", seen.len());
        for text in ["", "1", "a", "12 34"] {
            assert_eq!(augmented(&shares, text, tgt).0, text);
        }
    }

    #[test]
    fn tags_surround_words_that_belong_together() {
        let shares = AugmentationConfig { inline_tags: 1.0, ..Default::default() };
        // "Hat" and "geschlafen" are far from each other, and "gestern" is linked to nothing.
        let (src, tgt) = ("the cat, slept well (yesterday).", "Die Katze hat gestern gut geschlafen.");
        let links = [[0, 0], [1, 1], [2, 2], [2, 5], [3, 4]];
        let mut seen = std::collections::BTreeSet::new();
        for stream in 0..500 {
            let (mut new, mut other) = (src.to_owned(), tgt.to_owned());
            let is_changed = augment(&shares, &mut new, &mut other, &links, &mut Random::new(5, stream));
            assert_eq!(is_changed, new != src);
            assert_eq!(new == src, other == tgt);
            let Some(name) = TAGS.iter().find(|name| new.contains(&format!("<{name}>"))) else { continue };
            let [start, end] = [format!("<{name}>"), format!("</{name}>")];
            let marked = [&new, &other].map(|text| {
                assert_eq!(text.matches('<').count(), 2, "{text}");
                text.replace(&start, "[").replace(&end, "]")
            });
            assert_eq!(marked.clone().map(|text| text.replace(['[', ']'], "")), [src, tgt]);
            seen.insert(marked);
        }
        let expected = [
            ["[the cat, slept well] (yesterday).", "[Die Katze hat gestern gut geschlafen]."],
            ["[the cat], slept well (yesterday).", "[Die Katze] hat gestern gut geschlafen."],
            ["[the] cat, slept well (yesterday).", "[Die] Katze hat gestern gut geschlafen."],
            ["the [cat, slept well (yesterday]).", "Die [Katze hat gestern gut geschlafen]."],
            ["the [cat, slept well] (yesterday).", "Die [Katze hat gestern gut geschlafen]."],
            ["the [cat], slept well (yesterday).", "Die [Katze] hat gestern gut geschlafen."],
            ["the cat, [slept well (yesterday]).", "Die Katze [hat gestern gut geschlafen]."],
            ["the cat, [slept well] (yesterday).", "Die Katze [hat gestern gut geschlafen]."],
            ["the cat, slept [well (yesterday]).", "Die Katze hat gestern [gut] geschlafen."],
            ["the cat, slept [well] (yesterday).", "Die Katze hat gestern [gut] geschlafen."],
        ];
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected);
    }
}
