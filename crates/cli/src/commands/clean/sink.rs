//! Where pairs go.

use std::collections::BTreeMap;

use attentive_base::error::Result;
use attentive_data::cleaning::{CleanedPair, SentencePair};

use super::Args;
use crate::output::OutputWriter;

/// A dropped pair with the number of its line.
pub(super) type DroppedExample = (usize, CleanedPair);

/// Where pairs go.
pub(super) struct Sink {
    outputs: Vec<OutputWriter>,
    dropped: Option<OutputWriter>,
    /// The number of dropped pairs of each rule that are shown.
    n_examples: usize,
    examples: BTreeMap<&'static str, Vec<DroppedExample>>,
}

impl Sink {
    pub(super) fn open(args: &Args) -> Result<Self> {
        let inputs = || args.files.iter().chain(&args.score).chain(&args.score_backward);
        let mut outputs = Vec::new();
        for path in &args.output {
            outputs.extend(OutputWriter::beside_stdout("--output", Some(path), inputs())?);
        }
        let dropped = OutputWriter::beside_stdout("--dropped", args.dropped.as_deref(), inputs())?;
        Ok(Self { outputs, dropped, n_examples: args.explain, examples: BTreeMap::new() })
    }

    pub(super) fn keep(&mut self, pair: &SentencePair, score: Option<f64>) -> Result<()> {
        match &mut self.outputs[..] {
            [] => Ok(()),
            [both] => {
                let [src, tgt] = [&pair.src, &pair.tgt].map(|text| text.replace('\t', " "));
                match score {
                    Some(score) => both.line(format_args!("{src}\t{tgt}\t{score:.4}")),
                    None => both.line(format_args!("{src}\t{tgt}")),
                }
            }
            [src, tgt, ..] => {
                src.line(&pair.src)?;
                tgt.line(&pair.tgt)
            }
        }
    }

    pub(super) fn drop(&mut self, rule: &'static str, line: usize, one: CleanedPair) -> Result<()> {
        if let Some(out) = &mut self.dropped {
            let [src, tgt] = [&one.pair.src, &one.pair.tgt].map(|text| text.replace('\t', " "));
            out.line(format_args!("{line}\t{rule}\t{src}\t{tgt}"))?;
        }
        let shown = self.examples.entry(rule).or_default();
        if shown.len() < self.n_examples {
            shown.push((line, one));
        }
        Ok(())
    }

    /// Completes the files, and returns the examples.
    pub(super) fn finish(self) -> Result<BTreeMap<&'static str, Vec<DroppedExample>>> {
        for out in self.outputs.into_iter().chain(self.dropped) {
            out.finish()?;
        }
        Ok(self.examples)
    }
}
