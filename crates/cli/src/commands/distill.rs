//! `attentive distill`: a small student of a large model.

use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_distill::{
    Distillation, DistillationObservers, DistillationPlan, ExpectedTime, StageObserver, StageState,
};
use attentive_pipeline::Pipeline;

use crate::message;
use crate::progress::ProgressDisplay;
use crate::translation_ram::translation_ram;
use crate::working::Working;

const EXAMPLES: &str = "\
Examples:
  attentive distill configs/distill/multi30k.toml
  attentive distill distill.toml --dry-run
  attentive distill distill.toml --output students/en-de

The file names a teacher, the text that it translates, filters, the configuration of a student, and a test set; \
docs/distillation.md describes its keys. The stages are folders in the output: `translations`, `corpus`, `alignment`, \
`student`, `undistilled`, `int8`, `firefox` and `report`, each with what it was made from in `stage.json`. The student is the model in \
`student/model`, the smaller one with a shortlist that in `int8/model`; `report/report.md` compares them with the teacher.
  Repeat the command after a change, a stop or a crash: only the stages whose inputs have changed run again, and one that was \
interrupted goes on where it ended. `--dry-run` says what would run, and for how long: as long as the last time or, if there was none, as long as a \
small part of it takes, which is tried.";

/// Make a small student of a large model: translate, filter, train, quantize, compare, export.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Description of the distillation (TOML).
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// Folder of the stages [default: `runs/NAME-distilled` for `NAME.toml`].
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Say which stages would run and for how long, and write nothing.
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let plan = DistillationPlan::load(&args.plan)?;
    let output = match (&args.output, args.plan.file_stem()) {
        (Some(output), _) => output.clone(),
        (None, Some(name)) => Path::new("runs").join(format!("{}-distilled", name.to_string_lossy())),
        (None, None) => {
            let problem = format!("`{}` has no file name to name the folder after", args.plan.display());
            return Err(Error::usage(problem, "name the folder with `--output`"));
        }
    };
    let distillation = Distillation::new(plan, output.clone())?;
    let (mut stages, mut training) = (Shown::default(), ProgressDisplay::new());
    let observers =
        DistillationObservers { stages: &mut stages, training: &mut training, ram: Some(&translation_ram) };
    distillation.run(args.dry_run, &Interrupt::install()?, observers)?;
    if args.dry_run {
        message::note(format_args!("{} in all, as far as is known", duration(stages.expected)));
    } else {
        message::note(format_args!("the report is `{}`", output.join("report/report.md").display()));
    }
    Ok(())
}

/// Says what happens to each stage on standard error.
#[derive(Default)]
struct Shown {
    /// Shows how far the teacher is.
    working: Option<Working>,
    /// How long the stages take that would run, in seconds.
    expected: f64,
}

impl StageObserver for Shown {
    fn on(&mut self, name: &str, state: StageState) {
        self.working = None;
        let text = match state {
            StageState::UpToDate(seconds) => format!("is up to date; it took {}", duration(seconds)),
            StageState::Begun => "begins".into(),
            StageState::Continued => "goes on".into(),
            StageState::Finished(seconds) => format!("is done, after {} in all", duration(seconds)),
            StageState::WouldGoOn(spent, expected) => {
                self.expected += (seconds(expected) - spent).max(0.0);
                format!("would go on, after {} so far{}", duration(spent), in_words(expected))
            }
            StageState::WouldRun(expected) => {
                self.expected += seconds(expected);
                format!("would run{}", in_words(expected))
            }
        };
        message::note(format_args!("stage `{name}` {text}"));
    }

    fn translating(&mut self, teacher: &Pipeline, n_lines: usize) {
        self.working = Some(Working::shown(teacher, Some(n_lines)));
    }
}

fn seconds(expected: ExpectedTime) -> f64 {
    match expected {
        ExpectedTime::LastTime(seconds) | ExpectedTime::Tried(seconds) => seconds,
        ExpectedTime::Unknown => 0.0,
    }
}

fn in_words(expected: ExpectedTime) -> String {
    match expected {
        ExpectedTime::LastTime(seconds) => format!("; the last time, it took {}", duration(seconds)),
        ExpectedTime::Tried(seconds) => format!(", for the first time: about {}", duration(seconds)),
        ExpectedTime::Unknown => ", for the first time".into(),
    }
}

/// A time as people say it.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
