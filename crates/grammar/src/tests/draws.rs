use std::collections::{HashMap, HashSet};

use crate::{ClauseType, Pair, TaggedSentence, draw};

/// Pairs drawn with SplitMix64.
fn pairs(seed: u64, n: usize) -> Vec<Pair> {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    (0..n).map(|_| draw(&mut next)).collect()
}

fn has(side: &TaggedSentence, words: &[&str]) -> bool {
    side.tokens.iter().any(|token| words.contains(&token.to_lowercase().as_str()))
}

#[test]
fn equal_bits_give_equal_pairs() {
    assert_eq!(pairs(1, 50), pairs(1, 50));
    assert_ne!(pairs(1, 50), pairs(2, 50));
}

#[test]
fn the_english_text_determines_the_clause_type() {
    let mut types = HashMap::new();
    for pair in pairs(3, 100_000) {
        let known = types.entry(pair.english.text.clone()).or_insert(pair.clause_type);
        assert_eq!(*known, pair.clause_type, "{}", pair.english.text);
    }
    let found: HashSet<ClauseType> = types.into_values().collect();
    assert_eq!(found.len(), ClauseType::ALL.len());
}

#[test]
fn clause_types_match_the_text() {
    for pair in pairs(4, 20_000) {
        let Pair { english, clause_type, .. } = pair;
        let is_question = english.text.ends_with('?');
        let asked = matches!(clause_type, ClauseType::YesNoQuestion | ClauseType::WhQuestion);
        assert_eq!(is_question, asked, "{}", english.text);
        let words: &[&str] = match clause_type {
            ClauseType::Statement | ClauseType::YesNoQuestion => continue,
            ClauseType::Relative => &["who", "which", "that", "whom"],
            ClauseType::Compound => &["and", "but"],
            ClauseType::Adverbial => &["because", "although", "if", "while", "when"],
            ClauseType::Reported => &["that", "whether"],
            ClauseType::WhQuestion => &["who", "whom", "what", "which", "how", "where", "when", "why"],
        };
        assert!(has(&english, words), "{clause_type:?}: {}", english.text);
    }
}
