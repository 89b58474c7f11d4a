//! `attentive translate`: translates text line by line.

mod constraints;
mod document;
mod format;
mod lines;
mod profile;
mod shared;

use std::mem;
use std::path::{Path, PathBuf};

use attentive_base::error::Result;
use attentive_document::{Segmentation, Split};
use attentive_model::profile::profiled;
use attentive_pipeline::{Glossary, Pipeline, TranslateOptions};
use attentive_processes::Processes;

use crate::fingerprint::fingerprint;
use crate::lines::LinesArgs;
use crate::output::OutputWriter;
use crate::translator::TranslatorArgs;
use crate::working::Working;
use constraints::LineConstraints;
use format::{Style, TranslationWriter};
use lines::TranslationSettings;
use shared::SharedStreams;

const EXAMPLES: &str = "\
Examples:
  attentive translate runs/multi30k < in.en > out.de
  echo 'A dog runs.' | attentive translate runs/multi30k
  attentive translate runs/multi30k in.en --output out.de --beam-width 1
  attentive translate runs/multi30k in.en --precision int8 --profile > out.de
  attentive translate runs/multi30k in.en --device gpu > out.de
  attentive translate runs/multi30k in.en --beam-width 8 --n-best 3
  attentive translate runs/multi30k book.en --split-sentences > book.de
  attentive translate runs/multi30k film.en.srt --output film.de.srt
  attentive translate runs/multi30k in.en --prefix begun.de --no-repeat-ngram 3
  attentive translate runs/multi30k in.en --glossary terms.tsv
  attentive translate runs/multi30k in.en --constraints phrases.tsv --beam-width 10
  attentive translate runs/multi30k in.en --sample --top-p 0.9 --seed 7 --n-best 5
  attentive translate runs/multi30k in.en --sample --epsilon 0.02 --mbr chrf --candidates 64
  attentive translate runs/a in.en --with runs/b --with runs/c
  attentive translate runs/multi30k in.en --checkpoint 4000
  attentive translate runs/multi30k in.en --json --alignments

Sentences:
  Each line of the input is translated as one sentence. With `--split-sentences`, each sentence of a line is translated by \
itself, and everything between the sentences (blanks, emoji) is kept, as is a line without a sentence. The n-th best \
translation of a line consists of the n-th best translations of its sentences, and its score is the sum of their scores. A \
prefix belongs to the first sentence of its line; a line with phrases must be a single sentence.

Files:
  A file with the extension html, htm, xhtml, xml, xliff, xlf, srt, vtt, md, markdown, po, pot, json or arb is translated as a \
whole: its texts sentence by sentence, everything else stays as it is, byte for byte. `--format` names the format of \
standard input or of a file with another name; `--format txt` translates plain text in this way, `--format lines` each line. \
docs/files.md says what each format keeps.

Output:
  Each line of the input gives one line; a blank line gives an empty line or, with `--split-sentences`, the same blanks. With \
`--scores` or an `--n-best` above 1, each translation has a line of three tab-separated columns: the number of the input \
line, counted from 1; the score; and the translation. The score is the sum of the natural log-probabilities of the tokens, \
divided by the length penalty, plus the coverage penalty. The best translation comes first; samples come in the order in \
which they were drawn. Translations that were cut off at the length limit come last, and a warning on standard error names \
their lines; `--max-new-tokens` sets another limit. With `--output`, a terminal shows the progress.
  `--token-scores` adds two columns: the tokens, separated by blanks, and their natural log-probabilities; a finished \
translation has one more log-probability, which belongs to its end (`</s>`). `--alignments` adds a column of pairs `i-j` \
(Pharaoh format, words counted from 0): word j of the translation belongs to word i of the source. A token is aligned with \
the source token that receives most attention when it is predicted, averaged over the heads of the top layer.
  With `--json`, each line of the input gives one object: its number `line`; the list `translations` of objects with `text`, \
`score`, `log_prob` (the sum before the penalties), `finished` (false for a translation that was cut off), `tokens`, \
`token_log_probs`, `unmet` (the phrases of `--constraints` that are missing) and, with `--alignments`, `alignment` (a list of \
pairs); and the list `warnings` of the line.

Prefixes and constraints:
  Line n of these files belongs to line n of the input. A blank line asks for nothing; a prefix or phrase for a blank input \
line is ignored, with a warning. A translation begins with its prefix, which counts in the score. The prefix is split into \
tokens by itself, so a model with subwords may complete its last word.
  A translation ends only when it contains all phrases as whole words. The beam is shared among hypotheses that contain \
different numbers of phrases, so use a beam width of 10 or more. A phrase that the vocabulary cannot spell, or that is longer \
than a translation may be, is left out, with a warning. If the search finds no translation with all phrases, the best \
unfinished one is written, and a warning names the missing phrases. `--glossary` is better for terms: a phrase may stand \
anywhere, also beside the word that it should replace.

Glossaries:
  A term of the glossary is found as whole words, in any case. Its translation takes the place of the words that render it, \
unchanged: it is not inflected. A warning names a term that has no place, because the model translates it with no word of its \
own or its vocabulary cannot spell it. A sentence with a term takes several times as long. docs/decoding.md says more.

Profile:
  `--profile` does not change the translations. The times of the parts add up to the total, which includes loading the model; \
if several threads search at the same time, each time is their average. Source tokens are counted without blank lines; output \
tokens are those of all translations written; neither include `</s>`. A decoding step extends all rows by one token; rows are \
the hypotheses of the sentences that are translated together.

Minimum Bayes risk:
  With `--mbr`, many translations of each sentence are made, and the one is chosen that agrees best with all of them. The agreement of each is measured against the average n-gram counts of all. The candidates are those of the beam or, with `--sample`, samples, for which `--epsilon 0.02` is usual. The scores that are written remain those of the model.

Ensembles:
  With `--with`, the probability of a token is the average of the probabilities that the models give it. The models need the \
same vocabularies, and may differ in everything else.";

/// Translate text line by line.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    lines: LinesArgs,
    /// Write one JSON object per line of the input, with everything that is known about its translations.
    #[arg(long)]
    json: bool,
    /// Write each translation with its line number and score, separated by tabs [default: if `--n-best` is
    /// above 1].
    #[arg(long)]
    scores: bool,
    /// Write the translations alone, even with an `--n-best` above 1.
    #[arg(long, conflicts_with = "scores")]
    no_scores: bool,
    /// Translate each sentence of a line by itself. Use this for lines of more than one sentence: most models
    /// were trained on single sentences and would lose the others.
    #[arg(long)]
    split_sentences: bool,
    /// Translate the input as a file of this format, and keep all that is not text: txt, html, xml, xliff,
    /// srt, vtt, md, po or json [default: that of the file's name, except for txt; otherwise lines].
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Keep placeholders such as `{name}` and `%s`, addresses, and lines without letters as they are, instead
    /// of translating them. Files are always translated so.
    #[arg(long, conflicts_with_all = ["prefix", "constraints", "alignments"])]
    keep_placeables: bool,
    #[command(flatten)]
    translator: TranslatorArgs,
    /// Begin the translation of each line with the text on the same line of this file.
    #[arg(long, value_name = "FILE")]
    prefix: Option<PathBuf>,
    /// Make the translation of each line contain the phrases on the same line of this file, separated by
    /// tabs.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sample", "mbr"])]
    constraints: Option<PathBuf>,
    /// Translate the terms of this file as it says: on each line a term, a tab and its translation; or a
    /// comma, in a file whose name ends in `.csv`. A term alone stays as it is.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prefix", "constraints", "mbr"])]
    glossary: Option<PathBuf>,
    /// Add the tokens of each translation and their log-probabilities.
    #[arg(long)]
    token_scores: bool,
    /// Add the word alignment of each translation, taken from the attention.
    #[arg(long)]
    alignments: bool,
    /// Stop with an error, instead of a warning, at the first line that cannot be read or translated
    /// completely, such as one with characters that the model does not know.
    #[arg(long)]
    strict: bool,
    /// Show the speed, and where the time went, on standard error.
    #[arg(long)]
    profile: bool,
}

impl Args {
    fn glossary(&self) -> Result<Option<Glossary>> {
        self.glossary.as_deref().map(Glossary::read).transpose()
    }

    fn style(&self) -> Style {
        if self.json {
            Style::Json
        } else if self.scores || self.translator.n_best.get() > 1 && !self.no_scores {
            Style::LineScoreText
        } else {
            Style::Text
        }
    }
}

pub(super) fn run(args: &Args, processes: &Processes) -> Result<()> {
    if args.profile {
        processes.require_alone("`--profile`")?;
        let (pipeline, profile) = profiled(|| translate(args, processes));
        profile::show(&pipeline?, &profile);
        return Ok(());
    }
    let pipeline = translate(args, processes)?;
    if !pipeline.is_on_device() {
        // The process ends, and the system frees the model faster.
        mem::forget(pipeline);
    }
    Ok(())
}

/// Translates all of the input, and returns the pipeline.
fn translate(args: &Args, processes: &Processes) -> Result<Pipeline> {
    let doing = "the model was loaded";
    if let Some(format) = document::format(args)? {
        processes.require_alone("translating a file with markup")?;
        return document::translate(args, format, processes);
    }
    let dir = processes.agree(doing, args.lines.model.dir())?;
    let (pipeline, options) = processes.agree(doing, load(args, &dir, processes))?;
    let constraints = LineConstraints::read(args.prefix.as_deref(), args.constraints.as_deref());
    let constraints = processes.agree(doing, constraints)?;
    let glossary = processes.agree(doing, args.glossary())?;
    processes.require_same("the model", &fingerprint(&dir))?;
    let others = args.prefix.iter().chain(&args.constraints).chain(&args.glossary);
    let others = others.chain(args.translator.others()).chain([&dir]);
    let opened = processes.is_first().then(|| args.lines.open_beside(others));
    let (input, out) = processes.agree(doing, opened.transpose())?.unzip();
    let mut shared = SharedStreams { processes, input, out };
    let writer = TranslationWriter {
        pipeline: &pipeline,
        style: args.style(),
        token_scores: args.token_scores,
        alignments: args.alignments,
        strict: args.strict,
        out: OutputWriter::memory(),
    };
    processes.limit_waits();
    // Without an output file, the translations may appear on the same terminal.
    let shown = processes.is_first() && args.lines.has_output();
    let _working = shown.then(|| Working::shown(&pipeline, None));
    let split = if args.split_sentences { Split::Sentences } else { Split::Nowhere };
    let how = Segmentation { keep_placeables: args.keep_placeables, ..pipeline.segmentation(split) };
    let lines = (args.split_sentences || args.keep_placeables).then_some(how);
    let settings = TranslationSettings { options, constraints, glossary, lines };
    settings.translate_lines(&mut shared, writer)?;
    Ok(pipeline)
}

/// Loads the model, and reads its translation options.
fn load(args: &Args, dir: &Path, processes: &Processes) -> Result<(Pipeline, TranslateOptions)> {
    let pipeline = args.translator.load(dir, processes)?;
    let mut options = args.translator.options(&pipeline)?;
    if matches!(args.style(), Style::Text) {
        options.search = options.search.unscored();
    }
    if args.alignments {
        // Refuses a model without attention before anything is read.
        pipeline.align::<&str>(&[])?;
    }
    Ok((pipeline, options))
}
