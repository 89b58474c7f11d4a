//! Texts divided into sentences.

use super::{Document, Part, Segment, Split, needs_blank};

/// A text divided into sentences, to be translated one by one.
///
/// ```
/// use attentive_document::Divided;
///
/// let text = Divided::into_sentences("One.  Two!\n", |_| true);
/// let sentences = text.sentences().iter();
/// let parts: Vec<_> = sentences.map(|one| (&*one.before, &*one.text)).collect();
/// assert_eq!(parts, [("", "One."), ("  ", "Two!")]);
/// assert_eq!(text.after(), "\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Divided {
    sentences: Vec<Sentence>,
    after: String,
}

/// A sentence and the text before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence {
    /// The blanks after the previous sentence, and anything else that is not translated, such as emoji.
    pub before: String,
    /// The sentence.
    pub text: String,
    /// True if it follows the previous sentence without a blank, as in Chinese.
    touches: bool,
}

impl Divided {
    /// Divides `text` into its sentences. Line breaks end sentences, and sentences that the model cannot read
    /// at once, according to `fits`, are divided further.
    pub fn into_sentences(text: &str, fits: impl Fn(&str) -> bool) -> Self {
        let Document { segments, parts } = Document::text(text, Split::Sentences, fits);
        let mut segments = segments.into_iter();
        let mut divided = Self::default();
        for part in parts {
            match part {
                Part::Verbatim(text) => divided.after = text,
                Part::Plain(_) | Part::Run(_) => {
                    let Segment { text, touches, .. } = segments.next().unwrap_or_default();
                    divided.sentences.push(Sentence {
                        before: std::mem::take(&mut divided.after),
                        text,
                        touches,
                    });
                }
            }
        }
        divided
    }

    /// Makes a single sentence of `text`, whatever it is.
    pub fn whole(text: String) -> Self {
        let sentence = Sentence { text, ..Sentence::default() };
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

    #[test]
    fn translations_take_the_place_of_sentences() {
        let text = Divided::into_sentences(" A dog.  Cats!\n😀", |_| true);
        assert_eq!(text.text_of(["x y.", "z!"]), " x y.  z!\n😀");
        assert_eq!(text.spaced(["x y.", "z!"]), ["x y.", "z!"]);
        assert_eq!(text.after(), "\n😀");
    }

    #[test]
    fn blanks_come_with_a_language_that_has_them() {
        let text = Divided::into_sentences("你好。再见 吧！ A b.", |_| true);
        assert_eq!(text.text_of(["x y.", "z!", "v w."]), "x y. z! v w.");
        assert_eq!(text.text_of(["x y。", "z！"]), "x y。z！ ");
    }
}
