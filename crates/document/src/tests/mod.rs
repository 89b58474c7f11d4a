mod files;
mod hostile;
mod html;
mod inline;
mod kept;
mod placeables;
mod plain;
mod random_files;
mod random_markup;
mod random_xml;
mod sentences;
mod xml;

use super::{Document, Split, TranslatedSegment};

/// The document with each segment translated to itself.
fn unchanged(document: &Document) -> String {
    document.render(&identity(document))
}

/// Each segment as its own translation, word by word.
fn identity(document: &Document) -> Vec<TranslatedSegment> {
    let segments = document.segments().iter();
    let itself = segments.map(|segment| TranslatedSegment {
        text: segment.text.clone(),
        alignment: (0..segment.text.split_whitespace().count()).map(|word| (word, word)).collect(),
    });
    itself.collect()
}

/// The texts of the segments.
fn texts(document: &Document) -> Vec<&str> {
    let segments = document.segments().iter();
    segments.map(|segment| segment.text.as_str()).collect()
}

/// HTML with one segment, and its translation.
fn translated(html: &str, text: &str, alignment: &[(usize, usize)]) -> String {
    let document = Document::html(html, Split::Nowhere, |_| true).unwrap();
    assert_eq!(document.segments().len(), 1, "{:?}", texts(&document));
    document.render(&[TranslatedSegment { text: text.into(), alignment: alignment.to_vec() }])
}
