//! Parsers of foreign text on input that is one token, one tag, one nesting or one entity, however long.

use std::thread;

use attentive::document::{Document, Split, TranslatedSegment};
use attentive::pipeline::Pipeline;
use attentive::text::Detokenizer;

use crate::support::serving::fixture;

/// The stack of the threads that read requests.
const STACK: usize = 2 << 20;

/// The largest body of a request.
const SIZE: usize = 2 << 20;

/// Does `work` with the stack of a server's thread.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(STACK);
    thread.spawn(work).unwrap().join().unwrap();
}

/// `part` again and again, up to `size` bytes.
fn filled(part: &str, size: usize) -> String {
    part.repeat(size / part.len())
}

/// HTML that is hard to read, of `size` bytes.
fn markup(size: usize) -> Vec<String> {
    let of = |part: &str| filled(part, size);
    vec![
        format!("<a {}>b</a>", of("x=\"y\" ")),
        format!("<a {}>b</a>", of("x='y' ")),
        format!("<a {}>b</a>", of("x=y ")),
        format!("<a {}>b</a>", of("x ")),
        format!("<a {}>b</a>", of("=")),
        format!("<a {}>b</a>", of("x=\"&amp;\"")),
        format!("<a {}>b</a>", of("/")),
        format!("<a {}", of("x=\"\" ")),
        format!("<a x=\"{}\">b</a>", of("&quot;")),
        format!("<a x=\"{}\">b</a>", of("y")),
        format!("</a {}>b", of("x=\"y\" ")),
        format!("<{}>b", of("a")),
        format!("&{};b", of("a")),
        format!("&#{};b", of("9")),
        format!("&#x{};b", of("f")),
        format!("<!--{}-->b", of("-")),
        format!("<!--{}", of("<!-- ")),
        format!("<!DOCTYPE {}>b", of("x ")),
        format!("<![CDATA[{}]]>b", of("]")),
        format!("<script>{}</script>b", of("<!--<script>")),
        format!("<textarea>{}b", of("</textare")),
        of("<"),
        of("<a"),
        of("</"),
        of("<b>"),
        of("</b>"),
        of("<div>"),
        of("<p>b"),
        of("<b>x</b>"),
        of("<i>b</b>"),
        of("<br>"),
        of("&amp"),
        of("&notin;"),
        of("<a>www."),
        of("<span translate=no>"),
        of("<pre>"),
        of("<title>"),
        of("\0"),
        of("\r"),
    ]
}

/// Text that is hard to read, of `size` bytes.
fn plain(size: usize) -> Vec<String> {
    let parts = [
        "a",
        "1",
        " ",
        "a ",
        "\n",
        "\t",
        "-",
        ".",
        "a.",
        "Mr. ",
        "A. B",
        "a\u{301}",
        "\u{301}",
        "\u{200d}",
        "👩‍",
        "漢",
        "。",
        "ß",
        "İ",
        "\u{1}",
        "\u{fffd}",
        "▁",
        "##",
        "<mask>",
        "</s>",
        "<s> ",
        "'s",
        "\"",
        "[",
        "é\u{327}",
        "ﷺ",
        "𝔘",
        "\u{e000}",
        "x\u{a0}",
        "1.000,",
    ];
    parts.iter().map(|part| filled(part, size)).collect()
}

#[test]
fn markup_needs_no_more_stack_the_longer_it_is() {
    on_a_small_stack(|| {
        for html in markup(SIZE / 4) {
            let shown = &html[..html.floor_char_boundary(40)];
            // Too deep an element is refused; nothing else is.
            let Ok(document) = Document::html(&html, Split::Paragraphs, |text| text.len() < 5000) else {
                assert!(html.matches("<b>").count() > 256, "{shown}");
                continue;
            };
            let segments = document.segments().iter();
            let same = segments.map(|segment| TranslatedSegment {
                text: segment.text.clone(),
                ..TranslatedSegment::default()
            });
            let out = document.render(&same.collect::<Vec<_>>());
            assert_eq!(out.matches("<a").count(), html.matches("<a").count(), "{shown}");
        }
        let largest = format!("<a {}>b</a>", filled("x=\"y\" ", SIZE));
        let document = Document::html(&largest, Split::Paragraphs, |_| true).unwrap();
        assert_eq!(document.segments()[0].text, "b");
    });
}

#[test]
fn text_of_one_kind_is_divided() {
    on_a_small_stack(|| {
        for text in plain(SIZE / 16) {
            let document = Document::text(&text, Split::Sentences, |text| text.len() < 5000);
            let segments = document.segments().iter();
            let same = segments.map(|segment| TranslatedSegment {
                text: segment.text.clone(),
                ..TranslatedSegment::default()
            });
            assert!(document.render(&same.collect::<Vec<_>>()) == text);
        }
    });
}

#[test]
fn tokenizers_read_and_write_text_of_one_kind() {
    let models = ["transformer-post", "decoder-only", "encoder-only", "tagger"];
    for model in models {
        on_a_small_stack(move || {
            let pipeline = Pipeline::load(fixture(model)).unwrap();
            for text in plain(SIZE / 256) {
                for tokenizer in [pipeline.tokenizers().src(), pipeline.tokenizers().tgt()] {
                    let ids = tokenizer.encode(&text).unwrap();
                    tokenizer.decode(&ids).unwrap();
                    let mut pieces = Detokenizer::after(tokenizer, &[]).unwrap();
                    ids.iter().for_each(|&id| drop(pieces.push(id).unwrap()));
                    tokenizer.words(&text).unwrap();
                }
            }
        });
    }
}

#[test]
fn a_token_as_large_as_a_body_is_read() {
    on_a_small_stack(|| {
        let pipeline = Pipeline::load(fixture("transformer-post")).unwrap();
        let tokenizer = pipeline.tokenizers().src();
        for part in ["a", "1 ", "é"] {
            let ids = tokenizer.encode(&filled(part, SIZE)).unwrap();
            assert!(!ids.is_empty());
        }
    });
}
