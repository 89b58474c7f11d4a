//! `attentive explain`: writes an HTML page that shows a model's attention and predictions.

use std::path::PathBuf;

use attentive_base::error::Result;
use attentive_page as page;
use attentive_pipeline::{Pipeline, Target};

use super::message;
use super::model::ModelArgs;
use super::output::Output;

const EXAMPLES: &str = "\
Examples:
  attentive explain runs/multi30k 'A man rides a bike.'
  attentive explain runs/multi30k 'A dog runs.' --target 'Ein Hund rennt.'
  attentive explain runs/shakespeare 'To be, or not to be' --output hamlet.html
  attentive explain runs/classifier-grammar 'does the dog see a cat?'
  attentive explain runs/multi30k-mlm 'Ein <mask> fährt auf einem Fahrrad.'";

/// Write an HTML page that shows the attention of every layer and head, and what the model predicts.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Sentence for the model to read.
    #[arg(value_name = "SENTENCE")]
    sentence: String,
    /// Translation to explain [default: the model's own].
    #[arg(long, value_name = "SENTENCE")]
    target: Option<String>,
    /// HTML file to write.
    #[arg(long, short, value_name = "FILE", default_value = "explanation.html")]
    output: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let dir = args.model.dir()?;
    let pipeline = Pipeline::load(&dir)?;
    let target = args.target.as_deref().map_or(Target::Own, Target::Text);
    let shown = pipeline.show(&args.sentence, target)?;
    page::check_size(shown.weights(&pipeline))?;
    let inspection = shown.inspect(&pipeline)?;
    message::warnings(&inspection.warnings);
    if inspection.maps.is_empty() {
        message::note("this model has no attention: the page shows only probabilities");
    }
    let page = page::attention(&dir.display().to_string(), &inspection);
    let mut out = Output::open(Some(&args.output), [args.model.given(), &dir])?;
    out.line(page.trim_end())?;
    if let Some(path) = out.finish()? {
        message::note(format_args!("open `{}` in a browser", path.display()));
    }
    Ok(())
}
