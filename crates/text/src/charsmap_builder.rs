//! Compiles the normalization of a learned tokenizer for SentencePiece.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Value, json};
use tokenizers::{NormalizedString, Normalizer};
use yada::builder::DoubleArrayBuilder;

use super::format::{ignorable_normalizer, space_normalizers};
use super::growth::flattened;
use super::normalizer::NormalizerSteps;

/// Compiles the `normalizer` of a tokenizer that was learned here as a map of SentencePiece (Kudo and
/// Richardson 2018, section 3.3), by which the longest match at each position is rewritten. White space
/// becomes a blank. Rules from and to characters that are not in `alphabet` are left out: the text is unknown
/// with and without them.
///
/// # Errors
/// Names a step that learned tokenizers do not have.
pub fn compiled_normalization(normalizer: &Value, alphabet: &BTreeSet<char>) -> Result<Vec<u8>, String> {
    let steps = steps_of_characters(normalizer)?;
    let normalized = |text: &str| -> Result<String, String> {
        let mut text = NormalizedString::from(text);
        steps.normalize(&mut text).map_err(|error| error.to_string())?;
        Ok(text.get().to_owned())
    };
    let is_known = |text: &str| text.chars().all(|c| c == ' ' || alphabet.contains(&c));
    let mut rules: BTreeMap<String, String> = BTreeMap::new();
    for c in assigned() {
        let one = c.to_string();
        for from in [vec![one.clone()], decompositions(&one)].concat() {
            let to = if c.is_whitespace() { " ".to_owned() } else { normalized(&from)? };
            // A mark that is removed in some places only may be part of a token.
            let is_token = to.is_empty() && is_known(&from);
            let is_needed = is_known(&to) || from.chars().any(|c| alphabet.contains(&c));
            if from != to && is_needed && !is_token {
                rules.insert(from, to);
            }
        }
    }
    written(&rules)
}

/// Refuses a `normalizer` that [`compiled_normalization`] does not compile.
///
/// # Errors
/// See [`compiled_normalization`].
pub fn check_normalization(normalizer: &Value) -> Result<(), String> {
    steps_of_characters(normalizer).map(drop)
}

/// All characters but those of planes without any.
fn assigned() -> impl Iterator<Item = char> {
    ('\u{1}'..'\u{32400}').chain('\u{e0000}'..'\u{e1000}')
}

/// The ways in which the character `one` may be spelled with marks of their own, all or only the last ones.
fn decompositions(one: &str) -> Vec<String> {
    let parts: Vec<char> = NormalizedString::from(one).nfd().get().chars().collect();
    (1..parts.len())
        .map(|n| {
            let beginning: String = parts[..n].iter().collect();
            let rest: String = parts[n..].iter().collect();
            NormalizedString::from(beginning).nfc().get().to_owned() + &rest
        })
        .collect()
}

/// The steps that treat each letter with its marks by itself: all but those for blanks.
fn steps_of_characters(normalizer: &Value) -> Result<NormalizerSteps, String> {
    let blanks = space_normalizers();
    let mut steps = Vec::new();
    for step in flattened(normalizer, "normalizers") {
        let kind = step["type"].as_str().unwrap_or_default();
        if ["NFC", "NFKC", "Lowercase"].contains(&kind) || *step == ignorable_normalizer() {
            steps.push(step.clone());
        } else if !blanks.contains(step) {
            return Err(format!("its normalization has the step `{kind}`"));
        }
    }
    let steps = json!({"type": "Sequence", "normalizers": steps});
    serde_json::from_value(steps).map_err(|error| error.to_string())
}

/// The map as SentencePiece stores it: the size of the trie in bytes, the trie, and the new texts, each of
/// which ends with a zero.
fn written(rules: &BTreeMap<String, String>) -> Result<Vec<u8>, String> {
    let (mut texts, mut starts) = (String::new(), HashMap::new());
    let mut keys = Vec::with_capacity(rules.len());
    for (from, to) in rules {
        let start = *starts.entry(to).or_insert_with(|| {
            let start = texts.len() as u32;
            texts.push_str(to);
            texts.push('\0');
            start
        });
        keys.push((from, start));
    }
    let trie = DoubleArrayBuilder::build(&keys).map_err(|error| error.to_string())?;
    Ok([&(trie.len() as u32).to_le_bytes()[..], &trie, texts.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use attentive_base::random::Random;
    use attentive_config::{Normalization, TokenizerConfig};
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::charsmap::Charsmap;
    use crate::format::normalizers;
    use crate::growth::Bound;

    #[test]
    fn texts_are_rewritten_as_by_the_steps() {
        const PARTS: [&str; 24] = [
            "a",
            "B",
            "é",
            "e\u{301}",
            "ế",
            "ê\u{301}",
            "e\u{302}\u{301}",
            "ﬁ",
            "Ａ",
            "㎏",
            "½",
            " ",
            "\t",
            "\u{a0}",
            "\u{3000}",
            "\u{ad}",
            "\u{200b}",
            "가",
            "\u{1100}\u{1161}",
            "각",
            "가\u{11a8}",
            "Å",
            "漢",
            "!",
        ];
        let alphabet: BTreeSet<char> = "abeéêếfikgA½Bå가각漢!12⁄Å".chars().collect();
        for (normalization, lowercase) in [
            (Normalization::None, false),
            (Normalization::Nfc, false),
            (Normalization::Nfkc, false),
            (Normalization::Nfkc, true),
        ] {
            let config = TokenizerConfig { normalization, lowercase, ..TokenizerConfig::default() };
            let file = json!({"type": "Sequence", "normalizers": normalizers(&config)});
            let map = compiled_normalization(&file, &alphabet).unwrap();
            let map = Charsmap::parse(&STANDARD.encode(&map), Vec::new()).unwrap();
            let steps: NormalizerSteps = serde_json::from_value(file).unwrap();
            let mut random = Random::new(1, 0);
            for _ in 0..2000 {
                let text: String = (0..random.below(8)).map(|_| *random.choose(&PARTS)).collect();
                let [mut by_map, mut by_steps] = [(); 2].map(|()| NormalizedString::from(text.as_str()));
                map.normalize(&mut by_map, Bound::of(text.len())).unwrap();
                steps.normalize(&mut by_steps).unwrap();
                // SentencePiece removes these blanks itself.
                let blanks = |text: &str| {
                    text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
                };
                let is_known = by_steps.get().chars().all(|c| c == ' ' || alphabet.contains(&c));
                if is_known {
                    assert_eq!(blanks(by_map.get()), blanks(by_steps.get()), "{normalization:?} {text:?}");
                }
            }
        }
    }

    #[test]
    fn other_normalizations_are_refused() {
        let file = json!({"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "StripAccents"}]});
        let problem = compiled_normalization(&file, &BTreeSet::new()).unwrap_err();
        assert!(problem.contains("`StripAccents`"), "{problem}");
    }
}
