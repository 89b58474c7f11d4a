//! Replaces our keys in errors by the keys of the imported file.

use std::path::{Path, PathBuf};

use attentive_base::error::Error;
use attentive_base::regular_file;
use serde_json::{Map, Value};

use attentive_base::folder_of;

/// Files of `transformers` with keys, by precedence of their generation settings.
const FILES: [&str; 2] = ["generation_config.json", "config.json"];

/// Our keys, and other tools' names for them. Those with a hyphen are Marian's.
const NAMES: [(&str, &[&str]); 17] = [
    ("model.d_model", &["d_model", "hidden_size", "n_embd", "dim", "dim-emb"]),
    (
        "model.d_ff",
        &["encoder_ffn_dim", "d_ff", "intermediate_size", "n_inner", "hidden_dim", "transformer-dim-ffn"],
    ),
    (
        "model.n_heads",
        &[
            "encoder_attention_heads",
            "num_attention_heads",
            "num_heads",
            "n_heads",
            "n_head",
            "transformer-heads",
        ],
    ),
    ("model.n_kv_heads", &["num_key_value_heads"]),
    ("model.d_head", &["head_dim", "d_kv"]),
    (
        "model.n_encoder_layers",
        &["encoder_layers", "num_layers", "num_hidden_layers", "n_layers", "enc-depth"],
    ),
    (
        "model.n_decoder_layers",
        &["decoder_layers", "num_decoder_layers", "n_layer", "num_hidden_layers", "dec-depth"],
    ),
    ("model.max_len", &["max_position_embeddings", "n_positions", "max-length"]),
    ("model.norm_epsilon", &["layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps"]),
    ("model.dropout", &["dropout", "hidden_dropout_prob", "dropout_rate", "resid_pdrop"]),
    ("model.attention_dropout", &["attention_dropout", "attention_probs_dropout_prob", "attn_pdrop"]),
    ("model.activation_dropout", &["activation_dropout"]),
    ("model.relative_distance", &["relative_attention_max_distance"]),
    ("model.relative_buckets", &["relative_attention_num_buckets"]),
    ("decode.beam_width", &["num_beams", "beam-size"]),
    ("decode.length_penalty", &["normalize"]),
    ("decode.max_new_extra", &["max_new_tokens", "max_length"]),
];

/// Returns `error` about the model `path` with our key replaced by the key of the file that set it.
pub(super) fn by_its_keys(error: Error, path: &Path) -> Error {
    let Error::Config { key, expected, found, hint } = error else {
        return error;
    };
    let files = Files::beside(path);
    let (file, name) = files.name(&key).unwrap_or((path.to_path_buf(), key));
    Error::Model {
        path: file,
        problem: format!("`{name}`: expected {}, found {found}", files.renamed(expected)),
        hint: hint.map(|hint| files.renamed(hint)),
    }
}

/// The files that may have set a key.
struct Files {
    path: PathBuf,
    objects: Vec<(PathBuf, Map<String, Value>)>,
}

impl Files {
    /// Returns the files of the model `path`, a directory or the file of its weights.
    fn beside(path: &Path) -> Self {
        let dir = if path.is_file() { folder_of(path) } else { path };
        let read = |name: &&str| {
            let file = dir.join(name);
            let object =
                serde_json::from_slice(&regular_file::read(&file, regular_file::BY_HAND).ok()?).ok()?;
            Some((file, object))
        };
        Self { path: path.to_path_buf(), objects: FILES.iter().filter_map(read).collect() }
    }

    /// Returns the file that sets our `key`, and its name there.
    fn name(&self, key: &str) -> Option<(PathBuf, String)> {
        let (_, names) = NAMES.iter().find(|(ours, _)| *ours == key)?;
        if self.objects.is_empty() {
            let name = names.iter().find(|name| name.contains('-'))?;
            return Some((self.path.clone(), (*name).to_owned()));
        }
        self.objects.iter().find_map(|(file, object)| {
            let name = names.iter().find(|name| object.contains_key(**name))?;
            Some((file.clone(), (*name).to_owned()))
        })
    }

    /// Returns the text with the files' names of keys in place of ours.
    fn renamed(&self, text: String) -> String {
        NAMES.iter().fold(text, |text, (ours, _)| {
            let quoted = format!("`{ours}`");
            match text.contains(&quoted).then(|| self.name(ours)).flatten() {
                Some((_, theirs)) => text.replace(&quoted, &format!("`{theirs}`")),
                None => text,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use attentive_config::Config;

    use super::*;

    #[test]
    fn the_names_are_keys_of_ours() {
        for (key, _) in NAMES {
            let set = format!("{key}=false");
            let error = Config::parse("", Path::new("x"), &[set]).unwrap_err();
            let problem = error.to_string();
            assert!(!problem.contains("unknown config key"), "{problem}");
        }
    }

    #[test]
    fn a_key_is_that_of_the_file_that_sets_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let error = || Error::config("model.n_heads", "a divisor of `model.d_model` = 33", "4");
        // Without the files of `transformers`, the key is Marian's.
        let problem = by_its_keys(error(), folder.path()).to_string();
        assert!(
            problem.ends_with("`transformer-heads`: expected a divisor of `dim-emb` = 33, found 4"),
            "{problem}"
        );
        write("generation_config.json", "{\"num_beams\": 4}");
        write("config.json", "{\"num_attention_heads\": 4, \"hidden_size\": 33}");
        let problem = by_its_keys(error(), folder.path()).to_string();
        assert!(
            problem.ends_with(
                "config.json`: `num_attention_heads`: expected a divisor of `hidden_size` = 33, found 4"
            ),
            "{problem}"
        );
        let other = by_its_keys(Error::usage("x", "y"), folder.path());
        assert!(matches!(other, Error::Usage { .. }));
    }
}
