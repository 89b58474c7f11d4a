//! Changes of sentence pairs that make a translator robust: letter case, typing errors, missing punctuation.

use attentive_base::random::Random;
use attentive_config::AugmentationConfig;

/// The average number of characters to a typing error.
const CHARACTERS_PER_TYPO: usize = 30;
/// What ends a sentence.
const FINAL: [char; 9] = ['.', '!', '?', '…', ':', ';', '。', '！', '？'];

/// Changes the pair of a source and its translation. Returns true if it did.
pub(super) fn augment(
    shares: &AugmentationConfig,
    src: &mut String,
    tgt: &mut String,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn augmented(shares: &AugmentationConfig, src: &str, tgt: &str) -> (String, String) {
        let (mut src, mut tgt) = (src.to_owned(), tgt.to_owned());
        augment(shares, &mut src, &mut tgt, &mut Random::new(5, 5));
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
            augment(&shares, &mut new, &mut same, &mut Random::new(5, stream));
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
}
