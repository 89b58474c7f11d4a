//! Tests of the places of markup in a translation.

use super::{texts, translated, unchanged};
use crate::{Document, Split, TranslatedSegment};

#[test]
fn elements_follow_their_words() {
    let html = "<p>the <b>red</b> house of <a href=x>my <i>old</i> friend</a></p>";
    let text = "la maison rouge de mon vieil ami";
    let links = [(0, 0), (1, 2), (2, 1), (3, 3), (4, 4), (5, 5), (6, 6)];
    assert_eq!(
        translated(html, text, &links),
        "<p>la maison <b>rouge</b> de <a href=x>mon <i>vieil</i> ami</a></p>"
    );
    // The words of `a` come first, in another order.
    let links = [(0, 6), (1, 5), (2, 4), (3, 3), (4, 1), (5, 2), (6, 0)];
    assert_eq!(translated(html, "1 2 3 4 5 6 7", &links), "<p><a href=x>1 2 <i>3</i></a> 4 5 <b>6</b> 7</p>");
}

#[test]
fn an_element_goes_around_the_words_between_its_words() {
    assert_eq!(
        translated("<b>switch off</b> it", "schalte es aus", &[(0, 0), (1, 2), (2, 1)]),
        "<b>schalte es aus</b>"
    );
}

#[test]
fn elements_that_would_overlap_keep_most_of_their_words() {
    let html = "<b>one two three</b> <i>four five</i>";
    let links = [(0, 0), (3, 1), (1, 2), (2, 3), (4, 4)];
    assert_eq!(translated(html, "A D B C E", &links), "A <i>D</i> <b>B C</b> E");
}

#[test]
fn elements_that_share_a_word_are_not_nested() {
    let html = "the <b>car</b> <i>door</i> opens";
    let links = [(0, 0), (1, 1), (2, 1), (3, 2)];
    assert_eq!(translated(html, "die Autotür öffnet", &links), "die <b>Autotür</b> <i></i>öffnet");
}

#[test]
fn elements_without_aligned_words_keep_their_place() {
    let html = "I <b>do</b> like <i>it</i>";
    assert_eq!(translated(html, "ich mag es", &[(0, 0), (2, 1), (3, 2)]), "ich <b></b>mag <i>es</i>");
    assert_eq!(translated("a <b>b</b> c", "", &[]), "<b></b>", "an empty translation keeps the markup");
}

#[test]
fn empty_elements_go_before_the_word_that_follows_them() {
    let html = "one two.<br>three <img src=\"a>b\"> four";
    let links = [(0, 2), (1, 3), (2, 0), (3, 1)];
    assert_eq!(
        translated(html, "drei vier eins zwei.", &links),
        "<br>drei <img src=\"a>b\"> vier eins zwei."
    );
    // The word after the line break is not aligned, but the word before it is.
    assert_eq!(translated("one<br>two three", "eins drei", &[(0, 0), (2, 1)]), "eins <br>drei");
}

#[test]
fn an_element_inside_a_word_goes_around_the_word() {
    assert_eq!(
        translated("an un<b>believ</b>able story", "eine unglaubliche Story", &[(0, 0), (1, 1), (2, 2)]),
        "eine <b>unglaubliche</b> Story"
    );
}

#[test]
fn punctuation_digits_and_copied_words_stay_outside() {
    let links = [(0, 0), (1, 1)];
    for (html, text, expected) in [
        ("see <a>this</a>.", "voir ceci.", "voir <a>ceci</a>."),
        ("say (<a>this</a>)!", "dis «ceci»!", "dis «<a>ceci</a>»!"),
        ("a word<sup>[1]</sup>.", "ein Wort.", "ein Wort<sup>[1]</sup>."),
        ("about H<sub>2</sub>O", "über H2O", "über H<sub>2</sub>O"),
        ("see <a>this</a>.", "voir ceci", "voir <a>ceci</a>"),
        ("see <a>this</a>) there", "voir ceci).", "voir <a>ceci</a>)."),
        ("see (<a>this</a> there", "voir \"(ceci", "voir \"(<a>ceci</a>"),
    ] {
        assert_eq!(translated(html, text, &links), expected);
    }
}

#[test]
fn punctuation_of_the_place_stays_outside_of_what_moved_there() {
    let links = [(0, 0), (1, 2), (2, 1)];
    for (html, text, expected) in [
        ("edit <em>Foo</em> settings.", "modifica impostazioni Foo.", "modifica impostazioni <em>Foo</em>."),
        (
            "edit <em>Foo</em> settings",
            "modifica, impostazioni Foo)!",
            "modifica, impostazioni <em>Foo</em>)!",
        ),
        (
            "edit <em>Foo</em> settings",
            "modifica impostazioni \"Foo\"",
            "modifica impostazioni \"<em>Foo</em>\"",
        ),
        // An element that has the end of the sentence keeps it.
        ("edit <em>Foo settings.</em>", "modifica impostazioni Foo.", "modifica <em>impostazioni Foo.</em>"),
        ("edit Foo <em>settings.</em>", "modifica impostazioni Foo.", "modifica <em>impostazioni</em> Foo."),
        ("<em>edit</em> Foo settings", "modifica, impostazioni Foo", "<em>modifica</em>, impostazioni Foo"),
        // Punctuation of the word itself.
        ("edit <em>one</em> settings", "modifica impostazioni f(x)", "modifica impostazioni <em>f(x)</em>"),
        ("edit <em>one</em> settings", "modifica impostazioni f(),", "modifica impostazioni <em>f()</em>,"),
        ("edit <em>one</em> settings", "modifica impostazioni (s)he", "modifica impostazioni <em>(s)he</em>"),
        ("edit <em>Doctor</em> X.", "a X. Dr.", "a X. <em>Dr</em>."),
        // Punctuation alone.
        ("edit <em>one</em> settings", "modifica impostazioni (\")", "modifica impostazioni <em>(\")</em>"),
        ("edit <em>one</em> settings", "modifica impostazioni ()", "modifica impostazioni <em>()</em>"),
        ("edit <em>one</em> settings", "modifica impostazioni (.", "modifica impostazioni <em>(.</em>"),
        // Quotation marks of several languages.
        (
            "edit <em>Foo</em> settings.",
            "modifica impostazioni „Foo“.",
            "modifica impostazioni „<em>Foo</em>“.",
        ),
        (
            "edit <em>Foo</em> settings.",
            "modifica impostazioni ”Foo”.",
            "modifica impostazioni ”<em>Foo</em>”.",
        ),
        (
            "edit <em>Foo</em> settings.",
            "modifica impostazioni »Foo«!",
            "modifica impostazioni »<em>Foo</em>«!",
        ),
        ("edit <em>Foo</em> settings。", "修改 设置 「Foo」。", "修改 设置 「<em>Foo</em>」。"),
        ("edit <em>C:</em> settings", "modifica impostazioni C:", "modifica impostazioni <em>C:</em>"),
        (
            "edit <em>(Foo)</em> settings",
            "modifica impostazioni (Foo)",
            "modifica impostazioni <em>(Foo)</em>",
        ),
        ("a <em>bit</em> longer", "ancora lungo po'", "ancora lungo <em>po'</em>"),
    ] {
        assert_eq!(translated(html, text, &links), expected);
    }
}

#[test]
fn a_word_that_takes_over_punctuation_is_linked_to_the_other_word_by_that_alone() {
    let links = [(0, 0), (1, 2), (2, 1), (2, 2)];
    for (html, expected) in [
        ("edit <em>Foo</em> settings.", "modifica impostazioni <em>Foo</em>."),
        ("edit Foo <em>settings.</em>", "modifica <em>impostazioni</em> Foo."),
        ("edit <em>Foo settings.</em>", "modifica <em>impostazioni Foo.</em>"),
    ] {
        assert_eq!(translated(html, "modifica impostazioni Foo.", &links), expected);
    }
}

#[test]
fn a_word_for_several_keeps_their_elements_and_punctuation() {
    for (html, text, links, expected) in [
        ("the <b>end.</b>", "konec.", &[(0, 0), (1, 0)][..], "<b>konec.</b>"),
        ("red <b>house.</b>", "Rothaus.", &[(0, 0), (1, 0)], "<b>Rothaus.</b>"),
        ("<em>(red)</em> house", "casa (rossa)", &[(0, 1), (1, 0), (1, 1)], "casa <em>(rossa)</em>"),
        // A full stop of an abbreviation or a number.
        ("<b>doctor</b> Smith", "Dr. Smith", &[(0, 0), (1, 1)], "<b>Dr.</b> Smith"),
        ("<b>third</b> of March", "3. März", &[(0, 0), (1, 1), (2, 1)], "<b>3.</b> März"),
        // A word without a link.
        ("<b>one</b> two.", "uno, e due.", &[(0, 0), (1, 2)], "<b>uno</b>, e due."),
        // Elements in elements.
        (
            "<i>see <b>Foo</b> now.</i>",
            "ora vedi Foo.",
            &[(0, 1), (1, 2), (2, 0)],
            "<i>ora vedi <b>Foo</b>.</i>",
        ),
    ] {
        assert_eq!(translated(html, text, links), expected);
    }
}

#[test]
fn words_beside_a_copied_word_stay_outside_of_its_element() {
    let links = [(0, 0), (1, 1), (1, 2), (2, 2)];
    for (html, text, expected) in [
        ("use <b>GNOME</b> menus", "usa di GNOME menu", "usa di <b>GNOME</b> menu"),
        ("use <b>GNOME</b> menus", "usa di (GNOME), menu", "usa di (<b>GNOME</b>), menu"),
        // Not the same word, or not once.
        ("use <b>gnome</b> menus", "usa di GNOME menu", "usa <b>di GNOME</b> menu"),
        ("GNOME <b>GNOME</b> menus", "usa di GNOME menu", "usa <b>di GNOME</b> menu"),
        // An ordinary word that means something else.
        ("what <b>it</b> was", "was es war", "was <b>es war</b>"),
    ] {
        assert_eq!(translated(html, text, &links), expected);
    }
}

#[test]
fn what_is_not_translated_keeps_its_blanks() {
    let html = "Use <code>x &lt; y</code>, then <span translate=no>Foo</span> now (<kbd>F1</kbd>).";
    let document = Document::html(html, Split::Nowhere, |_| true).unwrap();
    assert_eq!(texts(&document), ["Use, then now."]);
    assert_eq!(unchanged(&document), html);
    let links = [(0, 2), (1, 1), (2, 0)];
    assert_eq!(
        translated("press <kbd>F1</kbd> to help", "Hilfe: Drücke", &links[1..]),
        "Hilfe: <kbd>F1</kbd> Drücke"
    );
    assert_eq!(
        translated("press <kbd>F1</kbd> to help", "drücke zu Hilfe", &[(0, 0), (1, 1), (2, 2)]),
        "drücke <kbd>F1</kbd> zu Hilfe"
    );
    assert_eq!(translated("Hello<img>world", "Hallo Welt", &[(0, 0), (1, 1)]), "Hallo <img>Welt");
}

#[test]
fn without_an_alignment_places_are_proportional() {
    assert_eq!(translated("<b>a b</b>", "x y z", &[]), "<b>x y z</b>");
    assert_eq!(translated("a b <b>c d</b>", "u v w x", &[]), "u v <b>w x</b>");
    assert_eq!(translated("a <b>b</b> c d", "x y", &[]), "<b>x</b> y");
    assert_eq!(translated("a <b>b</b>", "u v w x", &[]), "u v <b>w x</b>");
    assert_eq!(translated("a<br>b", "u v w x", &[]), "u v <br>w x");
    assert_eq!(
        translated("a <b>b</b>", "u v", &[(7, 0), (0, 9)]),
        "u <b>v</b>",
        "numbers of words that do not exist"
    );
}

#[test]
fn crossing_tags_come_back_nested() {
    let html = "<b>one <i>two</b> three</i> four";
    assert_eq!(translated(html, "1 2 3 4", &[(0, 0), (1, 1), (2, 2), (3, 3)]), "<b>1 <i>2 3</i></b> 4");
}

#[test]
fn tags_without_counterparts_follow_their_words() {
    let links = [(0, 2), (1, 1), (2, 0)];
    assert_eq!(translated("one <b>two three", "3 2 1", &links), "3 <b>2 1");
    assert_eq!(translated("one two</b> three", "3 2 1", &links), "3 2</b> 1");
    let html = "<b>one <p>two</p> three</b> four";
    let document = Document::html(html, Split::Nowhere, |_| true).unwrap();
    assert_eq!(texts(&document), ["one", "two", "three", "four"]);
    assert_eq!(unchanged(&document), html);
}

#[test]
fn translations_are_escaped() {
    assert_eq!(
        translated("a <b>b</b>", "<script> &lt;x\u{a0}\"", &[(0, 0), (1, 1)]),
        "&lt;script&gt; <b>&amp;lt;x</b>&#160;\""
    );
}

#[test]
#[should_panic(expected = "one translation for each segment")]
fn a_missing_translation_panics() {
    Document::text("a", Split::Lines, |_| true).render(&[] as &[TranslatedSegment]);
}
