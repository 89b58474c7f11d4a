//! Where pairs go.

use attentive_base::error::Result;
use attentive_data::cleaning::{CleanedPair, SentencePair};
use attentive_data::{one_column, one_line};

use super::Args;
use super::cleaning_examples::CleaningExamples;
use crate::output::OutputWriter;

/// Where pairs go.
pub(super) struct Sink {
    outputs: Vec<OutputWriter>,
    dropped: Option<OutputWriter>,
    is_one_side: bool,
    examples: CleaningExamples,
}

impl Sink {
    pub(super) fn open(args: &Args) -> Result<Self> {
        let inputs = || args.files.iter().chain(&args.score).chain(&args.score_backward);
        let mut outputs = Vec::new();
        for path in &args.output {
            outputs.extend(OutputWriter::beside_stdout("--output", Some(path), inputs())?);
        }
        let dropped = OutputWriter::beside_stdout("--dropped", args.dropped.as_deref(), inputs())?;
        let examples = CleaningExamples::new(args.explain);
        Ok(Self { outputs, dropped, is_one_side: args.one_side, examples })
    }

    pub(super) fn keep(&mut self, pair: &SentencePair, score: Option<f64>) -> Result<()> {
        match &mut self.outputs[..] {
            [] => Ok(()),
            [one] if self.is_one_side => one.line(one_line(&pair.src)),
            [both] => {
                let [src, tgt] = [&pair.src, &pair.tgt].map(|text| one_column(text));
                match score {
                    Some(score) => both.line(format_args!("{src}\t{tgt}\t{}", shown(score))),
                    None => both.line(format_args!("{src}\t{tgt}")),
                }
            }
            [src, tgt, ..] => {
                src.line(one_line(&pair.src))?;
                tgt.line(one_line(&pair.tgt))
            }
        }
    }

    pub(super) fn drop(&mut self, rule: &'static str, line: usize, one: CleanedPair) -> Result<()> {
        if let Some(out) = &mut self.dropped {
            let [src, tgt] = [&one.pair.src, &one.pair.tgt].map(|text| one_column(text));
            if self.is_one_side {
                out.line(format_args!("{line}\t{rule}\t{src}"))?;
            } else {
                out.line(format_args!("{line}\t{rule}\t{src}\t{tgt}"))?;
            }
        }
        self.examples.add_dropped(rule, line, one.pair);
        Ok(())
    }

    /// Hears what became of the pair on `line`.
    pub(super) fn mended(&mut self, line: usize, before: Option<SentencePair>, one: &CleanedPair) {
        if let (Some(before), None, false) = (before, one.dropped, one.mended.is_empty()) {
            self.examples.add_mended(line, before, one.pair.clone());
        }
    }

    /// Completes the files, and returns the examples.
    pub(super) fn finish(self) -> Result<CleaningExamples> {
        let mut all: Vec<OutputWriter> = self.outputs.into_iter().chain(self.dropped).collect();
        // None is replaced if another one cannot be written.
        all.iter_mut().try_for_each(OutputWriter::flush)?;
        all.into_iter().try_for_each(|out| out.finish().map(drop))?;
        Ok(self.examples)
    }
}

/// A score, with its first digits however small it is.
pub(super) fn shown(score: f64) -> String {
    if score != 0.0 && score.abs() < 0.001 { format!("{score:.3e}") } else { format!("{score:.4}") }
}
