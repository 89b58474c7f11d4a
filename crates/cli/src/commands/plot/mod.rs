//! `attentive plot`: SVG charts.

mod bars;
mod curves;
mod distances;
mod model;
mod positions;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_plot::{Figure, Theme};
use clap::Subcommand;

use crate::input::DASH;
use crate::message;
use crate::output::OutputWriter;

const EXAMPLES: &str = "\
Examples:
  attentive plot curves runs/multi30k --output curves.svg
  attentive plot model runs/multi30k --output model.svg
  attentive plot positions --output positions.svg
  attentive plot bars speed.tsv --label 'tokens/s' --output speed.svg";

/// Plot learning curves, models, position encodings and tables of numbers as SVG.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    picture: Picture,
}

#[derive(Subcommand)]
enum Picture {
    Curves(curves::Args),
    Positions(positions::Args),
    Model(model::Args),
    Bars(bars::Args),
}

/// The file of the picture, and its colors.
#[derive(clap::Args)]
struct OutputArgs {
    /// Write the picture to this file; without it, standard output must be a file or a pipe.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Background of the picture.
    #[arg(long, value_enum, default_value = "light")]
    theme: Theme,
}

pub(super) fn run(args: &Args) -> Result<()> {
    match &args.picture {
        Picture::Curves(args) => curves::run(args),
        Picture::Positions(args) => positions::run(args),
        Picture::Model(args) => model::run(args),
        Picture::Bars(args) => bars::run(args),
    }
}

impl OutputArgs {
    /// Refuses to write to a terminal before anything is computed.
    fn check(&self) -> Result<()> {
        let is_stdout = self.output.as_deref().is_none_or(|path| path == Path::new(DASH));
        if is_stdout && io::stdout().is_terminal() {
            Err(Error::usage("a terminal cannot show SVG", "name a file with `--output picture.svg`"))
        } else {
            Ok(())
        }
    }

    /// Writes the figure, refusing to overwrite any of the `inputs`.
    fn write<'a>(&self, figure: Figure, inputs: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
        self.write_svg(&figure.theme(self.theme).svg(), inputs)
    }

    /// Writes the picture `svg`, refusing to overwrite any of the `inputs`.
    fn write_svg<'a>(&self, svg: &str, inputs: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
        let mut out = OutputWriter::open(self.output.as_deref(), inputs)?;
        out.line(svg)?;
        if let Some(path) = out.finish()? {
            message::note(format_args!("wrote the picture to `{}`", path.display()));
        }
        Ok(())
    }
}
