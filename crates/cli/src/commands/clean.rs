//! `attentive clean`: mends parallel text, and drops what cannot be a translation.

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
rightly the same in both languages. `--without` turns rules off. The usual limits fit languages that put blanks between words; \
for Chinese, Japanese or Thai, try `--without ratio,long-word,numbers` first.
  Text is read piece by piece, so a corpus may be larger than the RAM; of each kept pair, 10 to 20 bytes are remembered, to \
find duplicates.";

/// Pairs that are read at once.
const CHUNK: usize = 1 << 14;

/// Mend parallel text, and drop what cannot be a translation.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Two aligned files, or one with both sides: tsv, csv, jsonl, tmx, xliff; also compressed.
    #[arg(value_name = "FILE", required = true, num_args = 1..=2)]
    files: Vec<PathBuf>,
    /// Files to write: two aligned ones, or one with tab-separated sides, in which tabs become blanks.
    /// Further columns are not kept.
    #[arg(long, short, value_name = "FILE", num_args = 1..=2)]
    output: Vec<PathBuf>,
    /// File for the dropped pairs: line, rule, source and target, mended, separated by tabs.
    #[arg(long, value_name = "FILE")]
    dropped: Option<PathBuf>,
    /// Codes of the languages of both sides, such as `en de`, to drop text in others.
    #[arg(long, num_args = 2, value_names = ["SRC", "TGT"])]
    languages: Vec<String>,
    /// Rules that are not applied, separated by commas.
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    without: Vec<CleaningRule>,
    /// Show N dropped pairs of each rule.
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true, conflicts_with = "json")]
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
type Example = (usize, CleanedPair);

pub(super) fn run(args: &Args) -> Result<()> {
    let options = args.options()?;
    let mut reader = PairReader::open(&corpus("`attentive clean`", &args.files, &args.languages)?)?;
    check_outputs(args)?;
    let mut outputs = Vec::new();
    for path in &args.output {
        outputs.extend(OutputWriter::beside_stdout("--output", Some(path), &args.files)?);
    }
    let dropped = args.dropped.as_deref();
    let mut dropped =
        OutputWriter::beside_stdout("--dropped", dropped, args.files.iter().chain(&args.output))?;
    let mut cleaner = Cleaner::new(options);
    let mut examples: BTreeMap<&str, Vec<Example>> = BTreeMap::new();
    loop {
        let (lines, pairs): (Vec<usize>, Vec<_>) = reader.next(CHUNK)?.into_iter().unzip();
        if pairs.is_empty() {
            break;
        }
        for (line, one) in lines.into_iter().zip(cleaner.clean(pairs)) {
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

/// Refuses files that would replace each other, and names that promise another format.
fn check_outputs(args: &Args) -> Result<()> {
    let written: Vec<&PathBuf> = args.output.iter().chain(&args.dropped).collect();
    for (place, path) in written.iter().enumerate() {
        let shown = path.display();
        if written[..place].contains(path) {
            return Err(Error::usage(
                format!("`{shown}` is to be written twice"),
                "give each output a name of its own",
            ));
        }
        let name = path.to_string_lossy().to_lowercase();
        let formats = [".gz", ".zst", ".csv", ".jsonl", ".tmx", ".xlf", ".xliff"];
        if let Some(other) = formats.into_iter().find(|end| name.ends_with(end)) {
            return Err(Error::usage(
                format!("`{shown}` would be no {other} file: what is written are lines of plain text"),
                "give two names for aligned files, or one that ends in .tsv; compress them afterwards",
            ));
        }
    }
    Ok(())
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
