//! The way from tokens back to text.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokenizers::{Decoder, DecoderWrapper};

use super::growth::{Bound, Replacing, flattened};

/// The `decoder` of a tokenizer file. A `Strip` may have an entry `"leading": "all"`, which makes it drop the
/// blanks of empty words at the beginning, as SentencePiece does; other programs ignore the entry.
#[derive(Clone, Debug)]
pub(super) struct DecoderSteps(Vec<Step>);

#[derive(Clone, Debug)]
enum Step {
    Replace(Replacing),
    /// The removal of a blank from each token at the beginning until one has other text.
    LeadingBlanks,
    /// A step of the `tokenizers` library, which makes at most a few times as much of a token.
    Library(DecoderWrapper),
}

impl<'de> Deserialize<'de> for DecoderSteps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let file = Value::deserialize(deserializer)?;
        let steps = flattened(&file, "decoders").into_iter().map(Step::read);
        steps.collect::<Result<_, _>>().map(Self).map_err(D::Error::custom)
    }
}

impl Step {
    fn read(file: &Value) -> Result<Self, String> {
        if let Some(replacing) = Replacing::read(file)? {
            return Ok(Self::Replace(replacing));
        }
        if file["type"] == "Strip" && file["leading"] == "all" {
            return Ok(Self::LeadingBlanks);
        }
        // A value of another type would make the library panic.
        if !file.is_object() {
            return Err("a step of the decoder is not an object".into());
        }
        let library = DecoderWrapper::deserialize(file);
        library.map(Self::Library).map_err(|error| error.to_string())
    }
}

impl DecoderSteps {
    /// The steps that the library does.
    pub(super) fn library(&self) -> impl Iterator<Item = &DecoderWrapper> {
        self.0.iter().filter_map(|step| match step {
            Step::Library(step) => Some(step),
            Step::Replace(_) | Step::LeadingBlanks => None,
        })
    }

    /// The only step, if the library does it.
    pub(super) fn only(&self) -> Option<&DecoderWrapper> {
        match &self.0[..] {
            [Step::Library(step)] => Some(step),
            _ => None,
        }
    }
}

/// The tokens without a blank at the beginning of each until one has other text. The first token has lost its
/// blank already.
fn without_leading_blanks(mut tokens: Vec<String>) -> Vec<String> {
    let n_empty = tokens.iter().take_while(|token| matches!(token.as_str(), "" | " ")).count();
    tokens.drain(..n_empty);
    if n_empty > 0
        && let Some(first) = tokens.first_mut().filter(|first| first.starts_with(' '))
    {
        first.remove(0);
    }
    tokens
}

impl Decoder for DecoderSteps {
    fn decode_chain(&self, mut tokens: Vec<String>) -> tokenizers::Result<Vec<String>> {
        let size = |tokens: &[String]| tokens.iter().map(String::len).sum();
        let bound = Bound::of(size(&tokens));
        for step in &self.0 {
            tokens = match step {
                Step::Library(step) => step.decode_chain(tokens)?,
                Step::LeadingBlanks => without_leading_blanks(tokens),
                Step::Replace(replacing) => {
                    let mut len = 0;
                    let mut replaced = Vec::with_capacity(tokens.len());
                    for token in tokens {
                        let token = replacing.decode(&token, bound)?;
                        len += token.len();
                        bound.check(len, "decoder")?;
                        replaced.push(token);
                    }
                    replaced
                }
            };
            bound.check(size(&tokens), "decoder")?;
        }
        Ok(tokens)
    }
}
