//! Compares runs on one test set: training cost, speed, quality by source length, and the significance of
//! differences.

use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_checkpoint::{History, TrainingCost, describe, files};
use attentive_config::Config;
use attentive_decode::SearchOptions;
use attentive_metrics::{
    Bleu, Bootstrap, Chrf, Difference, ExactMatch, Interval, Score, Segments, exact_match,
};
use attentive_pipeline::Pipeline;
use attentive_processes::Processes;
use serde::Serialize;

use crate::examples::{SystemOutputs, TranslationExample};
use crate::{EvaluateOptions, evaluate};

/// The result of [`compare`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// True if all systems share a target tokenizer; otherwise their perplexities per token are not
    /// comparable.
    pub same_tokens: bool,
    /// Buckets of source lengths, shortest first.
    pub buckets: Vec<Bucket>,
    /// The systems, in the given order.
    pub systems: Vec<System>,
    /// The lines on which the systems differ most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<TranslationExample>,
}

/// Sources of similar length, in words separated by spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// The smallest number of words.
    pub first: usize,
    /// The largest number of words.
    pub last: usize,
    /// The number of sources.
    pub sentences: usize,
}

impl Bucket {
    /// Returns the name of the bucket, such as "11–15".
    pub fn name(&self) -> String {
        match self.last {
            last if last == self.first => last.to_string(),
            last => format!("{}–{last}", self.first),
        }
    }
}

/// The result of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct System {
    /// The name of the run.
    pub name: String,
    /// Trainable parameters.
    pub n_parameters: usize,
    /// The cost of training these weights, if the run has a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub training: Option<TrainingCost>,
    /// The search options used.
    pub search: SearchOptions,
    /// Number of sentences translated together.
    pub batch_size: usize,
    /// BLEU on the whole test set, with its interval.
    pub bleu: Score,
    /// chrF on the whole test set, with its interval.
    pub chrf: Score,
    /// Share of translations equal to their reference.
    pub exact_match: f64,
    /// The interval of `exact_match`.
    pub exact_match_interval: Interval,
    /// The differences from the first system; `None` for the first system itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Differences>,
    /// Perplexity of the references under teacher forcing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perplexity: Option<f64>,
    /// Number of translations that were cut off at the length limit.
    pub cut_off: usize,
    /// Number of translations.
    pub sentences: usize,
    /// Sentences translated per second.
    pub sentences_per_second: f64,
    /// Scores for each bucket.
    pub by_length: Vec<AtLength>,
}

/// The scores of a system minus those of another one, with p-values of the paired bootstrap.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Differences {
    pub bleu: Difference,
    /// chrF.
    pub chrf: Difference,
    /// Share of translations equal to their reference.
    pub exact_match: Difference,
}

/// A system's scores in one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AtLength {
    /// BLEU of the bucket's sentences.
    pub bleu: f64,
    /// Share of translations equal to their reference.
    pub exact_match: f64,
}

/// The test set and its division into buckets.
#[derive(Clone, Copy, Debug)]
pub struct TestSet<'a> {
    /// The sources.
    pub src: &'a [String],
    /// Their references.
    pub references: &'a [Vec<String>],
    /// Number of lengths per bucket: 5 gives 1–5, 6–10 and so on.
    pub bucket_width: usize,
    /// The number of lines on which the systems differ most that are shown.
    pub examples: usize,
}

/// The statistics of a system's translations, line by line.
pub struct ScoredLines {
    translations: Vec<String>,
    bleu: Segments<Bleu>,
    chrf: Segments<Chrf>,
    exact_match: Segments<ExactMatch>,
}

impl ScoredLines {
    /// The scores minus those of `first` on the same lines.
    pub fn differences(&self, first: &Self) -> Differences {
        let bootstrap = Bootstrap::default();
        Differences {
            bleu: bootstrap.paired(&first.bleu, &self.bleu).difference,
            chrf: bootstrap.paired(&first.chrf, &self.chrf).difference,
            exact_match: bootstrap.paired(&first.exact_match, &self.exact_match).difference,
        }
    }
}

/// A run to compare.
struct Entrant {
    name: String,
    pipeline: Pipeline,
    training: Option<TrainingCost>,
    options: EvaluateOptions,
}

/// Translates the test set with the model of every run directory and scores the translations, using the
/// search options that `options` returns for each. All runs are loaded and checked before translation starts.
/// The first run is the baseline of the paired tests.
///
/// # Errors
/// Any error of loading and of [`evaluate`]; [`Error::Usage`] for a model that does not translate, which is
/// named, for a test set without words, and for a bucket width of 0.
pub fn compare<P: AsRef<Path>>(
    runs: &[(String, P)],
    test: TestSet<'_>,
    options: impl Fn(&Pipeline) -> Result<EvaluateOptions>,
) -> Result<Comparison> {
    let single = |(name, run): &(String, P)| (name.clone(), vec![run.as_ref().to_path_buf()]);
    let (comparison, _) = compare_ensembles(&runs.iter().map(single).collect::<Vec<_>>(), test, options)?;
    Ok(comparison)
}

/// Like [`compare`], for systems of one or several models each, which work together as an ensemble. Returns
/// the statistics of each system, too, for further differences.
///
/// # Errors
/// Those of [`compare`]; [`Error::Usage`] for models that cannot work together.
///
/// # Panics
/// If a system has no model.
pub fn compare_ensembles(
    runs: &[(String, Vec<PathBuf>)],
    test: TestSet<'_>,
    options: impl Fn(&Pipeline) -> Result<EvaluateOptions>,
) -> Result<(Comparison, Vec<ScoredLines>)> {
    if test.bucket_width == 0 {
        return Err(Error::usage("the bucket width is 0", "use a width of at least 1"));
    }
    let places = buckets(test.src, test.bucket_width);
    if places.is_empty() {
        return Err(Error::usage(
            "the sources contain no words",
            "provide a test set with one sentence per line",
        ));
    }
    let entrants: Vec<Entrant> =
        runs.iter().map(|(name, run)| Entrant::load(name, run, &options)).collect::<Result<_>>()?;
    let (mut systems, mut all): (Vec<System>, Vec<ScoredLines>) = (Vec::new(), Vec::new());
    for entrant in &entrants {
        let (mut system, lines) = entrant.measure(test, &places)?;
        system.difference = all.first().map(|first| lines.differences(first));
        all.push(lines);
        systems.push(system);
    }
    let translations: Vec<&[String]> = all.iter().map(|lines| lines.translations.as_slice()).collect();
    let outputs = SystemOutputs { src: test.src, references: test.references, systems: &translations };
    let comparison = Comparison {
        examples: outputs.most_different(test.examples),
        same_tokens: same_tokens(&entrants),
        systems,
        buckets: places.into_iter().map(|(bucket, _)| bucket).collect(),
    };
    Ok((comparison, all))
}

impl Entrant {
    fn load(
        name: &str,
        models: &[PathBuf],
        options: impl Fn(&Pipeline) -> Result<EvaluateOptions>,
    ) -> Result<Self> {
        let run = models.first().expect("a system has a model");
        let about_run = |error: Error| error.about(format_args!("`{}`", run.display()));
        let step = describe(run)?.provenance.step;
        let pipeline = Pipeline::load_ensemble(models)?;
        let home = Config::home(run);
        let has_log = home.join(files::METRICS).exists();
        let history = has_log.then(|| History::read(&home)).transpose()?;
        Ok(Self {
            name: name.to_owned(),
            training: history.and_then(|history| history.training(step)),
            options: options(&pipeline).map_err(about_run)?,
            pipeline,
        })
    }

    fn measure(&self, test: TestSet<'_>, places: &[(Bucket, Vec<usize>)]) -> Result<(System, ScoredLines)> {
        let Self { pipeline, options, .. } = self;
        let evaluation = evaluate(pipeline, test.src, test.references, options, &Processes::alone())?;
        let at_length = |(_, lines): &(Bucket, Vec<usize>)| {
            let of =
                |all: &[String]| -> Vec<String> { lines.iter().map(|&line| all[line].clone()).collect() };
            let found = of(&evaluation.translations);
            let references: Vec<Vec<String>> = test.references.iter().map(|stream| of(stream)).collect();
            AtLength {
                bleu: options.bleu.corpus(&found, &references).value,
                exact_match: exact_match(&found, &references[0]).fraction(),
            }
        };
        let (found, references) = (&evaluation.translations, test.references);
        let lines = ScoredLines {
            bleu: Segments::new(options.bleu, found, references),
            chrf: Segments::new(Chrf::default(), found, references),
            exact_match: Segments::new(ExactMatch, found, references),
            translations: found.clone(),
        };
        let bootstrap = Bootstrap::default();
        let (bleu, chrf) =
            (bootstrap.estimate(&lines.bleu).interval, bootstrap.estimate(&lines.chrf).interval);
        let system = System {
            name: self.name.clone(),
            n_parameters: pipeline.n_weights(),
            training: self.training,
            search: options.translate.search,
            batch_size: pipeline.batch_size(&options.translate),
            exact_match: evaluation.exact_match.fraction(),
            perplexity: evaluation.perplexity,
            cut_off: evaluation.cut_off,
            sentences: evaluation.sentences,
            sentences_per_second: evaluation.sentences as f64 / evaluation.seconds,
            by_length: places.iter().map(at_length).collect(),
            bleu: evaluation.bleu.with_interval(bleu, &bootstrap),
            chrf: evaluation.chrf.with_interval(chrf, &bootstrap),
            exact_match_interval: bootstrap.estimate(&lines.exact_match).interval,
            difference: None,
        };
        Ok((system, lines))
    }
}

fn same_tokens(entrants: &[Entrant]) -> bool {
    let mut tokenizers = entrants.iter().map(|entrant| entrant.pipeline.tokenizers().tgt().to_json());
    let first = tokenizers.next();
    tokenizers.all(|other| Some(other) == first)
}

/// The non-empty buckets, and the indices of their sources. Blank lines are in no bucket.
fn buckets(src: &[String], width: usize) -> Vec<(Bucket, Vec<usize>)> {
    let words = |line: &String| line.split_whitespace().count();
    let number = |words: usize| words.div_ceil(width);
    let most = src.iter().map(words).max().unwrap_or(0);
    let mut buckets: Vec<(Bucket, Vec<usize>)> = (1..=number(most))
        .map(|number| {
            let bucket = Bucket { first: (number - 1) * width + 1, last: number * width, sentences: 0 };
            (bucket, Vec::new())
        })
        .collect();
    for (place, line) in src.iter().enumerate() {
        if let Some((bucket, places)) =
            number(words(line)).checked_sub(1).and_then(|index| buckets.get_mut(index))
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
    fn sources_are_grouped_by_length() {
        let src: Vec<String> =
            ["a", "a b c d e", "", "a b c d e f", "x ".repeat(23).trim()].map(String::from).into();
        let buckets = buckets(&src, 5);
        let named: Vec<(String, Vec<usize>)> =
            buckets.into_iter().map(|(bucket, places)| (bucket.name(), places)).collect();
        let expected = [("1–5", vec![0, 1]), ("6–10", vec![3]), ("21–25", vec![4])];
        assert_eq!(named, expected.map(|(name, places)| (name.to_owned(), places)));
    }

    #[test]
    fn a_width_of_one_names_single_lengths() {
        let buckets = buckets(&["a b".to_owned()], 1);
        assert_eq!(buckets[0].0.name(), "2");
    }
}
