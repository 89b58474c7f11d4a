//! Imports models of Marian (Junczys-Dowmunt et al. 2018) and of Firefox: `.npz` and `.bin` with vocabularies
//! beside them.

mod checkpoints;
mod export;
mod files;
mod names;
mod options;
mod search;
mod shortlist;
#[cfg(test)]
pub(super) mod tests;
mod vocab;
mod yaml;

use std::num::NonZeroUsize;
use std::path::Path;

use serde_json::{Map, Value};

pub use self::export::{FirefoxParts, rounded_weights};
pub(super) use self::export::{check_for_firefox, export, export_firefox, kind, kind_of_firefox};
pub(super) use self::files::recognizes;

use attentive_base::error::Result;
use attentive_base::regular_file;
use attentive_config::{Config, DataConfig, FamilyConfig, Vocabulary};

use self::files::{MarianFiles, Vocabs};
use self::options::MarianConfig;
use self::search::MarianSearchSettings;
use super::ForeignModel;
use super::keys::{UnreadKeys, not_understood};
use super::recipe::{Recipe, Unused};
use super::tensors::Tensors;

/// The name of the tensor that holds the options.
const OPTIONS: &str = "special:model.yml";
/// The maximum length of a text in Marian, unless the model's files set another.
const MAX_LEN: usize = 1000;

/// Reads the model `path`, a directory or the file of its weights; an ensemble if `decoder.yml` names several
/// models.
pub(super) fn open(path: &Path) -> Result<ForeignModel> {
    let files = MarianFiles::find(path)?;
    let mut model = open_weights(&files, &files.weights)?;
    let partners = files.partners.iter().map(|weights| open_weights(&files, weights));
    model.partners = partners.collect::<Result<_>>()?;
    let search = files.search.as_ref();
    model.notes.extend(files.note.clone());
    if let Some(search) = search.filter(|search| search.n_best) {
        let width = search.decode().beam_width;
        model.notes.push(format!(
            "`decoder.yml` asks for the {width} best translations of each line; `attentive translate --n-best \
             {width}` writes them"
        ));
    }
    if !model.partners.is_empty() {
        let weights = search.map(|search| search.weights.clone()).unwrap_or_default();
        model.log_weights = if weights.is_empty() { vec![1.0; 1 + model.partners.len()] } else { weights };
        if model.log_weights.len() != 1 + model.partners.len() {
            let problem = format!(
                "`decoder.yml` has {} weights for {} models",
                model.log_weights.len(),
                1 + model.partners.len()
            );
            return Err(not_understood(path, problem));
        }
    }
    Ok(model)
}

/// Reads the model with these `weights`.
fn open_weights(files: &MarianFiles, weights: &Path) -> Result<ForeignModel> {
    let tensors = if files.is_binary { Tensors::binary(weights)? } else { Tensors::npz(weights)? };
    let options = UnreadKeys::of(weights, read_options(weights, &tensors)?);
    let described = options::describe(options, &tensors)?;
    let MarianConfig { mut model, mut translator, vocabs, names, alignment_layer } = described;
    let search = files.search.clone().unwrap_or_else(|| {
        if files.is_binary { MarianSearchSettings::of_firefox() } else { MarianSearchSettings::default() }
    });
    let vocabulary = match (&files.vocabs, translator.output.tie_embeddings.ties_inputs()) {
        (Vocabs::Separate(_), false) => Vocabulary::Separate,
        _ => Vocabulary::Shared,
    };
    let read = vocab::read(&files.vocabs, vocabs, vocabulary, &search)?;
    model.max_len = search.max_len.unwrap_or(MAX_LEN);
    translator.decoder.decoder_start_token = Some(read.start);
    translator.decoder.zero_start_embedding = true;
    translator.decoder.suppress_tokens = Some(read.never);
    if files.is_guided {
        // Marian trains the first head of a layer, the last one unless its options name another.
        translator.alignment_layer = alignment_layer;
        translator.alignment_head = NonZeroUsize::new(1);
    }
    model.family = FamilyConfig::Transformer(translator);
    let config = Config {
        tokenizer: read.config,
        decode: search.decode(),
        data: DataConfig {
            max_len: model.max_len.min(DataConfig::default().max_len),
            ..DataConfig::default()
        },
        model,
        ..Config::default()
    };
    let recipe = Recipe {
        unused: vec![Unused::Ignored(OPTIONS), Unused::Ending("_QuantMultA")],
        ..Recipe::new(weights, tensors, names)
    };
    let kind = if files.is_binary { "Marian, binary" } else { "Marian, npz" };
    let mut foreign = ForeignModel::new(kind.into(), config, read.tokenizers, recipe)?;
    if let Some(path) = &files.shortlist {
        let shared = matches!(files.vocabs, Vocabs::Joint(_));
        let (sizes, limits) = (vocabs.map(|size| size + 1), &search.limits);
        let list = shortlist::read(path, limits, sizes, shared, &foreign.tokenizers)?;
        foreign.shortlist = Some(list);
    }
    Ok(foreign)
}

/// Reads the options that are stored with the tensors of the file `path`.
fn read_options(path: &Path, tensors: &Tensors) -> Result<Map<String, Value>> {
    if !tensors.has(OPTIONS) {
        let problem = format!("it has no options of Marian (`{OPTIONS}`)");
        return Err(not_understood(path, problem));
    }
    let bytes = tensors.bytes(OPTIONS)?;
    let end = bytes.iter().position(|&byte| byte == 0);
    parse_yaml(&bytes[..end.unwrap_or(bytes.len())])
        .map_err(|problem| not_understood(path, format!("`{OPTIONS}`: {problem}")))
}

/// Reads the mapping in the file `path`.
fn read_yaml(path: &Path) -> Result<Map<String, Value>> {
    let text = regular_file::read(path, regular_file::BY_HAND)?;
    parse_yaml(&text).map_err(|problem| not_understood(path, problem))
}

fn parse_yaml(text: &[u8]) -> std::result::Result<Map<String, Value>, String> {
    yaml::mapping(str::from_utf8(text).map_err(|_| "it is not UTF-8")?)
}
