//! `attentive demo --ladder`: what each step from a plain RNN to the Transformer adds, on reversed digits.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_base::random::Random;
use attentive_checkpoint::atomic;
use attentive_config::ConfigDraft;
use attentive_data::builtin::reversed_digits;
use attentive_evaluate::EvaluateOptions;
use attentive_evaluate::compare::{Bucket, Comparison, TestSet, compare};
use attentive_metrics::Bleu;
use attentive_model::nn::AttentionSite;
use attentive_pipeline::{Pipeline, TranslateOptions};
use attentive_plot::{Axis, Figure, HeatMap, HeatMapData};
use attentive_processes::Processes;
use attentive_train::{self as train, Existing, RunOptions};
use indicatif::HumanCount;

use crate::commands::compare::by_length;
use crate::message;
use crate::output::OutputWriter;
use crate::progress::ProgressDisplay;
use crate::table::aligned;

/// What all models have in common.
const RECIPE: &str = include_str!("../../../../../configs/demo-ladder.toml");

/// The lengths of the sequences of digits.
const LENGTHS: [usize; 2] = [5, 16];
/// Sequences to train on, to validate with and to test with.
const SIZES: [(&str, usize); 3] = [("train", 20_000), ("valid", 200), ("test", 500)];
/// The folder of the corpus, and the charts.
const CORPUS: &str = "corpus";
const LENGTHS_SVG: &str = "lengths.svg";
const ALIGNMENT_SVG: &str = "alignment.svg";
/// The random stream of the corpus.
const STREAM: u64 = 0x6c61_6464_6572;
/// The number of lengths of a column of the table.
const BUCKET_WIDTH: usize = 4;
/// The sequence whose alignment is shown.
const SHOWN: &str = "3 1 4 1 5 9 2 6 5 3 5 8";
/// Attention weights from none to 1.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// A model of the ladder.
struct Rung {
    /// The folder of its run.
    name: &'static str,
    /// What is new in it.
    idea: &'static str,
    /// The keys in which it differs from [`RECIPE`].
    overrides: &'static [&'static str],
}

const RUNGS: [Rung; 4] = [
    Rung {
        name: "rnn",
        idea: "one state carries everything that was read",
        overrides: &[
            "model.recurrent.cell='rnn'",
            "model.recurrent.attention='none'",
            "model.recurrent.d_hidden=206",
        ],
    },
    Rung {
        name: "lstm",
        idea: "gates decide what the state keeps",
        overrides: &[
            "model.recurrent.cell='lstm'",
            "model.recurrent.attention='none'",
            "model.recurrent.d_hidden=96",
        ],
    },
    Rung {
        name: "lstm-attention",
        idea: "each step looks at all that was read",
        overrides: &[
            "model.recurrent.cell='lstm'",
            "model.recurrent.attention='additive'",
            "model.recurrent.d_hidden=72",
        ],
    },
    Rung {
        name: "transformer",
        idea: "attention alone, no state",
        overrides: &[
            "model.family='transformer'",
            "model.d_ff=96",
            "model.n_heads=4",
            "model.n_encoder_layers=2",
            "model.n_decoder_layers=2",
            "model.norm_position='pre'",
        ],
    },
];

/// Trains the models of the ladder in folders of `out` and shows what became of them.
pub(super) fn run(out: &Path, existing: Existing, overrides: &[String], seed: u64) -> Result<()> {
    let corpus = Corpus::new(seed);
    fs::create_dir_all(out).map_err(Error::io("create", out))?;
    // `--resume` compares the paths of the corpus, however `out` is spelled.
    let out = &fs::canonicalize(out).map_err(Error::io("read", out))?;
    check_existing(out, existing, &corpus)?;
    let keys = [corpus_key(out, "train")?, corpus_key(out, "valid")?];
    let overrides = [&keys, overrides].concat();
    let interrupt = Interrupt::install()?;
    message::note(format!("writing the corpus and the models to `{}`", out.display()));
    corpus.write(out)?;
    for (number, rung) in (1..).zip(&RUNGS) {
        message::note(format!("{number} of {}: `{}`, {}", RUNGS.len(), rung.name, rung.idea));
        interrupt.during(Interrupt::check)?;
        train_rung(rung, out, existing, &overrides, interrupt.clone())?;
    }
    interrupt.during(|| report(out, &corpus.test))
}

/// Refuses a folder that has what would be written, unless it is to be replaced or is this corpus.
fn check_existing(out: &Path, existing: Existing, corpus: &Corpus) -> Result<()> {
    let folders = RUNGS.iter().map(|rung| rung.name).chain([CORPUS, LENGTHS_SVG, ALIGNMENT_SVG]);
    let found = folders.map(|name| out.join(name)).find(|path| path.exists());
    match (existing, found) {
        (Existing::Refuse, Some(path)) => Err(Error::usage(
            format!("`{}` exists", path.display()),
            "continue with `--resume`, replace all with `--force`, or name another folder with `--output`",
        )),
        (Existing::Resume, Some(_)) if corpus.differs_in(out) => Err(Error::usage(
            format!("`{}` has another corpus than that of this seed", out.join(CORPUS).display()),
            "repeat the `--seed` of the first run, or start over with `--force`",
        )),
        _ => Ok(()),
    }
}

fn train_rung(
    rung: &Rung,
    out: &Path,
    existing: Existing,
    overrides: &[String],
    interrupt: Interrupt,
) -> Result<()> {
    let run = out.join(rung.name);
    let own = rung.overrides.iter().map(|&keys| keys.to_owned());
    let overrides: Vec<String> = own.chain(overrides.iter().cloned()).collect();
    let draft = ConfigDraft::parse(RECIPE, Path::new("configs/demo-ladder.toml"), &overrides)?;
    let resumed = (existing == Existing::Resume).then_some(run.as_path());
    let known = draft.known(resumed)?;
    let config = draft.resolve(&known)?;
    let options = RunOptions { out: run, existing, interrupt, processes: Processes::alone() };
    train::train(&config, &options, &mut ProgressDisplay::new()).map(drop)
}

fn corpus_file(out: &Path, part: &str, side: &str) -> PathBuf {
    out.join(CORPUS).join(format!("{part}.{side}"))
}

/// The key that names the files of a part of the corpus.
fn corpus_key(out: &Path, part: &str) -> Result<String> {
    let file = |side| {
        let path = corpus_file(out, part, side);
        let text = path.to_str().map(|path| serde_json::Value::from(path).to_string());
        text.ok_or_else(|| {
            let problem = format!("a configuration cannot name `{}`, which is not UTF-8", path.display());
            Error::usage(problem, "name another folder with `--output`")
        })
    };
    Ok(format!("data.{part}={{src={}, tgt={}}}", file("src")?, file("tgt")?))
}

/// Sequences of digits and their reversals.
struct Corpus {
    /// The name of each file and its lines.
    files: Vec<(&'static str, &'static str, String)>,
    /// Sources and references, none of which is in the other parts.
    test: [Vec<String>; 2],
}

impl Corpus {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed, STREAM);
        let mut seen = HashSet::new();
        let mut corpus = Self { files: Vec::new(), test: [Vec::new(), Vec::new()] };
        for (part, size) in SIZES {
            let mut sides = [Vec::new(), Vec::new()];
            while sides[0].len() < size {
                let (src, tgt) = reversed_digits(LENGTHS[0]..=LENGTHS[1], &mut random);
                let is_new = seen.insert(src.clone());
                if part == "train" || is_new {
                    sides[0].push(src);
                    sides[1].push(tgt);
                }
            }
            for (side, lines) in ["src", "tgt"].into_iter().zip(&sides) {
                corpus.files.push((part, side, lines.join("\n") + "\n"));
            }
            corpus.test = sides;
        }
        corpus
    }

    /// True if `out` has a file with another content. Files may be missing: an interruption is resumed.
    fn differs_in(&self, out: &Path) -> bool {
        let mut files = self.files.iter();
        files.any(|(part, side, text)| {
            let path = corpus_file(out, part, side);
            path.exists() && !fs::read(path).is_ok_and(|found| found == text.as_bytes())
        })
    }

    fn write(&self, out: &Path) -> Result<()> {
        let folder = out.join(CORPUS);
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        let mut files = self.files.iter();
        files.try_for_each(|(part, side, text)| {
            atomic::write_file(&corpus_file(out, part, side), text.as_bytes())
        })
    }
}

/// Prints the table and an alignment, and writes the charts.
fn report(out: &Path, [src, references]: &[Vec<String>; 2]) -> Result<()> {
    let paths: Vec<PathBuf> = RUNGS.iter().map(|rung| out.join(rung.name)).collect();
    let names = RUNGS.iter().map(|rung| rung.name.to_owned());
    let runs: Vec<(String, &PathBuf)> = names.zip(&paths).collect();
    let references = std::slice::from_ref(references);
    let test = TestSet { src, references, bucket_width: BUCKET_WIDTH, examples: 0 };
    let comparison = compare(&runs, test, |pipeline| {
        let translate = TranslateOptions::from(&pipeline.config().decode);
        Ok(EvaluateOptions { translate, bleu: Bleu::default() })
    })?;
    let alignment = Alignment::of(&Pipeline::load(out.join("lstm-attention"))?)?;

    let mut text = OutputWriter::stdout();
    text.line(format_args!("\nBLEU on {} unseen sequences, by their number of digits:", src.len()))?;
    table(&comparison).iter().try_for_each(|line| text.line(line))?;
    text.line("\nWhere `lstm-attention` looks (columns) while it writes each digit (rows):")?;
    alignment.lines().iter().try_for_each(|line| text.line(line))?;
    text.line("\nIt should run against the diagonal: to write the first digit, it has to read the last.")?;
    for (name, figure) in [(LENGTHS_SVG, by_length(&comparison)), (ALIGNMENT_SVG, alignment.figure())] {
        let path = out.join(name);
        atomic::write_file(&path, figure.svg().as_bytes())?;
        text.line(format_args!("The picture is in `{}`.", path.display()))?;
    }
    text.flush()
}

/// A row for each model: its size, the time of its training and BLEU by length.
fn table(comparison: &Comparison) -> Vec<String> {
    let lengths = comparison.buckets.iter().map(Bucket::name);
    let head = ["model", "parameters", "training"].map(str::to_owned).into_iter();
    let mut rows: Vec<Vec<String>> = vec![head.chain(lengths).collect()];
    for system in &comparison.systems {
        let seconds = system.training.as_ref().map_or(0.0, |training| training.seconds);
        let parameters = HumanCount(system.n_parameters as u64).to_string();
        let own = [system.name.clone(), parameters, format!("{seconds:.0} s")].into_iter();
        rows.push(own.chain(system.by_length.iter().map(|at| format!("{:.1}", at.bleu))).collect());
    }
    aligned(&rows)
}

/// The character for an attention weight.
fn shade(weight: f32) -> char {
    SHADES[((weight * SHADES.len() as f32) as usize).min(SHADES.len() - 1)]
}

/// The attention of a model to [`SHOWN`].
struct Alignment {
    src: Vec<String>,
    written: Vec<String>,
    /// `[written, src]`
    weights: Vec<f32>,
}

impl Alignment {
    fn of(pipeline: &Pipeline) -> Result<Self> {
        let inspection = pipeline.inspect(SHOWN, None)?;
        let map = inspection.maps.into_iter().find(|map| map.site == AttentionSite::Cross);
        let weights = map.expect("a model with attention").weights.mean_of_heads().values;
        let written = inspection.written.into_iter().map(|token| token.token).collect();
        Ok(Self { src: inspection.src, written, weights })
    }

    /// A drawing of characters: a row for each token written, a column for each token read.
    fn lines(&self) -> Vec<String> {
        let label = |token: &str| format!("{:>4}", if token.starts_with('<') { "" } else { token });
        let head: String = self.src.iter().map(|token| label(token)).collect();
        let rows = self.written.iter().zip(self.weights.chunks(self.src.len()));
        let row = |(token, weights): (&String, &[f32])| {
            let cells: String = weights.iter().map(|&weight| format!("  {0}{0}", shade(weight))).collect();
            format!("{} {cells}", label(token))
        };
        [format!("     {head}")].into_iter().chain(rows.map(row)).collect()
    }

    fn figure(&self) -> Figure {
        let columns = Axis::names("read", self.src.clone());
        let rows = Axis::names("written", self.written.clone());
        let data = HeatMapData::new(self.weights.clone(), self.src.len());
        let map = HeatMap::new("Attention weights", columns, rows, data).range(0.0, 1.0);
        Figure::new("").width(640.0).row("", 480.0, [map])
    }
}

#[cfg(test)]
mod tests {
    use attentive_model::nn::Blueprint;

    use super::*;

    #[test]
    fn the_test_set_is_unseen_and_reversed() {
        let Corpus { files, test: [src, tgt] } = Corpus::new(1);
        assert_eq!([src.len(), tgt.len()], [500, 500]);
        let (part, side, train) = &files[0];
        assert_eq!((*part, *side, train.lines().count()), ("train", "src", 20_000));
        let train: HashSet<&str> = train.lines().collect();
        assert!(!src.iter().any(|line| train.contains(line.as_str())));
        for (src, tgt) in src.iter().zip(&tgt) {
            let mut digits: Vec<&str> = src.split(' ').collect();
            digits.reverse();
            assert!((LENGTHS[0]..=LENGTHS[1]).contains(&digits.len()));
            assert_eq!(digits.join(" "), *tgt);
        }
    }

    #[test]
    fn a_corpus_of_which_files_are_missing_is_completed_and_another_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let corpus = Corpus::new(1);
        assert!(!corpus.differs_in(folder.path()));
        corpus.write(folder.path()).unwrap();
        assert!(!corpus.differs_in(folder.path()) && Corpus::new(2).differs_in(folder.path()));
        fs::remove_file(corpus_file(folder.path(), "test", "tgt")).unwrap();
        assert!(!corpus.differs_in(folder.path()));
        fs::write(corpus_file(folder.path(), "valid", "src"), "1 2\n").unwrap();
        assert!(corpus.differs_in(folder.path()));
    }

    #[test]
    fn rungs_have_about_the_same_size() {
        for rung in &RUNGS {
            let overrides: Vec<String> = rung.overrides.iter().map(|&keys| keys.to_owned()).collect();
            let draft = ConfigDraft::parse(RECIPE, Path::new("demo-ladder.toml"), &overrides).unwrap();
            let known = draft.known(None).unwrap();
            let config = draft.resolve(&known).unwrap();
            let n_weights = Blueprint::new(&config.model.architecture(14, 14)).n_weights();
            assert!((90_000..=105_000).contains(&n_weights), "{}: {n_weights}", rung.name);
        }
    }

    #[test]
    fn an_alignment_is_drawn_in_characters() {
        let tokens = |text: &str| text.split(' ').map(str::to_owned).collect();
        let alignment = Alignment {
            src: tokens("1 2 </s>"),
            written: tokens("2 1 </s>"),
            weights: vec![0.0, 1.0, 0.0, 0.5, 0.3, 0.2, 0.0, 0.0, 0.99],
        };
        let lines = alignment.lines();
        assert_eq!(lines[0], "        1   2    ");
        assert_eq!(lines[1], "   2       ██    ");
        assert_eq!(lines[2], "   1   ▒▒  ░░  ░░");
        assert_eq!(lines[3], "               ██");
    }
}
