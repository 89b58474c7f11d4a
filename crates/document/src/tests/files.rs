//! Tests of the formats of files.

use super::{identity, texts};
use crate::{Document, FileFormat, Split, TranslatedSegment};

pub(super) fn read(source: &str, format: FileFormat) -> Document {
    Document::file(source, format, Split::default(), |_| true)
        .unwrap_or_else(|error| panic!("{error}: {source}"))
}

fn shouted(document: &Document) -> String {
    let translations: Vec<TranslatedSegment> = identity(document)
        .into_iter()
        .map(|one| TranslatedSegment { text: one.text.to_uppercase(), ..one })
        .collect();
    document.render(&translations)
}

fn check(format: FileFormat, source: &str, expected_texts: &[&str], expected: &str) {
    let document = read(source, format);
    assert_eq!(texts(&document), expected_texts, "{source}");
    assert_eq!(shouted(&document), expected, "{source}");
}

#[test]
fn subtitles_keep_numbers_times_and_tags() {
    check(
        FileFormat::Srt,
        "\u{feff}1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>Hello</i> there,\r\nyou two.\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\n{\\an8}- Who? - Me.\r\n- Go on!\r\n\r\n",
        &["Hello there, you two.", "Who?", "- Me.", "Go on!"],
        "\u{feff}1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>HELLO</i> THERE,\r\nYOU TWO.\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\n{\\an8}- WHO? - ME.\r\n- GO ON!\r\n\r\n",
    );
    check(
        FileFormat::Vtt,
        "WEBVTT - a film\n\nNOTE do not read --> this\n\nintro\n00:01.000 --> 00:02.000 align:start\n<v Ann>R&amp;D is <c.loud>fun</c>\n\nSTYLE\n::cue { color: red }\n",
        &["R&D is fun"],
        "WEBVTT - a film\n\nNOTE do not read --> this\n\nintro\n00:01.000 --> 00:02.000 align:start\n<v Ann>R&amp;D IS <c.loud>FUN</c>\n\nSTYLE\n::cue { color: red }\n",
    );
}

/// Subtitles as they are found: without blank lines between them, with blank lines in them, with line ends of
/// any system, songs, readings of characters.
#[test]
fn unusual_subtitles_are_read() {
    let head = |number: usize| format!("{number}\n00:00:0{number},000 --> 00:00:0{number},500\n");
    let two = format!("{}a man\n{}a dog\n", head(1), head(2));
    check(
        FileFormat::Srt,
        &two,
        &["a man", "a dog"],
        &two.replace("a man", "A MAN").replace("a dog", "A DOG"),
    );
    for end in ["\r", "\r\n"] {
        let source = format!("{}a\nb\n\n{}c", head(1), head(2)).replace('\n', end);
        let expected = source.replace('a', "A").replace('b', "B").replace('c', "C");
        check(FileFormat::Srt, &source, &["a b", "c"], &expected);
    }
    let blank = format!("{}a\n\nb\n\n{}c\n\n3\n", head(1), head(2));
    let expected = blank.replace('a', "A").replace('b', "B").replace('c', "C");
    check(FileFormat::Srt, &blank, &["a", "b", "c"], &expected);
    let song = format!("{}♪ la la ♪\n♪ lu ♪\n- x --> y\n", head(1));
    let document = read(&song, FileFormat::Srt);
    assert_eq!(texts(&document), ["la la", "lu", "x --> y"]);
    assert_eq!(document.render(&identity(&document)), song.replace("x -->", "x --→"));
    let ruby = "WEBVTT\n\n00:01.000 --> 00:02.000\n<ruby>a<rt>b</rt></ruby> c\n00:03.000 --> 00:04.000\nd\n";
    let expected = ruby.replace("<ruby>a", "<ruby>A").replace(" c", " C").replace("\nd", "\nD");
    check(FileFormat::Vtt, ruby, &["a c", "d"], &expected);
}

#[test]
fn escapes_of_catalogs_are_read() {
    let source = r#"msgid "\x41 b\303\xa4\a\tc\\n\q"
msgstr ""
"#;
    let document = read(source, FileFormat::Po);
    assert!(document.render(&identity(&document)).ends_with("msgstr \"A bä\\a c\\\\nq\"\n"));
    assert_eq!(texts(&document), ["A bä\u{7} c\\nq"]);
}

#[test]
fn catalogs_are_filled_where_they_are_empty() {
    let source = "# c\nmsgid \"\"\nmsgstr \"\"\n\"Language: de\\n\"\n\n#: a.c:1\n#, c-format\nmsgid \"Open \\\"%s\\\"\"\nmsgstr \"\"\n\nmsgctxt \"menu\"\nmsgid \"\"\n\"Two\\n\"\n\"lines\"\nmsgstr \"\"\n\nmsgid \"done\"\nmsgstr \"fertig\"\n\nmsgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"\"\nmsgstr[1] \"\"\n\n#~ msgid \"old\"\n#~ msgstr \"\"\n";
    let document = read(source, FileFormat::Po);
    assert_eq!(texts(&document), ["Open", "Two", "lines", "file", "files"]);
    let shouted = shouted(&document);
    for part in [
        "msgid \"Open \\\"%s\\\"\"\nmsgstr \"OPEN \\\"%s\\\"\"",
        "\"lines\"\nmsgstr \"TWO\\nLINES\"",
        "msgstr \"fertig\"",
        "msgstr[0] \"%d FILE\"\nmsgstr[1] \"%d FILES\"",
        "\"Language: de\\n\"\n",
        "#~ msgstr \"\"\n",
    ] {
        assert!(shouted.contains(part), "{part}: {shouted}");
    }
}

#[test]
fn strings_of_json_are_translated_and_keys_are_not() {
    check(
        FileFormat::Json,
        "{\n  \"title\": \"Hello {name}!\",\n  \"@title\": {\"description\": \"kept\"},\n  \"n\": [1, \"a \\\"b\\\" \\u00fc\", null, \"10\\/30\"],\n  \"m\": {\"message\": \"text\", \"description\": \"kept too\", \"placeholders\": {\"x\": {\"content\": \"$1\"}}},\n  \"e\": \"\"\n}\n",
        &["Hello!", "a \"b\" ü", "text"],
        "{\n  \"title\": \"HELLO {name}!\",\n  \"@title\": {\"description\": \"kept\"},\n  \"n\": [1, \"A \\\"B\\\" Ü\", null, \"10\\/30\"],\n  \"m\": {\"message\": \"TEXT\", \"description\": \"kept too\", \"placeholders\": {\"x\": {\"content\": \"$1\"}}},\n  \"e\": \"\"\n}\n",
    );
}

/// Messages with forms, each of which is a text.
#[test]
fn forms_of_messages_are_translated() {
    let message = "{n, plural, offset:1 one {# man walks.} other {{g, select, f {she} other {they {x}}}}}";
    let shouted = "{n, plural, offset:1 one {# MAN WALKS.} other {{g, select, f {SHE} other {THEY {x}}}}}";
    check(
        FileFormat::Json,
        &format!("{{\"a\": \"{message}\"}}"),
        &["man walks.", "she", "they"],
        &format!("{{\"a\": \"{shouted}\"}}"),
    );
    let po = format!("msgid \"{message}\"\nmsgstr \"\"\n");
    check(
        FileFormat::Po,
        &po,
        &["man walks.", "she", "they"],
        &po.replace("\"\"", &format!("\"{shouted}\"")),
    );
    // The sign for the number stays in plural forms.
    let count = "{n, plural, one {There is # man} other {# are # men}}";
    let document = read(&format!("[\"{count}\"]"), FileFormat::Json);
    assert_eq!(texts(&document), ["There is man", "are men"]);
    assert_eq!(document.render(&identity(&document)), format!("[\"{count}\"]"));
    // Within a sentence, and unbalanced.
    check(FileFormat::Json, &format!("[\"a {message}\"]"), &["a"], &format!("[\"A {message}\"]"));
    check(FileFormat::Json, "[\"{n, plural, one {a\"]", &["{n, plural, one {a"], "[\"{N, PLURAL, ONE {A\"]");
    let deep = format!("[\"{}a{}\"]", "{n,plural,other{".repeat(30_000), "}}".repeat(30_000));
    assert_eq!(read(&deep, FileFormat::Json).render(&[]), deep);
}

#[test]
fn targets_of_xliff_are_filled_where_they_are_empty() {
    check(
        FileFormat::Xliff,
        "<?xml version=\"1.0\"?>\n<xliff version=\"1.2\"><file><body>\n<trans-unit id=\"1\"><source>Open <g id=\"1\">file</g> <x id=\"2\"/></source></trans-unit>\n<trans-unit id=\"2\"><source>Done</source><target>Fertig</target></trans-unit>\n<trans-unit id=\"3\"><source>No &amp; yes</source><target state=\"new\"/><note>n</note></trans-unit>\n<trans-unit id=\"4\" translate=\"no\"><source>Kept</source></trans-unit>\n</body></file></xliff>\n",
        &["Open file", "No & yes"],
        "<?xml version=\"1.0\"?>\n<xliff version=\"1.2\"><file><body>\n<trans-unit id=\"1\"><source>Open <g id=\"1\">file</g> <x id=\"2\"/></source><target>OPEN <g id=\"1\">FILE</g> <x id=\"2\"/></target></trans-unit>\n<trans-unit id=\"2\"><source>Done</source><target>Fertig</target></trans-unit>\n<trans-unit id=\"3\"><source>No &amp; yes</source><target state=\"new\">NO &amp; YES</target><note>n</note></trans-unit>\n<trans-unit id=\"4\" translate=\"no\"><source>Kept</source></trans-unit>\n</body></file></xliff>\n",
    );
    check(
        FileFormat::Xliff,
        "<xliff version=\"2.0\"><file id=\"f\"><unit id=\"1\"><segment><source>A <ph id=\"1\"/>dog <pc id=\"2\">runs</pc>.</source></segment></unit></file></xliff>",
        &["A dog runs."],
        "<xliff version=\"2.0\"><file id=\"f\"><unit id=\"1\"><segment><source>A <ph id=\"1\"/>dog <pc id=\"2\">runs</pc>.</source><target>A <ph id=\"1\"/>DOG <pc id=\"2\">RUNS</pc>.</target></segment></unit></file></xliff>",
    );
}

#[test]
fn xliff_keeps_what_is_protected() {
    let unit = |content: &str| format!("<xliff><trans-unit>{content}</trans-unit></xliff>");
    let protected = unit("<source>a <mrk mtype=\"protected\">b</mrk> c</source>");
    let target = "</source><target>A <mrk mtype=\"protected\">b</mrk> C</target>";
    check(FileFormat::Xliff, &protected, &["a c"], &protected.replace("</source>", target));
    let comment = unit("<source>a</source><target state=\"new\"><!-- b --></target>");
    check(FileFormat::Xliff, &comment, &["a"], &comment.replace("--></", "-->A</"));
    let cdata = unit("<source>a</source><target><![CDATA[]]></target>");
    check(FileFormat::Xliff, &cdata, &["a"], &cdata.replace("<![CDATA[]]>", "A"));
    let prefix = "<x:xliff xmlns:x=\"x\"><x:trans-unit><x:source>a</x:source></x:trans-unit></x:xliff>";
    let filled = prefix.replace("</x:source>", "</x:source><x:target>A</x:target>");
    check(FileFormat::Xliff, prefix, &["a"], &filled);
    let asked = "<xliff><file translate=\"no\"><trans-unit><source>a</source></trans-unit><trans-unit translate=\"yes\"><source>b</source></trans-unit></file></xliff>";
    check(FileFormat::Xliff, asked, &["b"], &asked.replace("b</source>", "b</source><target>B</target>"));
}

/// Regression test: two sources once shared a target, which was written twice.
#[test]
fn a_second_source_is_kept() {
    let xliff = "<xliff><trans-unit><source>a</source><source>b</source><target/></trans-unit></xliff>";
    let expected = xliff.replace("<target/>", "<target>A</target>");
    check(FileFormat::Xliff, xliff, &["a"], &expected);
}

#[test]
fn markdown_keeps_its_structure() {
    check(
        FileFormat::Markdown,
        "---\ntitle: x\n---\n# A *big* title {#id}\n\nText with `code`, a [link](https://a.example \"t\") and\na [name].\n\n- [ ] one\n- two **three**\n  four\n\n> quoted\n> lines\n\n```sh\nnot this\n```\n\n| a | b |\n|---|---|\n| c d | `e` |\n\n<p align=\"center\">centered <b>text</b></p>\n\n![image](x.png) 1\\. no list \\* x[^1] <kbd>key</kbd> ***both***\n\n[^1]: a note\n\n[name]: https://b.example\n",
        &[
            "A big title",
            "Text with, a link and a name.",
            "one",
            "two three four",
            "quoted lines",
            "a",
            "b",
            "c d",
            "centered text",
            "1. no list * x both",
            "a note",
        ],
        "---\ntitle: x\n---\n# A *BIG* TITLE {#id}\n\nTEXT WITH `code`, A [LINK](https://a.example \"t\") AND A [NAME][name].\n\n- [ ] ONE\n- TWO **THREE** FOUR\n\n> QUOTED LINES\n\n```sh\nnot this\n```\n\n| A | B |\n|---|---|\n| C D | `e` |\n\n<p align=\"center\">CENTERED <b>TEXT</b></p>\n\n![image](x.png) 1. NO LIST \\* X[^1] <kbd>key</kbd> ***BOTH***\n\n[^1]: A NOTE\n\n[name]: https://b.example\n",
    );
}

/// Each comes back as it is.
#[test]
fn markdown_keeps_what_is_escaped() {
    for source in [
        "Write &lt;div&gt; here or \\<div> there",
        "\\<b>x\\</b> y",
        "1\\. no list",
        "\\# no heading",
        "\\* no item",
        "| a\\|b | {x\\|y} |\n|---|---|\n| c `d\\|e` | f |\n",
        "a \\{name\\} b ${x_y} %1$s c https://a.example/x_y_z d",
        "a &amp;nbsp; b",
        "A man https://a.example/&nGt;、 and b",
        "See https://a.b/&nGt; a",
        "A man <pre>a dog</pre> walks <p translate=\"no\">a cat</p> b",
    ] {
        let document = read(source, FileFormat::Markdown);
        assert_eq!(document.render(&identity(&document)), source);
    }
}

/// Translates the only segment of `source`, whose text is `read`, to `text`.
#[track_caller]
fn check_markdown(source: &str, read_as: &str, text: &str, alignment: &[(usize, usize)], expected: &str) {
    let document = read(source, FileFormat::Markdown);
    assert_eq!(texts(&document), [read_as], "{source}");
    let translated = TranslatedSegment { text: text.into(), alignment: alignment.to_vec() };
    assert_eq!(document.render(&[translated]), expected, "{source}");
}

#[test]
fn markdown_within_lines() {
    // What would begin a block of HTML does not come first in a line.
    check_markdown("a <!-- c --> b", "a b", "B A", &[(0, 1), (1, 0)], "B<!-- c --> A");
    // Spans of code are not joined.
    check_markdown("Use `a`/`b` now", "Use / now", "Jetzt nun", &[(0, 0), (2, 1)], "Jetzt `a` `b` nun");
    check_markdown("**x** / **y**", "x / y", "xy", &[(0, 0)], "**xy**");
    // Elements that forbid translation.
    for kept in ["<span translate=\"no\">b *c*</span>", "<i class='x notranslate'>b</i>", "<kbd>b</kbd>"] {
        check_markdown(&format!("a {kept} d"), "a d", "A D", &[(0, 0), (1, 1)], &format!("A {kept} D"));
    }
    check_markdown("a<br>b", "a b", "A B", &[(0, 0), (1, 1)], "A <br>B");
    check_markdown(
        "a man<sup>1</sup> walks",
        "a man walks",
        "A B C",
        &[(0, 0), (1, 1), (2, 2)],
        "A B<sup>1</sup> C",
    );
}

#[test]
fn files_that_are_not_of_their_format_are_refused() {
    for (format, source, words) in [
        (FileFormat::Json, "{\"a\": }", "line 1"),
        (FileFormat::Json, "not", "JSON"),
        (FileFormat::Po, "msgid \"a\nmsgstr \"\"\n", "line 1"),
        (FileFormat::Po, "msgidx \"a\"\n", "`msgidx`"),
        (FileFormat::Po, "\"a\"\n", "keyword"),
        (FileFormat::Xliff, "<xliff><file></xliff>", "line 1"),
        (FileFormat::Xml, "<a>", "end tag"),
        (FileFormat::Xml, "", "no element"),
        (FileFormat::Xml, "text", "no element"),
        (FileFormat::Xliff, "<a/>", "no element `xliff`"),
        (FileFormat::Srt, "a text", "no line has times"),
        (FileFormat::Vtt, "1\n00:01.000 --> 00:02.000\na\n", "WEBVTT"),
    ] {
        let error = Document::file(source, format, Split::default(), |_| true).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    for (path, format) in [
        ("a/film.SRT", Some(FileFormat::Srt)),
        ("film.srt.gz", Some(FileFormat::Srt)),
        ("a.json.zst", Some(FileFormat::Json)),
        ("a.gz", None),
        ("a", None),
        ("a.csv", None),
    ] {
        assert_eq!(FileFormat::of_path(path.as_ref()).unwrap(), format, "{path}");
    }
    assert!(FileFormat::of_path("a.docx.gz".as_ref()).is_err());
    for name in ["docx", ".pdf", "x"] {
        let error = name.parse::<FileFormat>().unwrap_err();
        assert!(format!("{error} {:?}", error.hint()).contains(".srt"), "{error}");
    }
    for format in FileFormat::ALL {
        for extension in format.extensions() {
            assert_eq!(extension.parse::<FileFormat>().unwrap(), format);
        }
    }
}
