//! The translations of the teacher.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_checkpoint::{files, fingerprint};
use attentive_config::{Config, DecodeConfig};
use attentive_pipeline::{Mbr, Pipeline, TranslateOptions};
use attentive_processes::Processes;
use serde_json::json;

use super::estimate::translation_time;
use super::stages::{StageSpec, Stages, hash};
use super::{COUNTS, Distillation, PAIRS, TeacherChoice};
use crate::{Synthesis, SynthesisChoice, SynthesisFiles, SynthesisOptions};

impl Distillation {
    /// The files of translations, each with its SHA-256.
    pub(super) fn translations(&self, stages: &mut Stages<'_>) -> Result<Vec<(PathBuf, String)>> {
        let teacher = &self.plan.teacher;
        if teacher.models.is_empty() {
            let hashed = |file: &PathBuf| Ok((file.clone(), hash(file)?));
            return teacher.translations.iter().map(hashed).collect();
        }
        // An ensemble searches as its first model does.
        let decode = decode_config(&teacher.models[0])?;
        let text = &self.plan.text;
        let parallel =
            text.parallel.as_ref().map(|text| ("translations".to_owned(), &text.src, Some(&text.tgt)));
        let names = stage_names(&text.monolingual);
        let monolingual = names.into_iter().zip(&text.monolingual).map(|(name, file)| (name, file, None));
        let loaded = OnceCell::new();
        let mut made = Vec::new();
        for (name, src, tgt) in parallel.into_iter().chain(monolingual) {
            let references = tgt.filter(|_| teacher.choice == TeacherChoice::Closest);
            let options = self.synthesis(&decode, references.is_some())?;
            let estimate = || translation_time(self.teacher(&loaded)?, src, &options);
            let ready = || self.teacher(&loaded).map(drop);
            let spec = StageSpec {
                name: &name,
                inputs: json!({
                    "teacher": teacher.models.iter().map(|dir| fingerprint(dir)).collect::<Vec<_>>(),
                    "options": options.identity(),
                    "text": hash(src)?,
                    "references": references.map(|file| hash(file)).transpose()?,
                }),
                results: &[PAIRS, COUNTS],
                estimate: Some(&estimate),
                ready: Some(&ready),
                ..StageSpec::default()
            };
            let results = stages.run(spec, |dir, observer| {
                let (output, counts) = (dir.join(PAIRS), dir.join(COUNTS));
                if output.exists() && !Synthesis::parts_of(&output).exists() {
                    return Ok(());
                }
                let files = SynthesisFiles {
                    text: src,
                    references: references.map(|file| &**file),
                    output: &output,
                    counts: Some(&counts),
                };
                let alone = Processes::alone();
                // What the parts are made from is what the stage is made from.
                let synthesis = Synthesis::open(files, options, "the teacher of this stage", &alone)?;
                let pipeline = self.teacher(&loaded)?;
                observer.translating(pipeline, synthesis.n_left(&alone));
                synthesis.run(pipeline, &alone).map(drop)
            })?;
            made.push((results.path(PAIRS), results.hashes[PAIRS].clone()));
        }
        Ok(made)
    }

    /// The identities of the teacher's models, and how they search.
    pub(super) fn teacher_models(&self) -> Result<Vec<(String, DecodeConfig)>> {
        let identity = |dir: &PathBuf| Ok((fingerprint(dir), decode_config(dir)?));
        self.plan.teacher.models.iter().map(identity).collect()
    }

    /// The teacher, which is loaded when it is needed for the first time.
    fn teacher<'a>(&self, loaded: &'a OnceCell<Pipeline>) -> Result<&'a Pipeline> {
        if let Some(teacher) = loaded.get() {
            return Ok(teacher);
        }
        let teacher = Pipeline::load_ensemble(&self.plan.teacher.models)?;
        Ok(loaded.get_or_init(|| teacher))
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
        // Without references, `closest` takes the best translation rather than any sample.
        let has_choice = teacher.choice != TeacherChoice::Closest || has_references;
        let sampling = teacher.sampling.filter(|_| has_choice);
        // A beam finds at most as many translations as it is wide.
        let search = if sampling.is_some() { teacher.search } else { teacher.search.widened(decode, n) };
        let search = search.apply(decode, n, sampling).map_err(of_teacher)?;
        let mbr =
            (teacher.choice == TeacherChoice::Mbr).then_some(Mbr { utility: teacher.metric, n_best: 1 });
        let translate = TranslateOptions { search, mbr, ..TranslateOptions::from(decode) };
        Ok(SynthesisOptions { translate, choice, backward: false })
    }
}

/// The stages that translate `files`, which are called after the files, so that another one among them usually
/// changes nothing for the others. Of equal names, in any case, the later ones are numbered.
fn stage_names(files: &[PathBuf]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let numbered = (2..).map(|n| format!("translations-{name}-{n}"));
        let mut possible = std::iter::once(format!("translations-{name}")).chain(numbered);
        names.extend(possible.find(|name| !names.iter().any(|other| other.eq_ignore_ascii_case(name))));
    }
    names
}

/// `error` about a key of a search, as one about a key of the plan.
fn of_teacher(error: Error) -> Error {
    match error {
        Error::Config { key, expected, found, hint } => {
            let key = match key.strip_prefix("decode.") {
                Some(name) => format!("teacher.search.{name}"),
                None => format!("teacher.sampling.{key}"),
            };
            Error::Config { key, expected, found, hint }
        }
        other => other,
    }
}

/// How the model in `dir` searches.
fn decode_config(dir: &Path) -> Result<DecodeConfig> {
    Ok(Config::load_stored(&Config::home(dir).join(files::CONFIG))?.decode)
}
