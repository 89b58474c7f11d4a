//! Tests with random markup and random alignments.

use std::collections::HashMap;
use std::fmt::Write;

use attentive_base::random::Random;

use crate::{Document, Split, TranslatedSegment};

/// Random text with nested elements, each with a number of its own.
#[derive(Default)]
struct Source {
    html: String,
    tags: usize,
    /// The element around each tag.
    parents: HashMap<usize, Option<usize>>,
}

impl Source {
    fn content(&mut self, random: &mut Random, parent: Option<usize>, depth: usize, spaced: bool) {
        for _ in 0..random.below(6 + 6 / (depth + 1)) {
            let tag = self.tags;
            match random.below(if depth < 5 { 6 } else { 3 }) {
                0 => self.html.push(' '),
                1 | 2 => self.html.push_str(random.choose::<&str>(&["w ", "ord ", "x", ". ", "(", "12 "])),
                3 => {
                    self.tags += 1;
                    self.parents.insert(tag, parent);
                    let name = if spaced { "img" } else { "wbr" };
                    write!(self.html, "<{name} n={tag}>").unwrap();
                }
                _ => {
                    self.tags += 1;
                    self.parents.insert(tag, parent);
                    let name = *random.choose(&["b", "i", "a", "b", "i", "a", "div"]);
                    write!(self.html, "<{name} n={tag}>").unwrap();
                    self.content(random, Some(tag), depth + 1, spaced);
                    write!(self.html, "</{name}>").unwrap();
                }
            }
        }
    }
}

/// Checks that the tags of `html` are nested and are those of `source`, each in the same element, and returns
/// the text.
fn checked(html: &str, source: &Source) -> String {
    let (mut text, mut open, mut seen) = (String::new(), Vec::new(), 0);
    let mut rest = html;
    while let Some((before, from)) = rest.split_once('<') {
        text.push_str(before);
        let (tag, after) = from.split_once('>').unwrap();
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            let (top, _) = open.pop().unwrap();
            assert_eq!(name, top, "{html}");
            continue;
        }
        let (name, number) = tag.split_once(" n=").unwrap();
        let number: usize = number.parse().unwrap();
        let around = open.last().map(|&(_, number)| number);
        assert_eq!(around, source.parents[&number], "{}\n{html}", source.html);
        seen += 1;
        if !["img", "wbr"].contains(&name) {
            open.push((name, number));
        }
    }
    text.push_str(rest);
    assert!(open.is_empty(), "{html}");
    assert_eq!(seen, source.tags, "{}\n{html}", source.html);
    text.replace("&#160;", "\u{a0}")
}

pub(super) fn random_translation(random: &mut Random, words: usize) -> TranslatedSegment {
    let len = random.below(12);
    let text: Vec<&str> = (0..len)
        .map(|_| *random.choose(&["one", "two.", "(", "12.", "x", "w", ".", "(x).", "a\u{a0}b"]))
        .collect();
    let text = text.join(" ");
    let len = text.split_whitespace().count();
    let links = if random.chance(0.2) { 0 } else { random.below(2 * len + 2) };
    let alignment = (0..links).map(|_| (random.below(words + 1), random.below(len + 1))).collect();
    TranslatedSegment { text, alignment }
}

/// The letters of a text. Digits without letters are kept.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphabetic()).collect()
}

fn check(seed: u64, spaced: bool) -> usize {
    let mut random = Random::new(seed, u64::from(spaced));
    let mut source = Source::default();
    source.content(&mut random, None, 0, spaced);
    let most = random.below(20) + 1;
    let document = Document::html(&source.html, Split::Nowhere, |text| text.len() <= most).unwrap();
    let segments = document.segments().iter();
    let translations: Vec<TranslatedSegment> = segments
        .map(|segment| random_translation(&mut random, segment.text.split_whitespace().count()))
        .collect();
    let text = checked(&document.render(&translations), &source);
    if document.segments().is_empty() {
        return 0;
    }
    if spaced {
        let all: String = translations.iter().map(|t| t.text.as_str()).collect();
        assert_eq!(letters(&text), letters(&all));
    } else {
        // Between segments are blanks, punctuation without words, or nothing.
        let mut rest = text.as_str();
        for translated in &translations {
            let (between, after) = rest.split_once(translated.text.as_str()).unwrap();
            assert_eq!(letters(between), "");
            rest = after;
        }
        assert_eq!(letters(rest), "");
    }
    translations.len()
}

/// As many as `ATTENTIVE_FUZZ` says, or `usual`.
pub(super) fn count(usual: u64) -> u64 {
    std::env::var("ATTENTIVE_FUZZ").map_or(usual, |count| count.parse().expect("a number"))
}

#[test]
fn every_tag_occurs_once_and_nested_and_the_text_is_the_translation() {
    let segments: usize = (0..count(20_000)).map(|seed| check(seed, false)).sum();
    assert!(segments > 20_000);
}

#[test]
fn images_change_nothing_but_blanks() {
    let segments: usize = (0..count(10_000)).map(|seed| check(seed, true)).sum();
    assert!(segments > 10_000);
}
