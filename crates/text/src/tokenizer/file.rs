//! The sections of a `tokenizer.json`.

use attentive_base::foreign::try_contain;
use serde::Deserialize;
use serde_json::Value;
use tokenizers::{AddedToken, PostProcessorWrapper};

use crate::decoder::DecoderSteps;
use crate::growth::{TOKEN, check_text, flattened};
use crate::normalizer::NormalizerSteps;
use crate::pre_tokenizer::PreTokenizerSteps;
use crate::tokenizer_model::TokenizerModel;

use super::added::Added;
use super::inner::Inner;

/// The version of the format.
const VERSION: &str = "1.0";

/// The sections of a `tokenizer.json`.
#[derive(Deserialize)]
struct Sections {
    #[serde(default = "version")]
    version: String,
    #[serde(default)]
    added_tokens: Vec<Entry>,
    normalizer: Option<NormalizerSteps>,
    pre_tokenizer: Option<PreTokenizerSteps>,
    #[serde(default)]
    post_processor: Value,
    decoder: Option<DecoderSteps>,
    model: TokenizerModel,
}

/// An added token. Its id is that of the model's token or the next one, whatever is written.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "id")]
    _id: u32,
    #[serde(flatten)]
    token: AddedToken,
}

fn version() -> String {
    VERSION.into()
}

/// Parses a `tokenizer.json`, without its settings of truncation and padding, which are left to batching.
/// Otherwise describes the problem.
pub(super) fn parse(json: &[u8]) -> Result<Inner, String> {
    try_contain(|| read(json).map_err(|error| error.to_string()))
        .map_err(|problem| format!("invalid tokenizer file: {problem}"))
}

/// The steps behind the model that correct places. The others put special tokens around a text, which is done
/// elsewhere, or repeat it.
fn post_processors(file: &Value) -> tokenizers::Result<Vec<PostProcessorWrapper>> {
    if file.is_null() {
        return Ok(Vec::new());
    }
    let steps = flattened(file, "processors").into_iter();
    let steps: Vec<PostProcessorWrapper> =
        steps.map(PostProcessorWrapper::deserialize).collect::<Result<_, _>>()?;
    let corrects = |step: &PostProcessorWrapper| {
        matches!(step, PostProcessorWrapper::ByteLevel(_) | PostProcessorWrapper::Roberta(_))
    };
    Ok(steps.into_iter().filter(corrects).collect())
}

fn read(json: &[u8]) -> tokenizers::Result<Inner> {
    let sections: Sections = serde_json::from_str(str::from_utf8(json)?)?;
    if sections.version != VERSION {
        return Err(format!("unknown version `{}`", sections.version).into());
    }
    let added = sections.added_tokens.into_iter();
    let added: Vec<AddedToken> = added.map(|entry| entry.token).collect();
    for token in &added {
        check_text("an added token", &token.content, TOKEN)?;
    }
    let (model, normalizer) = (sections.model, sections.normalizer);
    Ok(Inner {
        added: Added::new(added, &model, normalizer.as_ref())?,
        model,
        normalizer,
        pre_tokenizer: sections.pre_tokenizer,
        post_processors: post_processors(&sections.post_processor)?,
        decoder: sections.decoder,
    })
}
