//! Tests of parts that are no language.

use super::{identity, texts};
use crate::{DividedText, Document, Segmentation, Split, TranslatedSegment, placeables};

#[test]
fn placeables_are_found_and_nothing_else() {
    for (text, expected) in [
        ("Hello {name}!", &["{name}"][..]),
        ("{0:.2f} of {total!r}", &["{0:.2f}", "{total!r}"]),
        ("{{user.name}} and {% if x %}", &["{{user.name}}", "{% if x %}"]),
        ("${x} #{x} %{x} $name", &["${x}", "#{x}", "%{x}", "$name"]),
        ("%s of %1$s, %-5.2lf%%", &["%s", "%1$s", "%-5.2lf", "%%"]),
        ("%d%s v%d", &["%d", "%s", "%d"]),
        ("%(name)s %1 %L2 %PATH%", &["%(name)s", "%1", "%L2", "%PATH%"]),
        ("{n, plural, one {# man} other {# men}} run", &["{n, plural, one {# man} other {# men}}"]),
        ("a <0>b</0> c<br/> <a href=\"x y\">d</a>", &["<0>", "</0>", "<br/>", "<a href=\"x y\">", "</a>"]),
        ("R&amp;D &#x20;", &["&amp;", "&#x20;"]),
        ("see https://a.example/x?y=1&z=2#f.", &["https://a.example/x?y=1&z=2#f"]),
        ("(https://en.wikipedia.org/wiki/A_(b))", &["https://en.wikipedia.org/wiki/A_(b)"]),
        (
            "www.example.org, example.org/a and mailto:a@b.de",
            &["www.example.org", "example.org/a", "mailto:a@b.de"],
        ),
        ("Write to first.last+tag@mail.example.org!", &["first.last+tag@mail.example.org"]),
        ("@user@host.example and @other :smile:", &["@user@host.example", "@other", ":smile:"]),
        ("$NAME$ $t(key, {{count}}) and $name.", &["$NAME$", "$t(key, {{count}})", "$name"]),
        ("{ name } {first name} {x.y[0]}", &["{ name }", "{first name}", "{x.y[0]}"]),
        (
            "{0:yyyy-MM-dd HH:mm} {price:,.2f} {:,} {d:%Y-%m-%d} {0,10:N2} {:>10} {x!r:>4}",
            &[
                "{0:yyyy-MM-dd HH:mm}",
                "{price:,.2f}",
                "{:,}",
                "{d:%Y-%m-%d}",
                "{0,10:N2}",
                "{:>10}",
                "{x!r:>4}",
            ],
        ),
        (
            "a {n, plural,\n one {{g, select, f {{x} her} other {# {y}}}}\n other {a}} b {d, date}",
            &["{n, plural,\n one {{g, select, f {{x} her} other {# {y}}}}\n other {a}}", "{d, date}"],
        ),
        (
            "{{a | date: 'x'}} {{{b}}} {%- raw -%} ${a {b}}",
            &["{{a | date: 'x'}}", "{{{b}}}", "{%- raw -%}", "${a {b}}"],
        ),
        (
            "%Y-%m-%d at %H:%M, %<PRIu64> of %#@files@ %1$#@x@ %B",
            &["%Y-%m-%d", "%H:%M", "%<PRIu64>", "%#@files@", "%1$#@x@", "%B"],
        ),
        ("%dMB of %sth", &["%d", "%s"]),
        (
            "On example.com or shop.example.co.uk, 192.168.0.1:8080 and localhost:80/x",
            &["example.com", "shop.example.co.uk", "192.168.0.1:8080", "localhost:80/x"],
        ),
        (
            "Enter <file name> or <user-name> <b disabled class=x>",
            &["<file name>", "<user-name>", "<b disabled class=x>"],
        ),
        ("♪ La la ♪", &["♪", "♪"]),
        ("- a man", &["-"]),
        ("1. a man\n 12) a dog\n(a) a cat\n• x\nb) y", &["1.", "12)", "(a)", "•", "b)"]),
        ("Choose (a) or (ii).", &["(a)", "(ii)"]),
        ("10%(unit)s 1%1$s", &["%(unit)s", "%1$s"]),
        ("%dpx %dms %dMB, %s", &["%d", "%d", "%d", "%s"]),
        ("@taroさん、$nameさん", &["@taro", "$name"]),
        ("walks.@anna x a.b@c.de,", &["@anna", "a.b@c.de"]),
        ("On t.me/x, example.museum and a.b-c.org/d_(e).", &["t.me/x", "a.b-c.org/d_(e)"]),
        // What looks similar.
        ("The %age, %change and %off of it, std::vector::new", &[]),
        ("config.json/yaml, README.md/docs, 5.km/h, etc.and/or, $US 5", &[]),
        ("50% of it, 100%ig, 20 %discount", &[]),
        ("x<y and z>w, a < b and c > d", &[]),
        ("Sets {red, green, blue}; {a sentence in braces is no name}", &[]),
        ("{ unbalanced { braces }, plural", &["{ braces }"]),
        ("It was late.There he slept, v1.2.3 in file.txt", &[]),
        ("a < b and c > d, x <= y", &[]),
        ("It costs $5 & more; he/she and/or; e.g. this", &[]),
        ("at 10:30 (in May) a man(s) - walking", &[]),
        ("A. Smith is no. 1. He won.", &[]),
        ("5 @ 3 € {this is not one} [x] # 1", &[]),
        ("C:D: x::y", &[]),
    ] {
        assert_eq!(placeables(text), expected, "{text}");
    }
}

/// The text with each segment translated to itself in reverse, word by word.
fn reversed(document: &Document) -> String {
    let translations: Vec<TranslatedSegment> = document
        .segments()
        .iter()
        .map(|segment| {
            let words: Vec<&str> = segment.text.split_whitespace().rev().collect();
            let last = words.len().saturating_sub(1);
            TranslatedSegment {
                text: words.join(" "),
                alignment: (0..words.len()).map(|i| (i, last - i)).collect(),
            }
        })
        .collect();
    document.render(&translations)
}

#[test]
fn placeables_stay_and_are_placed_by_alignment() {
    for (source, read, expected) in [
        ("Hello {name} again", "Hello again", "{name} again Hello"),
        ("see %s", "see", "see %s"),
        ("%s men", "men", "%s men"),
        ("a {x}b c", "a b c", "c {x}b a"),
        ("He said: \"%s\" loudly", "He said: loudly", "\"%s\" loudly said: He"),
        ("- one two", "one two", "- two one"),
        ("1. one two", "one two", "1. two one"),
        // Those of next arguments keep their order, others go with their words.
        ("a %d b %s c", "a b c", "%d c %s b a"),
        ("a {} b {x} c", "a b c", "{x} c {} b a"),
        ("a %2$s b %1$s c", "a b c", "%1$s c %2$s b a"),
        ("a %<PRIu64> b %s c", "a b c", "%<PRIu64> c %s b a"),
        ("a {:.2f} b {!r} c", "a b c", "{:.2f} c {!r} b a"),
        ("one <0>two</0> three", "one two three", "three <0>two</0> one"),
    ] {
        let document = Document::text(source, Split::Lines, |_| true);
        assert_eq!(texts(&document), [read], "{source}");
        assert_eq!(document.render(&identity(&document)), source);
        if !expected.is_empty() {
            assert_eq!(reversed(&document), expected, "{source}");
        }
    }
}

/// Regression test: tags whose counterparts are in other sentences were lost.
#[test]
fn tags_around_several_sentences_stay() {
    for source in
        ["<b>A man walks. A dog runs.</b>", "A man <b>walks. A dog</b> runs.", "a <i>b</i>. C</b> d <i>e. F"]
    {
        let document = Document::text(source, Split::Sentences, |_| true);
        let solid = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(solid(&document.render(&identity(&document))), solid(source));
    }
}

/// Tags end sentences after marks, and those of blocks end texts.
#[test]
fn tags_in_text_are_where_sentences_may_end() {
    for (source, expected) in [
        ("<p>A <b>b</b>.</p><p>C.</p>", &["A b.", "C."][..]),
        ("<b>A walks.</b> B runs.", &["A walks.", "B runs."]),
        ("<b>A walks.</b><b>B runs.</b>", &["A walks.", "B runs."]),
        ("A walks.<0>B runs.</0>", &["A walks.", "B runs."]),
        ("A walks<br>B runs<br/>", &["A walks", "B runs"]),
        ("A walks!<i>B runs</i> here.", &["A walks!", "B runs here."]),
        ("<li>One</li><li>two</li>", &["One", "two"]),
        ("Mr. <b>Smith</b> runs e.g.<i>here</i>.", &["Mr. Smith runs e.g.here."]),
        ("See <b>Mr.</b> Smith.", &["See Mr. Smith."]),
        ("Hello {name}. {other} walks.", &["Hello.", "walks."]),
        ("再见。<b>你好</b>。", &["再见。", "你好。"]),
    ] {
        let document = Document::text(source, Split::Sentences, |_| true);
        assert_eq!(texts(&document), expected, "{source}");
        assert_eq!(document.render(&identity(&document)), source);
    }
}

/// Regression test: a text that is too long was cut within a character of a placeable.
#[test]
fn long_texts_are_not_cut_within_placeables() {
    for (before, placeable) in [("ab".repeat(600) + "男", "https://a.example/"), ("ab".repeat(300), "${")] {
        let source = format!("{before}{placeable}{}}} x", "ä€".repeat(900));
        let document = Document::text(&source, Split::Sentences, |text| text.chars().count() < 100);
        assert_eq!(document.render(&identity(&document)), source);
    }
}

/// Words in angle brackets are no tags.
#[test]
fn names_in_angles_end_no_text() {
    for source in
        ["Drop <table name> from it.", "A man copies <dir> to it.", "Choose <option> or <menu item> now."]
    {
        let document = Document::text(source, Split::Sentences, |_| true);
        assert_eq!(document.segments().len(), 1, "{source}: {:?}", texts(&document));
    }
    for tags in ["<x>", "<br>", "<input>"] {
        let source = format!("{}A <b>dog</b> runs.", format!("A man{tags} ").repeat(70));
        let document = Document::text(&source, Split::Nowhere, |_| true);
        assert!(reversed(&document).contains("<b>dog</b>"), "{}", reversed(&document));
    }
}

#[test]
fn what_has_no_letters_is_kept() {
    for source in [
        "12:30",
        "2024-01-31 10:00:00,000 --> 10:00:05,000",
        "1",
        "***",
        "3.14 × 10²",
        "{name}",
        "%s: %d",
        "https://example.org",
        "\u{200b}",
        "\u{feff}\u{ad}",
        "1️⃣ 😀",
    ] {
        for split in [Split::Nowhere, Split::Lines, Split::Sentences, Split::Paragraphs] {
            let document = Document::text(source, split, |_| true);
            assert!(document.segments().is_empty(), "{source}: {:?}", texts(&document));
            assert_eq!(document.render(&[]), source);
        }
        let html = Document::html(&format!("<p>{source}</p>"), Split::Paragraphs, |_| true).unwrap();
        assert!(html.segments().is_empty(), "{source}: {:?}", texts(&html));
    }
    let how = Segmentation { keep_numbers: false, ..Segmentation::default() };
    assert_eq!(texts(&Document::text("1 2 3", how, |_| true)), ["1 2 3"]);
}

#[test]
fn ignorable_characters_change_no_segment() {
    let plain = "A man walks slowly. A dog runs.";
    for c in [
        '\u{200b}', '\u{200e}', '\u{200f}', '\u{2060}', '\u{ad}', '\u{202a}', '\u{202e}', '\u{2066}',
        '\u{2069}', '\u{180e}', '\u{34f}', '\u{3164}', '\u{feff}', '\u{200c}', '\u{200d}', '\u{fe0f}',
    ] {
        let source = format!("{c}A m{c}an walks{c} slo{c}wly.{c} A {c}dog runs.{c}");
        let expected = texts(&Document::text(plain, Split::Sentences, |_| true)).join("|");
        assert_eq!(texts(&Document::text(&source, Split::Sentences, |_| true)).join("|"), expected, "{c:?}");
        let html = Document::html(&format!("<p>{source}</p>"), Split::Paragraphs, |_| true).unwrap();
        assert_eq!(texts(&html).join("|"), expected, "{c:?}");
    }
    let joined = "می\u{200c}خواهم بروم";
    assert_eq!(texts(&Document::text(joined, Split::Sentences, |_| true)), [joined]);
}

#[test]
fn divided_texts_keep_what_was_not_read() {
    let source = " 1. Hello {name}, see https://a.example.  %s?\n10:30 Bye\u{ad}bye!";
    let divided = DividedText::new(source, Split::Sentences, |_| true);
    let whole: String =
        divided.sentences().iter().map(|one| format!("{}{}", one.before, one.source)).collect();
    assert_eq!(whole + divided.after(), source);
    let read: Vec<&str> = divided.sentences().iter().map(|one| &*one.text).collect();
    assert_eq!(read, ["Hello, see.", "10:30 Byebye!"]);
    let restored: Vec<String> = divided
        .sentences()
        .iter()
        .map(|one| {
            let words = one.text.split_whitespace().count();
            let alignment = (0..words).map(|word| (word, word)).collect();
            one.restored(&TranslatedSegment { text: one.text.clone(), alignment })
        })
        .collect();
    assert_eq!(restored[0], "Hello {name}, see https://a.example.");
}

/// Regression test: tags in texts are nested as deeply as they may be in markup, and no pattern takes time
/// that grows with the square of a text.
#[test]
fn hostile_placeables_take_little_time() {
    let many = |text: &str| text.repeat(100_000 / text.len());
    for text in [
        many("<a>"),
        many("</a>"),
        many("<a>x</a>"),
        many("{{"),
        many("{n, plural, one {"),
        format!("{}{}", "{".repeat(50_000), "}".repeat(50_000)),
        format!("{}{}", "{a ".repeat(30_000), "}".repeat(30_000)),
        format!("{}{}", "{a,plural,".repeat(10_000), "}".repeat(10_000)),
        many("$t("),
        many("%Y-"),
        many("1."),
        many("a.com"),
        many("1-localhost."),
        many("1-1.1.1.1-"),
        many("a.com/"),
        many("%s"),
        many("%1$"),
        many("a@"),
        many("a.a."),
        many("https://"),
        format!("https://x{}", many(")")),
        many("&amp"),
        many("<a b="),
        many("<a b=%s "),
        many("("),
        many("1. "),
        many("- "),
        many(":a"),
        many("xwww.a."),
        many("@a.a"),
        many("%s "),
    ] {
        let html = Document::html(&text, Split::Paragraphs, |_| true)
            .unwrap_or_else(|_| Document::text("", Split::Lines, |_| true));
        html.render(&vec![TranslatedSegment::default(); html.segments().len()]);
        let document = Document::text(&format!("{text} x"), Split::Sentences, |_| true);
        let translations: Vec<_> = document.segments().iter().map(|_| TranslatedSegment::default()).collect();
        document.render(&translations);
    }
}
