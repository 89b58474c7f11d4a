//! Tests of the division of HTML into segments and of the parts that are kept.

use super::{texts, unchanged};
use crate::{Document, Split, TranslatedSegment};

fn read(html: &str) -> Document {
    Document::html(html, Split::Nowhere, |_| true).unwrap()
}

#[test]
fn fragments_come_back_as_fragments() {
    for (html, segments) in [
        ("", vec![]),
        ("Hello", vec!["Hello"]),
        ("  Hello world\n", vec!["Hello world"]),
        ("<p>Hello <a href=\"https://x.y/?a=1&b=2\">world</a></p>", vec!["Hello world"]),
        ("<p>One</p><p>Two</p>tail", vec!["One", "Two", "tail"]),
        ("<LI CLASS=x>One<li>Two", vec!["One", "Two"]),
        ("<tr><td>cell</td></tr>", vec!["cell"]),
        ("a &amp; b &lt;c&gt;", vec!["a & b"]),
        (
            "<!DOCTYPE html><html><head><title>T &amp; U</title></head><body>B</body></html>",
            vec!["T & U", "B"],
        ),
        ("<p>one<p>two</p></p>", vec!["one", "two"]),
        ("<div>\n  <p> <b>bold</b> </p>\n</div>", vec!["bold"]),
    ] {
        let document = read(html);
        assert_eq!(texts(&document), segments, "{html}");
        assert_eq!(unchanged(&document), html);
    }
}

#[test]
fn whitespace_collapses_in_segments_only() {
    let document = read("<p>\n  many \t\r\n words<br>\n  here </p>\n\n<p>x</p>");
    assert_eq!(texts(&document), ["many words here", "x"]);
    assert_eq!(unchanged(&document), "<p>\n  many words <br>here </p>\n\n<p>x</p>");
}

#[test]
fn entities_are_decoded_and_escaped_again() {
    let document = read("10&nbsp;km &lt;b&gt; &quot;caf&eacute;&quot; &#x1F600; a & b");
    assert_eq!(texts(&document), ["10\u{a0}km \"café\" 😀 a & b"]);
    assert_eq!(
        unchanged(&document),
        "10&#160;km &lt;b&gt; \"café\" 😀 a &amp; b",
        "these are entities of XML, too"
    );
    let document = read("<p>&nbsp;x&nbsp;</p>");
    assert_eq!(texts(&document), ["x"]);
    assert_eq!(unchanged(&document), "<p>&#160;x&#160;</p>");
}

#[test]
fn what_is_not_text_is_never_translated() {
    for html in [
        "<script>if (a < b) { alert('x &amp; y </b>') }</script>",
        "<style>p > a { color: red }</style>",
        "<pre>  kept  <b>as</b> is </pre>",
        "<textarea>a < b</textarea>",
        "<p>&nbsp;</p>",
        "<p>– … 🙂</p>",
        "<!-- a comment > -->",
        "<div translate=no>a<p>b</p></div>",
        "<div class='x notranslate y'>a</div>",
        "<svg><text>a</text><title>b</title></svg>",
        "<code>unclosed? no</code>",
        "<p TRANSLATE='NO'>a</p>",
        "<iframe>a <b> c</iframe>",
        "<img alt=\"words > here\" title='more'>",
        "<script>never closed",
        "<p translate=no>until the next block",
    ] {
        let document = read(html);
        assert_eq!(texts(&document), [""; 0], "{html}");
        assert_eq!(document.render(&[]), html);
    }
    let document = read("<p translate=no>kept<p>read</p> class=\"notranslate\"");
    assert_eq!(texts(&document), ["read", "class=\"notranslate\""]);
    assert_eq!(texts(&read("<p class=notranslated translate=yes>a</p>")), ["a"]);
}

#[test]
fn posts_of_social_networks_are_read() {
    let html = concat!(
        r#"<p><span class="h-card" translate="no"><a href="https://m.example/@bob" class="u-url mention">@"#,
        r#"<span>bob</span></a></span> see <a href="https://example.com/a/long/path" rel="nofollow">"#,
        r#"<span class="invisible">https://</span><span class="ellipsis">example.com/a</span>"#,
        r#"<span class="invisible">/long/path</span></a> about <a href="https://m.example/tags/rust">#"#,
        r#"<span>Rust</span></a>!</p>"#,
    );
    let document = read(html);
    assert_eq!(texts(&document), ["see about #Rust!"]);
    assert_eq!(unchanged(&document), html);
    let document = read("<p>the <a href=x>https://x.y is a link</a></p>");
    assert_eq!(texts(&document), ["the is a link"]);
}

#[test]
fn templates_and_tables_are_blocks() {
    let html = "<template><p>a <b>b</b></p></template><table><tr><th>c<td>d<caption>e</table>";
    let document = read(html);
    assert_eq!(texts(&document), ["a b", "c", "d", "e"]);
    assert_eq!(unchanged(&document), html);
}

/// Inline elements with blocks inside separate texts, but not those with blocks in what is kept.
#[test]
fn blocks_in_what_is_kept_separate_nothing() {
    for (html, segments) in [
        ("<a href=x>read <svg><title>icon</title></svg> more</a>", &["read more"][..]),
        ("<b>one <span translate=no><p>x</p></span> two</b>", &["one two"]),
        ("<b>one <code><div>x</div></code> two <i>three</i></b>", &["one two three"]),
        ("<b>one <p>two</p> three</b>", &["one", "two", "three"]),
        ("<i><b><div>one</div></b> two</i>", &["one", "two"]),
    ] {
        let document = read(html);
        assert_eq!(texts(&document), segments, "{html}");
        assert_eq!(unchanged(&document), html);
    }
}

#[test]
fn two_line_breaks_separate_segments() {
    let html = "one<br>two<br>\n<br/>three<br>";
    let document = read(html);
    assert_eq!(texts(&document), ["one two", "three"]);
    assert_eq!(unchanged(&document), "one <br>two<br>\n<br/>three<br>");
}

#[test]
fn long_blocks_are_divided_into_sentences() {
    let html = "<p>One <b>two. Three</b> four. Five <i>six.</i></p>";
    let document = Document::html(html, Split::Nowhere, |text| text.split_whitespace().count() <= 2).unwrap();
    assert_eq!(texts(&document), ["One two.", "Three four.", "Five six."]);
    assert_eq!(unchanged(&document), html);
    let swapped = |text: &str| TranslatedSegment { text: text.into(), alignment: vec![(0, 1), (1, 0)] };
    assert_eq!(
        document.render(&[swapped("2. 1"), swapped("4 3."), swapped("6 5.")]),
        "<p><b>2. 1 4 3</b>. <i>6</i> 5.</p>",
        "an element over two sentences goes around what lies between its words"
    );
}

#[test]
fn segments_tell_whether_they_need_an_alignment() {
    for (html, needed) in [
        ("<p>plain</p>", false),
        ("<p><b>all of it</b><br></p>", false),
        ("<p>some <b>of</b> it</p>", true),
        ("<p>a<br>b</p>", true),
        ("<p><b>a</b> c</p>", true),
        ("<p>un<b>believ</b>able</p>", true),
        ("<p>a word<!-- end --></p>", false),
    ] {
        assert_eq!(read(html).segments()[0].needs_alignment, needed, "{html}");
    }
    let html = "<p><b>One two.</b> Three four.</p>";
    let document = Document::html(html, Split::Nowhere, |text| text.len() < 15).unwrap();
    assert!(document.segments().iter().all(|s| !s.needs_alignment));
}
