//! `attentive align`: links between the words of parallel text.

use std::path::{Path, PathBuf};

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_data::word_alignment::{
    AlignmentScore, GoldLinks, LONGEST_SENTENCE, Symmetrization, WordLinks, align_words,
};

use crate::input;
use crate::message;
use crate::output::OutputWriter;

const EXAMPLES: &str = "\
Examples:
  attentive align train.tok.en train.tok.de --output train.align
  attentive align train.tok.en train.tok.de --symmetrize intersection > train.align
  attentive align test.tok.en test.tok.de --gold test.gold --output test.align

Line n of the output has the links of line n of the files as pairs `i-j` (Pharaoh format): word j of the target belongs to word \
i of the source, counted from 0. Words are what blanks separate; case and punctuation around a word do not matter. The links \
are learned from the text itself, by IBM Model 1 and a hidden Markov model in both directions, which needs thousands of lines: \
put a few lines before a larger corpus. All lines are held in RAM.
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
    let tgt = tgt.swap_remove(0);
    let gold = args.gold.as_deref().map(|path| read_gold(path, &src, &tgt)).transpose()?;
    let is_long = |(src, tgt): &(&String, &String)| n_words(src).max(n_words(tgt)) > LONGEST_SENTENCE;
    let long = src.iter().zip(&tgt).filter(is_long).count();
    if long > 0 {
        message::warning(format_args!("{} of over {LONGEST_SENTENCE} words: no links", count(long, "line")));
    }
    let links = align_words(&src, &tgt, args.symmetrize)?;
    links.iter().try_for_each(|one| out.line(one))?;
    out.finish()?;
    if let Some(gold) = gold {
        message::note(described(&links, &gold));
    }
    Ok(())
}

fn n_words(line: &str) -> usize {
    line.split_whitespace().count()
}

/// The links of the first of these pairs.
fn read_gold(path: &Path, src: &[String], tgt: &[String]) -> Result<Vec<GoldLinks>> {
    let lines = input::read_lines(path)?;
    if lines.len() > src.len() {
        return Err(Error::line(path, src.len() + 1, "there is no such line in the corpus"));
    }
    let read = |(place, text): (usize, &String)| {
        let refused = |problem: String| Error::line(path, place + 1, problem);
        let gold: GoldLinks = text.parse().map_err(|error: Error| refused(error.to_string()))?;
        let (src, tgt) = (n_words(&src[place]), n_words(&tgt[place]));
        match gold.possible.0.iter().find(|link| link.0 >= src || link.1 >= tgt) {
            Some((a, b)) => {
                Err(refused(format!("a link {a}-{b}, but {src} and {tgt} words, which count from 0")))
            }
            None => Ok(gold),
        }
    };
    let gold: Vec<GoldLinks> = lines.iter().enumerate().map(read).collect::<Result<_>>()?;
    if gold.iter().all(|gold| gold.sure.0.is_empty()) {
        return Err(Error::data(
            format!("`{}` has no sure links, without which there is no error rate", path.display()),
            "write them as `i-j`, and possible ones as `i?j`",
        ));
    }
    Ok(gold)
}

/// How well the links of the first lines agree with `gold`.
fn described(links: &[WordLinks], gold: &[GoldLinks]) -> String {
    let mut score = AlignmentScore::default();
    links.iter().zip(gold).for_each(|(found, gold)| score.add(found, gold));
    format!(
        "AER {:.1} %, precision {:.1} %, recall {:.1} % ({} links, {} sure ones by people, {})",
        100.0 * score.error_rate(),
        100.0 * score.precision(),
        100.0 * score.recall(),
        score.links,
        score.sure,
        count(gold.len().min(links.len()), "line")
    )
}
