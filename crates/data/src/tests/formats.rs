//! Columns, comma-separated values, translation memories, XLIFF, fields of objects, tags.

use attentive_config::{Column, CorpusFile, CorpusFormat, CorpusSource, LanguagePair};

use super::files::{Files, gzip, texts};
use crate::{Corpus, DataKind, Item};

fn number(n: usize) -> Column {
    Column::Number(n.try_into().unwrap())
}

fn name(name: &str) -> Column {
    Column::Name(name.into())
}

fn file(format: CorpusFormat, columns: Option<[Column; 2]>) -> CorpusSource {
    let languages =
        (format == CorpusFormat::Tmx).then(|| LanguagePair { source: "en".into(), target: "de".into() });
    CorpusSource::File(CorpusFile {
        path: "file".into(),
        format,
        columns,
        languages,
        tag: None,
        weights: None,
    })
}

fn read(content: &str, source: CorpusSource) -> Corpus {
    Files::new(&[("file", content.as_bytes())]).read(source).unwrap()
}

fn refused(content: &str, source: CorpusSource) -> String {
    Files::new(&[("file", content.as_bytes())]).read(source).unwrap_err().to_string()
}

#[test]
fn the_columns_that_are_named_are_read() {
    use CorpusFormat::{Csv, Jsonl, Tsv};
    for (format, columns, content) in [
        (Tsv, Some([number(3), number(4)]), "u\tv\ta dog\tein Hund\t0.9\nu\tv\ta cat\teine Katze\n"),
        (Tsv, Some([number(2), number(1)]), "ein Hund\ta dog\neine Katze\ta cat"),
        (Tsv, Some([name("en"), name("de")]), "id\tde\ten \n7\tein Hund\ta dog\n8\teine Katze\ta cat\n"),
        (Tsv, Some([name("en"), number(2)]), "id\tde\ten\n7\tein Hund\ta dog\n8\teine Katze\ta cat\n"),
        (Csv, None, "a dog,ein Hund\r\na cat,\"eine Katze\"\r\n"),
        (
            Csv,
            Some([name("en"), name("de")]),
            "\u{feff}\"en\",n,\"de\"\n\"a dog\",1,ein Hund\na cat,2,eine Katze",
        ),
        (Csv, Some([number(1), number(3)]), "a dog,\"x, \"\"y\"\"\",ein Hund\na cat,,eine Katze\n"),
        (Csv, None, "\"a\ndog\",ein Hund\n\"a\r\ncat\",eine Katze\n"),
        (
            Jsonl,
            Some([name("translation.en"), name("translation.de")]),
            "{\"id\":1,\"translation\":{\"en\":\"a dog\",\"de\":\"ein Hund\"}}\n\
             {\"translation\":{\"de\":\"eine Katze\",\"en\":\"a cat\"}}\n",
        ),
        (
            Jsonl,
            Some([name("x.y"), name("de")]),
            "{\"x.y\":\"a dog\",\"de\":\"ein Hund\"}\n{\"x\":{\"y\":\"a cat\"},\"de\":\"eine Katze\"}\n",
        ),
    ] {
        let corpus = read(content, file(format, columns));
        let found: Vec<_> = texts(&corpus).into_iter().map(|(src, tgt, _)| (src, tgt)).collect();
        assert_eq!(found, [("a dog", "ein Hund"), ("a cat", "eine Katze")], "{content}");
    }
}

#[test]
fn columns_that_are_missing_are_named() {
    use CorpusFormat::{Csv, Jsonl, Tsv};
    for (format, columns, content, words) in [
        (Tsv, None, "a\tb\n1\t2\t3\n", "line 2: expected 2 tab-separated columns, found 3; `columns` names"),
        (Tsv, Some([name("en"), name("de")]), "en\tde\ten\n", "several columns are called `en`"),
        (Tsv, None, "a,b\n", "name the file with `csv`"),
        (Tsv, Some([number(1), number(3)]), "a\tb\n", "expected at least 3 tab-separated columns, found 2"),
        (Tsv, Some([name("en"), name("de")]), "en\tfr\n1\t2\n", "the column `de`, found `en`, `fr`"),
        (Csv, Some([name("en"), name("de")]), "fr,de\n1,2\n", "the column `en`, found `fr`, `de`"),
        (Csv, None, "a,b\n1,\"2\n3,4\n", "line 2: the record that begins here has a quotation mark"),
        (Csv, None, "a;b\n", "separated by commas (`csv`) or tabs (`tsv`)"),
        (Csv, None, "a,b\n1,2,3\n", "line 2: expected 2 columns, found 3"),
        (
            Jsonl,
            Some([name("en"), name("de")]),
            "{\"en\":\"a\",\"fr\":\"b\"}\n",
            "no field \"de\"; the object has `en`, `fr`",
        ),
        (
            Jsonl,
            Some([name("en"), name("de")]),
            "{\"en\":\"a\",\"de\":[1]}\n",
            "expected a string, found [1]",
        ),
        (Jsonl, Some([name("en"), name("de")]), "[1]\n", "a list"),
    ] {
        let message = refused(content, file(format, columns));
        assert!(message.contains(words), "{content}: {message}");
    }
    let marked = read("5\" disk,5 Zoll\na,b\n", file(Csv, None));
    assert_eq!(texts(&marked), [("5\" disk", "5 Zoll", 1), ("a", "b", 2)]);
    let bytes = Files::new(&[("file", b"a,b\nx,\xff\n")]);
    let message = bytes.read(file(Csv, None)).unwrap_err().to_string();
    assert!(message.contains("line 2") && message.contains("UTF-8"), "{message}");
}

#[test]
fn labels_and_tags_have_columns_too() {
    let read = |content: &str, kind, format, columns| {
        let files = Files::new(&[("file", content.as_bytes())]);
        files.read_as(kind, file(format, columns)).unwrap().entries()[0].item.clone()
    };
    let labeled = Item::Labeled { text: "A film.".into(), label: "1".into() };
    let fields = Some([name("review"), name("class")]);
    for (format, columns, content) in [
        (CorpusFormat::Jsonl, fields.clone(), "{\"review\":\"A film.\",\"class\":1}\n"),
        (CorpusFormat::Csv, fields, "class,review\n1,A film.\n"),
        (CorpusFormat::Csv, None, "1,A film.\n"),
        (CorpusFormat::Tsv, Some([number(2), number(3)]), "x\tA film.\t1\n"),
    ] {
        assert_eq!(read(content, DataKind::Labeled, format, columns), labeled, "{content}");
    }
    let words = Some([name("words"), name("pos")]);
    let content = "{\"words\":[\"a\",\"dog\"],\"pos\":[\"D\",\"N\"]}\n";
    let tagged = read(content, DataKind::TaggedTokens, CorpusFormat::Jsonl, words);
    assert_eq!(tagged.input(), "a dog");
}

/// A translation memory with these units.
fn memory(units: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE tmx SYSTEM \"tmx14.dtd\">\n\
         <tmx version=\"1.4\"><header srclang=\"en\"/><body>{units}</body></tmx>"
    )
}

fn segment(language: &str, text: &str) -> String {
    format!("<tuv {language}><note>x</note><seg>{text}</seg></tuv>")
}

#[test]
fn segments_of_translation_memories_are_read() {
    let tu = |parts: &[String]| format!("<tu tuid=\"1\"><prop>p</prop>{}</tu>", parts.concat());
    let (en, de) = ("xml:lang=\"EN-US\"", "xml:lang='de'");
    for (units, expected) in [
        (tu(&[segment(en, "a dog"), segment(de, "ein Hund")]), ("a dog", "ein Hund")),
        (
            tu(&[segment(de, "ein Hund"), segment("lang='fr'", "un chien"), segment("lang='en'", "a dog")]),
            ("a dog", "ein Hund"),
        ),
        (
            tu(&[
                segment(en, "a &amp; <bpt i='1'>&lt;b></bpt>b<ept i='1'>&lt;/b></ept> &#x41;"),
                segment(de, "<hi>ein</hi> <ph>{<sub>x</sub>}</ph>Hund<it pos='begin'>i</it>"),
            ]),
            ("a & b A", "ein Hund"),
        ),
        (tu(&[segment(en, "a\n  dog"), segment(de, "<![CDATA[<Hund>]]>")]), ("a   dog", "<Hund>")),
        (
            tu(&[
                segment(en, "one"),
                segment(en, "two"),
                segment("xml:lang='den'", "x"),
                segment("xml:lang='de_AT'", "eins"),
            ]),
            ("one", "eins"),
        ),
    ] {
        let content = memory(&units);
        let corpus = read(&content, file(CorpusFormat::Tmx, None));
        let (src, tgt, _) = texts(&corpus)[0];
        assert_eq!((src, tgt), expected, "{content}");
        // Compressed, too.
        let files = Files::new(&[("file", &gzip(content.as_bytes()))]);
        assert_eq!(files.read(file(CorpusFormat::Tmx, None)).unwrap().entries(), corpus.entries());
    }
    let half = tu(&[segment(en, "a dog")]) + &tu(&[segment(en, "a"), segment(de, "b")]);
    let corpus = read(&memory(&half), file(CorpusFormat::Tmx, None));
    assert_eq!((corpus.stats().lines, corpus.stats().empty), (2, 1));
}

#[test]
fn units_of_xliff_are_read() {
    let old = |units: &str| {
        format!("<xliff version=\"1.2\"><file source-language=\"en\"><body>{units}</body></file></xliff>")
    };
    let new =
        |units: &str| format!("<xliff version=\"2.0\" srcLang=\"en\"><file id=\"f\">{units}</file></xliff>");
    let pairs = |content: &str| -> Vec<(String, String)> {
        let corpus = read(content, file(CorpusFormat::Xliff, None));
        texts(&corpus).into_iter().map(|(src, tgt, _)| (src.to_owned(), tgt.to_owned())).collect()
    };
    let kept = "<trans-unit id='k'><source>k</source><target>K</target></trans-unit>";
    let k = ("k".to_owned(), "K".to_owned());
    for (unit, expected) in [
        ("<source>a dog</source><target state='final'>ein Hund</target>", Some(("a dog", "ein Hund"))),
        (
            "<source>a <g id='1'>dog</g><x id='2'/></source><target>ein <bpt id='1'>&lt;b></bpt>Hund</target>",
            Some(("a dog", "ein Hund")),
        ),
        (
            "<source>a</source><seg-source><mrk mtype='seg'>z</mrk></seg-source><target>b</target>\
             <alt-trans><source>x</source><target>y</target></alt-trans>",
            Some(("a", "b")),
        ),
        (
            "<source>cat<x id='1'/>dog, <x id='2'/>.</source><target>un<g id='1'>d</g></target>",
            Some(("cat dog, .", "und")),
        ),
        ("<alt-trans><target>y</target></alt-trans><source>a</source><target>b</target>", Some(("a", "b"))),
        ("<source>a</source><target state='needs-translation'>a</target>", None),
        ("<source>a</source><target/>", None),
        ("<source>a</source>", None),
    ] {
        let found = pairs(&old(&format!("<trans-unit id='1'>{unit}</trans-unit>{kept}")));
        let expected = expected.map(|(src, tgt)| (src.to_owned(), tgt.to_owned()));
        assert_eq!(found, expected.into_iter().chain([k.clone()]).collect::<Vec<_>>(), "{unit}");
    }
    let found = pairs(&new(
        "<unit id='1'><notes><note>n</note></notes><segment><source>a <pc id='1'>dog</pc></source><target>ein \
         Hund</target></segment><ignorable><source> </source><target> </target></ignorable><segment \
         state='initial'><source>x</source><target>x</target></segment><segment><source>b</source><target>c<ph \
         id='2'/></target></segment></unit>",
    ));
    let pair = |src: &str, tgt: &str| (src.to_owned(), tgt.to_owned());
    assert_eq!(found, [pair("a dog", "ein Hund"), pair("b", "c")]);
}

#[test]
fn xml_that_cannot_be_read_says_where() {
    for (content, words) in [
        (memory("<tu><tuv>"), "is not well-formed XML at byte"),
        ("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><tmx/>".to_owned(), "is XML in ISO-8859-1"),
        (memory("<tu></tuv></tu>"), "is not well-formed XML at byte"),
        (memory(""), "no usable data"),
        (memory("<tu><tuv xml:lang='en'><seg>a")[..120].to_owned(), "ends within an element, after 0 units"),
        (String::new(), "ends within an element"),
        ("plain text\n".to_owned(), "ends within an element"),
        ("<html><body/></html>".to_owned(), "begins with `<html>`, not with `<tmx>`"),
        (
            memory(&format!("<tu>{}{}</tu>", segment("lang='fr'", "un"), segment("lang='it'", "uno"))),
            "no unit of",
        ),
    ] {
        let message = refused(&content, file(CorpusFormat::Tmx, None));
        assert!(message.contains(words), "{content}: {message}");
    }
    let declared =
        memory("<tu><tuv xml:lang='en'><seg>a</seg></tuv><tuv xml:lang='de'><seg>b</seg></tuv></tu>");
    let converted = declared.replace("UTF-8", "UTF-16");
    assert_eq!(read(&converted, file(CorpusFormat::Tmx, None)).entries().len(), 1);
    let utf_16 = Files::new(&[("file", b"\xff\xfe<\0?\0")]);
    let message = utf_16.read(file(CorpusFormat::Tmx, None)).unwrap_err();
    assert!(message.to_string().contains("UTF-16"), "{message}");
    assert!(message.hint().is_some_and(|hint| hint.contains("iconv")), "{message:?}");
    let deep = memory(&"<a>".repeat(300));
    assert!(refused(&deep, file(CorpusFormat::Tmx, None)).contains("256 elements within each other"));
}

#[test]
fn sources_begin_with_the_tag_of_their_corpus() {
    let tagged = |tag: &str| {
        let CorpusSource::Aligned { src, tgt, .. } = CorpusSource::aligned("src", "tgt") else { panic!() };
        CorpusSource::Aligned { src, tgt, tag: Some(tag.into()), weights: None }
    };
    let files = Files::new(&[("src", b"a dog\n\na cat\n"), ("tgt", b"ein Hund\nx\neine Katze\n")]);
    let corpus = files.read(tagged(">>de<<")).unwrap();
    assert_eq!(texts(&corpus), [(">>de<< a dog", "ein Hund", 1), (">>de<< a cat", "eine Katze", 3)]);
    assert_eq!(corpus.stats().empty, 1);
    let parts = [(tagged("<x>"), 1.0), (CorpusSource::aligned("src", "tgt"), 1.0)];
    let parts = parts.map(|(source, weight)| attentive_config::WeightedSource { source, weight });
    let corpus = files.read(CorpusSource::Mixed(parts.into())).unwrap();
    let found: Vec<_> = texts(&corpus).into_iter().map(|(src, ..)| src).collect();
    assert_eq!(found, ["<x> a dog", "<x> a cat", "a dog", "a cat"]);
    // Copies are found in spite of it.
    let CorpusSource::Aligned { src, .. } = CorpusSource::aligned("src", "src") else { panic!() };
    let copies = CorpusSource::Aligned { src: src.clone(), tgt: src, tag: Some("<x>".into()), weights: None };
    let filters = crate::Filters { copies: true, ..crate::Filters::default() };
    let folder = files.path("");
    let read = crate::read_filtered(
        &copies,
        DataKind::Translations,
        Some(&folder),
        1,
        filters,
        &mut crate::unwatched,
    );
    assert!(read.unwrap_err().to_string().contains("2 dropped with equal sides"));
}

#[test]
fn a_header_that_is_read_as_a_pair_is_told() {
    for (content, is_told) in [
        ("en,de\na dog,ein Hund\n", true),
        ("Source,Target\na dog,ein Hund\n", true),
        ("a dog,ein Hund\nen,de\n", false),
        ("no,nein\na,b\n", false),
    ] {
        let corpus = read(content, file(CorpusFormat::Csv, None));
        let told = corpus.warnings().iter().any(|warning| warning.contains("line 1: looks like a header"));
        assert_eq!(told, is_told, "{content}: {:?}", corpus.warnings());
    }
    let named = read("en,de\na dog,ein Hund\n", file(CorpusFormat::Csv, Some([name("en"), name("de")])));
    assert!(named.warnings().is_empty());
}
