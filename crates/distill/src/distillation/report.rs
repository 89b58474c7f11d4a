//! The report of a distillation: teacher and students on a test set.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_checkpoint::{atomic, to_json};
use attentive_data::read_lines;
use attentive_evaluate::EvaluateOptions;
use attentive_evaluate::compare::{Bucket, Differences, System, TestSet, compare_ensembles};
use attentive_evaluate::examples::TranslationExample;
use attentive_kernels::threads::Threads;
use attentive_metrics::{Bleu, Score};
use attentive_pipeline::TranslateOptions;
use serde::Serialize;
use serde_json::json;

use super::stages::{StageResults, StageSpec, Stages, hash};
use super::{Distillation, RamProbe};

/// The number of lines on which the systems differ most that are shown.
const EXAMPLES: usize = 5;
/// The number of lengths per bucket.
const BUCKET_WIDTH: usize = 10;

/// The number of lines whose translation shows how much RAM it takes.
const RAM_LINES: usize = 100;

/// `report.json`.
#[derive(Serialize)]
struct Report<'a> {
    systems: Vec<ReportedSystem<'a>>,
    buckets: &'a [Bucket],
    examples: &'a [TranslationExample],
}

/// A system, and what it takes.
#[derive(Serialize)]
struct ReportedSystem<'a> {
    /// The size of the files of its weights, in bytes.
    weight_bytes: u64,
    /// The most RAM that a process took which translated with it, in bytes, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    ram_bytes: Option<u64>,
    #[serde(flatten)]
    system: &'a System,
}

impl Distillation {
    /// Compares the students with their teacher, if it is a model.
    pub(super) fn report(
        &self,
        stages: &mut Stages<'_>,
        student: &StageResults,
        quantized: &StageResults,
        undistilled: Option<&StageResults>,
        ram: Option<&RamProbe>,
    ) -> Result<()> {
        let (test, teacher) = (&self.plan.test, &self.plan.teacher.models);
        let spec = StageSpec::new(
            "report",
            json!({
                "teacher": self.teacher_models()?,
                "student": student.identity()?,
                "configuration": self.student_settings()?,
                "int8": quantized.identity()?,
                "undistilled": undistilled.map(StageResults::identity).transpose()?,
                "test": [hash(&test.src)?, hash(&test.tgt)?],
            }),
            &["report.json", "report.md"],
        );
        let reported = stages.run(spec, |dir, _| {
            let (src, references) = (read_lines(&test.src)?, [read_lines(&test.tgt)?]);
            let mut systems: Vec<(String, Vec<PathBuf>)> = Vec::new();
            systems.extend((!teacher.is_empty()).then(|| ("teacher".to_owned(), teacher.clone())));
            let students = [
                ("student", Some(student)),
                ("student, int8", Some(quantized)),
                ("undistilled", undistilled),
            ];
            for (name, stage) in students {
                systems.extend(stage.map(|stage| (name.to_owned(), vec![stage.path("model")])));
            }
            write(dir, &systems, &src, &references, ram)
        });
        reported.map(drop)
    }
}

/// Compares the models `systems` on one thread, each with its own search options, and writes `report.json`
/// and `report.md` into `dir`. The first one is the baseline.
///
/// # Errors
/// Those of [`compare_ensembles`]; [`Error::Io`] if a file cannot be read or written.
fn write(
    dir: &Path,
    systems: &[(String, Vec<PathBuf>)],
    src: &[String],
    references: &[Vec<String>],
    ram: Option<&RamProbe>,
) -> Result<()> {
    let test = TestSet { src, references, bucket_width: BUCKET_WIDTH, examples: EXAMPLES };
    let comparison = Threads::alone(|| {
        compare_ensembles(systems, test, |pipeline| {
            let translate = TranslateOptions::from(&pipeline.config().decode);
            Ok(EvaluateOptions { translate, bleu: Bleu::default() })
        })
    })?;
    let lines = &src[..src.len().min(RAM_LINES)];
    let mut reported = Vec::new();
    for (system, (_, models)) in comparison.systems.iter().zip(systems) {
        let weight_bytes = models.iter().map(|dir| weight_bytes(dir)).sum::<Result<u64>>()?;
        let ram_bytes = ram.map_or(Ok(None), |ram| ram(models, lines))?;
        reported.push(ReportedSystem { weight_bytes, ram_bytes, system });
    }
    let report = Report { systems: reported, buckets: &comparison.buckets, examples: &comparison.examples };
    atomic::write_file(&dir.join("report.md"), in_words(&report).as_bytes())?;
    atomic::write_file(&dir.join("report.json"), &to_json(&report)?)
}

/// The size of the files of weights in `dir`.
fn weight_bytes(dir: &Path) -> Result<u64> {
    let unreadable = || Error::io("read", dir);
    let mut bytes = 0;
    for entry in fs::read_dir(dir).map_err(unreadable())? {
        let entry = entry.map_err(unreadable())?;
        if entry.path().extension().is_some_and(|extension| extension == "safetensors") {
            bytes += entry.metadata().map_err(unreadable())?.len();
        }
    }
    Ok(bytes)
}

fn in_words(report: &Report<'_>) -> String {
    let mut text = format!(
        "# Teacher and student\n\n{} sentences, one thread. Intervals contain 95 % of the scores of resampled \
         test sets; differences are those from the first system (paired bootstrap).\n\n\
         | system | BLEU | chrF2 | sentences/s | MB of weights | MB of RAM | difference in BLEU |\n\
         |---|---|---|---|---|---|---|\n",
        report.systems.first().map_or(0, |one| one.system.sentences)
    );
    let megabytes = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
    for ReportedSystem { weight_bytes, ram_bytes, system } in &report.systems {
        let System { name, bleu, chrf, sentences_per_second, difference, .. } = system;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {sentences_per_second:.1} | {} | {} | {} |",
            score(bleu),
            score(chrf),
            megabytes(*weight_bytes),
            ram_bytes.map_or_else(String::new, megabytes),
            difference.as_ref().map_or_else(String::new, in_bleu)
        );
    }
    if !report.examples.is_empty() {
        text.push_str("\n## Where they differ most\n");
    }
    for example in report.examples {
        let _ = write!(
            text,
            "\nLine {}: {}\n\n- reference: {}\n",
            example.line, example.source, example.reference
        );
        for (ReportedSystem { system, .. }, output) in report.systems.iter().zip(&example.outputs) {
            let _ = writeln!(text, "- {}: {}", system.name, output.text);
        }
    }
    text
}

fn score(score: &Score) -> String {
    match &score.interval {
        Some(interval) => format!("{:.2} ({:.2} to {:.2})", score.value, interval.lower, interval.upper),
        None => format!("{:.2}", score.value),
    }
}

fn in_bleu(differences: &Differences) -> String {
    format!("{:+.2}, p {:.3}", differences.bleu.value, differences.bleu.p_value)
}
