//! The sections of a `tokenizer.json`.

use serde::Deserialize;
use serde_json::Value;
use tokenizers::{AddedToken, DecoderWrapper, PostProcessorWrapper, TokenizerBuilder};

use crate::division::Division;
use crate::normalization::{Inner, Normalization};
use crate::unigram::Pieces;

/// The version of the format.
const VERSION: &str = "1.0";

/// The sections of a `tokenizer.json`. The `tokenizers` library would read it too, but panics on a decoder that is not JSON.
#[derive(Deserialize)]
struct Sections {
    #[serde(default = "version")]
    version: String,
    #[serde(default)]
    added_tokens: Vec<Added>,
    normalizer: Option<Normalization>,
    pre_tokenizer: Option<Division>,
    post_processor: Option<PostProcessorWrapper>,
    decoder: Option<Value>,
    model: Pieces,
}

/// An added token. Its id is that of the model's token or the next one, whatever is written.
#[derive(Deserialize)]
struct Added {
    #[serde(rename = "id")]
    _id: u32,
    #[serde(flatten)]
    token: AddedToken,
}

fn version() -> String {
    VERSION.into()
}

/// Parses a `tokenizer.json`, without its settings of truncation and padding, which are left to batching. Otherwise describes
/// the problem.
pub(super) fn parse(json: &[u8]) -> Result<Inner, String> {
    read(json).map_err(|error| format!("invalid tokenizer file: {error}"))
}

fn read(json: &[u8]) -> tokenizers::Result<Inner> {
    let sections: Sections = serde_json::from_str(str::from_utf8(json)?)?;
    if sections.version != VERSION {
        return Err(format!("unknown version `{}`", sections.version).into());
    }
    let decoder = sections
        .decoder
        .map(serde_json::from_value::<DecoderWrapper>);
    let mut tokenizer = TokenizerBuilder::new()
        .with_model(sections.model)
        .with_normalizer(sections.normalizer)
        .with_pre_tokenizer(sections.pre_tokenizer)
        .with_post_processor(sections.post_processor)
        .with_decoder(decoder.transpose()?)
        .build()?;
    let added = sections.added_tokens.into_iter();
    let added: Vec<AddedToken> = added.map(|added| added.token).collect();
    tokenizer.add_tokens(&added);
    Ok(tokenizer)
}
