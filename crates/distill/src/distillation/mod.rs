//! A small student of a large model, in stages.
//!
//! The teacher translates text ([`crate::Synthesis`]); what is left of the translations after filters is the
//! corpus of the student, which is trained, quantized with a shortlist, compared with its teacher, and
//! exported (Kim and Rush 2016). Each stage is a folder with what it is made from. A stage runs only if that
//! differs from the last time, and one that was interrupted goes on where it ended.

mod plan;
mod report;
mod stages;
mod student_corpus;

use std::path::{Path, PathBuf, absolute};

use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_checkpoint::{Lock, atomic, files, fingerprint, to_json};
use attentive_config::{Config, DecodeConfig, Task};
use attentive_data::cleaning::ExpectedLanguages;
use attentive_data::word_alignment::{Symmetrization, align_words};
use attentive_data::{Lines, MAX_RECORD_BYTES, SourceFile, read_lines};
use attentive_evaluate::quantize::{QuantizeOptions, quantize};
use attentive_metrics::Bootstrap;
use attentive_model::engine::Precision;
use attentive_pipeline::{Mbr, Pipeline, TranslateOptions};
use attentive_processes::Processes;
use attentive_train::{Existing, Observer, RunOptions, train};
use serde_json::{Value, json};

pub use self::plan::{
    DistillationPlan, FilterPlan, FirefoxPlan, ParallelText, StudentPlan, TeacherChoice, TeacherPlan,
    TextPlan,
};
use self::stages::{Interrupted, StageResults, StageSpec, Stages, hash};
pub use self::stages::{StageObserver, StageState};
use crate::{FirefoxExport, Synthesis, SynthesisChoice, SynthesisFiles, SynthesisOptions};

/// The file of translations in the folder of a stage.
const PAIRS: &str = "pairs.tsv";
/// What became of the lines that the teacher has translated.
const COUNTS: &str = "counts.json";
/// What the filters have dropped.
const FILTERED: &str = "filter.json";
/// The file of the student's corpus.
const CORPUS: &str = "corpus.tsv";
/// The file of word alignments.
const LINKS: &str = "links";
/// The files of a model that decide what it does, apart from its configuration.
const MODEL: [&str; 2] = ["model/*.safetensors", "model/tokenizer*.json"];
/// The description of the whole distillation.
const DESCRIPTION: &str = "distillation.json";

/// Who hears of a distillation.
pub struct DistillationObservers<'a> {
    /// Hears of the stages.
    pub stages: &'a mut dyn StageObserver,
    /// Hears of the training of students.
    pub training: &'a mut dyn Observer,
}

/// A distillation, and the folder of its stages.
#[derive(Debug)]
pub struct Distillation {
    plan: DistillationPlan,
    dir: PathBuf,
    /// The configuration of the student, with the training data of its file.
    student: Config,
}

impl Distillation {
    /// Checks `plan`, whose stages are folders in `dir`.
    ///
    /// # Errors
    /// Those of [`Config::load`] for the student's configuration; [`Error::Usage`] for a student that does
    /// not translate, and for a folder that is that of a model; [`Error::Io`] for a file of the plan that
    /// cannot be read, and [`Error::Unaligned`] for two that do not belong together.
    pub fn new(plan: DistillationPlan, dir: PathBuf) -> Result<Self> {
        let student = Config::load(&plan.student.config, &plan.student.set)?;
        let task = student.model.family.task();
        if task != Task::Translate {
            return Err(Error::usage(
                format!("`{}` is no translator: it {}", plan.student.config.display(), task.verb()),
                "name the configuration of a translation model",
            ));
        }
        if dir.join(files::CONFIG).exists() {
            return Err(Error::usage(
                format!("`{}` is a model, and no folder for the stages of a distillation", dir.display()),
                "write to another folder",
            ));
        }
        check_files(&plan)?;
        Ok(Self { plan, dir, student })
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
        interrupt.during(|| self.run_stages(is_dry, interrupt, observers))
    }

    fn run_stages(
        &self,
        is_dry: bool,
        interrupt: &Interrupt,
        observers: DistillationObservers<'_>,
    ) -> Result<()> {
        let DistillationObservers { stages: heard, training } = observers;
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
        if let Some(firefox) = &self.plan.firefox {
            self.export(&mut stages, firefox, &student, &corpus)?;
        }
        self.report(&mut stages, &student, &quantized, undistilled.as_ref())?;
        if is_dry { Ok(()) } else { self.describe(&[&student, &quantized]) }
    }

    /// The files of translations, each with its SHA-256.
    fn translations(&self, stages: &mut Stages<'_>) -> Result<Vec<(PathBuf, String)>> {
        let teacher = &self.plan.teacher;
        if teacher.models.is_empty() {
            let hashed = |file: &PathBuf| Ok((file.clone(), hash(file)?));
            return teacher.translations.iter().map(hashed).collect();
        }
        let text = &self.plan.text;
        let parallel =
            text.parallel.as_ref().map(|text| ("translations".to_owned(), &text.src, Some(&text.tgt)));
        let monolingual = (1..).zip(&text.monolingual);
        let monolingual = monolingual.map(|(number, file)| (format!("translations-{number}"), file, None));
        let mut pipeline = None;
        let mut made = Vec::new();
        for (name, src, tgt) in parallel.into_iter().chain(monolingual) {
            let references = tgt.filter(|_| teacher.choice == TeacherChoice::Closest);
            let spec = StageSpec {
                name: &name,
                inputs: json!({
                    "teacher": self.teacher_models()?,
                    "options": self.options_in_words(references.is_some())?,
                    "text": hash(src)?,
                    "references": references.map(|file| hash(file)).transpose()?,
                }),
                results: &[PAIRS, COUNTS],
                interrupted: Interrupted::GoesOn,
            };
            let results = stages.run(spec, |dir| {
                let (output, counts) = (dir.join(PAIRS), dir.join(COUNTS));
                if output.exists() && !Synthesis::parts_of(&output).exists() {
                    return Ok(());
                }
                let pipeline = match &mut pipeline {
                    Some(pipeline) => pipeline,
                    none => none.insert(self.teacher()?),
                };
                let files = SynthesisFiles {
                    text: src,
                    references: references.map(|file| &**file),
                    output: &output,
                    counts: Some(&counts),
                };
                // What the parts are made from is what the stage is made from.
                let options = self.synthesis(&pipeline.config().decode, references.is_some())?;
                let alone = Processes::alone();
                let synthesis = Synthesis::open(files, options, "the teacher of this stage", &alone)?;
                synthesis.run(pipeline, &alone).map(drop)
            })?;
            made.push((results.path(PAIRS), results.hashes[PAIRS].clone()));
        }
        Ok(made)
    }

    /// The identities of the teacher's models, and how they search.
    fn teacher_models(&self) -> Result<Vec<(String, DecodeConfig)>> {
        let identity = |dir: &PathBuf| {
            let config = Config::load_stored(&Config::home(dir).join(files::CONFIG))?;
            Ok((fingerprint(dir), config.decode))
        };
        self.plan.teacher.models.iter().map(identity).collect()
    }

    fn teacher(&self) -> Result<Pipeline> {
        let mut models = self.plan.teacher.models.iter();
        let first = Pipeline::load(models.next().expect("a teacher has a model"))?;
        let teacher = models.try_fold(first, |all, dir| all.with(Pipeline::load(dir)?))?;
        teacher.require(Task::Translate)?;
        Ok(teacher)
    }

    /// How the teacher translates, for the record of a stage.
    fn options_in_words(&self, has_references: bool) -> Result<String> {
        let first = self.plan.teacher.models.first().map(|dir| Config::home(dir)).unwrap_or_default();
        let decode = Config::load_stored(&first.join(files::CONFIG))?.decode;
        let options = self.synthesis(&decode, has_references)?;
        // Results do not depend on how many sentences are translated together.
        let translate = TranslateOptions { batch_size: 0, ..options.translate };
        Ok(format!("{:?}", SynthesisOptions { translate, ..options }))
    }

    /// How the teacher translates.
    fn synthesis(&self, decode: &DecodeConfig, has_references: bool) -> Result<SynthesisOptions> {
        let teacher = &self.plan.teacher;
        let (choice, n) = match teacher.choice {
            TeacherChoice::Closest if has_references => {
                (SynthesisChoice::ClosestTo(teacher.metric), teacher.candidates)
            }
            TeacherChoice::Best | TeacherChoice::Closest => (SynthesisChoice::All, 1),
            TeacherChoice::Mbr | TeacherChoice::All => (SynthesisChoice::All, teacher.candidates),
        };
        // A beam finds at most as many translations as it is wide.
        let search = match teacher.sampling {
            None => teacher.search.widened(decode, n),
            Some(_) => teacher.search,
        };
        let search = search.apply(decode, n, teacher.sampling)?;
        let mbr =
            (teacher.choice == TeacherChoice::Mbr).then_some(Mbr { utility: teacher.metric, n_best: 1 });
        let translate = TranslateOptions { search, batch_size: decode.batch_size, mbr };
        Ok(SynthesisOptions { translate, choice, backward: false })
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
            interrupted: Interrupted::BeginsAgain,
        };
        stages.run(spec, |dir| {
            let files: Vec<PathBuf> = translations.iter().map(|(file, _)| file.clone()).collect();
            student_corpus::write(&files, &self.plan.filter, &dir.join(CORPUS), &dir.join(FILTERED))
        })
    }

    /// The training data of the student: the corpus, original pairs if they are wanted, and alignments.
    fn student_data(&self, stages: &mut Stages<'_>, corpus: &StageResults) -> Result<TrainingData> {
        let path = corpus.path(CORPUS);
        let mut parts = vec![json!({ "tsv": path_text(&path), "weight": 1.0 })];
        let mut hashes = vec![json!(corpus.hashes[CORPUS])];
        let text = self.plan.text.parallel.as_ref().filter(|_| self.plan.text.original > 0.0);
        if let Some(text) = text {
            parts.push(original(text, self.plan.text.original));
            hashes.push(json!([hash(&text.src)?, hash(&text.tgt)?, self.plan.text.original]));
        }
        let mut data = TrainingData { parts, hashes, settings: Vec::new() };
        let strength = self.plan.student.guided_alignment;
        if strength > 0.0 {
            let aligned = self.align(stages, &data, &path, text)?;
            data.hashes.push(json!([aligned.hashes, strength]));
            data.settings = vec![
                format!("train.guided_alignment={strength}"),
                format!("data.alignments={}", json!(path_text(&aligned.path(LINKS)))),
            ];
            let translator = self.student.model.family.translator();
            if translator.is_some_and(|keys| keys.alignment_head.is_none()) {
                data.settings.push("model.alignment_head=1".into());
            }
        }
        Ok(data)
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
            name: "alignment",
            inputs: json!({ "data": data.hashes }),
            results: &[LINKS],
            interrupted: Interrupted::BeginsAgain,
        };
        stages.run(spec, |dir| {
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
    fn original_data(&self) -> Result<TrainingData> {
        let text = self.plan.text.parallel.as_ref().expect("checked with the plan");
        let hashes = vec![json!([hash(&text.src)?, hash(&text.tgt)?])];
        Ok(TrainingData { parts: vec![original(text, 1.0)], hashes, settings: Vec::new() })
    }

    fn train(
        &self,
        stages: &mut Stages<'_>,
        name: &str,
        data: &TrainingData,
        interrupt: &Interrupt,
        observer: &mut dyn Observer,
    ) -> Result<StageResults> {
        let spec = StageSpec {
            name,
            inputs: json!({ "data": data.hashes, "configuration": self.student_settings()? }),
            results: &MODEL,
            interrupted: Interrupted::GoesOn,
        };
        stages.run(spec, |dir| {
            let mut set = self.plan.student.set.clone();
            set.push(format!("data.train={}", data.toml()));
            set.extend(data.settings.iter().cloned());
            let config = Config::load(&self.plan.student.config, &set)?;
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
    fn student_settings(&self) -> Result<Value> {
        let config = Config {
            data: attentive_config::DataConfig { train: None, ..self.student.data.clone() },
            ..self.student.clone()
        };
        let valid = self.student.data.valid.iter().flat_map(|valid| valid.files());
        let dir = self.student.data.dir.clone().unwrap_or_default();
        let valid: Vec<String> = valid.map(|file| hash(&dir.join(file))).collect::<Result<_>>()?;
        Ok(json!({
            "settings": config.to_toml(),
            "valid": valid,
            "tokenizer": self.student.tokenizer.from.as_deref().map(fingerprint_of).transpose()?,
            "from": self.student.model.from.as_deref().map(fingerprint),
        }))
    }

    fn quantize(
        &self,
        stages: &mut Stages<'_>,
        student: &StageResults,
        corpus: &StageResults,
    ) -> Result<StageResults> {
        let spec = StageSpec {
            name: "int8",
            inputs: json!({
                "student": student.hashes,
                "configuration": self.student_settings()?,
                "corpus": corpus.hashes[CORPUS],
            }),
            results: &MODEL,
            interrupted: Interrupted::BeginsAgain,
        };
        stages.run(spec, |dir| {
            let [src, tgt] = sides(&corpus.path(CORPUS))?;
            let options = QuantizeOptions {
                precision: Precision::Int8,
                cache_precision: None,
                bootstrap: Bootstrap::default(),
                max_drop: None,
                shortlist: Some([&src, &tgt]),
                search: None,
            };
            quantize(&student.path("model"), &dir.join("model"), None, &options).map(drop)
        })
    }

    fn export(
        &self,
        stages: &mut Stages<'_>,
        firefox: &FirefoxPlan,
        student: &StageResults,
        corpus: &StageResults,
    ) -> Result<()> {
        let calibrate = [hash(&firefox.calibrate.src)?, hash(&firefox.calibrate.tgt)?];
        let spec = StageSpec {
            name: "firefox",
            inputs: json!({
                "student": student.hashes,
                "configuration": self.student_settings()?,
                "corpus": corpus.hashes[CORPUS],
                "languages": firefox.languages,
                "calibrate": calibrate,
            }),
            results: &["model/*", "cost.json"],
            interrupted: Interrupted::BeginsAgain,
        };
        let exported = stages.run(spec, |dir| {
            let [src, tgt] = sides(&corpus.path(CORPUS))?;
            let text = read_lines(&firefox.calibrate.src)?;
            let references = [read_lines(&firefox.calibrate.tgt)?];
            let [from, to] = &firefox.languages;
            let export = FirefoxExport {
                languages: [from, to],
                text: &text,
                references: &references,
                shortlist: Some([&src, &tgt]),
            };
            let (_, cost) = export.write(&student.path("model"), &dir.join("model"))?;
            atomic::write_file(&dir.join("cost.json"), &to_json(&cost)?)
        });
        exported.map(drop)
    }

    fn report(
        &self,
        stages: &mut Stages<'_>,
        student: &StageResults,
        quantized: &StageResults,
        undistilled: Option<&StageResults>,
    ) -> Result<()> {
        let (test, teacher) = (&self.plan.test, &self.plan.teacher.models);
        let spec = StageSpec {
            name: "report",
            inputs: json!({
                "teacher": self.teacher_models()?,
                "student": student.hashes,
                "configuration": self.student_settings()?,
                "int8": quantized.hashes,
                "undistilled": undistilled.map(|one| &one.hashes),
                "test": [hash(&test.src)?, hash(&test.tgt)?],
            }),
            results: &["report.json", "report.md"],
            interrupted: Interrupted::BeginsAgain,
        };
        let reported = stages.run(spec, |dir| {
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
            report::write(dir, &systems, &src, &references)
        });
        reported.map(drop)
    }

    /// Writes down with each of `students` what they are made from.
    fn describe(&self, students: &[&StageResults]) -> Result<()> {
        let provenance = |dir: &PathBuf| {
            let described = fingerprint(dir);
            json!({
                "model": dir,
                "provenance": serde_json::from_str(&described).unwrap_or(Value::String(described)),
            })
        };
        let text = self.plan.text.parallel.iter().flat_map(|text| [&text.src, &text.tgt]);
        let text = text.chain(&self.plan.text.monolingual).chain(&self.plan.teacher.translations);
        let hashed = |file: &PathBuf| Ok(json!({ "file": file, "sha256": hash(file)? }));
        let description = json!({
            "plan": self.plan,
            "teacher": self.plan.teacher.models.iter().map(provenance).collect::<Vec<_>>(),
            "backward": self.plan.filter.backward.as_ref().map(provenance),
            "texts": text.map(hashed).collect::<Result<Vec<_>>>()?,
        });
        let json = to_json(&description)?;
        let of_students = students.iter().map(|student| student.path("model").join(DESCRIPTION));
        let mut paths = of_students.chain([self.dir.join(DESCRIPTION)]);
        paths.try_for_each(|path| atomic::write_file(&path, &json))
    }
}

/// Training data, as a configuration has them.
struct TrainingData {
    parts: Vec<Value>,
    /// What they are.
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
fn path_text(path: &Path) -> String {
    let whole = absolute(path).unwrap_or_else(|_| path.to_path_buf());
    whole.to_string_lossy().into_owned()
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
    }
    for file in plan.text.monolingual.iter().chain(&plan.teacher.translations) {
        std::fs::File::open(file).map_err(Error::io("read", file))?;
    }
    for dir in plan.teacher.models.iter().chain(&plan.filter.backward) {
        Config::load_stored(&Config::home(dir).join(files::CONFIG))?;
    }
    if let Some([src, tgt]) = &plan.filter.languages {
        ExpectedLanguages::new(src, tgt)?;
    }
    Ok(())
}

/// The content of a file, or of all files in a folder.
fn fingerprint_of(path: &Path) -> Result<String> {
    if path.is_dir() { Ok(fingerprint(path)) } else { hash(path) }
}

/// The sources and the targets of a corpus.
fn sides(corpus: &Path) -> Result<[Vec<String>; 2]> {
    let (mut src, mut tgt) = (Vec::new(), Vec::new());
    for line in Lines::open(corpus, MAX_RECORD_BYTES)?.rest()? {
        let (from, to) = line.split_once('\t').unwrap_or((&line, ""));
        src.push(from.to_owned());
        tgt.push(to.to_owned());
    }
    Ok([src, tgt])
}
