//! Random files of each format keep their structure.

use attentive_base::random::Random;
use pulldown_cmark::{Event, Options, Parser, Tag};

use super::files::read;
use super::random_markup::{count, random_translation};
use super::{identity, texts};
use crate::{FileFormat, TranslatedSegment};

/// Random texts of a format.
struct Generator {
    random: Random,
}

impl Generator {
    fn words(&mut self) -> String {
        let count = 1 + self.random.below(6);
        let words = [
            "one", "two.", "Three", "{name}", "%s", "x<y", "4", "don't", "a*b", "c_d", "(e)", "f!", "#g",
            "1.", "&h;", "\"i\"", "50%",
        ];
        let chosen: Vec<&str> = (0..count).map(|_| *self.random.choose(&words)).collect();
        chosen.join(" ")
    }

    fn inline(&mut self) -> String {
        let text = self.words();
        match self.random.below(8) {
            0 => format!("{text} **{}**", self.words().replace(['*', '<', '&'], "")),
            1 => format!("*x* {text}"),
            2 => format!("{text} `co*de`"),
            3 => format!("[{}](https://a.example)", self.words().replace(['*', '<', '&', '"'], "")),
            4 => format!("{text}\n{}", self.words()),
            _ => text,
        }
    }

    fn document(&mut self, format: FileFormat) -> String {
        let count = 1 + self.random.below(6);
        let mut out = match format {
            FileFormat::Vtt => "WEBVTT\n\n".to_owned(),
            FileFormat::Xliff => "<xliff version=\"1.2\">".to_owned(),
            FileFormat::Json => "[".to_owned(),
            FileFormat::Xml => "<r>".to_owned(),
            _ => String::new(),
        };
        for number in 0..count {
            let text = self.words();
            let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
            match format {
                FileFormat::Text => out.push_str(&format!("{text}\n\n")),
                FileFormat::Html => out.push_str(&format!("<p>{escaped} <b>{number}</b></p>\n")),
                FileFormat::Xml => out.push_str(&format!("<a n=\"{number}\">{escaped}</a>\n")),
                FileFormat::Xliff => out.push_str(&format!(
                    "<trans-unit id=\"{number}\"><source>{escaped}<x id=\"1\"/></source></trans-unit>"
                )),
                FileFormat::Srt | FileFormat::Vtt => {
                    let second = self.words().replace(['&', '<'], "");
                    out.push_str(&format!(
                        "{number}\n00:0{number}.000 --> 00:0{number}.500\n<i>{}</i>\n{second}\n\n",
                        escaped.replace("&lt;", "").replace("&amp;", "")
                    ));
                }
                FileFormat::Markdown => {
                    let text = self.inline();
                    match self.random.below(4) {
                        0 => out.push_str(&format!("## {}\n\n", text.replace('\n', " "))),
                        1 => out.push_str(&format!("- {}\n\n", text.replace('\n', "\n  "))),
                        2 => out.push_str(&format!("> {}\n\n", text.replace('\n', "\n> "))),
                        _ => out.push_str(&format!("{text}\n\n")),
                    }
                }
                FileFormat::Po => {
                    let text = text.replace('"', "\\\"");
                    out.push_str(&format!("msgid \"{number} {text}\"\nmsgstr \"\"\n\n"));
                }
                FileFormat::Json => {
                    let comma = if number + 1 < count { "," } else { "]" };
                    out.push_str(&format!("{{\"k\": {}}}{comma}\n", serde_json::to_string(&text).unwrap()));
                }
            }
        }
        out.push_str(match format {
            FileFormat::Xliff => "</xliff>",
            FileFormat::Xml => "</r>",
            _ => "",
        });
        out
    }
}

/// The structure of a document: everything but its words.
fn structure(format: FileFormat, text: &str) -> Vec<String> {
    match format {
        FileFormat::Markdown => {
            let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_MATH;
            Parser::new_ext(text, options)
                .filter_map(|event| match event {
                    Event::Start(tag) => match tag {
                        // Marks around no word are gone, and words may be around others.
                        Tag::Emphasis | Tag::Strong => None,
                        tag => Some(format!("{tag:?}")),
                    },
                    Event::Code(code) => Some(format!("code {code}")),
                    Event::Html(html) | Event::InlineHtml(html) => Some(format!("html {html}")),
                    _ => None,
                })
                .collect()
        }
        FileFormat::Srt | FileFormat::Vtt => {
            // The blocks: number and time of each.
            text.split("\n\n").map(|block| block.lines().take(2).collect::<Vec<_>>().join("|")).collect()
        }
        FileFormat::Json => {
            let value: serde_json::Value =
                serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
            let length = value.as_array().map_or(0, Vec::len);
            assert!(value.as_array().into_iter().flatten().all(|one| one["k"].is_string()), "{text}");
            vec![length.to_string()]
        }
        FileFormat::Po => {
            text.lines().map(|line| line.split('"').next().unwrap_or_default().to_owned()).collect()
        }
        FileFormat::Xliff | FileFormat::Xml | FileFormat::Html => {
            let mut tags = Vec::new();
            let mut rest = text;
            while let Some((_, after)) = rest.split_once('<') {
                let (tag, after) = after.split_once('>').unwrap_or_else(|| panic!("{text}"));
                tags.push(tag.to_owned());
                rest = after;
            }
            tags
        }
        FileFormat::Text => vec![text.matches("\n\n").count().to_string()],
    }
}

/// 500 documents of each format: translated to themselves, they are the same; translated to anything, they
/// have the same structure, and each placeholder once.
#[test]
fn random_files_keep_their_structure() {
    for format in FileFormat::ALL {
        for seed in 0..count(500) {
            let source = Generator { random: Random::new(seed, 7) }.document(format);
            let document = read(&source, format);
            let same = document.render(&identity(&document));
            let filled = read(&same, format);
            let expected = structure(format, &same);
            if !matches!(format, FileFormat::Po | FileFormat::Xliff) {
                assert_eq!(structure(format, &source), expected, "{format}\n{source}\n----\n{same}");
                assert_eq!(texts(&filled), texts(&document), "{format}\n{source}\n----\n{same}");
            }
            let mut random = Random::new(seed, 8);
            let translations: Vec<TranslatedSegment> =
                document
                    .segments()
                    .iter()
                    .map(|segment| random_translation(&mut random, segment.text.split_whitespace().count()))
                    // A paragraph of Markdown needs some text.
                    .map(|one| {
                        if one.text.is_empty() { TranslatedSegment { text: "x".into(), ..one } } else { one }
                    })
                    .collect();
            let other = document.render(&translations);
            assert_eq!(structure(format, &other), expected, "{format}\n{source}\n----\n{other}");
            for placeholder in ["{name}", "%s", "<x id=\"1\"/>", "`co*de`"] {
                assert_eq!(
                    other.matches(placeholder).count(),
                    same.matches(placeholder).count(),
                    "{format} {placeholder}\n{source}\n----\n{other}"
                );
            }
        }
    }
}
