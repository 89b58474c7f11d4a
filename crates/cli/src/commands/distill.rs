//! `attentive distill`: a small student of a large model.

use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_distill::{Distillation, DistillationObservers, DistillationPlan, StageObserver, StageState};

use crate::message;
use crate::progress::ProgressDisplay;

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
interrupted goes on where it ended. `--dry-run` says what would run, and how long it took the last time.";

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
    /// Say which stages would run, and do nothing.
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
    let observers = DistillationObservers { stages: &mut Said, training: &mut ProgressDisplay::new() };
    distillation.run(args.dry_run, &Interrupt::install()?, observers)?;
    if !args.dry_run {
        message::note(format_args!("the report is `{}`", output.join("report/report.md").display()));
    }
    Ok(())
}

/// Says what happens to each stage on standard error.
struct Said;

impl StageObserver for Said {
    fn on(&mut self, name: &str, state: StageState) {
        let text = match state {
            StageState::UpToDate(seconds) => format!("is up to date; it took {seconds:.0} s"),
            StageState::Begun => "begins".into(),
            StageState::Continued => "goes on".into(),
            StageState::Finished(seconds) => format!("is done, after {seconds:.0} s in all"),
            StageState::WouldGoOn => "would go on".into(),
            StageState::WouldRun(None) => "would run, for the first time".into(),
            StageState::WouldRun(Some(seconds)) => {
                format!("would run; the last time, it took {seconds:.0} s")
            }
        };
        message::note(format_args!("stage `{name}` {text}"));
    }
}
