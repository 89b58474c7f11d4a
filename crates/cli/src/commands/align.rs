//! `attentive align`: links between the words of parallel text.

use std::path::{Path, PathBuf};

use attentive_base::error::Result;
use attentive_data::word_alignment::{AlignmentScore, GoldLinks, Symmetrization, WordLinks, align_words};

use crate::input;
use crate::message;
use crate::output::OutputWriter;

const EXAMPLES: &str = "\
Examples:
  attentive align train.tok.en train.tok.de --output train.align
  attentive align train.tok.en train.tok.de --symmetrize intersection > train.align
  attentive align test.tok.en test.tok.de --gold test.gold --output test.align

Line n of the output has the links of line n of the files as pairs `i-j` (Pharaoh format): word j of the target belongs to word \
i of the source, counted from 0. Words are what blanks separate, so separate punctuation first; case does not matter. The links \
are learned from the text itself, by IBM Model 1 and a hidden Markov model in both directions, which needs thousands of lines: \
for a few lines, append them to a larger corpus.
  With `--gold`, the links are compared with links by people, `i-j` for sure and `i?j` for possible ones, on the lines that the \
file has; further lines of the corpus are not compared.";

/// Align the words of parallel text.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Source sentences, one per line, with blanks between words.
    #[arg(value_name = "SRC")]
    src: PathBuf,
    /// Their translations, one per line, with blanks between words.
    #[arg(value_name = "TGT")]
    tgt: PathBuf,
    /// File for the links; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Combination of both directions: grow-diag-final-and, intersection, union, or one of them, forward (at
    /// most one source word for each target word) or backward.
    #[arg(long, value_name = "METHOD", default_value = "grow-diag-final-and")]
    symmetrize: Symmetrization,
    /// Links by people, for the first lines: print the error rate (AER), precision and recall on standard
    /// error.
    #[arg(long, value_name = "FILE")]
    gold: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let (src, mut tgt) = input::read_aligned(&args.src, std::slice::from_ref(&args.tgt))?;
    let inputs = [&args.src, &args.tgt].into_iter().chain(&args.gold);
    let mut out = OutputWriter::open(args.output.as_deref(), inputs)?;
    let gold = args.gold.as_deref().map(read_gold).transpose()?;
    let links = align_words(&src, &tgt.swap_remove(0), args.symmetrize)?;
    links.iter().try_for_each(|one| out.line(one))?;
    out.finish()?;
    if let Some(gold) = gold {
        message::note(described(&links, &gold));
    }
    Ok(())
}

fn read_gold(path: &Path) -> Result<Vec<GoldLinks>> {
    let lines = input::read_lines(path)?;
    let read = |(line, text): (usize, &String)| {
        let found = text.parse::<GoldLinks>();
        found.map_err(|error| attentive_base::error::Error::line(path, line, error.to_string()))
    };
    (1..).zip(&lines).map(read).collect()
}

/// How well the links of the first lines agree with `gold`.
fn described(links: &[WordLinks], gold: &[GoldLinks]) -> String {
    let mut score = AlignmentScore::default();
    links.iter().zip(gold).for_each(|(found, gold)| score.add(found, gold));
    format!(
        "AER {:.1} %, precision {:.1} %, recall {:.1} % ({} links, {} sure ones by people, {} lines)",
        100.0 * score.error_rate(),
        100.0 * score.precision(),
        100.0 * score.recall(),
        score.links,
        score.sure,
        gold.len().min(links.len())
    )
}
