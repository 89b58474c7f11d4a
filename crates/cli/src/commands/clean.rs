//! `attentive clean`: mends parallel text, and drops what is no translation.

use std::collections::BTreeMap;
use std::path::PathBuf;

use attentive_base::count::{count, number};
use attentive_base::error::{Error, Result};
use attentive_data::cleaning::{
    CleanedPair, Cleaner, CleaningOptions, CleaningReport, CleaningRule, ExpectedLanguages, PairReader,
};

use crate::corpus_files::corpus;
use crate::examples::printable;
use crate::output::OutputWriter;
use crate::table::aligned;

const EXAMPLES: &str = "\
Examples:
  attentive clean train.en train.de --languages en de --output clean.en clean.de
  attentive clean corpus.tsv.gz --output clean.tsv --dropped dropped.tsv
  attentive clean train.en train.de --languages en de --explain 3

Without `--output`, only the report is printed: how many pairs each rule drops, and what was mended. A pair counts for the \
first rule that it breaks, in the order of the report. `--dropped` writes each dropped pair with the number of its line and the \
rule; look at these before you trust a rule, since what is wrong depends on the corpus. Program names, for example, are \
rightly the same in both languages. `--without` turns rules off.
  Text is read piece by piece, so a corpus may be larger than the RAM; 8 bytes of each kept pair are remembered, to find \
duplicates.";

/// Pairs that are read at once.
const CHUNK: usize = 1 << 14;

/// Mend parallel text, and drop what is no translation.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Two aligned files, or one with both sides: tsv, csv, jsonl, tmx, xliff; also compressed.
    #[arg(value_name = "FILE", required = true, num_args = 1..=2)]
    files: Vec<PathBuf>,
    /// Files to write: two aligned ones, or one with tab-separated sides.
    #[arg(long, short, value_name = "FILE", num_args = 1..=2)]
    output: Vec<PathBuf>,
    /// File for the dropped pairs: line, rule, source and target, separated by tabs.
    #[arg(long, value_name = "FILE")]
    dropped: Option<PathBuf>,
    /// Codes of the languages of both sides, such as `en de`, to drop text in others.
    #[arg(long, num_args = 2, value_names = ["SRC", "TGT"])]
    languages: Vec<String>,
    /// Rules that are not applied, separated by commas.
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    without: Vec<CleaningRule>,
    /// Show N dropped pairs of each rule.
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    explain: usize,
    /// Most words of a side.
    #[arg(long, value_name = "N", default_value = "150")]
    max_words: usize,
    /// Most characters of a word that is no address.
    #[arg(long, value_name = "N", default_value = "100")]
    max_word_length: usize,
    /// Largest ratio of the lengths of both sides in characters, to each of which 15 are added.
    #[arg(long, value_name = "X", default_value = "2")]
    max_ratio: f64,
    /// Smallest share of letters among the visible characters of a side.
    #[arg(long, value_name = "SHARE", default_value = "0.5")]
    min_letters: f64,
    /// Smallest share of words with a letter.
    #[arg(long, value_name = "SHARE", default_value = "0.4")]
    min_words_of_letters: f64,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

impl Args {
    fn options(&self) -> Result<CleaningOptions> {
        for (option, value, is_share) in [
            ("--max-ratio", self.max_ratio, false),
            ("--min-letters", self.min_letters, true),
            ("--min-words-of-letters", self.min_words_of_letters, true),
        ] {
            let (is_fine, expected) = if is_share {
                ((0.0..=1.0).contains(&value), "a share between 0 and 1")
            } else {
                (value >= 1.0, "a number of 1 or more")
            };
            if !is_fine {
                return Err(Error::usage(format!("`{option} {value}`"), format!("give {expected}")));
            }
        }
        let languages = match &self.languages[..] {
            [src, tgt] => Some(ExpectedLanguages::new(src, tgt)?),
            _ => None,
        };
        Ok(CleaningOptions {
            without: self.without.clone(),
            max_words: self.max_words,
            max_word_length: self.max_word_length,
            max_ratio: self.max_ratio,
            min_letters: self.min_letters,
            min_words_of_letters: self.min_words_of_letters,
            languages,
        })
    }
}

/// A dropped pair with the number of its line.
type Example = (u64, CleanedPair);

pub(super) fn run(args: &Args) -> Result<()> {
    let options = args.options()?;
    let mut reader = PairReader::open(&corpus("`attentive clean`", &args.files, &args.languages)?)?;
    let mut outputs = Vec::new();
    for path in &args.output {
        outputs.push(OutputWriter::open(Some(path), args.files.iter().chain(&args.dropped))?);
    }
    let dropped = args.dropped.as_deref();
    let mut dropped =
        OutputWriter::beside_stdout("--dropped", dropped, args.files.iter().chain(&args.output))?;
    let mut cleaner = Cleaner::new(options);
    let mut examples: BTreeMap<&str, Vec<Example>> = BTreeMap::new();
    let mut line = 0;
    loop {
        let pairs = reader.next(CHUNK)?;
        if pairs.is_empty() {
            break;
        }
        for one in cleaner.clean(pairs) {
            line += 1;
            match one.dropped {
                None => write(&mut outputs, &one)?,
                Some(rule) => {
                    if let Some(out) = &mut dropped {
                        let [src, tgt] = [&one.pair.src, &one.pair.tgt].map(|text| text.replace('\t', " "));
                        out.line(format_args!("{line}\t{}\t{src}\t{tgt}", rule.name()))?;
                    }
                    let shown = examples.entry(rule.name()).or_default();
                    if shown.len() < args.explain {
                        shown.push((line, one));
                    }
                }
            }
        }
    }
    for out in outputs.into_iter().chain(dropped) {
        out.finish()?;
    }
    let mut out = OutputWriter::stdout();
    if args.json {
        out.json(cleaner.report())?;
    } else {
        report(cleaner.report(), &examples).iter().try_for_each(|line| out.line(line))?;
    }
    out.flush()
}

fn write(outputs: &mut [OutputWriter], CleanedPair { pair, .. }: &CleanedPair) -> Result<()> {
    match outputs {
        [] => Ok(()),
        [both] => both.line(format_args!("{}\t{}", pair.src.replace('\t', " "), pair.tgt.replace('\t', " "))),
        [src, tgt, ..] => {
            src.line(&pair.src)?;
            tgt.line(&pair.tgt)
        }
    }
}

/// The report as text.
fn report(report: &CleaningReport, examples: &BTreeMap<&str, Vec<Example>>) -> Vec<String> {
    let share = |pairs: u64| format!("{:.2} %", 100.0 * pairs as f64 / report.pairs.max(1) as f64);
    let row = |name: &str, pairs: u64| vec![name.to_owned(), number(pairs), share(pairs)];
    let mut rows = vec![row("read", report.pairs), row("kept", report.kept)];
    rows.extend(report.dropped.iter().map(|(rule, pairs)| row(&format!("  {}", rule.name()), *pairs)));
    let table = aligned(&rows).into_iter();
    let meanings = ["", ""].into_iter().chain(report.dropped.iter().map(|(rule, _)| rule.meaning()));
    let described = |(line, meaning): (String, &str)| format!("{line}  {meaning}").trim_end().to_owned();
    let mut lines: Vec<String> = table.zip(meanings).map(described).collect();
    let mended = report.mended.iter().filter(|(_, pairs)| *pairs > 0);
    lines.extend(
        mended.map(|(mend, pairs)| {
            format!("mended: in {}, {}", count(*pairs as usize, "pair"), mend.meaning())
        }),
    );
    for (rule, shown) in examples {
        for (line, one) in shown {
            lines.extend([String::new(), format!("{rule}, line {line}")]);
            lines.extend([&one.pair.src, &one.pair.tgt].map(|text| format!("  {}", printable(text))));
        }
    }
    lines
}
