//! Exports models to Firefox's engine: 8-bit integers with measured scales, a shortlist, and metadata.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_checkpoint::atomic::ContentWriter;
use attentive_checkpoint::{LoadedModel, weights};
use attentive_config::{Config, TokenizerKind};
use attentive_model::model::Parameter;
use attentive_model::nn::{Blueprint, ParameterKind};
use attentive_model::shortlist::Shortlist;
use attentive_text::Tokenizers;
use serde_json::{Value, json};

use super::super::shortlist;
use super::vocabularies::ExportedVocabulary;
use super::{MarianModel, OUTPUT_BIAS, check, sides, tried};
use crate::export::{ExportProblem, Exported};
use crate::recipe::NEVER;
use crate::tensors::{BinaryTensor, write_binary};

const KIND: &str = "Firefox";
/// The sizes of vocabularies are multiples of this.
const VOCABULARY: usize = 8;
/// The largest of the integers.
const LARGEST: f32 = 127.0;
/// What the name of a weight's input scale ends with.
const SCALE: &str = "_QuantMultA";
/// The name of the output projection if a shortlist selects its columns.
const SELECTED: &str = "none";
/// Why a vocabulary is refused.
const IT_MERGES: &str = "it merges by `bpe`, but Firefox's engine divides texts by `unigram` scores";

/// What a model for Firefox has besides the weights.
#[derive(Clone, Copy, Debug)]
pub struct FirefoxParts<'a> {
    /// The codes of the source and the target language, such as `en` and `de`.
    pub languages: [&'a str; 2],
    /// For each matrix, by our name, the factor by which its inputs become integers of −127..=127.
    pub input_factors: &'a BTreeMap<String, f32>,
    /// The likely translations of each source token.
    pub shortlist: &'a Shortlist,
}

/// Returns the kind that a model of this configuration becomes.
///
/// # Errors
/// Fails if Firefox's engine cannot represent the model.
pub(crate) fn kind(config: &Config, tokenizers: &Tokenizers) -> Result<&'static str, ExportProblem> {
    check::firefox(config, KIND)?;
    let contract = tokenizers.contract(&config.model)?;
    let vocabularies = ExportedVocabulary::all(tokenizers, &contract);
    vocabularies.iter().try_for_each(require_unigram)?;
    Ok(KIND)
}

/// Refuses a configuration whose models Firefox's engine could not represent.
pub(crate) fn check_untrained(config: &Config) -> Result<(), ExportProblem> {
    check::firefox(config, KIND)?;
    match (&config.tokenizer.from, config.tokenizer.kind) {
        (Some(_), _) | (None, TokenizerKind::Unigram) => Ok(()),
        (None, TokenizerKind::Bpe) => Err(not_unigram(IT_MERGES).into()),
        (None, _) => Err(not_unigram("its tokens are no subwords").into()),
    }
}

/// Refuses vocabularies that are no unigram model of SentencePiece.
fn require_unigram(vocabulary: &ExportedVocabulary<'_>) -> Result<()> {
    match &vocabulary.pieces {
        Ok(pieces) if pieces.kind() == TokenizerKind::Unigram => Ok(()),
        Ok(_) => Err(not_unigram(IT_MERGES)),
        Err(reason) => Err(not_unigram(reason)),
    }
}

fn not_unigram(reason: &str) -> Error {
    Error::usage(
        format!("the vocabulary cannot be that of a {KIND} model: {reason}"),
        "train with `tokenizer.kind = \"unigram\"`, or give a SentencePiece model as `tokenizer.from`",
    )
}

/// Describes how the engine translates in another way than this model.
fn differences(loaded: &LoadedModel, model: &MarianModel<'_>) -> impl Iterator<Item = String> {
    let decode = &loaded.config.decode;
    let is_same = [
        (decode.beam_width == 1, "it searches greedily, whatever `decode.beam_width` is"),
        (
            decode.max_new_factor == 2.0 && decode.max_new_extra == 0,
            "a translation has at most twice as many tokens as the source, whatever `decode.max_new_factor` and \
             `decode.max_new_extra` are",
        ),
        (decode.word_penalty == 0.0 || decode.beam_width == 1, "there is no `decode.word_penalty`"),
        (
            decode.min_length == 0 && decode.no_repeat_ngram == 0,
            "there is no `decode.min_length` and no `decode.no_repeat_ngram`",
        ),
        (
            model.translator.alignment_head.is_some_and(|head| head.get() == 1),
            "tags in a text are placed by the first head of the last decoder layer, which this model was not \
             trained for (`model.alignment_head` is not 1)",
        ),
    ];
    let differences = is_same.into_iter().filter(|(is_same, _)| !is_same);
    differences.map(|(_, difference)| format!("Firefox's engine differs: {difference}"))
}

/// Writes the directory `out`. The vocabularies are tried on the lines of `text`.
pub(crate) fn export(
    loaded: &LoadedModel,
    parameters: &[Parameter],
    text: &[String],
    parts: FirefoxParts<'_>,
    out: &Path,
) -> Result<Exported> {
    kind(&loaded.config, &loaded.tokenizers).map_err(ExportProblem::into_error)?;
    let [src, tgt] = parts.languages;
    let pair = format!("{src}{tgt}");
    let mut model = MarianModel::of(loaded, parameters)?;
    let unpadded = model.sizes();
    for vocabulary in &mut model.vocabularies {
        vocabulary.n_tokens = vocabulary.n_tokens.next_multiple_of(VOCABULARY);
        if let Ok(pieces) = &mut vocabulary.pieces {
            pieces.pad(vocabulary.n_tokens);
        }
    }
    let mut notes: Vec<String> = differences(loaded, &model).collect();
    let names: Vec<String> = match &model.vocabularies[..] {
        [_] => vec![format!("vocab.{pair}.spm")],
        _ => vec![format!("srcvocab.{pair}.spm"), format!("trgvocab.{pair}.spm")],
    };
    for (vocabulary, name) in model.vocabularies.iter().zip(&names) {
        notes.extend(tried(vocabulary, name, text)?);
    }
    let tensors = tensors(&model, parts.input_factors).map_err(Error::io("write", out))?;
    let mut weights = Vec::new();
    write_binary(&tensors, &mut weights).map_err(Error::io("write", out))?;
    let metadata = metadata(&model, parts.languages, &tensors, &weights);
    let list = shortlist::binary(parts.shortlist, unpadded, model.sizes()[0])?;
    let write_metadata = |path: &Path| fs::write(path, format!("{metadata:#}\n"));
    let write_weights = |path: &Path| {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(&weights)?;
        file.flush()
    };
    let write_list = |path: &Path| fs::write(path, &list.bytes);
    let list_name = format!("lex.{}.{}.{pair}.s2t.bin", list.frequent, list.best);
    let weights_name = format!("model.{pair}.intgemm.alphas.bin");
    let search = config_yml(&weights_name, &list_name, &names);
    let write_search = |path: &Path| fs::write(path, &search);
    let info = model_info(&model, parts.languages);
    let write_info = |path: &Path| fs::write(path, format!("{info:#}\n"));
    let files: [(&str, &ContentWriter<'_>); 5] = [
        (&weights_name, &write_weights),
        (&list_name, &write_list),
        ("metadata.json", &write_metadata),
        ("config.intgemm8bitalpha.yml", &write_search),
        ("model_info.json", &write_info),
    ];
    model.write(out, &files, &names)?;
    Ok(Exported { kind: KIND, notes })
}

/// Returns the weights with each matrix rounded as in a model for Firefox.
pub fn rounded_weights(loaded: &LoadedModel, parameters: &[Parameter]) -> Vec<Parameter> {
    let matrices = Blueprint::new(&loaded.architecture).into_parameters();
    let matrices = matrices.into_iter().filter(|parameter| parameter.kind == ParameterKind::Matrix);
    let matrices: Vec<String> = matrices.map(|parameter| parameter.name).collect();
    let rounded = |parameter: &Parameter| {
        let mut parameter = parameter.clone();
        if matrices.contains(&parameter.name) {
            let (integers, factor) = quantized(&parameter.values);
            let rounded = integers.iter().map(|&integer| f32::from(integer) / factor);
            parameter.values = rounded.collect();
        }
        parameter
    };
    parameters.iter().map(rounded).collect()
}

/// The integers that are nearest to the `values` times the returned factor, the largest of which is ±127.
fn quantized(values: &[f32]) -> (Vec<i8>, f32) {
    let largest = values.iter().fold(0.0, |largest: f32, x| largest.max(x.abs()));
    let factor = if largest > 0.0 { LARGEST / largest } else { 1.0 };
    (values.iter().map(|x| (x * factor).round_ties_even().clamp(-LARGEST, LARGEST) as i8).collect(), factor)
}

/// The tensors of the file, in the order of their names.
fn tensors(model: &MarianModel<'_>, factors: &BTreeMap<String, f32>) -> io::Result<Vec<BinaryTensor>> {
    let barred: &[TokenId] = &model.contract.never;
    let [src_rows, tgt_rows] = model.sizes();
    let mut all = Vec::new();
    for (name, mut shape) in model.tensors.shapes() {
        let mut values = model.values(&name, barred)?;
        if name == OUTPUT_BIAS {
            shape = vec![1, tgt_rows];
            values.resize(tgt_rows, NEVER);
        }
        let is_table = name.ends_with("Wemb");
        if is_table {
            let rows = if name == "encoder_Wemb" { src_rows } else { tgt_rows };
            values.resize(rows * shape[1], 0.0);
            shape[0] = rows;
        }
        let [rows, columns] = shape[..] else { continue };
        if rows == 1 {
            all.push(BinaryTensor::float(name, shape, &values));
            continue;
        }
        let (mut integers, factor) = quantized(&values);
        if !is_table {
            // A matrix `[in, out]` is stored column by column.
            integers = (0..columns)
                .flat_map(|column| integers.iter().skip(column).step_by(columns).copied())
                .collect();
        }
        all.push(BinaryTensor::int8(name, shape, &integers, factor));
    }
    for (name, factor) in input_factors(model, factors) {
        all.push(BinaryTensor::float(name + SCALE, vec![1, 1], &[factor]));
    }
    all.sort_by(|one, other| one.name().cmp(other.name()));
    all.push(BinaryTensor::text(super::super::OPTIONS, &model.options()));
    Ok(all)
}

/// The factors of the inputs by the names of Marian's matrices. That of the output projection has two names.
fn input_factors(model: &MarianModel<'_>, factors: &BTreeMap<String, f32>) -> Vec<(String, f32)> {
    let mut found = Vec::new();
    for (ours, &factor) in factors {
        for theirs in model.tensors.made_of(ours) {
            if theirs == model.output_table() {
                found.push((SELECTED.to_owned(), factor));
            }
            found.push((theirs, factor));
        }
    }
    found
}

/// What Mozilla's tools and programs read about a model.
fn metadata(
    model: &MarianModel<'_>,
    [src, tgt]: [&str; 2],
    tensors: &[BinaryTensor],
    weights_file: &[u8],
) -> Value {
    let of = |is: &dyn Fn(&str) -> bool| {
        let sizes = tensors.iter().filter(|tensor| is(tensor.name())).map(BinaryTensor::sizes);
        sizes.fold([0, 0], |[count, bytes], [more, further]| [count + more, bytes + further])
    };
    let is_table = |name: &str| name.ends_with("Wemb");
    let is_weight = |name: &str| !name.starts_with("special:") && !name.ends_with(SCALE);
    let begins =
        |start: &'static str| move |name: &str| name.starts_with(start) && is_weight(name) && !is_table(name);
    let ([all, _], embeddings) = (of(&is_weight), of(&is_table));
    let (encoder, decoder) = (of(&begins("encoder_")), of(&begins("decoder_")));
    json!({
        "architecture": shape(model),
        "byteSize": weights_file.len(),
        "hash": weights::sha256_of(weights_file),
        "modelConfig": super::super::parse_yaml(model.options().as_bytes()).unwrap_or_default(),
        "modelStatistics": {
            "parameters": all,
            "encoder_parameters": encoder[0],
            "decoder_parameters": decoder[0],
            "encoder_bytes": encoder[1],
            "decoder_bytes": decoder[1],
            "embeddings_bytes": embeddings[1],
        },
        "sourceLanguage": src,
        "targetLanguage": tgt,
        "version": "1.0",
    })
}

/// The options with which Bergamot and translateLocally run the model: those of Firefox.
fn config_yml(weights: &str, shortlist: &str, vocabularies: &[String]) -> String {
    let [src, tgt] = sides(vocabularies);
    format!(
        "relative-paths: true\nmodels:\n  - {weights}\nvocabs:\n  - {src}\n  - {tgt}\nshortlist:\n  - \
         {shortlist}\n  - false\nbeam-size: 1\nnormalize: 1.0\nword-penalty: 0\nmax-length-break: 128\n\
         mini-batch-words: 1024\nworkspace: 128\nmax-length-factor: 2.0\nskip-cost: true\n\
         gemm-precision: int8shiftAlphaAll\nalignment: soft\n"
    )
}

/// What translateLocally reads about a model.
fn model_info(model: &MarianModel<'_>, [src, tgt]: [&str; 2]) -> Value {
    json!({
        "modelName": format!("{src}-{tgt} {}", shape(model)),
        "shortName": format!("{src}-{tgt}"),
        "src": src,
        "trg": tgt,
        "srcTags": { src: src },
        "trgTag": tgt,
        "type": shape(model),
        "version": 1,
        "API": 1,
    })
}

/// The shape of the model in a word, such as `6-2-256`: the layers of the encoder and the decoder, and the
/// width.
fn shape(model: &MarianModel<'_>) -> String {
    let translator = model.translator;
    format!(
        "{}-{}-{}",
        translator.encoder.n_encoder_layers,
        translator.decoder.n_decoder_layers,
        model.loaded.config.model.d_model
    )
}
