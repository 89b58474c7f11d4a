//! The report of a distillation: teacher and students on a test set.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use attentive_base::count::number;
use attentive_base::error::{Error, Result};
use attentive_checkpoint::{atomic, read_json_if_there, to_json};
use attentive_data::read_lines;
use attentive_evaluate::EvaluateOptions;
use attentive_evaluate::compare::{Bucket, Differences, System, TestSet, compare_ensembles};
use attentive_evaluate::examples::TranslationExample;
use attentive_evaluate::static_int8::Int8Cost;
use attentive_kernels::gemm::Float;
use attentive_kernels::threads::Threads;
use attentive_metrics::{Bleu, Difference, Score};
use attentive_pipeline::TranslateOptions;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::stages::{StageResults, StageSpec, Stages, hash};
use super::{COST, Distillation, FILTERED, ParallelText, RamProbe};

const TEACHER: &str = "teacher";
const STUDENT: &str = "student";
const QUANTIZED: &str = "student, int8";
const UNDISTILLED: &str = "undistilled";

/// The number of lines on which the systems differ most that are shown.
const EXAMPLES: usize = 5;
/// The number of lengths per bucket.
const BUCKET_WIDTH: usize = 10;

/// The number of lines whose translation shows how much RAM it takes.
const RAM_LINES: usize = 100;

/// `report.json`.
#[derive(Serialize)]
struct Report<'a> {
    systems: Vec<ReportedSystem>,
    /// Those that say what the teacher, its translations and 8 bits are worth.
    differences: Vec<ReportedDifferences>,
    /// What the filters left of the translations.
    corpus: Value,
    /// What 8 bits cost in Firefox's engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    firefox: Option<Int8Cost>,
    buckets: &'a [Bucket],
    examples: &'a [TranslationExample],
}

/// A system, and what it takes.
#[derive(Serialize)]
struct ReportedSystem {
    /// The size of the files of its weights, in bytes.
    weight_bytes: u64,
    /// The most RAM that a process took which translated with it, in bytes, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    ram_bytes: Option<u64>,
    #[serde(flatten)]
    system: System,
}

/// How the scores of `system` differ from those of `from`.
#[derive(Serialize)]
struct ReportedDifferences {
    system: &'static str,
    from: &'static str,
    #[serde(flatten)]
    differences: Differences,
}

/// What the report is about.
#[derive(Clone, Copy)]
pub(super) struct ReportedStages<'a> {
    pub(super) corpus: &'a StageResults,
    pub(super) student: &'a StageResults,
    pub(super) quantized: &'a StageResults,
    pub(super) undistilled: Option<&'a StageResults>,
    pub(super) firefox: Option<&'a StageResults>,
}

impl Distillation {
    /// Compares the students with their teacher, if it is a model.
    pub(super) fn report(
        &self,
        stages: &mut Stages<'_>,
        reported: ReportedStages<'_>,
        ram: Option<&RamProbe>,
    ) -> Result<()> {
        let ReportedStages { corpus, student, quantized, undistilled, firefox } = reported;
        let (test, teacher) = (&self.plan.test, &self.plan.teacher.models);
        let spec = StageSpec {
            name: "report",
            inputs: json!({
                "teacher": self.teacher_models()?,
                "corpus": corpus.hashes[FILTERED],
                "student": student.identity()?,
                "int8": quantized.identity()?,
                "undistilled": undistilled.map(StageResults::identity).transpose()?,
                "firefox": firefox.map(|firefox| &firefox.hashes[COST]),
                "test": [hash(&test.src)?, hash(&test.tgt)?],
            }),
            results: &["report.json", "report.md"],
            ..StageSpec::default()
        };
        let written = stages.run(spec, |dir, _| {
            let mut systems: Vec<(&'static str, Vec<PathBuf>)> = Vec::new();
            systems.extend((!teacher.is_empty()).then(|| (TEACHER, teacher.clone())));
            let students =
                [(UNDISTILLED, undistilled), (STUDENT, Some(student)), (QUANTIZED, Some(quantized))];
            for (name, stage) in students {
                systems.extend(stage.map(|stage| (name, vec![stage.path("model")])));
            }
            write(dir, &systems, test, reported, ram)
        });
        written.map(drop)
    }
}

/// Compares the models `systems` on one thread, each with its own search options, and writes `report.json`
/// and `report.md` into `dir`.
///
/// # Errors
/// Those of [`compare_ensembles`]; [`Error::Io`] if a file cannot be read or written; [`Error::Data`] for a
/// damaged file of a stage.
fn write(
    dir: &Path,
    systems: &[(&'static str, Vec<PathBuf>)],
    test: &ParallelText,
    stages: ReportedStages<'_>,
    ram: Option<&RamProbe>,
) -> Result<()> {
    let (src, references) = (read_lines(&test.src)?, [read_lines(&test.tgt)?]);
    let set = TestSet { src: &src, references: &references, bucket_width: BUCKET_WIDTH, examples: EXAMPLES };
    let named: Vec<(String, Vec<PathBuf>)> =
        systems.iter().map(|(name, models)| ((*name).to_owned(), models.clone())).collect();
    let (comparison, lines) = Threads::alone(|| {
        compare_ensembles(&named, set, |pipeline| {
            let translate = TranslateOptions::from(&pipeline.config().decode);
            Ok(EvaluateOptions { translate, bleu: Bleu::default() })
        })
    })?;
    let of = |name| systems.iter().position(|(other, _)| *other == name).map(|place| &lines[place]);
    let pairs = [
        (UNDISTILLED, TEACHER),
        (STUDENT, TEACHER),
        (QUANTIZED, TEACHER),
        (STUDENT, UNDISTILLED),
        (QUANTIZED, STUDENT),
    ];
    let difference = |(system, from)| {
        let differences = of(system)?.differences(of(from)?);
        Some(ReportedDifferences { system, from, differences })
    };
    let some_lines = &src[..src.len().min(RAM_LINES)];
    let mut reported = Vec::new();
    for (system, (_, models)) in comparison.systems.into_iter().zip(systems) {
        let weight_bytes = models.iter().map(|dir| weight_bytes(dir)).sum::<Result<u64>>()?;
        let ram_bytes = ram.map_or(Ok(None), |ram| ram(models, some_lines))?;
        let system = System { difference: None, ..system };
        reported.push(ReportedSystem { weight_bytes, ram_bytes, system });
    }
    let report = Report {
        systems: reported,
        differences: pairs.into_iter().filter_map(difference).collect(),
        corpus: parsed(&stages.corpus.path(FILTERED))?.unwrap_or_default(),
        firefox: stages.firefox.map_or(Ok(None), |stage| parsed(&stage.path(COST)))?,
        buckets: &comparison.buckets,
        examples: &comparison.examples,
    };
    atomic::write_file(&dir.join("report.md"), in_words(&report).as_bytes())?;
    atomic::write_file(&dir.join("report.json"), &to_json(&report)?)
}

/// The content of a JSON file of a stage.
fn parsed<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    read_json_if_there(path, "delete its folder, which is then made again")
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
    let systems = || report.systems.iter().map(|one| &one.system);
    let mut text = format!(
        "# Teacher and student\n\n{} sentences, one thread, {}. Intervals contain 95 % of the scores of resampled \
         test sets.\n\n\
         | system | beam | BLEU | chrF2 | sentences/s | MB of weights | MB of RAM |\n\
         |---|---|---|---|---|---|---|\n",
        systems().next().map_or(0, |system| system.sentences),
        Float::F32.instructions()
    );
    let megabytes = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
    for ReportedSystem { weight_bytes, ram_bytes, system } in &report.systems {
        let System { name, search, bleu, chrf, sentences_per_second, .. } = system;
        let beam = search.strategy.rows();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {name} | {beam} | {} | {} | {sentences_per_second:.1} | {} | {} |",
            score(bleu),
            score(chrf),
            megabytes(*weight_bytes),
            ram_bytes.map_or_else(String::new, megabytes),
        );
    }
    text.push('\n');
    for System { name, bleu, .. } in systems() {
        let _ = writeln!(text, "- {name}: {}", bleu.detail);
    }
    text.push_str(
        "\n## Differences\n\nPaired bootstrap.\n\n| system | from | BLEU | chrF2 |\n|---|---|---|---|\n",
    );
    for ReportedDifferences { system, from, differences } in &report.differences {
        let [bleu, chrf] = [differences.bleu, differences.chrf].map(difference_in_words);
        let _ = writeln!(text, "| {system} | {from} | {bleu} | {chrf} |");
    }
    text.push_str("\n## The corpus of the student\n\n");
    let counts = |value: &Value| -> Vec<String> {
        let entries = value.as_object().into_iter().flatten();
        entries.filter_map(|(name, n)| Some((name, n.as_u64().filter(|&n| n > 0)?))).map(counted).collect()
    };
    let _ = writeln!(text, "- {}", counts(&report.corpus).join(", "));
    for (kind, counted) in [("dropped by rules", "dropped"), ("mended", "mended")] {
        let counts = counts(&report.corpus["rules"][counted]);
        if !counts.is_empty() {
            let _ = writeln!(text, "- {kind}: {}", counts.join(", "));
        }
    }
    if let Some(Int8Cost { lines, changed_lines, bleu }) = &report.firefox {
        let _ = write!(
            text,
            "\n## In Firefox's engine\n\n8 bits change {changed_lines} of {lines} lines of the calibration"
        );
        let _ = match bleu {
            Some([before, after]) => writeln!(text, ", and BLEU from {before:.2} to {after:.2}."),
            None => writeln!(text, "."),
        };
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
        for (system, output) in systems().zip(&example.outputs) {
            let _ = writeln!(text, "- {}: {}", system.name, output.text);
        }
    }
    text
}

fn counted((name, n): (&String, u64)) -> String {
    format!("{} {}", name.replace('_', " "), number(n))
}

fn score(score: &Score) -> String {
    match &score.interval {
        Some(interval) => format!("{:.2} ({:.2} to {:.2})", score.value, interval.lower, interval.upper),
        None => format!("{:.2}", score.value),
    }
}

fn difference_in_words(Difference { value, interval, p_value }: Difference) -> String {
    format!("{value:+.2} ({:+.2} to {:+.2}), p {p_value:.3}", interval.lower, interval.upper)
}
