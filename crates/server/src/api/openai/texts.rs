//! Texts of a request, in whose place OpenAI's API takes the ids of tokens, too.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

use crate::api::{OneOrMany, one_or_many};

/// Reads a text, or texts.
///
/// # Errors
/// An error that ids are not read.
pub(super) fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<OneOrMany, D::Error> {
    one_or_many(from, "a string or a list of strings", OneOrMany::One, |texts: Vec<Text>| {
        OneOrMany::Many(texts.into_iter().map(|Text(text)| text).collect())
    })
}

/// Reads a text, texts, or `null`.
///
/// # Errors
/// Those of [`texts`].
pub(super) fn texts_or_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<OneOrMany>, D::Error> {
    #[derive(Deserialize)]
    struct PresentTexts(#[serde(deserialize_with = "texts")] OneOrMany);
    Ok(Option::<PresentTexts>::deserialize(from)?.map(|PresentTexts(texts)| texts))
}

/// A text of a list.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Text, E> {
        Ok(Text(text))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Text, E> {
        Err(E::custom("token ids are not supported"))
    }

    // The ids of several texts.
    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Text, A::Error> {
        Err(A::Error::custom("token ids are not supported"))
    }
}
