//! The book as an EPUB, for readers of electronic books.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result};
use epub_builder::{EpubBuilder, EpubContent, EpubVersion, ReferenceType, ZipLibrary};
use mdbook_driver::book::Chapter;
use mdbook_markdown::{MarkdownOptions, new_cmark_parser, pulldown_cmark};

use crate::source::Source;

/// Writes the `chapters` into the file `to`.
pub(crate) fn write<'a>(
    title: &str,
    chapters: impl Iterator<Item = &'a Chapter>,
    source: &Source,
    book: &Path,
    to: &Path,
) -> Result<()> {
    let mut epub = EpubBuilder::new(ZipLibrary::new().map_err(error)?).map_err(error)?;
    epub.epub_version(EpubVersion::V30);
    epub.metadata("title", title).map_err(error)?;
    epub.metadata("lang", "en").map_err(error)?;
    epub.metadata("author", "The authors of Attentive").map_err(error)?;
    epub.stylesheet(&*fs::read(book.join("book.css"))?).map_err(error)?;
    epub.inline_toc();
    for chapter in chapters {
        let Some(path) = &chapter.path else { continue };
        let page = page(&chapter.name, &source.checked(&chapter.content)?);
        roxmltree::Document::parse(&page).with_context(|| format!("{} is no XHTML", path.display()))?;
        let name = path.with_extension("xhtml").to_string_lossy().into_owned();
        let content = EpubContent::new(name, page.as_bytes()).title(&chapter.name);
        epub.add_content(content.reftype(ReferenceType::Text)).map_err(error)?;
    }
    let pictures = book.join("text/pictures");
    let mut paths: Vec<_> = match pictures.is_dir() {
        true => {
            fs::read_dir(&pictures)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?
        }
        false => Vec::new(),
    };
    paths.sort();
    for path in paths {
        let name = format!("pictures/{}", path.file_name().unwrap_or_default().to_string_lossy());
        epub.add_resource(name, File::open(&path)?, "image/svg+xml").map_err(error)?;
    }
    epub.generate(File::create(to).with_context(|| to.display().to_string())?).map_err(error)
}

/// A chapter as XHTML.
fn page(title: &str, text: &str) -> String {
    let text = text.replace(".md)", ".xhtml)").replace(".md#", ".xhtml#");
    let mut body = String::new();
    pulldown_cmark::html::push_html(&mut body, new_cmark_parser(&text, &MarkdownOptions::default()));
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n\
         <head><title>{title}</title><link rel=\"stylesheet\" href=\"stylesheet.css\"/></head>\n\
         <body>\n{body}</body>\n</html>\n"
    )
}

fn error(error: epub_builder::Error) -> anyhow::Error {
    anyhow::anyhow!("the EPUB cannot be written: {error}")
}
