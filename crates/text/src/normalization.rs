//! The normalization of a text before it is divided.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokenizers::{
    DecoderWrapper, NormalizedString, Normalizer, NormalizerWrapper, PostProcessorWrapper,
    TokenizerImpl,
};

use super::charsmap::Charsmap;
use super::division::Division;
use super::unigram::Pieces;

/// A tokenizer of the `tokenizers` library with this crate's normalization, division and search for pieces.
pub(super) type Inner =
    TokenizerImpl<Pieces, Normalization, Division, PostProcessorWrapper, DecoderWrapper>;

/// The `normalizer` of a tokenizer file. The first step, if it has a compiled map, may have an entry `"match": "longest"`,
/// which makes it search for the longest match at every position as the programs that compile such maps do; other programs
/// ignore the entry, and search for whole graphemes. `"kept"` lists texts that are left unchanged.
#[derive(Clone, Debug)]
pub(super) struct Normalization {
    map: Option<Charsmap>,
    steps: Option<NormalizerWrapper>,
}

impl<'de> Deserialize<'de> for Normalization {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut file = Value::deserialize(deserializer)?;
        let map = take_map(&mut file).map_err(D::Error::custom)?;
        let steps = match file {
            Value::Null => None,
            file => Some(serde_json::from_value(file).map_err(D::Error::custom)?),
        };
        Ok(Self { map, steps })
    }
}

impl Normalizer for Normalization {
    fn normalize(&self, text: &mut NormalizedString) -> tokenizers::Result<()> {
        if let Some(map) = &self.map {
            map.normalize(text);
        }
        match &self.steps {
            Some(steps) => steps.normalize(text),
            None => Ok(()),
        }
    }
}

/// Removes the map with `"match": "longest"` from `file`, and checks the other maps.
fn take_map(file: &mut Value) -> Result<Option<Charsmap>, String> {
    let is_first = |file: &Value| file["match"] == "longest";
    let map = parse(file)?;
    if is_first(file) {
        *file = Value::Null;
        return Ok(map);
    }
    let Some(steps) = file.get_mut("normalizers").and_then(Value::as_array_mut) else {
        return Ok(None);
    };
    let mut maps = Vec::new();
    for step in &*steps {
        maps.push(parse(step)?);
    }
    match steps.first().is_some_and(is_first) {
        true => {
            steps.remove(0);
            Ok(maps.swap_remove(0))
        }
        false => Ok(None),
    }
}

/// The map of a step, if it has one.
fn parse(step: &Value) -> Result<Option<Charsmap>, String> {
    if step["type"] != "Precompiled" {
        return Ok(None);
    }
    let map = step["precompiled_charsmap"].as_str().unwrap_or_default();
    let kept = step["kept"].as_array().into_iter().flatten();
    let kept = kept.filter_map(Value::as_str).map(str::to_owned).collect();
    Charsmap::parse(map, kept).map(Some)
}
