//! What a family asks of the other values.

use super::{refuse, refuse_with, require};
use crate::config::{
    BuiltinTask, Config, CorpusSource, SamplingKind, Task, TieEmbeddings, TokenizerKind, Units,
    Vocabulary,
};
use crate::error::Result;

pub(super) fn check(config: &Config) -> Result<()> {
    let model = &config.model;
    corpora(config)?;
    stream(config)?;
    sampling(config)?;
    match model.family.task() {
        Task::Translate => vocabularies(config),
        Task::Tag => tags(config),
        Task::Classify => labels(config),
        Task::Generate | Task::Fill => Ok(()),
    }
}

/// Refuses corpora that the family cannot learn from.
fn corpora(config: &Config) -> Result<()> {
    let data = &config.data;
    let corpora = [
        ("data.train", data.train.as_ref()),
        ("data.valid", data.valid.as_ref()),
    ];
    let reads_vectors = config.model.recurrent.d_input > 0;
    for (section, source) in corpora {
        let Some(source) = source else { continue };
        let is_text = matches!(source, CorpusSource::Text(_));
        let is_jsonl = matches!(source, CorpusSource::Jsonl(_));
        let (expected, found) = match (config.model.family.task(), source) {
            (
                Task::Generate | Task::Fill,
                CorpusSource::Aligned { .. } | CorpusSource::Tsv(_) | CorpusSource::Jsonl(_),
            ) => (
                "`text`, as language models learn from one",
                "another corpus",
            ),
            (Task::Translate | Task::Tag | Task::Classify, _) if is_text => {
                ("pairs, as this family learns from two sides", "`text`")
            }
            (Task::Tag, _) if reads_vectors && !is_jsonl => {
                ("`jsonl`, as the tagger reads vectors", "another corpus")
            }
            (
                Task::Classify,
                CorpusSource::Builtin {
                    task: BuiltinTask::Reverse,
                    ..
                },
            ) => (
                "`grammar`, whose labels are its clause types",
                "`reverse`, which has no labels",
            ),
            _ => continue,
        };
        return refuse(section, expected, found);
    }
    Ok(())
}

fn stream(config: &Config) -> Result<()> {
    let task = config.model.family.task();
    let fits = config.data.units == Units::Lines || task == Task::Generate;
    require(
        fits,
        "data.units",
        "`lines`, as only `decoder_only` learns from a stream",
        "`stream`",
    )?;
    let window = config.model.max_len;
    let holds = config.data.units == Units::Lines || config.train.batch_tokens >= window;
    require(
        holds,
        "train.batch_tokens",
        format!("at least one window of `model.max_len` = {window}"),
        config.train.batch_tokens,
    )
}

/// Only what decodes can read its own predictions.
fn sampling(config: &Config) -> Result<()> {
    let decodes = matches!(config.model.family.task(), Task::Translate | Task::Generate);
    require(
        decodes || config.train.scheduled_sampling.kind == SamplingKind::None,
        "train.scheduled_sampling.kind",
        "`none`, as this family has no decoder",
        "another",
    )
}

fn vocabularies(config: &Config) -> Result<()> {
    let separate = config.tokenizer.vocabulary == Vocabulary::Separate;
    if separate && config.model.tie_embeddings == TieEmbeddings::All {
        let hint = "`decoder` ties the two that share the target's vocabulary";
        let expected = "`decoder` or `none`, as `tokenizer.vocabulary` is `separate`";
        return refuse_with("model.tie_embeddings", expected, "`all`", Some(hint.into()));
    }
    Ok(())
}

/// Refuses tokenizers of a classifier that mix labels and words.
fn labels(config: &Config) -> Result<()> {
    require(
        config.tokenizer.vocabulary == Vocabulary::Separate,
        "tokenizer.vocabulary",
        "`separate`, as labels have a vocabulary of their own",
        "`shared`",
    )
}

/// A tag belongs to a token, and to no part of one.
fn tags(config: &Config) -> Result<()> {
    let tokenizer = &config.tokenizer;
    require(
        matches!(tokenizer.kind, TokenizerKind::Word),
        "tokenizer.kind",
        "`word`, as a tagger labels tokens between blanks",
        "another",
    )?;
    let separate =
        tokenizer.vocabulary == Vocabulary::Separate || config.model.recurrent.d_input > 0;
    require(
        separate,
        "tokenizer.vocabulary",
        "`separate`, as tags are no tokens",
        "`shared`",
    )
}
