//! `attentive trace`: every operation of a model for one sentence.

use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_model::trace::{GradientNorms, PositionNorms, TraceFilter, TraceOptions, TracedOperation};
use attentive_page as page;
use attentive_pipeline::{LossPosition, Pipeline, Trace, TraceRequest};

use crate::message;
use crate::model::ModelArgs;
use crate::output::OutputWriter;
use crate::table::aligned;

const EXAMPLES: &str = "\
Examples:
  attentive trace runs/multi30k 'A dog runs.'
  attentive trace runs/multi30k 'A dog runs.' --only cross_attention --values
  attentive trace runs/multi30k 'A dog runs.' --html --output trace.html
  attentive trace runs/multi30k 'A dog runs.' --json --values | jq '.operations[0]'
  attentive trace runs/multi30k 'A dog runs.' --target 'Ein Hund rennt.' --backward=last
  attentive trace runs/shakespeare 'To be' --only 'decoder.layers.0.*'";

/// Show every operation of a pass, with its formula, its shape and its values.
///
/// The pass is one of its own, which computes as the formulas say, and equals the others up to rounding.
/// Decoders read the translation as in training. The columns are the operation, with the position of the
/// target behind `@` where positions are computed one after the other; the shape of its result, a row for
/// each position; the mean, the norm (the square root of the sum of squares) and the largest absolute value;
/// and the formula, with what it reads. In formulas, σ is the sigmoid 1 / (1 + e^−x), ∘ multiplies element by
/// element, · multiplies matrices, [a; b] puts side by side, and [:, 0:8] takes columns.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Sentence for the model to read.
    #[arg(value_name = "SENTENCE")]
    sentence: String,
    /// Translation that the decoder reads [default: the model's own].
    #[arg(long, value_name = "SENTENCE")]
    target: Option<String>,
    /// Show only operations whose name contains PATTERN or, if it has a `*`, matches it; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// Of a recurrent decoder, which computes one position after the other, show only this one, counted
    /// from 0. What is computed for all positions together stays.
    #[arg(long, value_name = "N")]
    position: Option<usize>,
    /// Write the values, too.
    #[arg(long)]
    values: bool,
    /// Also compute backward from the loss of a prediction of a model that translates or continues texts, and
    /// show how long the gradient of each layer's output is at each position: `all` predictions, the `last`,
    /// or that at a position, counted from 0.
    #[arg(long, value_name = "N|last|all", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_parser = loss_position)]
    backward: Option<LossPosition>,
    /// Also compute softmax(X·Xᵀ)·X of the first input X: self-attention without weights, which no model
    /// computes.
    #[arg(long)]
    unweighted: bool,
    /// Write one JSON object.
    #[arg(long, conflicts_with = "html")]
    json: bool,
    /// Write an HTML page with all values, folded by the parts of the model.
    #[arg(long)]
    html: bool,
    /// File to write [default: standard output; with `--html`, trace.html].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn loss_position(text: &str) -> std::result::Result<LossPosition, String> {
    match text {
        "all" => Ok(LossPosition::All),
        "last" => Ok(LossPosition::Last),
        _ => text.parse().map(LossPosition::At).map_err(|_| "expected a position, `last` or `all`".into()),
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    let dir = args.model.dir()?;
    let pipeline = Pipeline::load(&dir)?;
    let request = TraceRequest {
        target: args.target.as_deref(),
        options: TraceOptions {
            only: TraceFilter { patterns: args.only.clone(), position: args.position },
            unweighted: args.unweighted,
        },
        backward: args.backward,
    };
    let trace = pipeline.trace(&args.sentence, &request)?;
    message::warnings(&trace.warnings);
    if trace.operations.is_empty() {
        let patterns = args.only.join("`, `");
        let problem = format!("no operation has a name with `{patterns}`");
        return Err(Error::usage(problem, "without `--only`, all names are shown"));
    }
    let title = dir.display().to_string();
    let default = args.html.then_some(Path::new("trace.html"));
    let path = args.output.as_deref().or(default);
    let mut out = OutputWriter::open(path, [args.model.given(), &dir])?;
    if args.html {
        out.line(page::trace(&title, &trace)?.trim_end())?;
    } else if args.json {
        out.json_line(&page::trace_data(&title, &trace, args.values))?;
    } else {
        for line in text(&trace, args.values) {
            out.line(&line)?;
        }
    }
    if let Some(path) = out.finish()?.filter(|_| args.html) {
        message::note(format_args!("open `{}` in a browser", path.display()));
    }
    Ok(())
}

/// The lines of a table of all operations, each followed by its values if they are wanted.
fn text(trace: &Trace, has_values: bool) -> Vec<String> {
    let heading = ["operation", "shape", "mean", "norm", "largest |x|"].map(str::to_owned).to_vec();
    let row = |one: &TracedOperation| {
        let name = match one.position {
            Some(position) => format!("{}@{position}", one.name),
            None => one.name.clone(),
        };
        let shape: Vec<String> = one.result.shape.iter().map(usize::to_string).collect();
        let largest = f64::from(one.largest());
        vec![name, shape.join(" × "), number(one.mean()), number(one.norm()), number(largest)]
    };
    let rows: Vec<Vec<String>> = [heading].into_iter().chain(trace.operations.iter().map(row)).collect();
    let mut lines = Vec::new();
    for (what, tokens) in [("source", &trace.src), ("target", &trace.tgt), ("predicts", &trace.next)] {
        if !tokens.is_empty() {
            lines.push(format!("{what}: {}", tokens.join(" ")));
        }
    }
    let mut table = aligned(&rows).into_iter();
    lines.extend(table.next().map(|heading| format!("{heading}  formula")));
    for (row, one) in table.zip(&trace.operations) {
        lines.push(format!("{row}  {}", one.formula));
        if has_values {
            lines.extend(matrices(trace, one));
        }
    }
    if let Some(gradients) = &trace.gradients {
        lines.extend(gradient_lines(trace, gradients));
    }
    lines
}

/// The lengths of gradients: those of outputs by position, and those of parameters.
fn gradient_lines(trace: &Trace, gradients: &GradientNorms) -> Vec<String> {
    let of = match trace.backward_from {
        Some(position) => format!(
            "loss {:.4} of predicting `{}` after `{}`, position {position}",
            gradients.loss, trace.next[position], trace.tgt[position]
        ),
        None => format!("loss {:.4} of all predictions", gradients.loss),
    };
    let mut lines = vec![String::new(), of];
    for (side, tokens) in [("source", &trace.src), ("target", &trace.tgt)] {
        let outputs = gradients.outputs.iter().filter(|one| trace.is_source(&one.name) == (side == "source"));
        let row = |one: &PositionNorms| {
            [one.name.clone()].into_iter().chain(one.norms.iter().map(|&norm| number(norm))).collect()
        };
        let heading = [format!("gradient, {side}")].into_iter().chain(tokens.iter().cloned()).collect();
        let rows: Vec<Vec<String>> = [heading].into_iter().chain(outputs.map(row)).collect();
        if rows.len() > 1 {
            lines.extend(aligned(&rows));
        }
    }
    lines.push("lengths of the gradients of parameters:".into());
    let rows = gradients.parameters.iter().map(|(name, norm)| vec![name.clone(), number(*norm)]);
    lines.extend(aligned(&Vec::from_iter(rows)));
    lines
}

/// The matrices of an operation, with the tokens of their rows and columns.
fn matrices(trace: &Trace, one: &TracedOperation) -> Vec<String> {
    let shape = &one.result.shape;
    let [rows, columns] = [shape[shape.len() - 2], shape[shape.len() - 1]];
    let (row_tokens, column_tokens) = (trace.row_tokens(one), trace.column_tokens(one));
    let label = |tokens: Option<&[String]>, index: usize| match tokens {
        Some(tokens) => tokens[index].clone(),
        None => index.to_string(),
    };
    let mut lines = Vec::new();
    for (head, matrix) in one.result.values.chunks((rows * columns).max(1)).enumerate() {
        if shape.len() == 3 {
            lines.push(format!("  head {}", head + 1));
        }
        let heading = (0..columns).map(|column| label(column_tokens, column));
        let mut cells = vec![[String::new()].into_iter().chain(heading).collect::<Vec<_>>()];
        for (row, values) in matrix.chunks(columns.max(1)).enumerate() {
            let values = values.iter().map(|&x| number(x.into()));
            cells.push([label(row_tokens, row)].into_iter().chain(values).collect());
        }
        lines.extend(aligned(&cells).into_iter().map(|line| format!("  {line}")));
    }
    lines.push(String::new());
    lines
}

/// A number with four significant digits.
fn number(x: f64) -> String {
    if x == 0.0 || (1e-3..1e5).contains(&x.abs()) {
        let whole = x.abs().max(1.0).log10().floor() as usize;
        return format!("{x:.*}", 4_usize.saturating_sub(whole));
    }
    format!("{x:.2e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let cases = [
            (0.0, "0.0000"),
            (0.123_456, "0.1235"),
            (-12.345_67, "-12.346"),
            (1e-7, "1.00e-7"),
            (1e6, "1.00e6"),
        ];
        for (x, text) in cases {
            assert_eq!(number(x), text);
        }
    }
}
