//! Imports model directories of Hugging Face's `transformers`: `config.json`, `model.safetensors`,
//! `tokenizer.json`.

mod bart;
mod bert;
mod distilbert;
mod export;
mod generation;
mod gpt2;
mod labels;
mod llama;
mod mpnet;
mod roberta;
mod search;
mod sentences;
mod t5;
mod tokenizer;

use std::path::Path;

use serde_json::{Map, Value};

pub(super) use self::export::{POSITIONS_OF_BOTH_SIDES, computes_positions, export, kind};
use attentive_architecture::{ActivationKind, Task, TieEmbeddings};
use attentive_base::error::Result;
use attentive_base::folder_of;
use attentive_base::regular_file;
use attentive_config::{
    Config, DataConfig, DecoderConfig, FamilyConfig, ModelConfig, OutputConfig, Vocabulary,
};
use attentive_text::{Languages, Tokenizers};

use self::generation::HfGenerationConfig;
use self::labels::EncoderHead;
use super::ForeignModel;
use super::diagnosis;
use super::keys::{UnreadKeys, not_understood};
use super::listing::file_name;
use super::recipe::{NameMapping, Recipe, SinusoidTable, SourcePattern, Unused, names};
use super::tensors::{INDEX, Tensors, WHOLE};

/// Keys of all kinds of models that do not affect the output.
const IGNORED: &[&str] = &[
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_name_or_path",
    "auto_map",
    "chunk_size_feed_forward",
    "classif_dropout",
    "classifier_dropout",
    "cls_token_id",
    "dtype",
    "eos_token_ids",
    "gradient_checkpointing",
    "init_std",
    "initializer_factor",
    "initializer_range",
    "line_by_line",
    "mask_token_id",
    "max_sequence_length",
    "model_max_length",
    "normalize_before",
    "normalize_embedding",
    "output_past",
    "prefix",
    "save_step",
    "sep_token_id",
    "task_specific_params",
    "tf_legacy_loss",
    "tokenizer_class",
    "torch_dtype",
    "torchscript",
    "transformers.js_config",
    "unsloth_fixed",
    "unsloth_version",
    "use_bfloat16",
    "use_cache",
    "xla_device",
];

/// The key for the version of `transformers` that wrote the file; it matters for few kinds of models.
const VERSION: &str = "transformers_version";

/// Keys of all kinds of models that must be false if present.
const FALSE: &[&str] = &["add_cross_attention", "is_decoder", "tie_encoder_decoder"];

/// The embedding that both sides of an encoder-decoder share, and the copy of it in the decoder.
const SHARED: &str = "shared.weight";
const DECODERS_COPY: &str = "decoder.embed_tokens.weight";
const FROM_DECODERS_COPY: NameMapping = names! {
    "src.embedding" => SourcePattern::Same("decoder.embed_tokens"),
};

/// A model as described by its `config.json`.
struct Described {
    model: ModelConfig,
    /// The number of tokens.
    vocab: usize,
    /// See [`Recipe::names`].
    names: Vec<NameMapping>,
    unused: Vec<Unused>,
    /// See [`Recipe::prefix`].
    prefix: &'static str,
    positions: Option<SinusoidTable>,
    /// The labels of a classifier or tagger.
    labels: Option<Vec<String>>,
    /// See [`ForeignModel::notes`].
    notes: Vec<String>,
}

impl Described {
    /// Describes a model whose tensors are all stored and read.
    fn new(model: ModelConfig, vocab: usize, names: NameMapping) -> Self {
        Self {
            model,
            vocab,
            names: vec![names],
            unused: Vec::new(),
            prefix: "",
            positions: None,
            labels: None,
            notes: Vec::new(),
        }
    }

    /// Adds this head of an encoder, whose tensors have the names `texts` or `words` if it predicts labels.
    fn with(mut self, head: EncoderHead, texts: NameMapping, words: NameMapping) -> Self {
        match head {
            EncoderHead::Texts(_) => self.names.insert(0, texts),
            EncoderHead::Words(_) => self.names.insert(0, words),
            EncoderHead::Masked | EncoderHead::None => {}
        }
        self.labels = head.into_labels();
        self
    }

    /// Adds an embedding that both sides share. The file may have these copies of it; some files have only
    /// the decoder's.
    fn sharing(mut self, tensors: &Tensors, copies: &[&'static str]) -> Self {
        let has = |name: &str| tensors.has(name) || tensors.has(&format!("{}{name}", self.prefix));
        let has_original = has(SHARED) || !has(DECODERS_COPY);
        if !has_original {
            self.names.insert(0, FROM_DECODERS_COPY);
        }
        let original = if has_original { SHARED } else { DECODERS_COPY };
        let copies = copies.iter().map(|copy| Unused::CopyOf(copy, original));
        self.unused.extend(copies);
        self
    }
}

/// A function that describes the model with this `config.json`, in this directory, with these tensors.
type Describe = fn(&mut UnreadKeys, &Path, &Tensors) -> Result<Described>;

/// Reads the model `path`, a directory or the file of its weights.
pub(super) fn open(path: &Path, languages: &Languages) -> Result<ForeignModel> {
    let dir = directory(path);
    let (mut keys, kind, describe) = begin(dir)?;
    let tensors = Tensors::safetensors(dir)?;
    let Described { mut model, vocab, names, unused, prefix, positions, labels, mut notes } =
        describe(&mut keys, dir, &tensors)?;
    let task = model.family.task();
    let generation = HfGenerationConfig::read(dir, &kind, &mut keys)?.of(task);
    end(keys)?;
    let hf_tokenizer = tokenizer::read(dir, &kind, vocab, &generation)?;
    generation.apply(&hf_tokenizer, &mut model)?;
    hf_tokenizer.apply(languages, &mut model)?;
    let units = hf_tokenizer.units(task);
    notes.extend(generation.notes(&model));
    notes.extend(hf_tokenizer.notes(task));
    if task == Task::Embed {
        notes.extend(sentences::note_on_texts(dir, hf_tokenizer.lowercases)?);
    }
    let (mut tokenizer, mut tokenizers) = (hf_tokenizer.config, hf_tokenizer.tokenizers);
    if let Some(labels) = &labels {
        tokenizers = with_labels(&tokenizers, labels, dir)?;
    }
    let ties_inputs = |output: &OutputConfig| output.tie_embeddings.ties_inputs();
    let ties_inputs = model.family.output().is_none_or(ties_inputs);
    tokenizer.vocabulary = match &tokenizers {
        Tokenizers::Separate { .. } if labels.is_some() || !ties_inputs => Vocabulary::Separate,
        _ => Vocabulary::Shared,
    };
    let config = Config {
        tokenizer,
        decode: generation.decode(&model),
        data: DataConfig {
            max_len: model.max_len.min(DataConfig::default().max_len),
            units,
            ..DataConfig::default()
        },
        model,
        ..Config::default()
    };
    let recipe = Recipe {
        barred: generation.impossible(&config.model)?,
        unused,
        prefix,
        positions,
        ..Recipe::new(dir, tensors, names)
    };
    let mut foreign = ForeignModel::new(kind, config, tokenizers, recipe)?;
    foreign.notes = notes;
    Ok(foreign)
}

/// Reads `config.json` up to the keys that only some kinds of models have. Also returns the kind, and what
/// describes it.
fn begin(dir: &Path) -> Result<(UnreadKeys, String, Describe)> {
    let config = dir.join("config.json");
    if !config.exists() {
        let problem = "there is no `config.json` (`transformers`), and there are no weights of Marian or \
                       Firefox (`.npz`, `.bin`)";
        return Err(diagnosis::of(dir, problem));
    }
    let mut keys = UnreadKeys::read(&config)?;
    let Some(kind) = keys.optional::<String>("model_type")? else {
        let problem = "`model_type` is missing in `config.json`";
        return Err(diagnosis::of(dir, problem));
    };
    keys.ignore(IGNORED);
    for key in FALSE {
        keys.only(key, false)?;
    }
    keys.only("pruned_heads", Map::new())?;
    match describe(&kind) {
        Some(describe) => Ok((keys, kind, describe)),
        None => Err(keys.refuse("model_type", &Value::from(kind))),
    }
}

/// Refuses keys that nothing has read.
fn end(mut keys: UnreadKeys) -> Result<()> {
    keys.ignore(&[VERSION]);
    keys.ignore(labels::KEYS);
    // It has already been read for encoder-decoders.
    keys.only("is_encoder_decoder", false)?;
    keys.finish()
}

/// Returns the tokenizer of sources among `tokenizers`, and one of these labels.
fn with_labels(tokenizers: &Tokenizers, labels: &[String], dir: &Path) -> Result<Tokenizers> {
    let tgt = labels::tokenizer(labels);
    Ok(Tokenizers::Separate {
        src: tokenizers.src().clone(),
        tgt: tgt.map_err(|problem| not_understood(dir, problem))?,
    })
}

/// Returns the directory of the model `path`, which may be the file of its weights.
fn directory(path: &Path) -> &Path {
    let is_weights = path.is_file() && [WHOLE, INDEX].contains(&&*file_name(path));
    if is_weights { folder_of(path) } else { path }
}

/// Returns the function that describes models of the kind `kind` (`model_type`), if it is known.
fn describe(kind: &str) -> Option<Describe> {
    Some(match kind {
        "bart" => |keys, _, tensors| bart::bart(keys, tensors),
        "mbart" => |keys, _, tensors| bart::mbart(keys, tensors),
        "m2m_100" => |keys, _, tensors| bart::m2m_100(keys, tensors),
        "marian" => |keys, _, tensors| bart::marian(keys, tensors),
        "t5" => |keys, _, tensors| t5::t5(keys, tensors),
        "mt5" => |keys, _, tensors| t5::mt5(keys, tensors),
        "llama" => |keys, _, _| llama::describe(keys),
        "bert" => bert::describe,
        "distilbert" => distilbert::describe,
        "roberta" | "xlm-roberta" | "camembert" => roberta::describe,
        "mpnet" => mpnet::describe,
        "gpt2" => |keys, _, _| gpt2::describe(keys),
        _ => return None,
    })
}

/// Reads the JSON value in the file `path`.
fn json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = regular_file::read(path, regular_file::DESCRIPTION)?;
    serde_json::from_slice(&text).map_err(|error| not_understood(path, format!("damaged: {error}")))
}

/// The family of a causal language model, whose output projection may be the embedding.
fn decoder_only(n_decoder_layers: usize, tied: bool) -> FamilyConfig {
    FamilyConfig::DecoderOnly {
        decoder: DecoderConfig { n_decoder_layers, ..DecoderConfig::default() },
        output: OutputConfig { tie_embeddings: tied_or_not(tied), ..OutputConfig::default() },
        extra_eos_tokens: None,
    }
}

fn tied_or_not(tied: bool) -> TieEmbeddings {
    if tied { TieEmbeddings::All } else { TieEmbeddings::None }
}

/// Reads the activation function that `key` names.
fn activation(keys: &mut UnreadKeys, key: &str, default: &str) -> Result<ActivationKind> {
    let name: String = keys.or(key, default.to_owned())?;
    Ok(match name.as_str() {
        "relu" => ActivationKind::Relu,
        "gelu" | "gelu_python" => ActivationKind::Gelu,
        "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" => ActivationKind::GeluTanh,
        "silu" | "swish" => ActivationKind::Silu,
        _ => return Err(keys.refuse(key, &Value::from(name))),
    })
}
