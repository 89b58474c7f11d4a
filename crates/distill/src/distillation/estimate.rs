//! How long stages take, tried on a small part of their work.

use std::env;
use std::path::Path;
use std::time::{Duration, Instant};

use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_config::{
    AugmentationConfig, BestBy, Config, DataConfig, ScheduleConfig, ScheduleKind, TrainConfig,
};
use attentive_data::{Item, Line, Lines, MAX_LINE_BYTES, SourceFile, first_lines};
use attentive_pipeline::Pipeline;
use attentive_processes::Processes;
use attentive_train::report::{Event, Observer};
use attentive_train::{Existing, InMemoryCorpora, RunOptions, train_on};

use super::{Distillation, ParallelText};
use crate::SynthesisOptions;
use crate::pair_file::PairFile;

/// The number of lines that are translated, at most.
const LINES: usize = 64;
/// The number of them that are translated at once, and the time after which no more are.
const AT_ONCE: usize = 16;
const LONG_ENOUGH: Duration = Duration::from_secs(10);
/// The number of pairs that a student is trained on, at most.
const PAIRS: usize = 20_000;
/// The number of updates, of which the first ones are not counted.
const UPDATES: u64 = 8;
const UNCOUNTED: usize = 3;

/// The time in seconds to translate all lines of the file `text`, judged by lines from all over it.
///
/// # Errors
/// Those of reading and translating.
pub(super) fn translation_time(teacher: &Pipeline, text: &Path, options: &SynthesisOptions) -> Result<f64> {
    let (_, n_lines) = SourceFile::of_lines(text)?;
    let step = n_lines.div_ceil(LINES).max(1);
    let mut sample = Vec::new();
    let mut lines = Lines::open(text, MAX_LINE_BYTES)?;
    let mut number = 0;
    while let Some(line) = lines.next_line()? {
        if let Line::Text(line) = line
            && number % step == 0
        {
            sample.push(line.to_owned());
        }
        number += 1;
    }
    let start = Instant::now();
    let mut n_translated = 0;
    for part in sample.chunks(AT_ONCE) {
        teacher.translate_lines_from(1, part, &options.translate)?;
        n_translated += part.len();
        if start.elapsed() > LONG_ENOUGH {
            break;
        }
    }
    Ok(start.elapsed().as_secs_f64() * n_lines as f64 / n_translated.max(1) as f64)
}

impl Distillation {
    /// The time in seconds of `train.max_steps` updates of a student, as the first ones take. Early stopping,
    /// `train.max_epochs` and validation are not counted.
    ///
    /// # Errors
    /// Those of reading and training.
    pub(super) fn training_time(&self, interrupt: &Interrupt) -> Result<f64> {
        if let Some(&seconds) = self.training_time.get() {
            return Ok(seconds);
        }
        let pairs = self.some_pairs()?;
        let folder = tempfile::tempdir().map_err(Error::io("create a folder in", env::temp_dir()))?;
        let options = RunOptions {
            out: folder.path().join("model"),
            existing: Existing::Force,
            interrupt: interrupt.clone(),
            processes: Processes::alone(),
        };
        let mut set = [self.plan.student.set.clone(), self.guidance.clone()].concat();
        set.push(format!("data.train={{ in_memory = {} }}", pairs.len()));
        let config = trial(Config::parse(&self.student_text, &self.plan.student.config, &set)?);
        let mut updates = UpdateTimes { last: Instant::now(), seconds: Vec::new() };
        train_on(&config, InMemoryCorpora { train: pairs, valid: Vec::new() }, &options, &mut updates)?;
        let counted = updates.seconds.get(UNCOUNTED..).filter(|counted| !counted.is_empty());
        let counted = counted.unwrap_or(&updates.seconds);
        let update = counted.iter().sum::<f64>() / counted.len().max(1) as f64;
        Ok(*self.training_time.get_or_init(|| update * self.student.train.max_steps as f64))
    }

    /// Some pairs that are as long as those of the student.
    fn some_pairs(&self) -> Result<Vec<Item>> {
        let first = |file: &Path| first_lines(file, PAIRS);
        let (text, teacher) = (&self.plan.text, &self.plan.teacher);
        let pairs: Vec<(String, String)> = match (&text.parallel, text.monolingual.first()) {
            (Some(ParallelText { src, tgt }), _) => first(src)?.into_iter().zip(first(tgt)?).collect(),
            (None, Some(file)) => first(file)?.into_iter().map(|line| (line.clone(), line)).collect(),
            (None, None) => {
                let rows = PairFile::open(&teacher.translations[0])?.take(PAIRS);
                rows.map(|row| row.map(|row| (row.pair.src, row.pair.tgt))).collect::<Result<_>>()?
            }
        };
        Ok(pairs.into_iter().map(|(src, tgt)| Item::Translation { src, tgt }).collect())
    }
}

/// A configuration for a few updates like those of `config`.
fn trial(config: Config) -> Config {
    let Config { data, train, .. } = config.clone();
    let augmentation = AugmentationConfig { inline_tags: 0.0, ..train.augmentation };
    Config {
        data: DataConfig { valid: None, hold_out: 0.0, alignments: None, ..data },
        train: TrainConfig {
            max_steps: UPDATES.min(train.max_steps),
            max_epochs: 0,
            // Each update is reported when it is done, on a GPU, too.
            log_every: 1,
            validate_every: 0,
            validation_script: Vec::new(),
            best_by: BestBy::Loss,
            keep_best_by: Vec::new(),
            patience: 0,
            average_last: 0,
            tensorboard: false,
            guided_alignment: 0.0,
            augmentation,
            schedule: ScheduleConfig { kind: ScheduleKind::Constant, ..ScheduleConfig::default() },
            ..train
        },
        ..config
    }
}

/// The times of updates.
struct UpdateTimes {
    last: Instant,
    seconds: Vec<f64>,
}

impl Observer for UpdateTimes {
    fn on(&mut self, event: &Event<'_>) {
        let now = Instant::now();
        if let Event::Step { .. } = event {
            self.seconds.push(now.duration_since(self.last).as_secs_f64());
        }
        self.last = now;
    }
}
