//! `attentive clean`: mends parallel text, and drops what cannot be a translation.

mod cleaning_examples;
mod scored_pairs;
mod sink;

use std::path::PathBuf;

use attentive_base::count::{count, number};
use attentive_base::error::{Error, Result};
use attentive_config::{CorpusFormat, CorpusSource};
use attentive_data::cleaning::{
    Cleaner, CleaningLimits, CleaningOptions, CleaningReport, CleaningRule, ExpectedLanguages, PairReader,
};
use attentive_distill::{PairScorer, ScoreLimit};
use serde::Serialize;

use self::scored_pairs::{ScoreReport, ScoredPairs};
use self::sink::Sink;
use crate::corpus_files::corpus;
use crate::message::{self, as_option};
use crate::output::{OutputWriter, refuse_other_format, same_output};
use crate::table::aligned;

const EXAMPLES: &str = "\
Examples:
  attentive clean train.en train.de --languages en de --output clean.en clean.de
  attentive clean corpus.tsv.gz --output clean.tsv --dropped dropped.tsv
  attentive clean train.en train.de --languages en de --explain 3
  attentive clean train.en train.de --score runs/en-de --score-backward runs/de-en --min-score 5% --output clean.tsv
  attentive clean mono.en.gz --one-side --languages en --output mono.clean.en

Without `--output`, only the report is printed: how many pairs each rule drops, and what was mended. A pair counts for the \
first rule that it breaks, in the order of the report. `--dropped` writes each dropped pair with the number of its line and the \
rule; look at these before you trust a rule, since what is wrong depends on the corpus. Program names, for example, are \
rightly the same in both languages. `--explain` shows some side by side, and what was mended. `--without` turns rules off, and \
`--no-mending` leaves text as it is. The usual limits fit languages that put blanks between words; \
for Chinese, Japanese or Thai, try `--without ratio,long-word,numbers` first.
  Models find pairs that are well-formed, but no translations of each other. `--score` is the average natural log-probability \
of a token of the target, `--score-backward` that of the source by a model of the opposite direction; with both, the score is \
their dual conditional cross-entropy, from 0 to 1. Without `--min-score`, the report only says how scores are distributed. In \
a file of both sides, the score is a third column.
  `--one-per-target` keeps one source of each target, as pipelines for mined text do: with scores the best one, otherwise the \
first.
  Text is read piece by piece, so a corpus may be larger than the RAM; of each kept pair, 10 to 20 bytes are remembered, to \
find duplicates, and for `--one-per-target` up to 50 more.";

/// Pairs that are read at once.
const CHUNK: usize = 1 << 14;

/// Mend parallel text, and drop what cannot be a translation.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Two aligned files, one with both sides (tsv, csv, jsonl, tmx, xliff), or with `--one-side` a text; also
    /// compressed.
    #[arg(value_name = "FILE", required = true, num_args = 1..=2)]
    files: Vec<PathBuf>,
    /// Files to write, named after those to clean: two aligned ones, or one with tab-separated sides, in which
    /// tabs become blanks. Further columns are not kept.
    #[arg(long, short, value_name = "FILE", num_args = 1..=2)]
    output: Vec<PathBuf>,
    /// File for the dropped pairs: line, rule, source and target, mended, separated by tabs. Of a line that
    /// cannot be read, what is wrong with it.
    #[arg(long, value_name = "FILE")]
    dropped: Option<PathBuf>,
    /// Columns of both sides in tsv or csv, by number from 1 or by the name in the first line, or fields of
    /// jsonl.
    #[arg(long, num_args = 2, value_names = ["SRC", "TGT"])]
    columns: Vec<String>,
    /// Clean a text in one language, by the rules that are about one side; a line takes the place of a pair.
    #[arg(long, conflicts_with_all = ["columns", "one_per_target", "score", "score_backward"])]
    one_side: bool,
    /// Codes of the languages of both sides, such as `en de`, to drop text in others; one with `--one-side`.
    #[arg(long, num_args = 1..=2, value_names = ["SRC", "TGT"])]
    languages: Vec<String>,
    /// Rules that are not applied, separated by commas.
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    without: Vec<CleaningRule>,
    /// Leave damage as it is.
    #[arg(long)]
    no_mending: bool,
    /// Show N dropped pairs of each rule, and N that were mended.
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true, conflicts_with = "json")]
    explain: usize,
    #[command(flatten)]
    limits: CleaningLimits,
    /// Keep one pair of each target, which may differ in case and punctuation: the one with the best
    /// score, or the first one without scores.
    #[arg(long)]
    one_per_target: bool,
    /// Model that translates the sources, to score the pairs that no rule drops.
    #[arg(long, value_name = "MODEL")]
    score: Option<PathBuf>,
    /// Model of the opposite direction, to score these pairs.
    #[arg(long, value_name = "MODEL")]
    score_backward: Option<PathBuf>,
    /// Drop the scored pairs with a lower score than this, such as `-2.5`, or the worst of them, such as `5%`.
    #[arg(long, value_name = "X|P%", allow_hyphen_values = true)]
    min_score: Option<ScoreLimit>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

/// Rules that say nothing of a text that is paired with itself.
const OF_TWO_SIDES: [CleaningRule; 5] = [
    CleaningRule::Ratio,
    CleaningRule::Copy,
    CleaningRule::Numbers,
    CleaningRule::Addresses,
    CleaningRule::SameTarget,
];

impl Args {
    /// The corpus; a text in one language is paired with itself.
    fn source(&self) -> Result<CorpusSource> {
        if !self.one_side {
            let source = corpus("`attentive clean`", &self.files, &self.languages, &self.columns)?;
            if matches!(&source, CorpusSource::File(file) if file.format == CorpusFormat::Text) {
                let problem = format!("`{}` has the lines of one side only", self.files[0].display());
                return Err(Error::usage(problem, "name two aligned files, or add `--one-side`"));
            }
            return Ok(source);
        }
        match &self.files[..] {
            [file] if file.is_file() || !file.exists() => Ok(CorpusSource::aligned(file, file)),
            [file] => Err(Error::usage(
                format!("`{}` is no file that can be read twice", file.display()),
                "name a file of text, no folder or pipe",
            )),
            _ => Err(Error::usage("`--one-side` cleans one file", "name one, or leave the option out")),
        }
    }

    /// What a pair is called.
    fn unit(&self) -> &'static str {
        if self.one_side { "line" } else { "pair" }
    }

    fn options(&self) -> Result<CleaningOptions> {
        self.limits.check().map_err(as_option)?;
        if self.without.contains(&CleaningRule::Unreadable) {
            return Err(Error::usage(
                "`--without unreadable`: nothing is known of a line that cannot be read",
                "leave the rule out",
            ));
        }
        if self.one_per_target && self.without.contains(&CleaningRule::SameTarget) {
            return Err(Error::usage(
                "`--one-per-target --without same-target`: the rule is what the option asks for",
                "leave one of them out",
            ));
        }
        let languages = match (&self.languages[..], self.one_side) {
            ([], _) => None,
            _ if self.without.contains(&CleaningRule::Language) => None,
            ([src, tgt], false) => Some(ExpectedLanguages::new(src, tgt)?),
            ([one], true) => Some(ExpectedLanguages::of_one_side(one)?),
            (_, is_one_side) => {
                let expected =
                    if is_one_side { "one language" } else { "two languages, those of both sides" };
                return Err(Error::usage(
                    format!("`--languages {}`: expected {expected}", self.languages.join(" ")),
                    "give codes such as `en`, and the files before the option",
                ));
            }
        };
        let mut without = self.without.clone();
        if self.one_side {
            without.extend(OF_TWO_SIDES);
        }
        Ok(CleaningOptions {
            without,
            limits: self.limits,
            languages,
            // With scores, the best pair is known at the end.
            one_per_target: self.one_per_target && self.score.is_none() && self.score_backward.is_none(),
            mends: !self.no_mending,
            is_one_side: self.one_side,
        })
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    let options = args.options()?;
    let scorer = PairScorer::load(args.score.as_deref(), args.score_backward.as_deref())?;
    if args.min_score.is_some() && scorer.is_none() {
        return Err(Error::usage("`--min-score` has no scores", "add `--score` or `--score-backward`"));
    }
    let mut reader = PairReader::open(&args.source()?)?;
    check_outputs(args)?;
    let mut sink = Sink::open(args)?;
    let output = args.output.first().map(PathBuf::as_path);
    let new = |scorer| ScoredPairs::new(scorer, args.one_per_target, output);
    let mut scored = scorer.map(new).transpose()?;
    let mut cleaner = Cleaner::new(options);
    let mut unreadable = None;
    loop {
        let read = reader.next(CHUNK)?;
        if read.is_empty() {
            break;
        }
        let (mut places, mut pairs) = (Vec::new(), Vec::new());
        for (line, pair) in read {
            let (pair, problem) =
                pair.map_or_else(|problem| (None, Some(problem)), |pair| (Some(pair), None));
            places.push((line, problem));
            pairs.push(pair);
        }
        let (mut kept, mut kept_lines) = (Vec::new(), Vec::new());
        let before = if args.explain > 0 { pairs.clone() } else { Vec::new() };
        let cleaned = cleaner.clean(pairs);
        for ((line, _), (before, one)) in places.iter().zip(before.into_iter().zip(&cleaned)) {
            sink.mended(*line, before, one);
        }
        for ((line, problem), mut one) in places.into_iter().zip(cleaned) {
            if let Some(problem) = problem {
                unreadable.get_or_insert_with(|| (line, problem.clone()));
                one.pair.src = problem;
            }
            match one.dropped {
                Some(rule) => sink.drop(rule.name(), line, one)?,
                None if scored.is_some() => {
                    kept.push(one.pair);
                    kept_lines.push(line);
                }
                None => sink.keep(&one.pair, None)?,
            }
        }
        if let Some(scored) = &mut scored {
            scored.add(kept_lines, kept)?;
        }
    }
    if let Some((line, problem)) = unreadable
        && cleaner.report().count_of(CleaningRule::Unreadable) == cleaner.report().pairs
    {
        return Err(nothing_readable(args, line, &problem));
    }
    let scores = scored.map(|scored| scored.finish(args.min_score, &mut sink)).transpose()?;
    let worse = scores.as_ref().map_or(0, ScoreReport::worse);
    let examples = sink.finish()?;
    let mut out = OutputWriter::stdout();
    if args.json {
        let mut rules = CleaningReport { kept: cleaner.report().kept - worse, ..cleaner.report().clone() };
        let same_target = scores.as_ref().and_then(|scores| scores.same_target);
        rules.dropped.extend(same_target.map(|pairs| (CleaningRule::SameTarget, pairs as u64)));
        out.json(&JsonReport { rules, scores })?;
    } else {
        let mut lines = report(cleaner.report(), scores.as_ref(), args.unit());
        lines.extend(examples.lines(args.one_side));
        lines.extend(scores.iter().flat_map(ScoreReport::lines));
        lines.iter().try_for_each(|line| out.line(line))?;
    }
    let report = cleaner.report();
    let unit = args.unit();
    if report.pairs == 0 {
        message::warning(format_args!("no {unit} was read: there is nothing in the text"));
    } else if report.kept == worse && args.explain == 0 {
        message::warning(format_args!("no {unit} is left; `--explain 3` shows what is dropped"));
    }
    out.flush()
}

/// The report as JSON.
#[derive(Serialize)]
struct JsonReport {
    #[serde(flatten)]
    rules: CleaningReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<ScoreReport>,
}

/// The error for text of which nothing can be read; the first line, `line`, has this `problem`.
fn nothing_readable(args: &Args, line: usize, problem: &str) -> Error {
    let hint = if problem.contains("UTF-8") {
        "convert it first; if it is Latin-1: `iconv -f ISO-8859-1 -t UTF-8 IN > OUT`"
    } else if args.files.len() == 1 && !args.one_side {
        "name the columns of both sides, as in `--columns 1 2`"
    } else {
        "lines have less than 100,000 bytes"
    };
    let files: Vec<String> = args.files.iter().map(|file| format!("`{}`", file.display())).collect();
    Error::data(
        format!(
            "no {} of {} can be read; the first is on line {line}: {problem}",
            args.unit(),
            files.join(" and ")
        ),
        hint,
    )
}

/// Refuses files that would replace each other, and names that promise another format.
fn check_outputs(args: &Args) -> Result<()> {
    if let [first, second] = &args.output[..] {
        let is_table = |path: &&PathBuf| path.to_string_lossy().to_lowercase().ends_with(".tsv");
        let wrong = if args.one_side {
            Some("`--one-side` writes one file".to_owned())
        } else {
            let table = [first, second].into_iter().find(is_table);
            table.map(|table| format!("`{}` would have one side alone", table.display()))
        };
        if let Some(wrong) = wrong {
            return Err(Error::usage(
                format!(
                    "`--output` has two files, `{}` and `{}`: {wrong}",
                    first.display(),
                    second.display()
                ),
                "name the files to clean before `--output`, and after it one output",
            ));
        }
    }
    let written: Vec<&PathBuf> = args.output.iter().chain(&args.dropped).collect();
    for (place, path) in written.iter().enumerate() {
        let shown = path.display();
        if written[..place].iter().any(|other| same_output(other, path)) {
            return Err(Error::usage(
                format!("`{shown}` is to be written twice"),
                "give each output a name of its own",
            ));
        }
        refuse_other_format(path)?;
    }
    Ok(())
}

/// The report as text.
fn report(report: &CleaningReport, scores: Option<&ScoreReport>, unit: &str) -> Vec<String> {
    let share = |pairs: u64| format!("{:.2} %", 100.0 * pairs as f64 / report.pairs.max(1) as f64);
    let row = |name: &str, pairs: u64| vec![name.to_owned(), number(pairs), share(pairs)];
    let worse = scores.map_or(0, ScoreReport::worse);
    let mut rows = vec![row("read", report.pairs), row("kept", report.kept - worse)];
    let by_rule = report.dropped.iter().map(|(rule, pairs)| (rule.name(), *pairs, rule.meaning()));
    let by_score = scores.into_iter().flat_map(ScoreReport::rows);
    let dropped: Vec<_> =
        by_rule.chain(by_score.map(|(name, n, meaning)| (name, n as u64, meaning))).collect();
    rows.extend(dropped.iter().map(|(name, pairs, _)| row(&format!("  {name}"), *pairs)));
    let table = aligned(&rows).into_iter();
    let meanings = ["", ""].into_iter().chain(dropped.iter().map(|(_, _, meaning)| *meaning));
    let described = |(line, meaning): (String, &str)| format!("{line}  {meaning}").trim_end().to_owned();
    let mut lines: Vec<String> = table.zip(meanings).map(described).collect();
    let mended = report.mended.iter().filter(|(_, pairs)| *pairs > 0);
    lines.extend(
        mended
            .map(|(mend, pairs)| format!("mended: in {}, {}", count(*pairs as usize, unit), mend.meaning())),
    );
    lines
}
