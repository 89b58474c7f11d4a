//! Several runs on one test set: what each costs, and how good it is at sources of every length.

use std::path::Path;

use burn::module::Module;
use serde::Serialize;

use crate::checkpoint::{self, LoadedModel, files};
use crate::config::Task;
use crate::decode::SearchOptions;
use crate::device;
use crate::error::{Error, Result};
use crate::evaluate::{EvaluateOptions, evaluate};
use crate::metrics::{Score, exact_match};
use crate::pipeline::Pipeline;
use crate::train::{History, Training};

/// What [`compare`] finds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// True if all systems have one target tokenizer; otherwise their perplexities per token mean different things.
    pub same_tokens: bool,
    /// Sources by their length, the shortest first.
    pub buckets: Vec<Bucket>,
    /// The systems, in the order in which they were named.
    pub systems: Vec<System>,
}

/// Sources of like length, in words between blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// The least number of words.
    pub first: usize,
    /// The largest.
    pub last: usize,
    /// How many sources.
    pub sentences: usize,
}

impl Bucket {
    /// Its name, such as "11–15".
    pub fn name(&self) -> String {
        match self.last {
            last if last == self.first => last.to_string(),
            last => format!("{}–{last}", self.first),
        }
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct System {
    /// What it is called.
    pub name: String,
    /// Trainable parameters.
    pub n_parameters: usize,
    /// What these weights took, if the run has a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub training: Option<Training>,
    /// How it searched.
    pub search: SearchOptions,
    /// Sentences that it translated together.
    pub batch_size: usize,
    /// Of the whole test set.
    pub bleu: Score,
    /// Of the whole test set.
    pub chrf: Score,
    /// The share of translations that equal their reference.
    pub exact_match: f64,
    /// Of the references under teacher forcing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perplexity: Option<f64>,
    /// Sentences translated in a second.
    pub sentences_per_second: f64,
    /// For each bucket.
    pub by_length: Vec<AtLength>,
}

/// How good a system is in one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AtLength {
    /// BLEU of its sentences.
    pub bleu: f64,
    /// The share of translations that equal their reference.
    pub exact_match: f64,
}

/// The test set, and how to cut it.
#[derive(Clone, Copy, Debug)]
pub struct TestSet<'a> {
    /// The sources.
    pub src: &'a [String],
    /// Their references.
    pub references: &'a [Vec<String>],
    /// Lengths that share a bucket: 5 gives 1–5, 6–10 and so on.
    pub bucket_width: usize,
}

/// A run to be measured.
struct Entrant {
    name: String,
    pipeline: Pipeline,
    training: Option<Training>,
    options: EvaluateOptions,
}

/// Translates the test set with the model of every run directory and scores the translations. `options` says how to
/// search with each. All runs are loaded and checked before the first translates.
///
/// # Errors
/// Those of loading and of [`evaluate`]; [`Error::Usage`] for a model that does not translate, which is named, for a test
/// set without a word, and for buckets of width 0.
pub fn compare<P: AsRef<Path>>(
    runs: &[(String, P)],
    test: TestSet<'_>,
    options: impl Fn(&Pipeline) -> Result<EvaluateOptions>,
) -> Result<Comparison> {
    if test.bucket_width == 0 {
        return Err(Error::usage(
            "buckets of 0 lengths hold no sentence",
            "the least width is 1",
        ));
    }
    let places = buckets(test.src, test.bucket_width);
    if places.is_empty() {
        return Err(Error::usage(
            "there is no word in the sources",
            "give a test set with a sentence a line",
        ));
    }
    let entrants: Vec<Entrant> = runs
        .iter()
        .map(|(name, run)| Entrant::load(name, run.as_ref(), &options))
        .collect::<Result<_>>()?;
    Ok(Comparison {
        same_tokens: same_tokens(&entrants),
        systems: entrants
            .iter()
            .map(|entrant| entrant.measure(test, &places))
            .collect::<Result<_>>()?,
        buckets: places.into_iter().map(|(bucket, _)| bucket).collect(),
    })
}

impl Entrant {
    fn load(
        name: &str,
        run: &Path,
        options: impl Fn(&Pipeline) -> Result<EvaluateOptions>,
    ) -> Result<Self> {
        let LoadedModel {
            config,
            tokenizers,
            model,
            provenance,
        } = checkpoint::load(run, &device::cpu())?;
        let about_run = |error: Error| error.about(format_args!("`{}`", run.display()));
        let pipeline = Pipeline::from_parts(config, tokenizers, model);
        pipeline.require(Task::Translate).map_err(about_run)?;
        let has_log = run.join(files::METRICS).exists();
        let history = has_log.then(|| History::read(run)).transpose()?;
        Ok(Self {
            name: name.to_owned(),
            training: history.and_then(|history| history.training(provenance.step)),
            options: options(&pipeline).map_err(about_run)?,
            pipeline,
        })
    }

    fn measure(&self, test: TestSet<'_>, places: &[(Bucket, Vec<usize>)]) -> Result<System> {
        let Self {
            pipeline, options, ..
        } = self;
        let evaluation = evaluate(pipeline, test.src, test.references, options)?;
        let at_length = |(_, lines): &(Bucket, Vec<usize>)| {
            let of = |all: &[String]| -> Vec<String> {
                lines.iter().map(|&line| all[line].clone()).collect()
            };
            let found = of(&evaluation.translations);
            let references: Vec<Vec<String>> =
                test.references.iter().map(|stream| of(stream)).collect();
            AtLength {
                bleu: options.bleu.corpus(&found, &references).value,
                exact_match: exact_match(&found, &references[0]).fraction(),
            }
        };
        Ok(System {
            name: self.name.clone(),
            n_parameters: pipeline.model().num_params(),
            training: self.training,
            search: options.translate.search,
            batch_size: options.translate.batch_size,
            exact_match: evaluation.exact_match.fraction(),
            perplexity: evaluation.perplexity,
            sentences_per_second: evaluation.sentences as f64 / evaluation.seconds,
            by_length: places.iter().map(at_length).collect(),
            bleu: evaluation.bleu,
            chrf: evaluation.chrf,
        })
    }
}

fn same_tokens(entrants: &[Entrant]) -> bool {
    let mut tokenizers = entrants
        .iter()
        .map(|entrant| entrant.pipeline.tokenizers().tgt().to_json());
    let first = tokenizers.next();
    tokenizers.all(|other| Some(other) == first)
}

/// Buckets that hold a source, and the places of their sources. Blank lines are in none.
fn buckets(src: &[String], width: usize) -> Vec<(Bucket, Vec<usize>)> {
    let words = |line: &String| line.split_whitespace().count();
    let number = |words: usize| words.div_ceil(width);
    let most = src.iter().map(words).max().unwrap_or(0);
    let mut buckets: Vec<(Bucket, Vec<usize>)> = (1..=number(most))
        .map(|number| {
            let bucket = Bucket {
                first: (number - 1) * width + 1,
                last: number * width,
                sentences: 0,
            };
            (bucket, Vec::new())
        })
        .collect();
    for (place, line) in src.iter().enumerate() {
        if let Some((bucket, places)) = number(words(line))
            .checked_sub(1)
            .and_then(|index| buckets.get_mut(index))
        {
            bucket.sentences += 1;
            places.push(place);
        }
    }
    buckets.retain(|(bucket, _)| bucket.sentences > 0);
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_in_the_bucket_of_its_length() {
        let src: Vec<String> = ["a", "a b c d e", "", "a b c d e f", "x ".repeat(23).trim()]
            .map(String::from)
            .into();
        let buckets = buckets(&src, 5);
        let named: Vec<(String, Vec<usize>)> = buckets
            .into_iter()
            .map(|(bucket, places)| (bucket.name(), places))
            .collect();
        let expected = [("1–5", vec![0, 1]), ("6–10", vec![3]), ("21–25", vec![4])];
        assert_eq!(
            named,
            expected.map(|(name, places)| (name.to_owned(), places))
        );
    }

    #[test]
    fn a_width_of_one_names_single_lengths() {
        let buckets = buckets(&["a b".to_owned()], 1);
        assert_eq!(buckets[0].0.name(), "2");
    }
}
