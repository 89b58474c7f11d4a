//! The training of the student, and of the same model without a teacher.

use std::cell::Cell;
use std::path::{Path, absolute};

use attentive_base::error::Result;
use attentive_base::interrupt::Interrupt;
use attentive_checkpoint::{atomic, files, fingerprint, sums};
use attentive_config::{Config, DataConfig, DecodeConfig};
use attentive_data::word_alignment::{Symmetrization, align_words};
use attentive_data::{read_lines, training_files};
use attentive_processes::Processes;
use attentive_train::{Existing, Observer, RunOptions, on_device, train};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::stages::{StageResults, StageSpec, Stages, hash};
use super::{ALIGNMENT, CORPUS, Distillation, LINKS, MODEL, NO_TAGS, ParallelText, sides};

impl Distillation {
    /// The training data of the student: the corpus, original pairs if they are wanted, and alignments.
    pub(super) fn student_data(
        &self,
        stages: &mut Stages<'_>,
        corpus: &StageResults,
    ) -> Result<TrainingData> {
        let path = corpus.path(CORPUS);
        let mut parts = vec![json!({ "tsv": path_text(&path), "weight": 1.0 })];
        let mut texts = vec![json!(corpus.hashes[CORPUS])];
        let mut hashes = texts.clone();
        let text = self.plan.text.parallel.as_ref().filter(|_| self.plan.text.original > 0.0);
        if let Some(text) = text {
            parts.push(original(text, self.plan.text.original));
            let files = json!([hash(&text.src)?, hash(&text.tgt)?]);
            hashes.push(json!([files, self.plan.text.original]));
            texts.push(files);
        }
        let mut data = TrainingData { parts, texts, hashes, settings: Vec::new() };
        let strength = self.plan.student.guided_alignment;
        if strength > 0.0 {
            let aligned = self.align(stages, &data, &path, text)?;
            let tags = self.student.train.augmentation.inline_tags;
            data.hashes.push(json!([aligned.hashes, strength, tags]));
            data.settings = self.guidance.clone();
        }
        Ok(data)
    }

    /// Refuses what training would refuse after hours of work.
    ///
    /// # Errors
    /// Those of [`Config::parse`] for the settings of the training; [`Error::Io`] for validation data that
    /// cannot be read; those of the device.
    pub(super) fn check_student(&self) -> Result<()> {
        let corpus = TrainingData {
            parts: vec![json!({ "tsv": path_text(&self.dir.join("corpus").join(CORPUS)) })],
            texts: Vec::new(),
            hashes: Vec::new(),
            settings: self.guidance.clone(),
        };
        self.configuration(&corpus)?;
        if self.plan.student.undistilled {
            self.configuration(&self.original_data()?)?;
        }
        self.student_settings()?;
        on_device(self.student.train.device, &Processes::alone(), || Ok(()))
    }

    /// The configuration of a student that learns from `data`.
    fn configuration(&self, data: &TrainingData) -> Result<Config> {
        let mut set = self.plan.student.set.clone();
        set.push(format!("data.train={}", data.toml()));
        set.extend(data.settings.iter().cloned());
        Config::parse(&self.student_text, &self.plan.student.config, &set)
    }

    /// Aligns the words of the student's data.
    fn align(
        &self,
        stages: &mut Stages<'_>,
        data: &TrainingData,
        corpus: &Path,
        original: Option<&ParallelText>,
    ) -> Result<StageResults> {
        let spec = StageSpec {
            name: ALIGNMENT,
            inputs: json!({ "data": data.texts }),
            results: &[LINKS],
            ..StageSpec::default()
        };
        stages.run(spec, |dir, _| {
            let [mut src, mut tgt] = sides(corpus)?;
            if let Some(text) = original {
                src.extend(read_lines(&text.src)?);
                tgt.extend(read_lines(&text.tgt)?);
            }
            let links = align_words(&src, &tgt, Symmetrization::default())?;
            let lines: String = links.iter().map(|links| format!("{links}\n")).collect();
            atomic::write_file(&dir.join(LINKS), lines.as_bytes())
        })
    }

    /// The pairs of people alone.
    pub(super) fn original_data(&self) -> Result<TrainingData> {
        let text = self.plan.text.parallel.as_ref().expect("checked with the plan");
        let texts = vec![json!([hash(&text.src)?, hash(&text.tgt)?])];
        // There are no alignments of these pairs, by which tags are placed.
        let has_tags = self.student.train.augmentation.inline_tags > 0.0;
        let settings = has_tags.then(|| NO_TAGS.to_owned());
        Ok(TrainingData {
            parts: vec![original(text, 1.0)],
            hashes: texts.clone(),
            texts,
            settings: Vec::from_iter(settings),
        })
    }

    pub(super) fn train(
        &self,
        stages: &mut Stages<'_>,
        name: &str,
        data: &TrainingData,
        interrupt: &Interrupt,
        observer: &mut dyn Observer,
    ) -> Result<StageResults> {
        let details = StudentDetails { max_steps: self.own.train.max_steps, decode: self.own.decode.clone() };
        let same_search = Cell::new(false);
        let is_usable = |before: &Value| {
            let Ok(before) = serde_json::from_value::<StudentDetails>(before.clone()) else { return false };
            same_search.set(before.decode == details.decode);
            before.max_steps <= details.max_steps
        };
        let estimate = || self.training_time(interrupt);
        let spec = StageSpec {
            name,
            inputs: json!({ "data": data.hashes, "configuration": self.student_settings()? }),
            details: Some((json!(details), &is_usable)),
            results: &MODEL,
            estimate: Some(&estimate),
            is_model: true,
            ..StageSpec::default()
        };
        stages.run(spec, |dir, _| {
            let mut config = self.configuration(data)?;
            let stored = dir.join("model").join(files::CONFIG);
            if stored.exists() {
                let before = Config::load_stored(&stored)?;
                if same_search.get() {
                    // It may have been tuned.
                    config.decode = before.decode.clone();
                }
                // The same texts, as the hashes of the stage say, which may be elsewhere now.
                sums::replace_config(&dir.join("model"), &Config { data: config.data.clone(), ..before })?;
            }
            let options = RunOptions {
                out: dir.join("model"),
                existing: Existing::Resume,
                interrupt: interrupt.clone(),
                processes: Processes::alone(),
            };
            train(&config, &options, observer).map(drop)
        })
    }

    /// The student's configuration without its training data, and the content of its validation data.
    pub(super) fn student_settings(&self) -> Result<Value> {
        let student = &self.own;
        let with_corpus =
            |train| Config { data: DataConfig { train, ..student.data.clone() }, ..student.clone() };
        let valid = match student.data.valid.clone() {
            Some(valid) => training_files(&with_corpus(Some(valid)))?,
            None => Vec::new(),
        };
        let valid: Vec<String> = valid.iter().map(|file| hash(file)).collect::<Result<_>>()?;
        Ok(json!({
            "settings": with_corpus(None).recipe(),
            "valid": valid,
            "tokenizer": self.student.tokenizer.from.as_deref().map(fingerprint_of).transpose()?,
            "from": self.student.model.from.as_deref().map(fingerprint),
        }))
    }
}

/// What can change of a student's configuration without training it anew.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct StudentDetails {
    /// More updates go on from fewer.
    max_steps: u64,
    decode: DecodeConfig,
}

/// Training data, as a configuration has them.
pub(super) struct TrainingData {
    parts: Vec<Value>,
    /// The SHA-256 of their files.
    texts: Vec<Value>,
    /// What they are, with weights and alignments.
    hashes: Vec<Value>,
    /// Settings of the configuration that belong to them.
    settings: Vec<String>,
}

impl TrainingData {
    /// A list of tables. Strings of JSON are strings of TOML, too.
    fn toml(&self) -> String {
        let table = |part: &Value| {
            let keys = part.as_object().into_iter().flatten();
            let keys: Vec<String> = keys.map(|(key, value)| format!("{key} = {value}")).collect();
            format!("{{ {} }}", keys.join(", "))
        };
        let tables: Vec<String> = self.parts.iter().map(table).collect();
        format!("[{}]", tables.join(", "))
    }
}

fn original(text: &ParallelText, weight: f64) -> Value {
    json!({ "src": path_text(&text.src), "tgt": path_text(&text.tgt), "weight": weight })
}

/// `path` from the root, since the student's `data.dir` does not apply to it.
pub(super) fn path_text(path: &Path) -> String {
    let whole = absolute(path).unwrap_or_else(|_| path.to_path_buf());
    whole.to_string_lossy().into_owned()
}

/// The content of a file, or of all files in a folder.
fn fingerprint_of(path: &Path) -> Result<String> {
    if path.is_dir() { Ok(fingerprint(path)) } else { hash(path) }
}
