//! The topics of the book: the beginnings of chapters, up to what follows the first equation.

use attentive_base::error::{Error, Result};

use super::plain_formula::plain;

/// The chapters by their names.
macro_rules! topics {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../../book/text/", $name, ".md")))),*]
    };
}

const TOPICS: [(&str, &str); 18] = topics![
    "sequences",
    "recurrent",
    "gates",
    "directions",
    "seq2seq",
    "attention",
    "queries",
    "masks",
    "heads",
    "positions",
    "layers",
    "kinds",
    "training",
    "decoding",
    "tokenization",
    "metrics",
    "student",
    "exactness",
];

/// The name that stands for the list of all topics.
const LIST: &str = "topics";

/// The maximum number of sections that are shown.
const MAX_SECTIONS: usize = 2;

/// The core of the chapter `name`, or the list of all for `topics`.
///
/// # Errors
/// [`Error::Usage`] for another name.
pub(super) fn explain(name: &str) -> Result<String> {
    if name == LIST {
        let title = |text: &str| text.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned();
        return Ok(TOPICS.iter().map(|(name, text)| format!("{name:<14}{}\n", title(text))).collect());
    }
    let chapter = TOPICS.iter().find(|(topic, _)| *topic == name).map(|(_, text)| core(text));
    let names = || TOPICS.map(|(topic, _)| topic).join(", ");
    let chapter = chapter.ok_or_else(|| {
        Error::usage(
            format!("a model needs a sentence, and `{name}` is no topic"),
            format!("add a sentence in quotation marks, or choose one of: {}", names()),
        )
    })?;
    Ok(format!(
        "{chapter}\nThe chapter goes on with code, tests, measurements and exercises: book/text/{name}.md\n"
    ))
}

/// The chapter up to the first heading or code behind its first equation, and at most two sections of it, as
/// plain text.
fn core(chapter: &str) -> String {
    let mut out = String::new();
    let mut tex: Option<String> = None;
    let (mut is_code, mut has_equation, mut n_sections) = (false, false, 0);
    for line in without_links(chapter).lines() {
        match (line, &mut tex) {
            ("$$", None) => tex = Some(String::new()),
            ("$$", Some(all)) => {
                plain(all.trim()).lines().for_each(|line| out += &format!("    {}\n", line.trim_end()));
                (tex, has_equation) = (None, true);
            }
            (line, Some(all)) => *all += &format!("{line}\n"),
            (line, None) if has_equation && ["#", "```", "{{"].iter().any(|mark| line.starts_with(mark)) => {
                break;
            }
            (line, None) if !is_code && line.starts_with("## ") && n_sections == MAX_SECTIONS => break,
            (line, None) if line.starts_with("```") => is_code = !is_code,
            // A picture.
            (line, None) if !is_code && line.starts_with("![") => {}
            (line, None) if is_code => out += &format!("    {line}\n"),
            (line, None) => match line.trim_start_matches('#') {
                title if title.len() < line.len() => {
                    n_sections += usize::from(line.starts_with("## "));
                    out += &format!("{}\n{}\n", title.trim(), "─".repeat(title.trim().chars().count()));
                }
                line if line.starts_with("{{") => {
                    out += &format!(
                        "    {}\n",
                        line.trim_matches(['{', '}']).trim_start_matches("code ").trim_start_matches("test ")
                    );
                }
                line => out += &format!("{}\n", without_marks(line)),
            },
        }
    }
    // What announces the code behind it is left out with it.
    let (rest, last) = out.trim_end().rsplit_once("\n\n").unwrap_or(("", &out));
    if last.trim_end().ends_with(':') { format!("{rest}\n") } else { out }
}

/// A line of Markdown as plain text.
fn without_marks(line: &str) -> String {
    let mut out = String::new();
    for (number, part) in line.split('`').enumerate() {
        if number % 2 == 1 {
            out += &format!("`{part}`");
            continue;
        }
        for (number, part) in part.split('$').enumerate() {
            out += &if number % 2 == 1 { plain(part) } else { part.replace('*', "") };
        }
    }
    out
}

/// Without the targets of links to pages.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let (target, behind) = after.split_once(')').unwrap_or((after, ""));
        let is_page = target.starts_with("http") || target.contains(".md");
        match before.rsplit_once('[') {
            Some((head, text)) if is_page => {
                out += &format!("{head}{text}");
                rest = behind;
            }
            _ => {
                out += &format!("{before}](");
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_topic_is_short_and_plain() {
        for (name, chapter) in TOPICS {
            let core = core(chapter);
            let n_lines = core.lines().count();
            assert!((10..150).contains(&n_lines), "{name} has {n_lines} lines");
            assert!(!core.trim_end().ends_with(','), "{name} ends within a sentence");
            // What is indented is code, as it is.
            let prose = || core.lines().filter(|line| !line.starts_with("    "));
            for mark in ["$", "](", "{{", "\\frac", "overrightarrow", "**"] {
                let line = prose().find(|line| line.contains(mark));
                assert!(line.is_none(), "{name} has {mark}: {line:?}");
            }
        }
    }

    #[test]
    fn other_topics_are_refused() {
        let error = explain("attentoin").unwrap_err().to_string();
        assert!(error.contains("no topic"), "{error}");
        assert!(explain(LIST).unwrap().contains("recurrent     Recurrent networks\n"));
    }
}
