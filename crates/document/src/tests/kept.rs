//! Tests of content that is not translated: it is never glued to words, and punctuation stays where it was.

use super::{texts, translated};
use crate::{Document, Split};

const KEPT: [&str; 5] = [
    "<span translate=\"no\">John Smith</span>",
    "<code>a-b</code>",
    "<kbd>F1</kbd>",
    "<img src=a>",
    "<a href=x>https://x.y</a>",
];

/// Translates `source`, in which `K` is kept content, and checks that it becomes `expected`.
#[track_caller]
fn check(source: &str, text: &str, links: &[(usize, usize)], expected: &str) {
    for kept in KEPT {
        let html = source.replace('K', kept);
        assert_eq!(translated(&html, text, links), expected.replace('K', kept), "{html}");
    }
}

#[test]
fn what_is_kept_is_not_glued() {
    // As a model aligns whole words: the verb of the source with both parts of that of the translation.
    let links = [(0, 0), (1, 1), (2, 2), (3, 2), (3, 3)];
    for mark in [".", "!", "?", "…", "?!", "."] {
        check(
            &format!("A man is walking K{mark}"),
            &format!("Ein Mann geht spazieren{mark}"),
            &links,
            &format!("Ein Mann geht spazieren K{mark}"),
        );
    }
    // The translation lacks the mark, or has it alone.
    check("A man is walking K.", "Ein Mann geht spazieren", &links, "Ein Mann K geht spazieren");
    check("K is here.", "ist hier.", &[(0, 0), (1, 1)], "K ist hier.");
    check("Here is K", "Hier ist", &[(0, 0), (1, 1)], "Hier ist K");
    check("\"K\" is here.", "ist hier.", &[(0, 0), (1, 1)], "\"K\" ist hier.");
    // After marks that were not before it.
    check("K walks.", "Geht!", &[(0, 0)], "K Geht!");
    check("He sees K then.", "Dann sieht er.", &[(0, 2), (1, 1), (2, 0)], "K Dann sieht er.");
    check("A man (K", "Ein Mann.", &[(0, 0), (1, 1)], "Ein Mann. K");
}

#[test]
fn punctuation_stays_at_what_is_kept() {
    let links = [(0, 0), (1, 1), (2, 2), (3, 3)];
    for mark in [",", ";", ":", "!", "?", ")", "]", "\"", "”", "»"] {
        check(
            &format!("We see K{mark} then dogs."),
            &format!("Wir sehen{mark} dann Hunde."),
            &links,
            &format!("Wir sehen K{mark} dann Hunde."),
        );
    }
    for mark in ["(", "[", "\"", "„", "«"] {
        check(
            &format!("We see {mark}K dogs here."),
            &format!("Wir sehen {mark}Hunde hier."),
            &[(0, 0), (1, 1), (2, 2), (3, 2), (4, 3)],
            &format!("Wir sehen {mark}K Hunde hier."),
        );
    }
}

#[test]
fn words_attached_to_what_is_kept_stay_attached() {
    let links = [(0, 0), (1, 1)];
    check("Hello Kworld", "Hallo Welt", &links, "Hallo KWelt");
    check("see K-based things", "siehe -basierte Dinge", &[(0, 0), (1, 1), (2, 2)], "siehe K-basierte Dinge");
    check("see K's things", "siehe 's Dinge", &[(0, 0), (1, 1), (2, 2)], "siehe K's Dinge");
}

#[test]
fn several_things_are_kept_apart() {
    check("one K K two", "eins zwei", &[(0, 0), (1, 1)], "eins K K zwei");
    check("one KK two", "eins zwei", &[(0, 0), (1, 1)], "eins KK zwei");
    check("one <b>K</b> two", "eins zwei", &[(0, 0), (1, 1)], "eins <b>K</b> zwei");
}

/// Each is two sentences, which come back as they are.
#[test]
fn markup_after_a_mark_ends_a_sentence() {
    let void = ["img src=b", "input", "wbr"].map(|tag| format!("<{tag}>"));
    let full = ["code", "svg", "object", "video", "kbd"].map(|tag| format!("<{tag}>x</{tag}>"));
    let other = ["<!-- x -->", "</b><b>", "<sup>1</sup>", "<span translate=no>x</span>", "<i></i>"];
    for between in void.iter().chain(&full).map(String::as_str).chain(other) {
        for mark in [".", "!", "?", ".\""] {
            let html = format!("<b>A man walks{mark}{between}A dog runs.</b>");
            let document = Document::html(&html, Split::Sentences, |_| true).unwrap();
            let found = texts(&document);
            assert!(found.len() >= 2 && found.last().unwrap().ends_with("A dog runs."), "{html}: {found:?}");
            assert_eq!(found[0], format!("A man walks{mark}"), "{html}");
        }
    }
    for html in [
        "3.<b>5</b> km",
        "e.g.<i>this</i> one",
        "see Mr.<b>Smith</b> now",
        "a.<b>b</b>.c",
        "U.S.<i>A.</i> is",
    ] {
        let document = Document::html(html, Split::Sentences, |_| true).unwrap();
        assert_eq!(document.segments().len(), 1, "{html}: {:?}", texts(&document));
    }
}

/// A model that reads empty brackets leaves them out.
#[test]
fn brackets_around_what_is_kept_stay_around_it() {
    let links = [(0, 0), (1, 1), (2, 2)];
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("\"", "\""),
        ("„", "“"),
        ("«", "»"),
        ("'", "'"),
        ("(\"", "\")"),
        ("《", "》"),
        ("&lt;", "&gt;"),
    ] {
        let source = format!("He said {open}K{close} now.");
        check(&source, "Er sagte nun.", &links, &format!("Er sagte {open}K{close} nun."));
        let source = format!("{open}K{close} is {open}K K{close}");
        check(&source, "ist", &[(0, 0)], &format!("{open}K{close} ist {open}K K{close}"));
        let source = format!("<b>He said {open}<i>K</i>{close}, now.</b>");
        check(&source, "Er sagte, nun.", &links, &format!("<b>Er sagte {open}<i>K</i>{close}, nun.</b>"));
    }
    // With marks between, and with the blanks of French quotation marks.
    for inside in ["(K/K)", "(K, K)", "(K – K)", "[K: K…]", "«&#160;K&#160;»", "« K »", "(K; «K»)"]
    {
        check(&format!("He said {inside} now."), "Er sagte nun.", &links, &format!("Er sagte {inside} nun."));
    }
    // Not around it alone.
    check("He said (K now).", "Er sagte (nun).", &links, "Er sagte (K nun).");
    check("It's K's turn", "Es ist 's dran", &[(0, 0), (1, 2), (2, 3)], "Es ist K's dran");
    for html in ["CO<sub>2</sub>", "a word<sup>th</sup>"] {
        let document = Document::html(html, Split::Nowhere, |_| true).unwrap();
        assert!(!texts(&document)[0].ends_with(['O', 'd']), "{html}: {:?}", texts(&document));
    }
}
