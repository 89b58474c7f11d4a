//! What the text of a chapter stands for: formulas, excerpts of the source, blocks of commands.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mdbook_preprocessor::book::{Book, BookItem};
use mdbook_preprocessor::errors::Result as BookResult;
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

use crate::chapter::{Part, parts};
use crate::{excerpt, formula, links};

/// Where the source and the text are.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The repository.
    root: PathBuf,
}

impl Source {
    pub(crate) fn of(book: &Path) -> Self {
        Self { root: book.parent().unwrap_or(book).to_path_buf() }
    }

    /// The text of a chapter for mdBook, whose links lead somewhere.
    pub(crate) fn checked(&self, text: &str) -> Result<String> {
        links::check(text, &self.root.join("book/text"))?;
        self.written_out(text)
    }

    fn written_out(&self, text: &str) -> Result<String> {
        let mut out = String::with_capacity(2 * text.len());
        let mut tex: Option<String> = None;
        for part in parts(text) {
            match part {
                Part::Code(code) => {
                    // The rest is for the check.
                    let language = code.info.split([',', ' ']).next().unwrap_or_default();
                    out.push_str(&code.with(language, &code.text));
                }
                Part::Line(line) => match (line.trim(), &mut tex) {
                    ("$$", None) => tex = Some(String::new()),
                    ("$$", Some(all)) => {
                        out.push_str(&formula::display(all)?);
                        tex = None;
                    }
                    (_, Some(all)) => all.push_str(line),
                    (trimmed, None) => {
                        match trimmed.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")) {
                            Some(order) => out.push_str(&self.excerpt(order)?),
                            None if trimmed.starts_with("{{") => {
                                bail!("an order has to be on a line of its own: {trimmed}")
                            }
                            None => out.push_str(&formula::inline(line)?),
                        }
                    }
                },
            }
        }
        if tex.is_some() {
            bail!("a formula has no end: there is a `$$` without another");
        }
        Ok(out)
    }

    /// The excerpt that `code PATH ITEM` or `test PATH ITEM` orders.
    fn excerpt(&self, order: &str) -> Result<String> {
        let mut words = order.splitn(3, ' ');
        let (kind, path, item) = (words.next(), words.next(), words.next());
        let (Some(kind @ ("code" | "test")), Some(path), Some(item)) = (kind, path, item) else {
            bail!("expected {{{{code PATH ITEM}}}} or {{{{test PATH ITEM}}}}, found {order}");
        };
        let excerpt = excerpt::read(&self.root.join(path), item)?;
        let [first, last] = excerpt.lines;
        let code = format!(
            "```rust,ignore\n{}```\n\n<p class=\"source\"><code>{path}</code>, lines {first} to {last}</p>\n\n",
            excerpt.text
        );
        Ok(match kind {
            "test" => format!("<details><summary>The test</summary>\n\n{code}</details>\n\n"),
            _ => code,
        })
    }
}

impl Preprocessor for Source {
    fn name(&self) -> &str {
        "attentive"
    }

    fn run(&self, _context: &PreprocessorContext, mut book: Book) -> BookResult<Book> {
        let mut outcome = Ok(());
        book.for_each_mut(|item| {
            if let BookItem::Chapter(chapter) = item
                && outcome.is_ok()
            {
                let path = chapter.source_path.clone().unwrap_or_default();
                let written = self.checked(&chapter.content);
                outcome = written
                    .map(|written| chapter.content = written)
                    .with_context(|| path.display().to_string());
            }
        });
        outcome.map(|()| book)
    }
}
