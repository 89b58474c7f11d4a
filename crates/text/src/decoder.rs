//! The way from tokens back to text.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokenizers::{Decoder, DecoderWrapper};

use super::growth::{Bound, Replacing, flattened};

/// The `decoder` of a tokenizer file.
#[derive(Clone, Debug)]
pub(super) struct DecoderSteps(Vec<Step>);

#[derive(Clone, Debug)]
enum Step {
    Replace(Replacing),
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
            Step::Replace(_) => None,
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

impl Decoder for DecoderSteps {
    fn decode_chain(&self, mut tokens: Vec<String>) -> tokenizers::Result<Vec<String>> {
        let size = |tokens: &[String]| tokens.iter().map(String::len).sum();
        let bound = Bound::of(size(&tokens));
        for step in &self.0 {
            tokens = match step {
                Step::Library(step) => step.decode_chain(tokens)?,
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
