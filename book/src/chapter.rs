//! The parts of a chapter's text.

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// A line outside of blocks of code, with its end.
    Line(&'a str),
    /// A block of code.
    Code(Code<'a>),
}

/// A block of code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Code<'a> {
    /// What stands before each line, in lists.
    pub(crate) indentation: &'a str,
    /// What stands behind the first fence.
    pub(crate) info: &'a str,
    /// The lines, without the indentation.
    pub(crate) text: String,
}

impl Code<'_> {
    /// The block with another content.
    pub(crate) fn with(&self, info: &str, text: &str) -> String {
        let first = format!("```{info}");
        let lines = [&*first, text, "```"].into_iter().flat_map(str::lines);
        let indented = |line: &str| match line {
            "" => "\n".to_owned(),
            line => format!("{}{line}\n", self.indentation),
        };
        lines.map(indented).collect()
    }
}

/// Divides `text` into lines and blocks of code.
pub(crate) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let Some((indentation, info)) = line.split_once("```").filter(|(before, _)| before.trim().is_empty())
        else {
            parts.push(Part::Line(line));
            continue;
        };
        let inside = lines.by_ref().take_while(|line| line.trim() != "```");
        let text = inside
            .map(|line| line.strip_prefix(indentation).unwrap_or(line.trim_start_matches(' ')))
            .collect();
        parts.push(Part::Code(Code { indentation, info: info.trim(), text }));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_lines_and_code() {
        let text = "a\n```rust\nb\n\nc\n```\n\n   ```\n   d\n\n     e\n   ```\nf";
        let expected = [
            Part::Line("a\n"),
            Part::Code(Code { indentation: "", info: "rust", text: "b\n\nc\n".into() }),
            Part::Line("\n"),
            Part::Code(Code { indentation: "   ", info: "", text: "d\n\n  e\n".into() }),
            Part::Line("f"),
        ];
        let found = parts(text);
        assert_eq!(found, expected);
        let written = found.iter().map(|part| match part {
            Part::Line(line) => (*line).to_owned(),
            Part::Code(code) => code.with(code.info, &code.text),
        });
        assert_eq!(written.collect::<String>(), text);
    }
}
