//! Reads back a run's `metrics.jsonl`.

use std::io;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::files;

/// The logged updates and validations of a run.
#[derive(Clone, Debug)]
pub struct History {
    path: PathBuf,
    updates: Vec<Entry>,
    validations: Vec<Entry>,
}

/// The cost of training up to an update.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrainingCost {
    /// Updates up to that point.
    pub steps: u64,
    /// Updates of the whole run so far.
    pub run_steps: u64,
    /// Time spent in updates, without validations and checkpoints, extrapolated from the logged updates.
    pub seconds: f64,
    /// Target tokens per second.
    pub tokens_per_second: f64,
}

/// A logged metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum), value(rename_all = "snake_case"))]
pub enum Metric {
    /// The loss per token, label-smoothed if configured.
    Loss,
    /// The negative log-likelihood per token, in nats.
    Nll,
    /// exp(nll).
    Perplexity,
    /// The share of tokens predicted correctly.
    Accuracy,
    /// BLEU of the validation sentences.
    Bleu,
    /// chrF of the validation sentences.
    Chrf,
    /// The number of `train.validation_script` for the validation sentences.
    Script,
    /// The share of validation sentences translated exactly like the reference.
    ExactMatch,
    /// The learning rate.
    LearningRate,
    /// The gradient's norm before clipping.
    GradientNorm,
    /// The gradient's norm for each layer, and for what is beside the layers.
    GradientNorms,
    /// The probability with which the decoder reads the reference, in scheduled sampling.
    ReferenceProbability,
    /// Target tokens trained on per second.
    TokensPerSecond,
}

impl Metric {
    /// Returns the key in `metrics.jsonl`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Nll => "nll",
            Self::Perplexity => "perplexity",
            Self::Accuracy => "accuracy",
            Self::Bleu => "bleu",
            Self::Chrf => "chrf",
            Self::Script => "script",
            Self::ExactMatch => "exact_match",
            Self::LearningRate => "learning_rate",
            Self::GradientNorm => "gradient_norm",
            Self::GradientNorms => "gradient_norms",
            Self::ReferenceProbability => "reference_probability",
            Self::TokensPerSecond => "tokens_per_second",
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Step,
    Validation,
}

/// A line of the log.
#[derive(Clone, Debug, Deserialize)]
struct Entry {
    kind: Kind,
    step: u64,
    #[serde(flatten)]
    values: Map<String, Value>,
}

impl History {
    /// Reads the log of the run directory `run`. An incomplete last line, which a run may still be writing,
    /// is ignored.
    ///
    /// # Errors
    /// A missing, damaged or empty log.
    pub fn read(run: &Path) -> Result<Self> {
        let path = run.join(files::METRICS);
        let text = regular_file::read_whole(&path).map_err(|error| unreadable(run, &path, error))?;
        let text = String::from_utf8_lossy(&text);
        let mut history = Self { path, updates: Vec::new(), validations: Vec::new() };
        for (index, line) in text.split_inclusive('\n').enumerate() {
            if !line.ends_with('\n') {
                break;
            }
            let entry: Entry =
                serde_json::from_str(line).map_err(|error| damaged(&history.path, index + 1, &error))?;
            match entry.kind {
                Kind::Step => history.updates.push(entry),
                Kind::Validation => history.validations.push(entry),
            }
        }
        if history.updates.is_empty() && history.validations.is_empty() {
            return Err(Error::Model {
                path: history.path,
                problem: "no update has been logged yet".into(),
                hint: Some("a run logs its first update, then every `train.log_every`-th".into()),
            });
        }
        Ok(history)
    }

    /// Returns the path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the last logged update or validation.
    pub fn last_step(&self) -> u64 {
        let entries = self.updates.iter().chain(&self.validations);
        entries.map(|entry| entry.step).max().unwrap_or_default()
    }

    /// Returns the cost of training up to update `last`; `None` if no update up to there was logged.
    pub fn training(&self, last: u64) -> Option<TrainingCost> {
        let number = |entry: &Entry, key: &str| entry.values.get(key)?.as_f64();
        let updates = self.updates.iter().filter(|entry| entry.step <= last);
        let timed = updates.filter_map(|entry| {
            let tokens = number(entry, "tgt_tokens")?;
            let updates = number(entry, "updates")?;
            let seconds = tokens / number(entry, "tokens_per_second")?;
            Some((tokens, seconds, updates))
        });
        let add = |sums: (f64, f64, f64), (tokens, seconds, updates)| {
            (sums.0 + tokens, sums.1 + seconds, sums.2 + updates)
        };
        let (tokens, seconds, logged) = timed.fold((0.0, 0.0, 0.0), add);
        let run_steps = self.last_step();
        let steps = last.min(run_steps);
        (seconds > 0.0).then(|| TrainingCost {
            steps,
            run_steps,
            seconds: steps as f64 * seconds / logged,
            tokens_per_second: tokens / seconds,
        })
    }

    /// Returns the updates that have `metric`, and its values; NaN where the logged value was NaN or
    /// infinite.
    pub fn updates(&self, metric: Metric) -> Vec<(f64, f64)> {
        values(&self.updates, metric)
    }

    /// Returns the parts of `metric` with the updates that have them, for a metric of several numbers.
    pub fn parts(&self, metric: Metric) -> Vec<(String, Vec<(f64, f64)>)> {
        let mut parts: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
        for entry in &self.updates {
            let Some(Value::Object(values)) = entry.values.get(metric.key()) else { continue };
            for (name, value) in values {
                let point = (entry.step as f64, value.as_f64().unwrap_or(f64::NAN));
                match parts.iter_mut().find(|(known, _)| known == name) {
                    Some((_, points)) => points.push(point),
                    None => parts.push((name.clone(), vec![point])),
                }
            }
        }
        parts
    }

    /// Like [`History::updates`], for validations.
    pub fn validations(&self, metric: Metric) -> Vec<(f64, f64)> {
        values(&self.validations, metric)
    }
}

fn values(entries: &[Entry], metric: Metric) -> Vec<(f64, f64)> {
    let value = |entry: &Entry| {
        let number = match entry.values.get(metric.key())? {
            // JSON has no NaN or infinity; such numbers are written as null.
            Value::Null => f64::NAN,
            Value::Object(score) => score.get("value")?.as_f64()?,
            number => number.as_f64()?,
        };
        Some((entry.step as f64, number))
    };
    entries.iter().filter_map(value).collect()
}

fn unreadable(run: &Path, path: &Path, error: io::Error) -> Error {
    if error.kind() != io::ErrorKind::NotFound && error.kind() != io::ErrorKind::NotADirectory {
        return Error::io("read", path)(error);
    }
    let problem = match () {
        () if run.is_dir() => "no such file: the directory holds no log of a training run",
        () if run.exists() => "a run is a directory, not a file",
        () => "no such run directory",
    };
    Error::Model {
        path: if run.is_dir() { path } else { run }.to_path_buf(),
        problem: problem.into(),
        hint: Some("name a directory that `attentive train` wrote".into()),
    }
}

fn damaged(path: &Path, line: usize, error: &serde_json::Error) -> Error {
    Error::Model {
        path: path.to_path_buf(),
        problem: format!("line {line} is not an update or validation: {error}"),
        hint: Some("the log is damaged: make a copy, then delete that line".into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn history(log: &str) -> Result<History> {
        let folder = tempfile::tempdir().expect("tempdir");
        fs::write(folder.path().join(files::METRICS), log).expect("write");
        History::read(folder.path())
    }

    #[test]
    fn updates_and_validations_are_separated() {
        let log = "{\"kind\":\"step\",\"step\":1,\"loss\":9.5}\n\
                   {\"kind\":\"step\",\"step\":2,\"loss\":null}\n\
                   {\"kind\":\"validation\",\"step\":2,\"loss\":8.0,\"bleu\":{\"name\":\"BLEU\",\"value\":2.5}}\n\
                   {\"kind\":\"step\",\"ste";
        let history = history(log).expect("readable");
        let [(step, loss), (_, missing)] = history.updates(Metric::Loss)[..] else {
            panic!("two updates");
        };
        assert_eq!((step, loss), (1.0, 9.5));
        assert!(missing.is_nan());
        assert_eq!(history.validations(Metric::Loss), [(2.0, 8.0)]);
        assert_eq!(history.validations(Metric::Bleu), [(2.0, 2.5)]);
        assert_eq!(history.updates(Metric::Bleu), []);
    }

    #[test]
    fn logged_updates_represent_the_others() {
        let line = |step: u64, tokens: u64, speed: u64| {
            format!(
                "{{\"kind\":\"step\",\"step\":{step},\"updates\":1,\"tgt_tokens\":{tokens},\"tokens_per_second\":{speed}}}\n"
            )
        };
        let history = history(&(line(1, 100, 100) + &line(10, 300, 100))).expect("readable");
        let training = |last| history.training(last);
        let all = training(10).expect("updates were logged");
        assert_eq!((all.steps, all.run_steps, all.seconds), (10, 10, 20.0));
        assert_eq!(all.tokens_per_second, 100.0);
        let first = training(5).expect("updates were logged");
        assert_eq!((first.steps, first.run_steps, first.seconds), (5, 10, 5.0));
        assert_eq!(training(0), None);
    }

    #[test]
    fn a_line_may_be_about_several_updates() {
        let history = history(
            "{\"kind\":\"step\",\"step\":1,\"updates\":1,\"tgt_tokens\":100,\"tokens_per_second\":50}\n\
             {\"kind\":\"step\",\"step\":10,\"updates\":9,\"tgt_tokens\":900,\"tokens_per_second\":100}\n",
        );
        let all = history.expect("readable").training(10).expect("logged");
        assert_eq!((all.steps, all.seconds), (10, 11.0));
        assert!((all.tokens_per_second - 1000.0 / 11.0).abs() < 1e-9);
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let problem = |log: &str| history(log).expect_err("must fail").to_string();
        let good = "{\"kind\":\"step\",\"step\":1,\"loss\":9.5}\n";
        assert!(problem(&format!("{good}garbage\n")).contains("line 2"));
        assert!(problem("{\"kind\":\"step\"}\n").contains("`step`"));
        assert!(problem("{\"kind\":\"epoch\",\"step\":1}\n").contains("line 1"));
        assert!(problem("").contains("no update"));
    }
}
