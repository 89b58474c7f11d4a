//! Texts divided into sentences.

use super::markup::{SourceFormat, TextRun};
use super::placeables::Markers;
use super::plain::{LocatedSegment, find_segments};
use super::{Segment, Segmentation, TranslatedSegment, needs_blank};

/// A text divided into sentences, to be translated one by one.
///
/// ```
/// use attentive_document::{DividedText, Split};
///
/// let text = DividedText::new("One.  Two!\n", Split::Sentences, |_| true);
/// let sentences = text.sentences().iter();
/// let parts: Vec<_> = sentences.map(|one| (&*one.before, &*one.text)).collect();
/// assert_eq!(parts, [("", "One."), ("  ", "Two!")]);
/// assert_eq!(text.after(), "\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DividedText {
    sentences: Vec<Sentence>,
    after: String,
}

/// A sentence and the text before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence {
    /// The blanks after the previous sentence, and anything else that is not translated, such as emoji.
    pub before: String,
    /// The sentence as it stands in the text.
    pub source: String,
    /// The sentence as a model reads it: without [placeables](crate::placeables) and characters that mean
    /// nothing.
    pub text: String,
    /// The placeables, if there are any, with the text around them.
    run: Option<Box<TextRun>>,
    needs_alignment: bool,
    /// True if it follows the previous sentence without a blank, as in Chinese.
    touches: bool,
}

impl DividedText {
    /// Divides `text` as `how` says, into its sentences by default. Sentences that the model cannot read at
    /// once, according to `fits`, are divided further.
    pub fn new(text: &str, how: impl Into<Segmentation>, fits: impl Fn(&str) -> bool) -> Self {
        let mut sentences = Vec::new();
        let mut kept = 0;
        for LocatedSegment { range, segment: Segment { text: read, touches, needs_alignment }, run } in
            find_segments(text, Markers::Each, how.into(), SourceFormat::Plain, &fits)
        {
            let before = text[kept..range.start].to_owned();
            kept = range.end;
            sentences.push(Sentence {
                before,
                source: text[range].to_owned(),
                text: read,
                run,
                needs_alignment,
                touches,
            });
        }
        Self { sentences, after: text[kept..].to_owned() }
    }

    /// Makes a single sentence of `text`, whatever it is.
    pub fn whole(text: String) -> Self {
        let sentence = Sentence { source: text.clone(), text, ..Sentence::default() };
        Self { sentences: vec![sentence], after: String::new() }
    }

    /// Returns the sentences, none of which is blank if the text was divided.
    pub fn sentences(&self) -> &[Sentence] {
        &self.sentences
    }

    /// Returns the text after the last sentence.
    pub fn after(&self) -> &str {
        &self.after
    }

    /// Returns the text with translations in place of its sentences. Translations may still be missing at the
    /// end.
    pub fn text_of<'a>(&self, translations: impl IntoIterator<Item = &'a str>) -> String {
        let mut text = String::new();
        let mut translations = translations.into_iter();
        for sentence in &self.sentences {
            let translation = translations.next().unwrap_or_default();
            sentence.write(translation, &mut text);
        }
        text + &self.after
    }

    /// Returns the translation of each sentence, with a blank before it if the language needs one and the
    /// text has none. Each placed after its [`Sentence::before`], they make up the translation of the text.
    pub fn spaced<'a>(&self, translations: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut text = String::new();
        let each = self.sentences.iter().zip(translations);
        let spaced = each.map(|(sentence, translation)| {
            let from = text.len() + sentence.before.len();
            sentence.write(translation, &mut text);
            text[from..].to_owned()
        });
        spaced.collect()
    }
}

impl Sentence {
    /// True if there are [placeables](crate::placeables), so that the translation must be
    /// [restored](Sentence::restored).
    pub fn has_placeables(&self) -> bool {
        self.run.is_some()
    }

    /// True if placeables within the sentence require [`TranslatedSegment::alignment`].
    pub fn needs_alignment(&self) -> bool {
        self.needs_alignment
    }

    /// Returns a translation of [`Sentence::text`] with the placeables of the sentence in it.
    pub fn restored(&self, translated: &TranslatedSegment) -> String {
        let Some(run) = &self.run else {
            return translated.text.clone();
        };
        let segment =
            Segment { text: self.text.clone(), needs_alignment: self.needs_alignment, touches: self.touches };
        let mut out = String::new();
        run.render(std::slice::from_ref(&segment), std::slice::from_ref(translated), &mut out);
        out
    }

    /// Appends the translation of this sentence to the translation of the text before it, after the text
    /// between them.
    pub fn write(&self, translation: &str, text: &mut String) {
        text.push_str(&self.before);
        if self.touches && needs_blank(text, translation) {
            text.push(' ');
        }
        text.push_str(translation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Split;

    #[test]
    fn translations_take_the_place_of_sentences() {
        let text = DividedText::new(" A dog.  Cats!\n😀", Split::Sentences, |_| true);
        assert_eq!(text.text_of(["x y.", "z!"]), " x y.  z!\n😀");
        assert_eq!(text.spaced(["x y.", "z!"]), ["x y.", "z!"]);
        assert_eq!(text.after(), "\n😀");
    }

    #[test]
    fn blanks_come_with_a_language_that_has_them() {
        let text = DividedText::new("你好。再见 吧！ A b.", Split::Sentences, |_| true);
        assert_eq!(text.text_of(["x y.", "z!", "v w."]), "x y. z! v w.");
        assert_eq!(text.text_of(["x y。", "z！"]), "x y。z！ ");
    }
}
