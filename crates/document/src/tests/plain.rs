use attentive_base::ignorable::without_ignorable;
use attentive_base::random::Random;

use super::{texts, unchanged};
use crate::{Document, Split, TranslatedSegment};

/// True if `text` has at most `most` words.
fn words(most: usize) -> impl Fn(&str) -> bool {
    move |text| text.split_whitespace().count() <= most
}

#[test]
fn lines_are_segments_and_blanks_are_kept() {
    let source = "\u{feff}One line. Two sentences.\r\n\r\n\t Two \n\rThree\u{2028}Four  ";
    let document = Document::text(source, Split::Lines, |_| true);
    assert_eq!(texts(&document), ["One line. Two sentences.", "Two", "Three", "Four"]);
    assert_eq!(unchanged(&document), source);
    let translations: Vec<TranslatedSegment> = ["a", "b", "c", "d"]
        .map(|text| TranslatedSegment { text: text.into(), ..TranslatedSegment::default() })
        .into();
    assert_eq!(document.render(&translations), "\u{feff}a\r\n\r\n\t b \n\rc\u{2028}d  ");
    assert!(document.segments().iter().all(|s| !s.needs_alignment));
}

#[test]
fn a_text_without_words_has_no_segments() {
    for source in ["", "\n", " \r\n\t\n", "\u{feff}", "\u{a0}\u{2029}"] {
        let document = Document::text(source, Split::Lines, |_| false);
        assert!(document.segments().is_empty(), "{source:?}");
        assert_eq!(document.render(&[]), source);
    }
}

#[test]
fn long_lines_are_divided_into_sentences() {
    let source = "He came. She saw!  They won?\u{3000}Yes. short";
    let document = Document::text(source, Split::Lines, words(3));
    assert_eq!(
        texts(&document),
        ["He came.", "She saw!", "They won?", "Yes. short"],
        "no sentence ends before a small letter"
    );
    assert_eq!(unchanged(&document), source);
    assert_eq!(texts(&Document::text("你好。世界！", Split::Lines, |t| t.len() < 12)), ["你好。", "世界！"]);
}

#[test]
fn abbreviations_do_not_end_a_sentence() {
    for whole in [
        "Mr. Smith met Dr. J. R. Jones.",
        "Das ist z. B. Berlin am 3. Oktober.",
        "Siehe z.B. Abb. 3 und Nr. Sieben (vgl. Anhang).",
        "The U.S. Army, e.g. Gen. Lee.",
        "Il a vu Mme. Dupont.",
    ] {
        let source = format!("{whole} And one more follows here.");
        let most = whole.split_whitespace().count();
        let document = Document::text(&source, Split::Lines, words(most));
        assert_eq!(texts(&document), [whole, "And one more follows here."]);
    }
}

#[test]
fn long_sentences_are_divided_at_clauses_then_at_blanks() {
    let source = "when it rained, all of us went home, and slept";
    let document = Document::text(source, Split::Lines, words(7));
    assert_eq!(texts(&document), ["when it rained,", "all of us went home, and slept"]);
    let document = Document::text("one two three four", Split::Lines, words(2));
    assert_eq!(texts(&document), ["one two", "three four"]);
    assert_eq!(unchanged(&document), "one two three four");
}

#[test]
fn words_are_divided_only_if_nothing_else_helps() {
    let document = Document::text("aaaaaaaa bb", Split::Lines, |text| text.len() <= 4);
    assert_eq!(texts(&document), ["aaaa", "aaaa", "bb"]);
    let document = Document::text("漢字漢字", Split::Lines, |text| text.chars().count() <= 2);
    assert_eq!(texts(&document), ["漢字", "漢字"]);
    // Not even a character fits.
    let document = Document::text("e\u{301}x", Split::Lines, |_| false);
    assert_eq!(texts(&document), ["e\u{301}", "x"]);
}

#[test]
fn random_text_comes_back_unchanged() {
    const PARTS: &[&str] = &[
        "a", "Word", " ", "  ", "\n", "\r\n", ". ", "! ", ", ", "。", "漢", "Dr.", "z. B.", "\u{a0}",
        "\u{2028}", "\0", "🇩🇪", "e\u{301}", "\u{feff}", "...", "\t", "«", "»", "3.",
    ];
    for seed in 0..2000 {
        let mut random = Random::new(seed, 0);
        let source: String = (0..random.below(60)).map(|_| *random.choose(PARTS)).collect();
        let most = random.below(20);
        let fits = |text: &str| text.len() <= most;
        let document = Document::text(&source, Split::Lines, fits);
        let read = |text: &str| without_ignorable(text).into_owned();
        assert_eq!(read(&unchanged(&document)), read(&source));
        for text in texts(&document) {
            let is_trimmed = !text.is_empty() && text.trim() == text && !text.contains(['\n', '\r']);
            assert!(is_trimmed, "{text:?} of {source:?}");
        }
        let whole = Document::text(&source, Split::Lines, |_| true);
        let is_whole = |text: &&&str| fits(text) && !source.contains('\u{feff}');
        for text in texts(&whole).iter().filter(is_whole) {
            assert!(texts(&document).contains(text), "{text:?} was divided");
        }
    }
}

#[test]
fn a_long_line_without_blanks_is_divided_quickly() {
    let source = "x".repeat(200_000);
    let document = Document::text(&source, Split::Lines, |text| text.len() <= 100);
    assert!(texts(&document).iter().all(|text| text.len() <= 100));
    assert!(document.segments().len() <= 4096);
    assert_eq!(unchanged(&document), source);
}
