//! Tests with random XML and random alignments.

use std::collections::BTreeMap;
use std::fmt::Write;

use attentive_base::random::Random;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::Event;
use quick_xml::reader::Reader;

use super::identity;
use super::random_markup::{count, random_translation};
use crate::{Document, Split, TranslatedSegment, XmlTags};

/// Random XML, in which each word, element, comment and instruction has a number of its own.
#[derive(Default)]
struct Source {
    xml: String,
    next: usize,
}

impl Source {
    fn number(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn content(&mut self, random: &mut Random, depth: usize) {
        for _ in 0..random.below(7) {
            let number = self.number();
            let xml = &mut self.xml;
            match random.below(if depth < 6 { 14 } else { 8 }) {
                0 => xml.push_str(random.choose::<&str>(&[" ", "\n  ", "\t", "\r\n"])),
                1 | 2 => write!(xml, "w{number} ").unwrap(),
                3 => write!(xml, "w{number}{}", random.choose::<&str>(&[". ", ",", "&amp;", "&#x41;", "!"]))
                    .unwrap(),
                4 => write!(xml, "<!--{number} > &-->").unwrap(),
                5 => write!(xml, "<?p {number} <>?>").unwrap(),
                6 => write!(xml, "<![CDATA[w{number} <&> ]]>").unwrap(),
                7 => write!(xml, "<e n='{number}' a=\"1>2\" />").unwrap(),
                _ => {
                    let name = *random.choose(&["a", "b", "x:c", "P", "p", "br", "script"]);
                    let kept = if random.chance(0.1) { " translate='no'" } else { "" };
                    write!(xml, "<{name} n='{number}'{kept}>").unwrap();
                    self.content(random, depth + 1);
                    write!(self.xml, "</{name}>").unwrap();
                }
            }
        }
    }
}

/// What a document has in each element.
#[derive(PartialEq)]
struct Tree {
    /// The element around each element, comment and instruction, by their sources.
    around: BTreeMap<String, String>,
    /// The text directly in each element, without blanks.
    texts: BTreeMap<String, String>,
}

fn tree(xml: &str) -> Tree {
    let mut reader = Reader::from_str(xml);
    let mut open = vec![String::new()];
    let (mut around, mut texts) = (BTreeMap::new(), BTreeMap::<String, String>::new());
    loop {
        let event = reader.read_event().unwrap_or_else(|error| panic!("{error}: {xml}"));
        let source = match &event {
            Event::Eof => break,
            Event::Start(tag) => format!("<{}>", &**tag),
            Event::Empty(tag) => format!("<{}/>", &**tag),
            Event::Comment(text) => format!("<!--{}-->", &**text),
            Event::PI(text) => format!("<?{}?>", &**text),
            Event::End(_) => {
                open.pop().unwrap();
                continue;
            }
            Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) => {
                let text = match &event {
                    Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                        Ok(Some(c)) => c.to_string(),
                        _ => resolve_xml_entity(reference).unwrap().to_owned(),
                    },
                    Event::Text(text) => text.to_string(),
                    Event::CData(text) => text.to_string(),
                    _ => unreachable!("another event"),
                };
                let own = texts.entry(open.last().unwrap().clone()).or_default();
                own.extend(text.split_whitespace());
                continue;
            }
            _ => continue,
        };
        let parent = open.last().unwrap().clone();
        if matches!(event, Event::Start(_)) {
            open.push(source.clone());
        }
        assert!(around.insert(source, parent).is_none(), "{xml}");
    }
    assert_eq!(open.len(), 1, "{xml}");
    texts.retain(|_, text| !text.is_empty());
    Tree { around, texts }
}

fn read(xml: &str, split: Split, most: usize) -> Document {
    let tags = XmlTags::default();
    Document::xml(xml, split, &tags, |text| text.len() <= most)
        .unwrap_or_else(|error| panic!("{error}: {xml}"))
}

fn check(seed: u64) -> usize {
    let mut random = Random::new(seed, 1);
    let mut source = Source::default();
    source.content(&mut random, 0);
    let xml = source.xml;
    let split = *random.choose(&[Split::Sentences, Split::Paragraphs, Split::Nowhere, Split::Lines]);
    let most = if random.chance(0.5) { usize::MAX } else { random.below(20) + 1 };
    let document = read(&xml, split, most);
    let before = tree(&xml);

    let same = document.render(&identity(&document));
    assert!(tree(&same) == before, "{xml}\n{same}");

    let segments = document.segments().iter();
    let translations: Vec<TranslatedSegment> = segments
        .map(|segment| random_translation(&mut random, segment.text.split_whitespace().count()))
        .collect();
    let out = document.render(&translations);
    assert!(tree(&out).around == before.around, "{xml}\n{out}");
    read(&out, split, most);
    translations.len()
}

#[test]
fn the_tree_stays_and_the_text_is_the_translation() {
    let count = count(10_000);
    let segments: usize = (0..count).map(check).sum();
    assert!(segments as u64 > count / 2, "{segments} segments");
}
