//! `attentive explain`: a model's attention and predictions, as an HTML page or as JSON.

use std::path::{Path, PathBuf};

use attentive_base::error::Result;
use attentive_page as page;
use attentive_pipeline::{InspectionTarget, Pipeline};

use crate::message;
use crate::model::ModelArgs;
use crate::output::OutputWriter;

const EXAMPLES: &str = "\
Examples:
  attentive explain runs/multi30k 'A man rides a bike.'
  attentive explain runs/multi30k 'A dog runs.' --target 'Ein Hund rennt.'
  attentive explain runs/shakespeare 'To be, or not to be' --output hamlet.html
  attentive explain runs/multi30k 'A dog runs.' --json | jq '.maps[0].heads[0]'
  attentive explain runs/classifier-grammar 'does the dog see a cat?'
  attentive explain runs/multi30k-mlm 'Ein <mask> fährt auf einem Fahrrad.'";

/// Write an HTML page that shows the attention of every layer and head, and what the model predicts.
///
/// It also shows scores before the softmax, masks, and the gates and states of recurrent cells, of which
/// `attentive trace` has the numbers.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Sentence for the model to read.
    #[arg(value_name = "SENTENCE")]
    sentence: String,
    /// Translation to explain [default: the model's own].
    #[arg(long, value_name = "SENTENCE")]
    target: Option<String>,
    /// Write one JSON object, with all weights as they are, instead of a page.
    #[arg(long)]
    json: bool,
    /// File to write [default: explanation.html; with `--json`, standard output].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let dir = args.model.dir()?;
    let pipeline = Pipeline::load(&dir)?;
    let target = args.target.as_deref().map_or(InspectionTarget::Own, InspectionTarget::Text);
    let shown = pipeline.show(&args.sentence, target)?;
    if !args.json {
        page::check_size(shown.weights(&pipeline))?;
    }
    let trace = if args.json { None } else { Some(shown.clone().trace(&pipeline)?) };
    let inspection = shown.inspect(&pipeline)?;
    message::warnings(&inspection.warnings);
    let title = dir.display().to_string();
    if args.json {
        let mut out = OutputWriter::open(args.output.as_deref(), [args.model.given(), &dir])?;
        out.json_line(&page::exact_explanation(&title, &inspection))?;
        out.finish()?;
        return Ok(());
    }
    if inspection.maps.is_empty() {
        message::note("this model has no attention: the page shows probabilities, gates and states");
    }
    if trace.as_ref().is_some_and(|trace| !page::has_inner_operations(trace)) {
        message::note(
            "the page leaves out scores, gates and states, which are too many: see `attentive trace --only`",
        );
    }
    let page = page::attention(&title, &inspection, trace.as_ref());
    let path = args.output.as_deref().unwrap_or(Path::new("explanation.html"));
    let mut out = OutputWriter::open(Some(path), [args.model.given(), &dir])?;
    out.line(page.trim_end())?;
    if let Some(path) = out.finish()? {
        message::note(format_args!("open `{}` in a browser", path.display()));
    }
    Ok(())
}
