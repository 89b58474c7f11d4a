//! What holds of every generated pair.

use std::collections::{HashMap, HashSet};

use super::{Example, PartOfSpeech, generate, generate_unseen, reverse_between};
use crate::config::BuiltinTask::{Grammar, Reverse};

fn check_form(example: &Example) {
    let sides = [
        (&example.src, &example.src_tokens, &example.src_tags),
        (&example.tgt, &example.tgt_tokens, &example.tgt_tags),
    ];
    for (text, tokens, tags) in sides {
        assert_eq!(tokens.len(), tags.len(), "{text}");
        assert_eq!(tokens.concat(), text.replace(' ', ""), "{text}");
        assert!(!text.contains("  ") && text.trim() == text, "{text:?}");
        for (token, &tag) in tokens.iter().zip(tags) {
            let is_mark = [".", "?", ","].contains(&token.as_str());
            assert_eq!(
                is_mark,
                tag == PartOfSpeech::Punctuation,
                "{token} in {text}"
            );
        }
    }
}

#[test]
fn grammar_sentences_are_well_formed() {
    for example in generate(Grammar, 11, 20_000) {
        check_form(&example);
        for text in [&example.src, &example.tgt] {
            let n_words = text.split(' ').count();
            assert!((3..=25).contains(&n_words), "{n_words} words: {text}");
            assert!(text.ends_with(['.', '?']), "{text}");
            assert!(text.starts_with(char::is_uppercase), "{text}");
            assert!(!text.contains(" ,") && !text.contains(",,"), "{text}");
        }
        for (token, &tag) in example.tgt_tokens.iter().zip(&example.tgt_tags) {
            if matches!(tag, PartOfSpeech::Noun | PartOfSpeech::ProperNoun) {
                assert!(token.starts_with(char::is_uppercase), "{token}");
            }
        }
    }
}

#[test]
fn the_target_is_a_function_of_the_source() {
    let mut targets = HashMap::new();
    for example in generate(Grammar, 12, 200_000) {
        let target = targets
            .entry(example.src.clone())
            .or_insert(example.tgt.clone());
        assert_eq!(*target, example.tgt, "two targets of {:?}", example.src);
    }
}

#[test]
fn sentences_seldom_repeat() {
    let examples = generate(Grammar, 13, 100_000);
    let distinct: HashSet<&str> = examples
        .iter()
        .map(|example| example.src.as_str())
        .collect();
    assert!(
        distinct.len() > 95_000,
        "{} distinct of 100000",
        distinct.len()
    );
}

#[test]
fn the_vocabulary_is_wide_and_used() {
    let examples = generate(Grammar, 14, 20_000);
    let mut vocabularies = [HashSet::new(), HashSet::new()];
    let mut tags: HashSet<PartOfSpeech> = HashSet::new();
    for example in &examples {
        vocabularies[0].extend(example.src_tokens.iter().map(|token| token.to_lowercase()));
        vocabularies[1].extend(example.tgt_tokens.iter().map(|token| token.to_lowercase()));
        tags.extend(&example.src_tags);
        tags.extend(&example.tgt_tags);
    }
    for vocabulary in &vocabularies {
        assert!(vocabulary.len() >= 300, "{} words", vocabulary.len());
    }
    assert_eq!(tags.len(), 14, "every part of speech occurs");
    assert!(tags.contains(&PartOfSpeech::Particle) && PartOfSpeech::Particle.as_str() == "PART");
}

#[test]
fn a_seed_says_all_and_a_prefix_stays() {
    for task in [Grammar, Reverse] {
        let examples = generate(task, 15, 300);
        assert_eq!(examples, generate(task, 15, 300));
        assert_eq!(examples[..100], generate(task, 15, 100));
        assert_ne!(examples[..100], generate(task, 16, 100));
    }
}

#[test]
fn unseen_sources_are_new_and_distinct() {
    let seen: HashSet<String> = generate(Grammar, 17, 20_000)
        .into_iter()
        .map(|example| example.src)
        .collect();
    let unseen = generate_unseen(Grammar, 17, 2_000, &seen);
    assert_eq!(unseen.len(), 2_000);
    let sources: HashSet<&String> = unseen.iter().map(|example| &example.src).collect();
    assert_eq!(sources.len(), 2_000);
    assert!(sources.iter().all(|source| !seen.contains(*source)));
    assert_eq!(unseen[..50], generate_unseen(Grammar, 17, 50, &seen));
}

#[test]
fn reversal_reverses_digits_of_every_length() {
    let mut lengths = HashSet::new();
    for example in generate(Reverse, 18, 2_000) {
        check_form(&example);
        let mut digits = example.src_tokens.clone();
        digits.reverse();
        assert_eq!(digits.join(" "), example.tgt);
        assert!(
            example
                .src_tags
                .iter()
                .all(|&tag| tag == PartOfSpeech::Numeral)
        );
        lengths.insert(digits.len());
    }
    assert_eq!(lengths, (5..=40).collect());
}

#[test]
fn reversal_takes_lengths() {
    let lengths: HashSet<usize> = reverse_between(19, 200, 2..=4)
        .iter()
        .map(|example| example.src_tokens.len())
        .collect();
    assert_eq!(lengths, (2..=4).collect());
    assert_eq!(reverse_between(19, 1, 1..=1)[0].src.len(), 1);
}

#[test]
#[should_panic(expected = "lengths must be a range above 0")]
fn reversal_refuses_empty_sequences() {
    reverse_between(1, 1, 0..=3);
}
