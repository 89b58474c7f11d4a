//! Exports models as directories for `transformers`.

mod encoder;
mod generation;
mod order;
mod tokenizer;
mod translator;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::Path;

use attentive_architecture::{ActivationKind, AddedPositions, Architecture, Items, NormKind, Positions};
use attentive_base::error::{Error, Result};
use attentive_checkpoint::{self as checkpoint, LoadedModel, StoredNumbers, weights};
use attentive_config::{Config, FamilyConfig, ModelConfig};
use attentive_model::model::Parameter;
use attentive_model::nn::sinusoids;
use attentive_text::Tokenizers;
use serde_json::Value;

use super::{gpt2, llama, sentences};
use crate::export::{ExportProblem, Exported};
use crate::exported_tensors::ExportedTensors;
use crate::recipe::{NameMapping, SinusoidTable};

/// The end of the names of learned tables of positions.
const POSITIONS: &str = ".positions.learned";
/// Those of a translator.
pub(crate) const POSITIONS_OF_BOTH_SIDES: [&str; 2] = ["src.positions.learned", "tgt.positions.learned"];

/// A model as `transformers` represents it.
#[derive(Default)]
pub(super) struct HfModel {
    pub(super) kind: &'static str,
    /// The content of `config.json`, without tokens.
    pub(super) config: Value,
    pub(super) names: Vec<NameMapping>,
    /// The prefix of all names but those that begin with one of `bare`.
    pub(super) prefix: &'static str,
    pub(super) bare: &'static [&'static str],
    /// Tensors that are not parameters here: name, shape and values.
    pub(super) added: Vec<(&'static str, Vec<usize>, Vec<f32>)>,
    /// Tensors that are copies of our parameters, which have names of their own too.
    pub(super) copies: Vec<(&'static str, &'static str)>,
    /// The names of vectors that are stored as a row.
    pub(super) rows: &'static [&'static str],
    /// The path of the classifier of labels.
    pub(super) labels: Option<&'static str>,
    /// The tables of positions that `transformers` computes, not stored.
    pub(super) computed: Option<SinusoidTable>,
    /// True if the features of positions are in another order in `transformers`: first all sines, then all
    /// cosines.
    pub(super) permuted: bool,
}

/// Returns the kind that a model of this configuration becomes.
///
/// # Errors
/// Fails if `transformers` cannot represent the model.
pub(crate) fn kind(config: &Config, tokenizers: &Tokenizers) -> Result<&'static str, ExportProblem> {
    let model = &config.model;
    let kind = match &model.family {
        FamilyConfig::Transformer(translator) | FamilyConfig::Seq2seq(translator) => {
            translator::check(model, translator, tokenizers)?
        }
        FamilyConfig::DecoderOnly { decoder, output, .. } if is_like_llama(model) => {
            llama::check(model, decoder, *output).map(|()| "Llama")?
        }
        FamilyConfig::DecoderOnly { decoder, output, .. } => {
            gpt2::check(model, decoder, *output).map(|()| "GPT-2")?
        }
        FamilyConfig::EncoderOnly { .. } | FamilyConfig::Encoder { .. } => encoder::check(model, tokenizers)?,
        // The other vocabulary holds the labels.
        FamilyConfig::Tagger { .. } | FamilyConfig::Classifier { .. } => {
            return encoder::check(model, tokenizers);
        }
    };
    tokenizer::check(tokenizers)?;
    Ok(kind)
}

/// True if Llama is the most similar language model.
fn is_like_llama(model: &ModelConfig) -> bool {
    model.norm == NormKind::Rms || model.positions == Positions::Rotary
}

/// Writes the directory `out`.
pub(crate) fn export(loaded: &LoadedModel, parameters: &[Parameter], out: &Path) -> Result<Exported> {
    let model = hf_model(loaded)?;
    let mut notes = Vec::new();
    let tokenizer = tokenizer::files(loaded, &mut notes)?;
    if ["mBART", translator::M2M_100].contains(&model.kind) && !loaded.tokenizers.src().languages().is_empty()
    {
        notes.push(
            "the exported model translates between the configured languages only, whatever `src_lang` says; \
             for other languages, change the configuration and export it again"
                .into(),
        );
    }
    let generation = generation::of(loaded, &mut notes)?;
    if let Some(table) = model.computed {
        check_computed(table, parameters, model.kind)?;
    }
    let tensors = exported_tensors(&model, loaded)?;
    let by_name: BTreeMap<&str, &Parameter> =
        (parameters.iter()).map(|parameter| (parameter.name.as_str(), parameter)).collect();
    let ours = |name: &str| -> io::Result<Vec<f32>> {
        let parameter = by_name.get(name);
        let parameter = parameter.ok_or_else(|| io::Error::other(format!("no `{name}`")))?;
        Ok(if model.permuted { order::halves_apart(parameter) } else { parameter.values.clone() })
    };
    let written =
        parameters.iter().filter(|parameter| model.computed.is_none() || !is_position(&parameter.name));
    let numbers = fitting_numbers(loaded.provenance.numbers, written, &mut notes);
    let write_weights = |path: &Path| {
        let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
        let shapes = tensors.shapes().into_iter().map(|(name, shape)| (name, shape, numbers));
        let shapes: Vec<_> = shapes.collect();
        weights::write_each(path, Some(metadata), &shapes, |name, _| {
            tensors.values(name, &ours).map(Cow::Owned)
        })?;
        Ok(())
    };
    let mut config = joined(&model.config, &generation);
    config["torch_dtype"] = match numbers {
        StoredNumbers::F32 => "float32",
        StoredNumbers::F16 => "float16",
        StoredNumbers::Bf16 => "bfloat16",
    }
    .into();
    let config = json_file(&config);
    let generation = json_file(&generation);
    let [tokenizer, settings] = tokenizer.map(|file| json_file(&file));
    let mut files: Vec<(&str, &checkpoint::atomic::ContentWriter<'_>)> = vec![
        ("model.safetensors", &write_weights),
        ("tokenizer.json", &tokenizer),
        ("tokenizer_config.json", &settings),
        ("config.json", &config),
    ];
    let sentences = sentences::files(&loaded.config.model);
    let sentences = sentences.map(|files| files.map(|file| json_file(&file)));
    match &sentences {
        Some([modules, pooling]) => {
            files.push((sentences::MODULES, modules));
            files.push((sentences::POOLING_CONFIG, pooling));
        }
        None => files.push(("generation_config.json", &generation)),
    }
    checkpoint::write_folder(out, &files)?;
    let kind = model.kind;
    Ok(Exported { kind, notes })
}

/// The number type in which `parameters` are written: `wanted`, unless a number is too large for it.
fn fitting_numbers<'a>(
    wanted: StoredNumbers,
    mut parameters: impl Iterator<Item = &'a Parameter> + Clone,
    notes: &mut Vec<String>,
) -> StoredNumbers {
    if parameters.clone().any(|parameter| wanted.overflows(&parameter.values)) {
        notes.push(format!(
            "the weights are written in f32, since some are too large for {wanted}, the number type of the \
             imported model"
        ));
        return StoredNumbers::F32;
    }
    if !parameters.all(|parameter| wanted.holds(&parameter.values)) {
        notes.push(format!("the weights are rounded to {wanted}, the number type of the imported model"));
    }
    wanted
}

/// True for the name of a learned table of positions.
fn is_position(name: &str) -> bool {
    name.ends_with(POSITIONS)
}

/// True if `transformers` computes the positions of models of this kind.
pub(crate) fn computes_positions(kind: &str) -> bool {
    kind == translator::M2M_100
}

/// Refuses tables of positions that `transformers` would not compute.
fn check_computed(table: SinusoidTable, parameters: &[Parameter], kind: &str) -> Result<()> {
    /// The sine of a large number depends on the machine that computed it.
    const TOLERANCE: f32 = 1e-4;
    let is_trained = |parameter: &Parameter| {
        let computed = table.table(&parameter.shape);
        computed.iter().zip(&parameter.values).any(|(a, b)| (a - b).abs() > TOLERANCE)
    };
    let mut positions = parameters.iter().filter(|parameter| is_position(&parameter.name));
    match positions.find(|parameter| is_trained(parameter)) {
        None => Ok(()),
        Some(trained) => Err(Error::usage(
            format!(
                "`{}` was trained, but `transformers` computes the positions of {kind} models",
                trained.name
            ),
            "keep the positions as they are in training: `freeze = [\"*.positions.*\"]` in `[model]`",
        )),
    }
}

/// Converts a model.
fn hf_model(loaded: &LoadedModel) -> Result<HfModel> {
    match &loaded.config.model.family {
        FamilyConfig::Transformer(translator) | FamilyConfig::Seq2seq(translator) => {
            translator::hf_model(loaded, translator)
        }
        FamilyConfig::DecoderOnly { decoder, output, .. } if is_like_llama(&loaded.config.model) => {
            llama::export(loaded, decoder, *output)
        }
        FamilyConfig::DecoderOnly { decoder, output, .. } => gpt2::export(loaded, decoder, *output),
        FamilyConfig::EncoderOnly { encoder, .. }
        | FamilyConfig::Tagger { encoder, .. }
        | FamilyConfig::Classifier { encoder, .. }
        | FamilyConfig::Encoder { encoder, .. } => encoder::hf_model(loaded, encoder),
    }
}

/// Writes a value as a file.
fn json_file(value: &Value) -> impl Fn(&Path) -> io::Result<()> + use<> {
    let text = format!("{value:#}\n");
    move |path: &Path| fs::write(path, &text)
}

/// Returns the keys of both objects.
fn joined(one: &Value, other: &Value) -> Value {
    let mut joined = one.clone();
    if let (Some(joined), Some(other)) = (joined.as_object_mut(), other.as_object()) {
        joined.extend(other.clone());
    }
    joined
}

fn exported_tensors(model: &HfModel, loaded: &LoadedModel) -> Result<ExportedTensors> {
    let mut shapes = checkpoint::shapes(&loaded.architecture);
    shapes.retain(|(name, _)| model.computed.is_none() || !is_position(name));
    let mut tensors = ExportedTensors::new(model.kind, &model.names, &shapes)?;
    if let Some(classifier) = model.labels {
        let labels: Vec<usize> = encoder::labels(loaded).map(|id| id as usize).collect();
        let d_in = [loaded.architecture.head.d_in()];
        let [weight, bias] = ["weight", "bias"].map(|part| format!("{classifier}.{part}"));
        tensors.choose(&weight, "head.weight", &labels, &d_in);
        tensors.choose(&bias, "head.bias", &labels, &[]);
    }
    for (name, ours) in &model.copies {
        tensors.copy(name, ours, &shapes);
    }
    for (name, shape, values) in &model.added {
        tensors.insert(name, shape.clone(), values.clone());
    }
    for (name, shape) in tensors.shapes() {
        if let ([d], true) = (&shape[..], model.rows.contains(&name.as_str())) {
            tensors.reshape(&name, vec![1, *d]);
        }
    }
    tensors.prefix(model.prefix, model.bare);
    Ok(tensors)
}

/// Returns the name of an activation function.
pub(super) fn activation(kind: ActivationKind) -> &'static str {
    match kind {
        ActivationKind::Relu => "relu",
        ActivationKind::Gelu => "gelu",
        ActivationKind::GeluTanh => "gelu_new",
        ActivationKind::Silu => "silu",
    }
}

/// Returns the table of sinusoidal positions, which `transformers` stores.
pub(super) fn positions(architecture: &Architecture) -> Option<Vec<f32>> {
    let (_, input) = architecture.first_input();
    match input.positions {
        AddedPositions::Sinusoidal(layout) => Some(sinusoids(layout, 0..architecture.max_len, input.d_model)),
        AddedPositions::None | AddedPositions::Learned { .. } => None,
    }
}

/// Returns the number of tokens that the model reads.
pub(super) fn vocab(architecture: &Architecture) -> usize {
    match architecture.first_input().1.items {
        Items::Tokens { vocab, .. } => vocab,
        Items::Vectors => 0,
    }
}
