//! Exports models to Marian and to the engine of Firefox.

mod check;
mod firefox;
mod options;
mod search;
mod vocabularies;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use attentive_architecture::{NormPosition, TieEmbeddings, TokenContract};
use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_checkpoint::atomic::ContentWriter;
use attentive_checkpoint::{self as checkpoint, LoadedModel};
use attentive_config::{Config, TokenizerKind, Translator};
use attentive_model::model::Parameter;
use attentive_text::Tokenizers;

pub use self::firefox::{FirefoxParts, rounded_weights};
pub(crate) use self::firefox::{
    check_untrained as check_for_firefox, export as export_firefox, kind as kind_of_firefox,
};
use self::vocabularies::{ExportedVocabulary, suppressed_there};
use super::names;
use super::options::names_of_norms;
use crate::export::{ExportProblem, Exported};
use crate::exported_tensors::ExportedTensors;
use crate::recipe::{NEVER, NameMapping};
use crate::tensors::Archive;

const KIND: &str = "Marian";
const MODEL: &str = "model.npz";
/// The bias of the output projection.
const OUTPUT_BIAS: &str = "decoder_ff_logit_out_b";

/// What Marian's decoder does with norms before sublayers; see docs/interop.md.
const PRE_NORM: &str = "with norms before sublayers, Marian's decoder attends to keys and values that are not \
                        normalized, so it translates worse than this model; its scorer is right";

/// Returns the kind that a model of this configuration becomes.
///
/// # Errors
/// Fails if Marian cannot represent the model.
pub(crate) fn kind(config: &Config, _: &Tokenizers) -> Result<&'static str, ExportProblem> {
    check::marian(config, KIND).map(|()| KIND)
}

/// Writes the directory `out`. The vocabularies are tried on the lines of `text`.
pub(crate) fn export(
    loaded: &LoadedModel,
    parameters: &[Parameter],
    text: &[String],
    out: &Path,
) -> Result<Exported> {
    check::marian(&loaded.config, KIND).map_err(ExportProblem::into_error)?;
    let model = MarianModel::of(loaded, parameters)?;
    let mut notes = Vec::new();
    if loaded.config.model.norm_position == NormPosition::Pre {
        notes.push(PRE_NORM.to_owned());
    }
    let names: Vec<String> = match &model.vocabularies[..] {
        [both] => vec![file_name(both, "vocab")],
        sides => {
            sides.iter().zip(["srcvocab", "trgvocab"]).map(|(side, name)| file_name(side, name)).collect()
        }
    };
    for (vocabulary, name) in model.vocabularies.iter().zip(&names) {
        notes.extend(tried(vocabulary, name, text)?);
    }
    let suppressed = suppressed_there(loaded.tokenizers.tgt());
    let barred: Vec<TokenId> =
        model.contract.never.iter().copied().filter(|id| !suppressed.contains(id)).collect();
    let write_model = |path: &Path| {
        let mut archive = Archive::new(BufWriter::new(File::create(path)?));
        for (name, shape) in model.tensors.shapes() {
            archive.array(&name, &shape, &model.values(&name, &barred)?)?;
        }
        archive.text(super::OPTIONS, &model.options())?;
        archive.finish()?.flush()
    };
    let search = search::decoder_yml(loaded, &names, &mut notes)?;
    let write_search = |path: &Path| fs::write(path, &search);
    model.write(out, &[(MODEL, &write_model), ("decoder.yml", &write_search)], &names)?;
    Ok(Exported { kind: KIND, notes })
}

/// The name of the file of a vocabulary.
fn file_name(vocabulary: &ExportedVocabulary<'_>, name: &str) -> String {
    let end = if vocabulary.pieces.is_ok() { "spm" } else { "yml" };
    format!("{name}.{end}")
}

fn content(vocabulary: &ExportedVocabulary<'_>) -> Vec<u8> {
    match &vocabulary.pieces {
        Ok(pieces) => pieces.to_bytes(),
        Err(_) => vocabulary.yaml().into_bytes(),
    }
}

/// Describes how the vocabulary, written to the file `name`, divides texts in another way than ours.
fn tried(vocabulary: &ExportedVocabulary<'_>, name: &str, text: &[String]) -> Result<Option<String>> {
    let pieces = match &vocabulary.pieces {
        Err(reason) => {
            return Ok(Some(format!(
                "`{name}` lists the tokens, and Marian does not divide texts into them: {reason}"
            )));
        }
        Ok(pieces) => pieces,
    };
    let different = vocabulary.n_divided_differently(text)?;
    Ok(match (different, text.len()) {
        (0, 0) if pieces.kind() == TokenizerKind::Bpe => Some(format!(
            "`{name}` was not tried on a text: SentencePiece may merge `bpe` pieces in another order"
        )),
        (0, _) => None,
        (n, all) => Some(format!("SentencePiece divides {n} of {all} lines in another way with `{name}`")),
    })
}

/// What stands for the source and for the target in a list of one for both, or of one for each.
fn sides<T>(one_or_two: &[T]) -> [&T; 2] {
    [&one_or_two[0], &one_or_two[one_or_two.len() - 1]]
}

/// A model as Marian stores it.
struct MarianModel<'a> {
    loaded: &'a LoadedModel,
    translator: &'a Translator,
    contract: TokenContract,
    /// That of both sides, or one for each.
    vocabularies: Vec<ExportedVocabulary<'a>>,
    tensors: ExportedTensors,
    parameters: BTreeMap<&'a str, &'a Parameter>,
}

impl<'a> MarianModel<'a> {
    fn of(loaded: &'a LoadedModel, parameters: &'a [Parameter]) -> Result<Self> {
        let translator = check::translator(&loaded.config.model, KIND)?;
        let contract = loaded.tokenizers.contract(&loaded.config.model)?;
        let vocabularies = ExportedVocabulary::all(&loaded.tokenizers, &contract);
        let tie = translator.output.tie_embeddings;
        let norms = names_of_norms(loaded.config.model.norm_position, translator.decoder.decoder_mixing);
        let tables = if tie.ties_inputs() { names::SHARED_EMBEDDINGS } else { names::EMBEDDINGS };
        let names: Vec<NameMapping> =
            [tables, names::OUTPUT, names::OUTPUT_BIAS, names::LAYERS].into_iter().chain(norms).collect();
        let mut tensors = ExportedTensors::new(KIND, &names, &checkpoint::shapes(&loaded.architecture))?;
        let [src, tgt] = sides(&vocabularies);
        for (name, rows) in [
            ("Wemb", tgt.n_tokens),
            ("encoder_Wemb", src.n_tokens),
            ("decoder_Wemb", tgt.n_tokens),
            ("decoder_ff_logit_out_Wt", tgt.n_tokens),
            (OUTPUT_BIAS, tgt.n_tokens),
        ] {
            tensors.keep_rows(name, rows);
        }
        if !translator.output.output_bias {
            tensors.insert(OUTPUT_BIAS, vec![tgt.n_tokens], vec![0.0; tgt.n_tokens]);
        }
        let tensors = tensors.with_rows();
        let parameters = parameters.iter().map(|parameter| (parameter.name.as_str(), parameter)).collect();
        Ok(Self { loaded, translator, contract, vocabularies, tensors, parameters })
    }

    /// The numbers of tokens of both sides.
    fn sizes(&self) -> [usize; 2] {
        sides(&self.vocabularies).map(|side| side.n_tokens)
    }

    /// Writes the directory `out` with these files, and the vocabularies to files of these names.
    fn write(&self, out: &Path, files: &[(&str, &ContentWriter<'_>)], names: &[String]) -> Result<()> {
        let contents: Vec<Vec<u8>> = self.vocabularies.iter().map(content).collect();
        let writers: Vec<_> =
            contents.iter().map(|content| move |path: &Path| fs::write(path, content)).collect();
        let mut all = files.to_vec();
        for (name, writer) in names.iter().zip(&writers) {
            all.push((name, writer));
        }
        checkpoint::write_folder(out, &all)
    }

    fn options(&self) -> String {
        options::options(&self.loaded.config.model, self.translator, self.sizes())
    }

    /// The values of the tensor `name`. The bias of the tokens `barred` is so low that they are never
    /// generated.
    fn values(&self, name: &str, barred: &[TokenId]) -> io::Result<Vec<f32>> {
        let ours = |name: &str| -> io::Result<Vec<f32>> {
            let parameter = self.parameters.get(name);
            let parameter = parameter.ok_or_else(|| io::Error::other(format!("no `{name}`")))?;
            Ok(parameter.values.clone())
        };
        let mut values = self.tensors.values(name, &ours)?;
        if name == OUTPUT_BIAS {
            for &id in barred {
                if let Some(bias) = values.get_mut(id as usize) {
                    *bias = NEVER;
                }
            }
        }
        Ok(values)
    }

    /// The table of embeddings that is also the output projection, or the projection.
    fn output_table(&self) -> &'static str {
        match self.translator.output.tie_embeddings {
            TieEmbeddings::All => "Wemb",
            TieEmbeddings::Decoder => "decoder_Wemb",
            TieEmbeddings::Inputs | TieEmbeddings::None => "decoder_ff_logit_out_Wt",
        }
    }
}
