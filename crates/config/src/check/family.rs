//! Requirements of each family on other values.

use attentive_base::error::Result;

use super::{refuse, refuse_with, require};
use crate::{
    BuiltinTask, Config, CorpusFormat, CorpusSource, FamilyConfig, SamplingKind, Task, TieEmbeddings,
    TokenizerKind, Units, Vocabulary,
};

pub(super) fn check(config: &Config) -> Result<()> {
    corpora(config)?;
    stream(config)?;
    sampling(config)?;
    match &config.model.family {
        FamilyConfig::Transformer(translator) | FamilyConfig::Seq2seq(translator) => {
            vocabularies(config, translator.output.tie_embeddings)
        }
        FamilyConfig::Tagger { word_pieces, d_input, .. } => tags(config, *word_pieces, d_input.is_some()),
        FamilyConfig::Classifier { .. } => labels(config),
        _ => Ok(()),
    }
}

/// Refuses corpora that the family cannot learn from.
fn corpora(config: &Config) -> Result<()> {
    let data = &config.data;
    let parts = |source: &'_ Option<CorpusSource>| -> Vec<CorpusSource> {
        let parts = source.iter().flat_map(CorpusSource::parts);
        parts.map(|(source, _)| source.clone()).collect()
    };
    let train = parts(&data.train).into_iter();
    let valid = parts(&data.valid).into_iter();
    let corpora =
        train.map(|source| ("data.train", source)).chain(valid.map(|source| ("data.valid", source)));
    let reads_vectors = config.model.family.d_input().is_some();
    for (section, source) in corpora {
        let format = source.file_format();
        let is_text = format == Some(CorpusFormat::Text);
        let is_memory = matches!(format, Some(CorpusFormat::Tmx | CorpusFormat::Xliff));
        let found = if is_text { "`text`" } else { "another corpus" };
        let (expected, found) = match (config.model.family.task(), source) {
            (Task::Generate | Task::Fill, CorpusSource::Aligned { .. } | CorpusSource::File(_))
                if !is_text =>
            {
                ("`text`, since language models learn from plain text", "another corpus")
            }
            (Task::Tag, _) if reads_vectors && format != Some(CorpusFormat::Jsonl) => {
                ("`jsonl`, since the tagger reads vectors", "another corpus")
            }
            (Task::Translate, _) if is_text => ("pairs, since this family learns from two sides", "`text`"),
            (Task::Tag, _) if is_text || is_memory => {
                ("`tsv`, `csv`, `jsonl`, or `src` and `tgt`, with words and their tags", found)
            }
            (Task::Classify, _) if is_text || is_memory => {
                ("`tsv`, `csv`, `jsonl`, or `src` and `tgt`, with texts and their labels", found)
            }
            (Task::Classify, CorpusSource::Builtin { task: BuiltinTask::Reverse, .. }) => {
                ("`grammar`, whose labels are its clause types", "`reverse`, which has no labels")
            }
            _ => continue,
        };
        return refuse(section, expected, found);
    }
    Ok(())
}

fn stream(config: &Config) -> Result<()> {
    let task = config.model.family.task();
    let is_mixed = matches!(config.data.train, Some(CorpusSource::Mixed(_)));
    require(
        config.data.units == Units::Lines || !is_mixed,
        "data.train",
        "one corpus, since `data.units` is `stream`",
        "a list",
    )?;
    line_weights(config)?;
    let fits = config.data.units == Units::Lines || task == Task::Generate;
    require(fits, "data.units", "`lines`, since only `decoder_only` learns from a stream", "`stream`")
}

/// Refuses weights of lines that no line has.
fn line_weights(config: &Config) -> Result<()> {
    let data = &config.data;
    let is_stream = data.units == Units::Stream;
    for (key, source, is_fit, why) in [
        ("data.train.weights", &data.train, !is_stream, "the lines of a stream are one text"),
        ("data.valid.weights", &data.valid, false, "validation has no weights"),
    ] {
        let parts = source.iter().flat_map(CorpusSource::parts);
        let weights = parts.filter_map(|(part, _)| part.line_weights()).next();
        if let Some(weights) = weights.filter(|_| !is_fit) {
            return refuse(key, format!("nothing, since {why}"), format!("`{}`", weights.display()));
        }
    }
    Ok(())
}

/// Refuses batches that hold no window of a stream.
pub(super) fn windows(config: &Config) -> Result<()> {
    let window = config.model.max_len;
    let holds =
        config.data.units == Units::Lines || matches!(config.train.batch_tokens, n if n == 0 || n >= window);
    require(
        holds,
        "train.batch_tokens",
        format!("at least one window of `model.max_len` = {window}"),
        config.train.batch_tokens,
    )
}

/// Refuses scheduled sampling in models without a decoder.
fn sampling(config: &Config) -> Result<()> {
    let decodes = matches!(config.model.family.task(), Task::Translate | Task::Generate);
    require(
        decodes || config.train.scheduled_sampling.kind == SamplingKind::None,
        "train.scheduled_sampling.kind",
        "`none`, since this family has no decoder",
        "another",
    )
}

fn vocabularies(config: &Config, tie: TieEmbeddings) -> Result<()> {
    let separate = config.tokenizer.vocabulary == Vocabulary::Separate;
    if separate && tie.ties_inputs() {
        let hint = "`decoder` ties the decoder's embedding and the output projection";
        let expected = "`decoder` or `none`, since `tokenizer.vocabulary` is `separate`";
        return refuse_with("model.tie_embeddings", expected, "another value", Some(hint.into()));
    }
    Ok(())
}

/// Refuses a vocabulary that a classifier's labels and words would share.
fn labels(config: &Config) -> Result<()> {
    require(
        config.tokenizer.vocabulary == Vocabulary::Separate,
        "tokenizer.vocabulary",
        "`separate`, since labels need their own vocabulary",
        "`shared`",
    )
}

/// Checks the tokenizer of a tagger, which labels whole words.
fn tags(config: &Config, word_pieces: bool, reads_vectors: bool) -> Result<()> {
    let tokenizer = &config.tokenizer;
    require(
        tokenizer.from.is_none(),
        "tokenizer.from",
        "to be left out, since a tagger labels the words of its training data",
        "a tokenizer",
    )?;
    require(
        tokenizer.kind == TokenizerKind::Word || word_pieces,
        "tokenizer.kind",
        "`word`, since a tagger labels tokens separated by blanks, unless `model.word_pieces` is true",
        "another",
    )?;
    require(
        tokenizer.vocabulary == Vocabulary::Separate || reads_vectors,
        "tokenizer.vocabulary",
        "`separate`, since tags are not tokens",
        "`shared`",
    )
}
