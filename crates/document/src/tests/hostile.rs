//! Tests of input that is malformed, deep, large, or random.

use attentive_base::error::Error;
use attentive_base::random::Random;

use super::{identity, texts, unchanged};
use crate::{Document, Split, TranslatedSegment};

#[test]
fn malformed_html_comes_back() {
    for (html, segments) in [
        ("a < b", vec!["a < b"]),
        ("a <b", vec!["a"]),
        ("a <b c=\"", vec!["a"]),
        ("</b>a</p>", vec!["a"]),
        ("a</>b", vec!["ab"]),
        ("a<!-- b", vec!["a"]),
        ("a<!>b<?php c ?>d", vec!["abd"]),
        ("<p <b>a</p>", vec!["a"]),
        ("<a href='x>y' b=\"z>\">c</a>", vec!["c"]),
        ("a<![CDATA[b]]>c", vec!["ac"]),
        ("<svg><![CDATA[b>]]></svg>c", vec!["c"]),
        ("<b><i>a</b>", vec!["a"]),
        ("<b/>a", vec!["a"]),
        ("<>a", vec!["<>a"]),
        ("&notanentity; &#0; &#x110000; &", vec!["¬anentity; \u{fffd} \u{fffd} &"]),
        ("a\0b", vec!["ab"]),
        ("<title>a<, b>c", vec!["a<, b>c"]),
        ("<x-y z>a</x-y>", vec!["a"]),
        ("<ü>a", vec!["<ü>a"]),
    ] {
        let document = Document::html(html, Split::Nowhere, |_| true).unwrap();
        assert_eq!(texts(&document), segments, "{html}");
        let out = unchanged(&document);
        let again = Document::html(&out, Split::Nowhere, |_| true).unwrap();
        assert_eq!(texts(&again), segments, "{html} became {out}");
        assert_eq!(unchanged(&again), out);
    }
}

#[test]
fn line_breaks_of_any_kind_are_blanks() {
    let document = Document::html("<p>a\r\nb\rc</p>\r\n", Split::Nowhere, |_| true).unwrap();
    assert_eq!(texts(&document), ["a b c"]);
    assert_eq!(unchanged(&document), "<p>a b c</p>\r\n");
}

#[test]
fn deep_nesting_is_refused_or_kept() {
    let deep = 100_000;
    let (open, close) = ("<b>".repeat(deep), "</b>".repeat(deep));
    let error = Document::html(&format!("x {open}y{close}"), Split::Nowhere, |_| true).unwrap_err();
    assert!(matches!(error, Error::Usage { .. }));
    assert!(error.to_string().contains("256"), "{error}");
    for html in [
        format!("x {open}y"),
        format!("x{close}"),
        open,
        format!("{}x{}", "<div>".repeat(deep), "</div>".repeat(deep)),
        format!("{}x{}", "<pre>".repeat(deep), "</pre>".repeat(deep)),
        format!("{}x", "<code>".repeat(deep)),
        format!("{}x", "<script>".repeat(deep)),
        format!("{}x{}", "<b>".repeat(256), "</b>".repeat(256)),
    ] {
        let document = Document::html(&html, Split::Nowhere, |_| true).unwrap();
        assert!(unchanged(&document) == html);
    }
}

#[test]
fn much_markup_in_one_segment_is_placed() {
    for (part, times) in [
        ("<b>x</b>", 30_000),
        ("<b>x</b> ", 30_000),
        ("<br>x", 30_000),
        ("<b><i>x</b> </i>", 100),
        ("x <!-- --> ", 30_000),
    ] {
        let html = part.repeat(times);
        let document = Document::html(&html, Split::Nowhere, |_| true).unwrap();
        let out = document
            .render(&[TranslatedSegment { text: "a b c".into(), alignment: vec![(0, 0), (0, 1), (0, 2)] }]);
        assert_eq!(out.matches('<').count(), html.matches('<').count());
        let document = Document::html(&html, Split::Nowhere, |text| text.len() < 20).unwrap();
        assert_eq!(unchanged(&document).matches('<').count(), html.matches('<').count());
    }
}

#[test]
fn huge_attributes_are_kept() {
    let html = format!("<p>a <img src=\"data:{}\"> b</p>", "A>".repeat(1 << 20));
    let document = Document::html(&html, Split::Nowhere, |_| true).unwrap();
    assert_eq!(texts(&document), ["a b"]);
    assert!(unchanged(&document) == html);
}

const PARTS: &[&str] = &[
    "<p>",
    "</p>",
    "<b>",
    "</b>",
    "<i class='x'>",
    "</i>",
    "<a href=\"?a=b&c>d\">",
    "</a>",
    "<br>",
    "<br/>",
    "<img src=x>",
    "<code>",
    "</code>",
    "<script>",
    "</script>",
    "<style>",
    "<textarea>",
    "</textarea>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<table>",
    "<td>",
    "</tr>",
    "<template>",
    "</template>",
    "<svg>",
    "</svg>",
    "<title>",
    "</title>",
    "<span translate=no>",
    "</span>",
    "<div class=notranslate>",
    "</div>",
    "&amp;",
    "&lt;",
    "&nbsp;",
    "&#",
    "&x;",
    "<",
    ">",
    "\"",
    "'",
    "/",
    "=",
    "\0",
    "\r\n",
    " ",
    "  ",
    "Hello",
    " world. ",
    "Ünï",
    "漢字。",
    "Mr. X",
    "(",
    ")",
    ",",
    "\u{a0}",
    "🙂",
    "</",
    "<!",
    "<?",
    "<wbr>",
    "<ruby>",
    "<rt>",
    "</rt>",
    "</ruby>",
    "<noscript>",
    "</noscript>",
    "<plaintext>",
    "<li>",
    "<p ",
    " class=",
    " a=1 a=2",
    "/>",
    " =",
    "<a href=x>https://",
    "<option>",
    "<input>",
];

/// Parts in random order, with random characters missing, doubled or moved.
fn mutated(random: &mut Random) -> String {
    let html: String = (0..random.below(25)).map(|_| *random.choose(PARTS)).collect();
    let mut html: Vec<char> = html.chars().collect();
    for _ in 0..random.below(4) {
        if html.is_empty() {
            break;
        }
        let at = random.below(html.len());
        let other = html[random.below(html.len())];
        match random.below(3) {
            0 => drop(html.remove(at)),
            1 => html.insert(at, other),
            _ => html[at] = other,
        }
    }
    html.into_iter().collect()
}

/// The letters of all segments. Text without any is not a segment.
fn letters(document: &Document) -> String {
    let text = texts(document).concat();
    text.chars().filter(|c| c.is_alphabetic()).collect()
}

#[test]
fn random_fragments_do_no_harm() {
    let mut random = Random::new(13, 0);
    let mut segments = 0;
    for _ in 0..100_000 {
        let html = mutated(&mut random);
        let most = random.below(30) + 1;
        let fits = |text: &str| text.len() <= most;
        let document = Document::html(&html, Split::Nowhere, fits).unwrap();
        segments += document.segments().len();

        // After translation to itself, it has the same text and the same markup.
        let out = unchanged(&document);
        let again = Document::html(&out, Split::Nowhere, fits).unwrap();
        // Blanks before marks may go, and then more of an address is one.
        if !html.contains("https://") {
            assert_eq!(letters(&again), letters(&document), "{html:?} became {out:?}");
        }
        let twice = unchanged(&again);
        assert_eq!(tags(&twice), tags(&out), "{html:?} became {out:?}, then {twice:?}");

        let mut translations = identity(&document);
        for translated in &mut translations {
            for (src, tgt) in &mut translated.alignment {
                (*src, *tgt) = (random.below(5), random.below(5));
            }
        }
        assert_eq!(without_blanks(&document.render(&translations)).len(), without_blanks(&out).len());
    }
    assert!(segments > 100_000);
}

/// The number of tags and comments. Browsers ignore `</>`, which counts as text.
fn tags(html: &str) -> usize {
    html.replace("</>", "").matches('<').count()
}

fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}
