//! What a distillation consists of, as its file says.

use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_config::Config;
use attentive_data::cleaning::{CleaningLimits, CleaningRule};
use attentive_decode::{SamplingChanges, SearchChanges};
use attentive_metrics::Utility;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::student::path_text;
use super::{ALIGNMENT, LINKS, NO_TAGS};

/// A file of sentences and the file of their translations, line by line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParallelText {
    pub src: PathBuf,
    pub tgt: PathBuf,
}

/// The file of a distillation. Relative paths start at the working directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DistillationPlan {
    /// The model that is imitated.
    pub teacher: TeacherPlan,
    /// The text that it translates.
    #[serde(default)]
    pub text: TextPlan,
    /// Which pairs the student does not see.
    #[serde(default)]
    pub filter: FilterPlan,
    /// The model that imitates.
    pub student: StudentPlan,
    /// A test set for the report. Look at it once, at the end; choose by other sentences.
    pub test: ParallelText,
    /// Settings of the export for Firefox.
    #[serde(default)]
    pub firefox: Option<FirefoxPlan>,
    /// The licences of models and texts, which are written down with the student.
    #[serde(default)]
    pub licences: Vec<String>,
}

/// `[teacher]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeacherPlan {
    /// Model directories; several are an ensemble.
    #[serde(default)]
    pub models: Vec<PathBuf>,
    /// In place of models: files with tab-separated source, translation and, if known, score.
    #[serde(default)]
    pub translations: Vec<PathBuf>,
    /// How many translations of each sentence are made, among which `choice` chooses.
    #[serde(default = "eight")]
    pub candidates: usize,
    /// Which of them the student learns from.
    #[serde(default)]
    pub choice: TeacherChoice,
    /// What closeness and agreement mean.
    #[serde(default = "chrf")]
    pub metric: Utility,
    /// Changes of the search of the model's configuration.
    #[serde(default)]
    pub search: SearchChanges,
    /// Draws the candidates at random, if it is there.
    #[serde(default)]
    pub sampling: Option<SamplingChanges>,
}

/// Which translations of a sentence a student learns from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TeacherChoice {
    /// The best by the model (Kim and Rush 2016, section 3.2).
    #[default]
    Best,
    /// The closest to the translation by people, where there is one, and the best elsewhere (ibid., section
    /// 3.3).
    Closest,
    /// The one with which the others agree best: minimum Bayes risk.
    Mbr,
    /// All candidates.
    All,
}

/// `[text]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextPlan {
    /// Sentences with translations by people, such as the teacher's training data.
    #[serde(default)]
    pub parallel: Option<ParallelText>,
    /// Files of sentences of the source language.
    #[serde(default)]
    pub monolingual: Vec<PathBuf>,
    /// How many times an epoch of the student contains each pair of `parallel`, besides the translations of
    /// the teacher.
    #[serde(default)]
    pub original: f64,
}

/// `[filter]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FilterPlan {
    /// Whether the rules of `attentive clean` are applied.
    pub rules: bool,
    /// Rules that are not applied.
    pub without: Vec<CleaningRule>,
    /// The limits of the rules.
    pub limits: CleaningLimits,
    /// The codes of both languages, to drop text in others.
    pub languages: Option<LanguageCodes>,
    /// The share of the pairs with the lowest scores that is dropped.
    pub drop_worst: f64,
    /// A model of the opposite direction, by which pairs are scored in place of the teacher.
    pub backward: Option<PathBuf>,
}

/// `[student]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudentPlan {
    /// A training configuration, whose training data are replaced.
    pub config: PathBuf,
    /// Keys of it that are set otherwise, as in `train.max_steps=5000`.
    #[serde(default)]
    pub set: Vec<String>,
    /// The factor of the loss by which a head learns alignments of the student's corpus
    /// (`train.guided_alignment`); 0 for none.
    #[serde(default)]
    pub guided_alignment: f64,
    /// Whether the same model is trained on `text.parallel` alone, for comparison.
    #[serde(default)]
    pub undistilled: bool,
}

/// `[firefox]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirefoxPlan {
    /// The codes of both languages.
    pub languages: LanguageCodes,
    /// Sentences on which the scales of 8-bit products are measured, and their translations.
    pub calibrate: ParallelText,
}

/// The codes of two different languages, which also name files: letters, digits and `_`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct LanguageCodes(pub [String; 2]);

impl TryFrom<Vec<String>> for LanguageCodes {
    type Error = String;

    fn try_from(codes: Vec<String>) -> std::result::Result<Self, String> {
        let is_code =
            |code: &String| !code.is_empty() && code.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match <[String; 2]>::try_from(codes) {
            Ok(codes) if codes.iter().all(is_code) && codes[0] != codes[1] => Ok(Self(codes)),
            _ => Err("expected the codes of two languages, such as `[\"en\", \"de\"]`".into()),
        }
    }
}

impl Default for FilterPlan {
    fn default() -> Self {
        let limits = CleaningLimits::default();
        Self { rules: true, without: Vec::new(), limits, languages: None, drop_worst: 0.0, backward: None }
    }
}

impl DistillationPlan {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Data`] if it cannot be read, is not TOML, or has a key or value that is not
    /// known; [`Error::Config`] if values contradict each other.
    pub fn load(path: &Path) -> Result<Self> {
        let text = regular_file::read_text(path, regular_file::BY_HAND)?;
        let plan: Self = toml::from_str(&text).map_err(|error| {
            Error::data(
                format!("`{}`: {}", path.display(), error.to_string().trim_end()),
                "docs/distillation.md describes the keys",
            )
        })?;
        plan.check(path)?;
        Ok(plan)
    }

    /// The configuration of the student in `text`, without what needs alignments.
    ///
    /// # Errors
    /// Those of [`Config::parse`]; [`Error::Usage`] for alignments of other data.
    pub(super) fn unguided(&self, text: &str) -> Result<Config> {
        let file = &self.student.config;
        let none = [NO_TAGS.to_owned(), "train.guided_alignment=0".to_owned()];
        let set = [&self.student.set[..], &none].concat();
        Config::parse(text, file, &set).map_err(|error| match error {
            Error::Config { key, .. } if key == "data.alignments" => Error::usage(
                format!("`data.alignments` of `{}` are those of other training data", file.display()),
                "leave the key out; `student.guided_alignment` in the plan makes alignments",
            ),
            error => error,
        })
    }

    /// The configuration of the student in `text` with `guidance`.
    ///
    /// # Errors
    /// Those of [`Config::parse`].
    pub(super) fn guided(&self, text: &str, guidance: &[String]) -> Result<Config> {
        let set = [&self.student.set[..], guidance].concat();
        Config::parse(text, &self.student.config, &set).map_err(|error| match error {
            Error::Config { key, expected, found, .. }
                if ["train.guided_alignment", "train.augmentation.inline_tags"].contains(&&*key) =>
            {
                let hint = Some("set `student.guided_alignment` in the plan, which makes alignments".into());
                Error::Config { key, expected, found, hint }
            }
            error => error,
        })
    }

    /// The settings by which a student with the configuration `own` learns from the alignments of its corpus,
    /// which are in `dir`.
    pub(super) fn guidance(&self, own: &Config, dir: &Path) -> Vec<String> {
        let strength = self.student.guided_alignment;
        if strength == 0.0 {
            return Vec::new();
        }
        let links = path_text(&dir.join(ALIGNMENT).join(LINKS));
        let translator = own.model.family.translator();
        let has_head = translator.is_some_and(|keys| keys.alignment_head.is_some());
        let head = (!has_head).then(|| "model.alignment_head=1".to_owned());
        let settings =
            [format!("train.guided_alignment={strength}"), format!("data.alignments={}", json!(links))];
        settings.into_iter().chain(head).collect()
    }

    fn check(&self, path: &Path) -> Result<()> {
        let refuse = |key: &str, expected: &str, found: String| {
            let hint =
                Some(format!("it is in `{}`; docs/distillation.md describes the keys", path.display()));
            Err(Error::Config { key: key.into(), expected: expected.into(), found, hint })
        };
        let (teacher, text) = (&self.teacher, &self.text);
        if teacher.models.is_empty() == teacher.translations.is_empty() {
            let found = if teacher.models.is_empty() { "neither" } else { "both" };
            return refuse("teacher", "either `models` or `translations`", found.into());
        }
        let has_text = text.parallel.is_some() || !text.monolingual.is_empty();
        if !teacher.models.is_empty() && !has_text {
            return refuse(
                "text",
                "`parallel` or `monolingual`, which the teacher translates",
                "neither".into(),
            );
        }
        if !teacher.translations.is_empty() && !text.monolingual.is_empty() {
            let found = format!("{:?}", text.monolingual);
            return refuse("text.monolingual", "nothing, since the translations are given", found);
        }
        if !teacher.translations.is_empty() {
            let of_models = [
                ("choice", teacher.choice != TeacherChoice::Best),
                ("candidates", teacher.candidates != eight()),
                ("metric", teacher.metric != chrf()),
                ("search", teacher.search != SearchChanges::default()),
                ("sampling", teacher.sampling.is_some()),
            ];
            if let Some((key, _)) = of_models.into_iter().find(|(_, is_set)| *is_set) {
                let expected = "nothing, since the translations are given, and none are made";
                return refuse(&format!("teacher.{key}"), expected, "a value".into());
            }
        }
        let filter = &self.filter;
        let of_rules = [
            ("without", !filter.without.is_empty()),
            ("limits", filter.limits != CleaningLimits::default()),
            ("languages", filter.languages.is_some()),
        ];
        if let Some((key, _)) = of_rules.into_iter().find(|(_, is_set)| !filter.rules && *is_set) {
            let expected = "nothing, since `filter.rules` is false";
            return refuse(&format!("filter.{key}"), expected, "a value".into());
        }
        if let Err(Error::Config { key, expected, found, .. }) = filter.limits.check() {
            return refuse(&format!("filter.limits.{key}"), &expected, found);
        }
        if filter.without.contains(&CleaningRule::Unreadable) {
            return refuse("filter.without", "rules about text that can be read", "`unreadable`".into());
        }
        if filter.without.contains(&CleaningRule::Language) && filter.languages.is_some() {
            let expected = "nothing, since `filter.without` has the rule `language`";
            return refuse("filter.languages", expected, "a value".into());
        }
        let needs_several = matches!(teacher.choice, TeacherChoice::Closest | TeacherChoice::Mbr);
        let least = if needs_several { 2 } else { 1 };
        // A beam is at most so wide.
        let most = if teacher.sampling.is_some() { 10_000 } else { 1000 };
        if !(least..=most).contains(&teacher.candidates) {
            let expected = format!("a number from {least} to {most}");
            return refuse("teacher.candidates", &expected, teacher.candidates.to_string());
        }
        if teacher.choice == TeacherChoice::Best && teacher.sampling.is_some() {
            return refuse(
                "teacher.sampling",
                "nothing, since `teacher.choice` = \"best\" has nothing to choose among samples; `closest`, `mbr` and \
                 `all` draw them",
                "a value".into(),
            );
        }
        if teacher.choice == TeacherChoice::Closest && text.parallel.is_none() {
            return refuse(
                "teacher.choice",
                "another choice, since there are no translations by people (`text.parallel`)",
                "`closest`".into(),
            );
        }
        if self.filter.backward.is_some() && self.filter.drop_worst == 0.0 {
            return refuse("filter.drop_worst", "a share of the pairs, which the model scores", "0".into());
        }
        if !(0.0..1.0).contains(&self.filter.drop_worst) {
            let found = self.filter.drop_worst.to_string();
            return refuse("filter.drop_worst", "a share from 0 up to, but not including, 1", found);
        }
        if !(text.original == 0.0 || (0.001..=1000.0).contains(&text.original)) {
            return refuse("text.original", "0, or a number from 0.001 to 1000", text.original.to_string());
        }
        if !(0.0..=1000.0).contains(&self.student.guided_alignment) {
            let found = self.student.guided_alignment.to_string();
            return refuse("student.guided_alignment", "a number from 0 to 1000; 0.1 is usual", found);
        }
        let original =
            [("text.original", text.original > 0.0), ("student.undistilled", self.student.undistilled)];
        match original.into_iter().find(|(_, is_set)| *is_set && text.parallel.is_none()) {
            Some((key, _)) => refuse(key, "`text.parallel`, whose pairs it is about", "none".into()),
            None => Ok(()),
        }
    }
}

fn eight() -> usize {
    8
}

fn chrf() -> Utility {
    Utility::Chrf
}
