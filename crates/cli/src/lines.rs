//! The model, input and output of commands that work line by line.

use std::path::{Path, PathBuf};

use attentive_base::error::Result;

use super::input::{self, DASH, InputLines};
use super::model::ModelArgs;
use super::output::OutputWriter;
use super::tips;

/// Lines to collect before a model reads them, so that lines of similar length share a batch.
pub(super) const LINES_PER_CHUNK: usize = 2048;

/// The input and output of a command that works line by line.
#[derive(clap::Args)]
pub(super) struct LinesArgs {
    #[command(flatten)]
    pub(super) model: ModelArgs,
    /// Input file, one text or sequence per line; `-` or none for standard input.
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl LinesArgs {
    /// Opens the input, then the output, which must be neither the input nor the model.
    /// `dir` is the directory from which the model was loaded.
    pub(super) fn open(&self, dir: &PathBuf) -> Result<(InputLines, OutputWriter)> {
        self.open_beside([dir])
    }

    /// The path of the input, if there is one.
    pub(super) fn input(&self) -> Option<&Path> {
        self.input.as_deref()
    }

    /// The whole text of the input, and the output; see [`LinesArgs::open_beside`].
    pub(super) fn open_whole<'a>(
        &'a self,
        others: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Result<(String, OutputWriter)> {
        let text = input::read_whole(self.input.as_deref())?;
        let inputs = self.input.iter().chain([self.model.given()]).chain(others);
        Ok((text, OutputWriter::open(self.output.as_deref(), inputs)?))
    }

    /// Returns true if the output is a file.
    pub(super) fn has_output(&self) -> bool {
        self.output.as_deref().is_some_and(|path| path != Path::new(DASH))
    }

    /// Like [`LinesArgs::open`]; the output must not be one of `others` either.
    pub(super) fn open_beside<'a>(
        &'a self,
        others: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Result<(InputLines, OutputWriter)> {
        let input = input::open(self.input.as_deref());
        let input = input.map_err(|error| match &self.input {
            Some(path) if tips::is_text(path) => tips::text_as_file(&error, path),
            _ => error,
        })?;
        let inputs = self.input.iter().chain([self.model.given()]).chain(others);
        Ok((input, OutputWriter::open(self.output.as_deref(), inputs)?))
    }
}
