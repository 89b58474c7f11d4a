//! Tests of the division of XML into segments and of the parts that are kept.

use std::collections::HashSet;

use super::{texts, unchanged};
use crate::{Document, Split, TranslatedSegment, XmlTags};

fn read_with(xml: &str, tags: &XmlTags) -> Document {
    Document::xml(xml, Split::Sentences, tags, |_| true).unwrap_or_else(|error| panic!("{xml}: {error}"))
}

fn read(xml: &str) -> Document {
    read_with(xml, &XmlTags::default())
}

/// Each comes back as it is, and has these segments.
#[test]
fn every_element_has_its_own_text() {
    for (xml, segments) in [
        ("<r><a>Two men walk.</a><b>A dog runs.</b></r>", &["Two men walk.", "A dog runs."][..]),
        ("<r><a>Two men walk</a><b>A dog runs</b></r>", &["Two men walk", "A dog runs"]),
        ("<r>\n <a>Two men walk</a>\n <b>A dog runs</b>\n</r>", &["Two men walk", "A dog runs"]),
        ("<r><p>Two men</p><p>A dog</p></r>", &["Two men", "A dog"]),
        (
            "<resources><string name=\"a\">Settings</string><string name=\"b\">Sign in</string></resources>",
            &["Settings", "Sign in"],
        ),
        ("<tu><tuv><seg>Two men</seg></tuv><tuv><seg>A dog</seg></tuv></tu>", &["Two men", "A dog"]),
        ("<channel><title>Two men</title><link>here</link><item/></channel>", &["Two men", "here"]),
        ("<doc><sec>Two men<sub>1</sub></sec><sec>A dog</sec></doc>", &["Two men1", "A dog"]),
        ("<p>Two <b>men</b> walk</p>", &["Two men walk"]),
        ("<p>Two <b><i>men</i></b> walk</p>", &["Two men walk"]),
        ("<p>Two <b><i>men</i> <u>walk</u></b> home</p>", &["Two men walk home"]),
        ("<p>Three:<l><i>one</i><i>two</i></l></p>", &["Three:", "one", "two"]),
        ("<p><b>Two men</b></p>", &["Two men"]),
        ("<Doc><A>Two men</A><a>walk</a></Doc>", &["Two men", "walk"]),
        ("<doc><img>Two men</img> walk.</doc>", &["Two men walk."]),
        ("<doc><script>A dog runs.</script></doc>", &["A dog runs."]),
        ("<doc><br/>A dog runs.<br/></doc>", &["A dog runs."]),
        ("<doc><br></br>A dog runs.</doc>", &["A dog runs."]),
        ("<doc><tr>Two men</tr><td>A dog</td></doc>", &["Two men", "A dog"]),
        ("<doc><title>Two <b>men</b> walk.</title></doc>", &["Two men walk."]),
        ("<doc><textarea>Two men</textarea><style>A dog</style></doc>", &["Two men", "A dog"]),
        ("<doc><param>Two men</param><wbr>A dog</wbr></doc>", &["Two men", "A dog"]),
        ("<doc><base>Two</base><track>A</track><embed>B</embed><hr>C</hr></doc>", &["Two", "A", "B", "C"]),
        ("<a:doc xmlns:a=\"urn:x\"><a:t>Two men</a:t><a:t>A dog</a:t></a:doc>", &["Two men", "A dog"]),
        ("<doc><![CDATA[A dog runs > now]]></doc>", &["A dog runs > now"]),
        ("<doc>Two <![CDATA[<men> & dogs]]> walk</doc>", &["Two & dogs walk"]),
        ("<doc><?pi a=\"b>c\"?>A dog runs.</doc>", &["A dog runs."]),
        ("<doc a=\"1>2\">A dog<!-- > --> runs.</doc>", &["A dog runs."]),
        ("<doc>Two &amp;lt; men &lt; three</doc>", &["Two men < three"]),
        ("<doc>Two men]]&gt; walk</doc>", &["Two men]]> walk"]),
        ("<?xml version=\"1.0\" encoding=\"UTF-16\"?>\n<doc>A dog</doc>\n", &["A dog"]),
        (
            "<!DOCTYPE doc [<!ELEMENT doc (#PCDATA)> <!ENTITY e \"x\">]><doc>A dog &e; runs.</doc>",
            &["A dog runs."],
        ),
        ("A dog <x>runs</x>", &["A dog runs"]),
        ("<x>A dog</x><y>runs</y>", &["A dog", "runs"]),
        ("<p:x>A dog</p:x>", &["A dog"]),
        ("<p>a &#8211; b</p>", &["a – b"]),
        ("<p> </p><p/>", &[]),
        ("", &[]),
    ] {
        let document = read(xml);
        assert_eq!(texts(&document), segments, "{xml}");
        let expected = xml.replace("&#8211;", "–");
        assert_eq!(unchanged(&document), expected, "{xml}");
    }
}

#[test]
fn what_is_not_well_formed_is_refused_with_its_place() {
    for (xml, place) in [
        ("<a>b", "line 1, column 1: the element `a` has no end tag"),
        ("<a>\n b</c>", "line 2, column 3"),
        ("a & b", "line 1, column 3"),
        ("a < b", "line 1, column"),
        ("<a b=1/>", "line 1, column"),
        ("<a b='1' b='2'/>", "line 1, column"),
        ("<a b='<'/>", "line 1, column"),
        ("&nbsp;", "line 1, column"),
        ("<!-- a -- b -->", "line 1, column"),
        ("a ]]> b", "line 1, column"),
        ("</a>", "line 1, column"),
        ("</r><r>", "line 1, column"),
        ("<1/>", "line 1, column"),
        ("<a>\u{1}</a>", "line 1, column"),
        ("<a><![CDATA[b</a>", "line 1, column"),
        ("<?xml version='1.0'?><a/><b/>", "line 1, column"),
        ("<?xml version='1.0'?>", "line 1, column"),
    ] {
        let error = Document::xml(xml, Split::Sentences, &XmlTags::default(), |_| true).unwrap_err();
        assert!(error.to_string().contains("the XML is not well-formed: "), "{xml}: {error}");
        assert!(error.to_string().contains(place), "{xml}: {error}");
    }
}

#[test]
fn clients_say_what_elements_are() {
    let names = |names: &[&str]| -> HashSet<String> { names.iter().map(|&name| name.into()).collect() };
    let xml = "<r><a>Two men</a><x:b>walk</x:b> <c>home</c></r>";
    for (tags, segments) in [
        (XmlTags { ignored: names(&["a", "b"]), ..XmlTags::default() }, &["home"][..]),
        (XmlTags { non_splitting: names(&["a", "b", "c"]), ..XmlTags::default() }, &["Two menwalk home"]),
        (XmlTags { outline_detection: false, ..XmlTags::default() }, &["Two menwalk home"]),
        (
            XmlTags { outline_detection: false, splitting: names(&["x:b"]), ..XmlTags::default() },
            &["Two men", "walk", "home"],
        ),
    ] {
        let document = read_with(xml, &tags);
        assert_eq!(texts(&document), segments, "{tags:?}");
        assert_eq!(unchanged(&document), xml, "{tags:?}");
    }
    let xml = "<p>See <k translate='no'>the <b>dog</b></k> run, <i its:translate=\"no\">now</i>.</p>";
    let document = read(xml);
    assert_eq!(texts(&document), ["See run,."]);
    assert_eq!(unchanged(&document), xml);
}

#[test]
fn what_a_translation_says_is_escaped() {
    let render = |xml: &str, text: &str| {
        let translated = TranslatedSegment { text: text.into(), alignment: Vec::new() };
        read(xml).render(&[translated])
    };
    assert_eq!(render("<a>b</a>", "<x> & ]]> \u{a0}"), "<a>&lt;x&gt; &amp; ]]&gt; &#160;</a>");
    assert_eq!(render("<a><![CDATA[b]]></a>", "1 ]]> <2>"), "<a><![CDATA[1 ]]]]><![CDATA[> <2>]]></a>");
    assert_eq!(render("<a>b</a>", "c\u{1}d\u{fffe}e\tf"), "<a>cde\tf</a>", "XML has no such characters");
}

/// Each takes linear time.
#[test]
fn large_and_deep_documents_are_read_or_refused() {
    let many = 100_000;
    let nested =
        |name: &str| format!("{}x{}", format!("<{name}>").repeat(many), format!("</{name}>").repeat(many));
    let prefixes: String = (0..20_000).map(|n| format!("<p{n}:a/>")).collect();
    let attributes: String = (0..50_000).map(|n| format!(" a{n}='x'")).collect();
    for (xml, is_read) in [
        (nested("a"), false),
        (nested("p:a"), false),
        (format!("b {}", nested("a")), false),
        ("<a/>".repeat(many), true),
        (format!("b {}", "<a/>".repeat(many)), true),
        ("<!---->".repeat(many), true),
        ("<![CDATA[]]>".repeat(many), true),
        ("&lt;".repeat(many), true),
        ("<a>".repeat(many), false),
        ("</a>".repeat(many), false),
        (format!("<a{attributes}>x</a>"), true),
        (format!("<a b='{}'/>", "x".repeat(2_000_000)), true),
        (prefixes, true),
    ] {
        let start = xml.chars().take(40).collect::<String>();
        let read = Document::xml(&xml, Split::Sentences, &XmlTags::default(), |_| true);
        assert_eq!(read.is_ok(), is_read, "{start}: {:?}", read.err());
        if let Ok(document) = read {
            assert!(unchanged(&document).len() + 10 >= xml.len() / 4, "{start}");
        }
    }
    let bomb = "<!DOCTYPE a [<!ENTITY a 'xxxxxxxxxx'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'><!ENTITY c \
                '&b;&b;&b;&b;&b;&b;&b;&b;'><!ENTITY d '&c;&c;&c;&c;&c;&c;&c;&c;'><!ENTITY e \
                '&d;&d;&d;&d;&d;&d;&d;&d;'><!ENTITY f '&e;&e;&e;&e;&e;&e;&e;&e;'>]><a>&f;&f;&f;</a>";
    let _ = Document::xml(bomb, Split::Sentences, &XmlTags::default(), |_| true);
}

/// Regression test: entities were expanded, however large they are.
#[test]
fn entities_are_not_expanded() {
    let large = "x".repeat(100_000);
    let xml = format!("<!DOCTYPE a [<!ENTITY e \"{large}\">]><a b=\"{0}\">Two {0}</a>", "&e;".repeat(20_000));
    assert_eq!(texts(&read(&xml)), ["Two"]);
    assert_eq!(unchanged(&read(&xml)), xml);
}

#[test]
fn what_is_kept_may_have_parts_that_are_translated() {
    for (source, segments) in [
        ("<d translate=\"no\"><a>one</a><b translate=\"yes\">two</b><c>three</c></d>", &["two"][..]),
        (
            "<d translate=\"no\">one <b translate=\"yes\">two <i translate=\"no\">x</i></b> three</d>",
            &["two"],
        ),
        (
            "<d>one <b translate=\"no\">x <i translate=\"yes\">two</i> y</b> three</d>",
            &["one", "two", "three"],
        ),
        ("<?xml\tversion=\"1.0\"?><d>one</d>", &["one"]),
    ] {
        let document = read(source);
        assert_eq!(texts(&document), segments, "{source}");
        assert_eq!(unchanged(&document), source);
    }
    for (source, segments) in [
        (
            "<div translate=no><p>one</p><p translate=yes>two</p>x <b translate=yes>three</b> y</div>",
            &["two", "three"][..],
        ),
        (
            "<div class=notranslate>a<div translate=yes>b<div translate=no>c<p translate=yes>d</p></div></div></div>e",
            &["b", "d", "e"],
        ),
        ("a <code translate=yes>b</code>", &["a b"]),
        ("<span translate=no><p translate=yes>a</p></span>", &["a"]),
        ("x <span translate=no>keep <em translate=yes>a</em></span> y", &["x", "a", "y"]),
        ("<ul translate=no><li>Keep<li translate=yes>a b<li>Keep</ul>", &["a b"]),
    ] {
        let document = Document::html(source, Split::Paragraphs, |_| true).unwrap();
        assert_eq!(texts(&document), segments, "{source}");
        assert_eq!(unchanged(&document), source);
    }
}

/// What a client says is above what a document says.
#[test]
fn ignored_elements_have_no_parts_that_are_translated() {
    let ignored = HashSet::from(["x".to_owned()]);
    let tags = XmlTags { ignored, ..XmlTags::default() };
    let xml = "<d><x>keep <y translate=\"yes\">this</y></x><z>a dog</z></d>";
    let document = Document::xml(xml, Split::Paragraphs, &tags, |_| true).unwrap();
    assert_eq!(texts(&document), ["a dog"]);
}
