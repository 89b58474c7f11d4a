//! `attentive explain`: a model's attention and predictions, as an HTML page or as JSON; a topic of the book.

mod plain_formula;
mod topic;

use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_page as page;
use attentive_pipeline::{InspectionTarget, Pipeline};

use crate::message;
use crate::model::ModelArgs;
use crate::output::OutputWriter;

const EXAMPLES: &str = "\
Examples:
  attentive explain attention
  attentive explain topics
  attentive explain runs/multi30k 'A man rides a bike.'
  attentive explain runs/multi30k 'A dog runs.' --target 'Ein Hund rennt.'
  attentive explain runs/shakespeare 'To be, or not to be' --output hamlet.html
  attentive explain runs/multi30k 'A dog runs.' --json | jq '.maps[0].heads[0]'
  attentive explain runs/classifier-grammar 'does the dog see a cat?'
  attentive explain runs/multi30k-mlm 'Ein <mask> fährt auf einem Fahrrad.'";

/// Explain what a model does with a sentence, as an HTML page, or a topic, as text.
///
/// The page shows the attention of every layer and head, and what the model predicts. It also shows scores
/// before the softmax, masks, and the gates and states of recurrent cells, of which `attentive trace` has the
/// numbers.
///
/// With a topic of the book in place of a model, and no sentence, it prints the idea and the equation, and says where
/// to read on. `topics` lists all.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Sentence for the model to read.
    #[arg(value_name = "SENTENCE")]
    sentence: Option<String>,
    /// Translation to explain [default: the model's own].
    #[arg(long, value_name = "SENTENCE", requires = "sentence")]
    target: Option<String>,
    /// Write one JSON object, with all weights as they are, instead of a page.
    #[arg(long, requires = "sentence")]
    json: bool,
    /// File to write [default: explanation.html; with `--json`, standard output].
    #[arg(long, short, value_name = "FILE", requires = "sentence")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let Some(sentence) = &args.sentence else {
        if args.model.has_checkpoint() {
            return Err(Error::usage(
                "`--checkpoint` is for a model, which needs a sentence",
                "add a sentence in quotation marks",
            ));
        }
        let text = topic::explain(&args.model.given().to_string_lossy())?;
        let mut out = OutputWriter::stdout();
        out.line(text.trim_end())?;
        out.finish()?;
        return Ok(());
    };
    let dir = args.model.dir()?;
    let pipeline = Pipeline::load(&dir)?;
    let target = args.target.as_deref().map_or(InspectionTarget::Own, InspectionTarget::Text);
    let shown = pipeline.show(sentence, target)?;
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
