//! `attentive tune`: chooses the search options of a model on a development set.

use std::path::{Path, PathBuf};

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_checkpoint::{self as checkpoint, Lock, files};
use attentive_config::{Config, LengthPenaltyFormula};
use attentive_evaluate::tune::{
    LengthPenalty, RescoredPenalty, TriedSearch, TuneOptions, Tuning, best_of, tune,
};
use attentive_metrics::{Bleu, BleuTokenizer, Chrf, Measure};
use attentive_pipeline::Pipeline;
use clap::ValueEnum;

use crate::input;
use crate::message;
use crate::model::ModelArgs;
use crate::output::OutputWriter;
use crate::table::aligned;

const EXAMPLES: &str = "\
Examples:
  attentive tune runs/multi30k --src val.en --ref val.de
  attentive tune runs/multi30k --src val.en --ref val.de --beam-width 12 --metric chrf --dry-run

One search with the widest beam gives many translations of each sentence. Scoring these again shows how good each length \
penalty is; the first table has these scores. The best penalty is then searched for with beams of several widths, and the second \
table has these searches, of which the best is chosen. Its options are written to `[decode]` in the model's `config.toml`, the \
tables to `tuning.json` beside it; other commands then use the new options.
  Give sentences that the model was not trained on, a thousand or so, and not those of the test: options that were chosen on a \
test set make its score too high.";

/// Fewer sentences than this give scores that are mostly chance.
const FEWEST_SENTENCES: usize = 200;

/// Choose a translation model's beam, length penalty and early stopping on a development set.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Source sentences of the development set, one per line.
    #[arg(long, value_name = "FILE")]
    src: PathBuf,
    /// References, one per line; repeat for additional references.
    #[arg(long = "ref", value_name = "FILE", required = true)]
    references: Vec<PathBuf>,
    /// Score to make as high as possible.
    #[arg(long, value_name = "METRIC", default_value = "bleu")]
    metric: TuningMetric,
    /// Tokenizer for BLEU.
    #[arg(long, value_name = "TOKENIZER", default_value = "13a")]
    tokenize: BleuTokenizer,
    /// Widest beam to try. Wider ones take longer and are rarely better.
    #[arg(long, value_name = "N", default_value = "8")]
    beam_width: usize,
    /// Show the tables, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print the tables as JSON.
    #[arg(long)]
    json: bool,
}

/// What is to be as high as possible.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum TuningMetric {
    /// BLEU, by words.
    Bleu,
    /// chrF2, by characters.
    Chrf,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let (src, references) = input::read_aligned(&args.src, &args.references)?;
    if !(2..=attentive_config::MAX_BEAM_WIDTH).contains(&args.beam_width) {
        return Err(Error::usage(
            format!("`--beam-width {}` is not a beam", args.beam_width),
            format!("give a width between 2 and {}; 8 is usual", attentive_config::MAX_BEAM_WIDTH),
        ));
    }
    let dir = args.model.dir()?;
    let home = Config::home(&dir);
    let pipeline = Pipeline::load(&dir)?;
    message::warnings(pipeline.warning_of_languages(&src)?.as_slice());
    // Before the work: another process may train there.
    let lock = if args.dry_run { None } else { Some(Lock::acquire(&home)?) };
    let options = TuneOptions {
        widest: args.beam_width,
        metric: match args.metric {
            TuningMetric::Bleu => Measure::Bleu(Bleu { tokenizer: args.tokenize, ..Bleu::default() }),
            TuningMetric::Chrf => Measure::Chrf(Chrf::default()),
        },
    };
    let tuning = tune(&pipeline, &src, &references, &options)?;
    if src.len() < FEWEST_SENTENCES {
        message::warning(format_args!(
            "{} are few: differences between these searches are mostly chance",
            count(src.len(), "sentence")
        ));
    }
    // Before the tables, whose reader may have gone.
    if lock.is_some() {
        write(&home, pipeline.config(), &tuning)?;
    }
    let mut out = OutputWriter::stdout();
    if args.json {
        out.json(&tuning)?;
    } else {
        lines(&tuning).iter().try_for_each(|line| out.line(line))?;
    }
    out.flush()
}

/// Writes the chosen options to the model's configuration, unless they are its own, and the tables beside it.
fn write(home: &Path, config: &Config, tuning: &Tuning) -> Result<()> {
    let path = home.join(files::CONFIG);
    if tuning.chosen == 0 {
        message::note(format_args!("`{}` has the best options already", path.display()));
    } else {
        let decode = tuning.searches[tuning.chosen].applied_to(&config.decode);
        checkpoint::sums::replace_config(home, &Config { decode, ..config.clone() })?;
        message::note(format_args!(
            "wrote the options of the best search to `[decode]` in `{}`",
            path.display()
        ));
    }
    checkpoint::atomic::write_file(&home.join(files::TUNING), &checkpoint::to_json(tuning)?)
}

/// The tables as text.
fn lines(tuning: &Tuning) -> Vec<String> {
    let name = &tuning.metric;
    let mut lines = vec![format!(
        "{name} by length penalty, of {}, among the translations of one wide beam",
        count(tuning.sentences, "sentence")
    )];
    lines.extend(penalties(&tuning.rescored));
    let best = LENGTH_FORMULAS.map(|formula| {
        let one = best_of(&tuning.rescored, formula);
        format!("{} {:.1} with {:.2}", self::name(formula), one.penalty.length_penalty, one.score)
    });
    lines.push(format!("best: {}", best.join(", ")));
    lines.push(String::new());
    let heads = ["", "beam width", "length penalty", "early stopping", name, "length ratio", "seconds"];
    let mut rows = vec![heads.map(String::from).to_vec()];
    rows.extend(tuning.searches.iter().enumerate().map(|(place, search)| {
        let marks = [(place == 0, "the model's"), (place == tuning.chosen, "best")];
        let marks = marks.into_iter().filter_map(|(is_so, mark)| is_so.then_some(mark));
        let mut row = vec![marks.collect::<Vec<_>>().join(", ")];
        row.extend(cells(search));
        row
    }));
    lines.extend(aligned(&rows));
    let difference = &tuning.difference.difference;
    lines.push(String::new());
    if tuning.chosen != 0 {
        lines.push(format!(
            "the best against the model's: {:+.2} {name} [{:+.2}, {:+.2}], p = {:.4} (paired bootstrap, on the \
             sentences on which it was chosen)",
            difference.value, difference.interval.lower, difference.interval.upper, difference.p_value
        ));
    }
    lines.push(format!("{name}|{}", tuning.signature));
    lines
}

const LENGTH_FORMULAS: [LengthPenaltyFormula; 2] = [LengthPenaltyFormula::Length, LengthPenaltyFormula::Gnmt];

/// A row for each formula, a column for every second exponent.
fn penalties(rescored: &[RescoredPenalty]) -> Vec<String> {
    let formulas = LENGTH_FORMULAS;
    let of = |formula| -> Vec<&RescoredPenalty> {
        rescored.iter().filter(|one| one.penalty.length_penalty_formula == formula).step_by(2).collect()
    };
    let exponents = of(formulas[0]).into_iter().map(|one| format!("{:.1}", one.penalty.length_penalty));
    let mut rows = vec![std::iter::once("exponent".to_owned()).chain(exponents).collect::<Vec<_>>()];
    for formula in formulas {
        let scores = of(formula).into_iter().map(|one| format!("{:.2}", one.score));
        rows.push(std::iter::once(self::name(formula)).chain(scores).collect());
    }
    aligned(&rows)
}

fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn cells(search: &TriedSearch) -> [String; 6] {
    let LengthPenalty { length_penalty_formula, length_penalty } = search.penalty;
    let of_beam = |text: String| if search.beam_width == 1 { "–".to_owned() } else { text };
    [
        search.beam_width.to_string(),
        of_beam(format!("{} {length_penalty:.1}", name(length_penalty_formula))),
        of_beam(name(search.early_stopping)),
        format!("{:.2}", search.score),
        format!("{:.3}", search.length_ratio),
        format!("{:.1}", search.seconds),
    ]
}
