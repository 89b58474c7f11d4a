//! A small student of a large model, in stages.
//!
//! The teacher translates text ([`crate::Synthesis`]); what is left of the translations after filters is the
//! corpus of the student, which is trained, quantized with a shortlist, compared with its teacher, and
//! exported (Kim and Rush 2016). Each stage is a folder with what it is made from. A stage runs only if that
//! differs from the last time, and one that was interrupted goes on where it ended.

mod estimate;
mod plan;
mod report;
mod stages;
mod student;
mod student_corpus;
mod teacher;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_base::regular_file;
use attentive_checkpoint::{Lock, atomic, describe, files, fingerprint, read_distillation, to_json};
use attentive_config::{Config, Task};
use attentive_data::cleaning::ExpectedLanguages;
use attentive_data::{Line, Lines, MAX_RECORD_BYTES, SourceFile, read_lines};
use attentive_evaluate::quantize::{QuantizeOptions, quantize};
use attentive_interop::check_for_firefox;
use attentive_model::engine::Precision;
use attentive_train::Observer;
use attentive_train::report::Event;
use serde_json::{Value, json};

pub use self::plan::{
    DistillationPlan, FilterPlan, FirefoxPlan, LanguageCodes, ParallelText, StudentPlan, TeacherChoice,
    TeacherPlan, TextPlan,
};
use self::report::ReportedStages;
pub use self::stages::{ExpectedTime, StageObserver, StageState};
use self::stages::{StageResults, StageSpec, Stages, hash};
use crate::FirefoxExport;
use crate::pair_file::PairFile;

/// The file of translations in the folder of a stage.
const PAIRS: &str = "pairs.tsv";
/// What became of the lines that the teacher has translated.
const COUNTS: &str = "counts.json";
/// What the filters have dropped.
const FILTERED: &str = "filter.json";
/// What 8 bits cost in Firefox's engine.
const COST: &str = "cost.json";
/// The file of the student's corpus.
const CORPUS: &str = "corpus.tsv";
/// The stage that aligns the words of the student's corpus.
const ALIGNMENT: &str = "alignment";
/// The setting of a student that sees no tags.
const NO_TAGS: &str = "train.augmentation.inline_tags=0";
/// The file of word alignments.
const LINKS: &str = "links";
/// The files of a model that training or quantization decides. Its configuration may be tuned afterwards.
const MODEL: [&str; 2] = ["model/*.safetensors", "model/tokenizer*.json"];
/// The files of a model for Firefox.
const FIREFOX: [&str; 6] =
    ["model/*.bin", "model/*.spm", "model/*.yml", "model/metadata.json", "model/model_info.json", COST];

/// Who hears of a distillation.
pub struct DistillationObservers<'a> {
    /// Hears of the stages.
    pub stages: &'a mut dyn StageObserver,
    /// Hears of the training of students.
    pub training: &'a mut dyn Observer,
    /// Measures the RAM of translation for the report.
    pub ram: Option<&'a RamProbe>,
}

/// The most RAM, in bytes, that a process takes which translates lines with models, an ensemble if there are
/// several, on one thread; `None` where it cannot be measured.
pub type RamProbe = dyn Fn(&[PathBuf], &[String]) -> Result<Option<u64>>;

/// A distillation, and the folder of its stages.
#[derive(Debug)]
pub struct Distillation {
    plan: DistillationPlan,
    dir: PathBuf,
    /// The file with the configuration of the student, as it was read.
    student_text: String,
    /// The configuration of the student, with the training data of its file, and without alignments.
    own: Config,
    /// The same, with alignments if the plan wants them.
    student: Config,
    /// The settings by which it learns from alignments.
    guidance: Vec<String>,
    /// The time in seconds to train it, once it was tried.
    training_time: OnceCell<f64>,
}

impl Distillation {
    /// Checks `plan`, whose stages are folders in `dir`.
    ///
    /// # Errors
    /// Those of [`Config::load`] for the student's configuration; [`Error::Usage`] for a student that does
    /// not translate or that cannot be exported as the plan says, and if `dir` is a model directory;
    /// [`Error::Io`] for a file of the plan that cannot be read, and [`Error::Unaligned`] for two that do not
    /// belong together; those of [`describe`] for the models, and of the student's device.
    pub fn new(plan: DistillationPlan, dir: PathBuf) -> Result<Self> {
        let file = &plan.student.config;
        let student_text = regular_file::read_text(file, regular_file::BY_HAND)?;
        let own = plan.unguided(&student_text)?;
        let task = own.model.family.task();
        if task != Task::Translate {
            return Err(Error::usage(
                format!("`{}` is no translator: it {}", plan.student.config.display(), task.verb()),
                "name the configuration of a translation model",
            ));
        }
        let guidance = plan.guidance(&own, &dir);
        let student = plan.guided(&student_text, &guidance)?;
        if dir.join(files::CONFIG).exists() {
            return Err(Error::usage(
                format!("`{}` is a model, and no folder for the stages of a distillation", dir.display()),
                "write to another folder",
            ));
        }
        if plan.firefox.is_some() {
            check_for_firefox(&student)?;
        }
        check_files(&plan)?;
        let distillation =
            Self { plan, dir, student_text, own, student, guidance, training_time: OnceCell::new() };
        distillation.check_student()?;
        Ok(distillation)
    }

    /// Runs the stages that are not up to date. If `is_dry`, only says which would run.
    ///
    /// # Errors
    /// Any error of a stage; [`Error::Interrupted`] after a request to stop by `interrupt`.
    pub fn run(
        &self,
        is_dry: bool,
        interrupt: &Interrupt,
        observers: DistillationObservers<'_>,
    ) -> Result<()> {
        let _lock = if is_dry { None } else { Some(Lock::acquire(&self.dir)?) };
        let done = interrupt.during(|| self.run_stages(is_dry, interrupt, observers));
        done.map_err(|error| match error {
            // A stage speaks of its own command.
            Error::Interrupted { signal, .. } => {
                let saved = if is_dry {
                    "nothing was changed".to_owned()
                } else {
                    format!(
                        "what is done is in `{}`; to continue, repeat the same command",
                        self.dir.display()
                    )
                };
                Error::Interrupted { signal, saved }
            }
            error => error,
        })
    }

    fn run_stages(
        &self,
        is_dry: bool,
        interrupt: &Interrupt,
        observers: DistillationObservers<'_>,
    ) -> Result<()> {
        let DistillationObservers { stages: heard, training, ram } = observers;
        if let Some(warning) = self.warning_of_overlap()? {
            training.on(&Event::Warning(&warning));
        }
        let mut stages = Stages::new(&self.dir, is_dry, heard);
        let translations = self.translations(&mut stages)?;
        let corpus = self.corpus(&mut stages, &translations)?;
        let student_data = self.student_data(&mut stages, &corpus)?;
        let student = self.train(&mut stages, "student", &student_data, interrupt, training)?;
        let undistilled = if self.plan.student.undistilled {
            let data = self.original_data()?;
            Some(self.train(&mut stages, "undistilled", &data, interrupt, training)?)
        } else {
            None
        };
        let quantized = self.quantize(&mut stages, &student, &corpus)?;
        let firefox = match &self.plan.firefox {
            Some(plan) => Some(self.export(&mut stages, plan, &student, &corpus)?),
            None => None,
        };
        let reported = ReportedStages {
            corpus: &corpus,
            student: &student,
            quantized: &quantized,
            undistilled: undistilled.as_ref(),
            firefox: firefox.as_ref(),
        };
        self.report(&mut stages, reported, ram)?;
        let students = [Some(&student), Some(&quantized), firefox.as_ref()];
        if is_dry { Ok(()) } else { self.describe(students.into_iter().flatten()) }
    }

    /// A warning if the student learns from sentences of the test set.
    fn warning_of_overlap(&self) -> Result<Option<String>> {
        let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let test = read_lines(&self.plan.test.src)?;
        let test: HashSet<String> =
            test.iter().map(|line| plain(line)).filter(|line| !line.is_empty()).collect();
        let mut found: HashSet<String> = HashSet::new();
        let mut look_at = |src: &str| {
            let src = plain(src);
            if test.contains(&src) {
                found.insert(src);
            }
        };
        let text = &self.plan.text;
        for file in text.parallel.iter().map(|text| &text.src).chain(&text.monolingual) {
            let mut lines = Lines::open(file, MAX_RECORD_BYTES)?;
            while let Some(line) = lines.next_line()? {
                if let Line::Text(line) = line {
                    look_at(line);
                }
            }
        }
        for file in &self.plan.teacher.translations {
            PairFile::open(file)?.try_for_each(|row| row.map(|row| look_at(&row.pair.src)))?;
        }
        // Short sentences occur everywhere.
        let is_much = found.len() * 20 > test.len();
        Ok(is_much.then(|| {
            format!(
                "{} of the {} different sentences of `{}` are among those that the student learns from: its scores \
                 will be too high",
                found.len(),
                test.len(),
                self.plan.test.src.display()
            )
        }))
    }

    fn corpus(&self, stages: &mut Stages<'_>, translations: &[(PathBuf, String)]) -> Result<StageResults> {
        let hashes: Vec<&String> = translations.iter().map(|(_, hash)| hash).collect();
        let spec = StageSpec {
            name: "corpus",
            inputs: json!({
                "translations": hashes,
                "filter": FilterPlan { backward: None, ..self.plan.filter.clone() },
                "backward": self.plan.filter.backward.as_deref().map(fingerprint),
            }),
            results: &[CORPUS, FILTERED],
            ..StageSpec::default()
        };
        stages.run(spec, |dir, _| {
            let files: Vec<PathBuf> = translations.iter().map(|(file, _)| file.clone()).collect();
            student_corpus::write(&files, &self.plan.filter, &dir.join(CORPUS), &dir.join(FILTERED))
        })
    }

    fn quantize(
        &self,
        stages: &mut Stages<'_>,
        student: &StageResults,
        corpus: &StageResults,
    ) -> Result<StageResults> {
        let spec = StageSpec {
            name: "int8",
            inputs: json!({ "student": student.identity()?, "corpus": corpus.hashes[CORPUS] }),
            results: &MODEL,
            is_model: true,
            ..StageSpec::default()
        };
        stages.run(spec, |dir, _| {
            let [src, tgt] = sides(&corpus.path(CORPUS))?;
            let shortlist = Some([&*src, &*tgt]);
            let options = QuantizeOptions { shortlist, ..QuantizeOptions::new(Precision::Int8) };
            quantize(&student.path("model"), &dir.join("model"), None, &options).map(drop)
        })
    }

    fn export(
        &self,
        stages: &mut Stages<'_>,
        firefox: &FirefoxPlan,
        student: &StageResults,
        corpus: &StageResults,
    ) -> Result<StageResults> {
        let calibrate = [hash(&firefox.calibrate.src)?, hash(&firefox.calibrate.tgt)?];
        let spec = StageSpec {
            name: "firefox",
            inputs: json!({
                "student": student.identity()?,
                "corpus": corpus.hashes[CORPUS],
                "languages": firefox.languages,
                "calibrate": calibrate,
            }),
            results: &FIREFOX,
            ..StageSpec::default()
        };
        stages.run(spec, |dir, _| {
            let [src, tgt] = sides(&corpus.path(CORPUS))?;
            let text = read_lines(&firefox.calibrate.src)?;
            let references = [read_lines(&firefox.calibrate.tgt)?];
            let LanguageCodes([from, to]) = &firefox.languages;
            let export = FirefoxExport {
                languages: [from, to],
                text: &text,
                references: &references,
                shortlist: Some([&src, &tgt]),
            };
            let (_, cost) = export.write(&student.path("model"), &dir.join("model"))?;
            atomic::write_file(&dir.join(COST), &to_json(&cost)?)
        })
    }

    /// Writes down with each of `students` what they are made from.
    fn describe<'a>(&self, students: impl Iterator<Item = &'a StageResults>) -> Result<()> {
        let provenance = |dir: &PathBuf| {
            let described =
                fs::read_to_string(dir.join(files::PROVENANCE)).unwrap_or_else(|_| fingerprint(dir));
            let mut model = json!({
                "model": dir,
                "provenance": serde_json::from_str(&described).unwrap_or(Value::String(described)),
            });
            // It may be a student, whose teacher and licences count, too.
            if let Some(distilled) = read_distillation(dir)? {
                model["distillation"] = distilled;
            }
            Ok::<_, Error>(model)
        };
        let all = |dirs: &[PathBuf]| dirs.iter().map(provenance).collect::<Result<Vec<_>>>();
        let text = self.plan.text.parallel.iter().flat_map(|text| [&text.src, &text.tgt]);
        let text = text.chain(&self.plan.text.monolingual).chain(&self.plan.teacher.translations);
        let hashed = |file: &PathBuf| Ok(json!({ "file": file, "sha256": hash(file)? }));
        let description = json!({
            "plan": self.plan,
            "teacher": all(&self.plan.teacher.models)?,
            "from": all(self.own.model.from.as_slice())?,
            "backward": all(self.plan.filter.backward.as_slice())?,
            "texts": text.map(hashed).collect::<Result<Vec<_>>>()?,
        });
        let json = to_json(&description)?;
        let of_students = students.map(|student| student.path("model").join(files::DISTILLATION));
        let mut paths = of_students.chain([self.dir.join(files::DISTILLATION)]);
        paths.try_for_each(|path| atomic::write_file(&path, &json))
    }
}

/// Refuses files of the plan that cannot be read, or have different numbers of lines, before hours of work.
fn check_files(plan: &DistillationPlan) -> Result<()> {
    let calibrate = plan.firefox.iter().map(|firefox| &firefox.calibrate);
    for ParallelText { src, tgt } in plan.text.parallel.iter().chain([&plan.test]).chain(calibrate) {
        let [(_, first_lines), (_, second_lines)] = [SourceFile::of_lines(src)?, SourceFile::of_lines(tgt)?];
        if first_lines != second_lines {
            let (first, second) = (src.clone(), tgt.clone());
            return Err(Error::Unaligned { first, first_lines, second, second_lines });
        }
        refuse_blank(src)?;
    }
    for file in plan.text.monolingual.iter().chain(&plan.teacher.translations) {
        let opened = File::open(file).map_err(Error::io("read", file))?;
        if !opened.metadata().map_err(Error::io("read", file))?.is_file() {
            let problem = format!("`{}` is no file that can be read several times", file.display());
            return Err(Error::usage(problem, "name files of text, not folders or pipes"));
        }
        refuse_blank(file)?;
    }
    for file in &plan.text.monolingual {
        SourceFile::of_lines(file).map_err(|error| match error {
            Error::Line { path, line, problem } => {
                Error::line(path, line, problem + "; `attentive clean` drops such lines")
            }
            error => error,
        })?;
    }
    plan.teacher.models.iter().chain(&plan.filter.backward).try_for_each(|dir| check_translator(dir))?;
    if let Some(LanguageCodes([src, tgt])) = &plan.filter.languages {
        ExpectedLanguages::new(src, tgt)?;
    }
    Ok(())
}

/// Refuses a file without any text.
fn refuse_blank(file: &Path) -> Result<()> {
    let mut lines = Lines::open(file, MAX_RECORD_BYTES)?;
    while let Some(line) = lines.next_line()? {
        if !matches!(line, Line::Text(line) if line.trim().is_empty()) {
            return Ok(());
        }
    }
    let problem = format!("`{}` has no text", file.display());
    Err(Error::data(problem, "name a file of sentences"))
}

/// Refuses a model that does not translate, or whose files are not all there.
fn check_translator(dir: &Path) -> Result<()> {
    let task = describe(dir)?.config.model.family.task();
    if task != Task::Translate {
        let problem = format!("`{}` is no translator: it {}", dir.display(), task.verb());
        return Err(Error::usage(problem, "name a translation model"));
    }
    Ok(())
}

/// The sources and the targets of a corpus.
fn sides(corpus: &Path) -> Result<[Vec<String>; 2]> {
    let pairs = PairFile::open(corpus)?.map(|row| row.map(|row| (row.pair.src, row.pair.tgt)));
    let (src, tgt) = pairs.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    Ok([src, tgt])
}
