//! How a model of Sentence Transformers (Reimers and Gurevych 2019) makes one vector of those of the positions.

use std::path::Path;

use serde_json::Value;

use crate::architecture::Pooling;
use crate::error::Result;
use crate::interop::keys::Keys;

const FILE: &str = "1_Pooling/config.json";

/// The pooling of the encoder in `dir`; the mean if the directory does not say.
pub(super) fn read(dir: &Path) -> Result<Pooling> {
    let path = dir.join(FILE);
    if !path.exists() {
        return Ok(Pooling::Mean);
    }
    let mut keys = Keys::read(&path)?;
    keys.ignore(&["word_embedding_dimension", "include_prompt"]);
    for key in [
        "pooling_mode_max_tokens",
        "pooling_mode_mean_sqrt_len_tokens",
        "pooling_mode_weightedmean_tokens",
    ] {
        keys.only(key, false)?;
    }
    let chosen = [
        ("pooling_mode_mean_tokens", Pooling::Mean),
        ("pooling_mode_cls_token", Pooling::First),
        ("pooling_mode_lasttoken", Pooling::Last),
    ];
    let mut found = Vec::new();
    for (key, pooling) in chosen {
        if keys.or(key, false)? {
            found.push((key, pooling));
        }
    }
    let pooling = match found[..] {
        [(_, pooling)] => pooling,
        [] => Pooling::Mean,
        [_, (key, _), ..] => return Err(keys.refuse(key, &Value::from(true))),
    };
    keys.finish()?;
    Ok(pooling)
}
