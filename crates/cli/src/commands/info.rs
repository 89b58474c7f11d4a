//! `attentive info`: shows a model's parts and origin.

use attentive_base::count::plural;
use attentive_base::error::Result;
use attentive_checkpoint::{
    self as checkpoint, Checkpoints, Description, Imported, ParentModel, Provenance, Run,
};
use attentive_config::{Config, Task};
use attentive_interop::ExportFormat;
use attentive_model::nn::{Blueprint, ParameterDeclaration};
use indicatif::HumanCount;
use serde::Serialize;
use serde_json::Value;

use crate::model::ModelArgs;
use crate::output::OutputWriter;

const EXAMPLES: &str = "\
Examples:
  attentive info runs/multi30k
  attentive info runs/multi30k --checkpoint best
  attentive info runs/multi30k --json | jq .provenance";

/// Show a model's shapes, parameter counts, vocabularies, configuration and origin.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Print the information as JSON.
    #[arg(long)]
    json: bool,
}

/// Everything that `info` shows.
#[derive(Serialize)]
struct Info {
    n_parameters: usize,
    parts: Vec<Part>,
    src_vocab: usize,
    tgt_vocab: usize,
    /// The labels of a classifier, or the tags of a tagger.
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<String>>,
    #[serde(rename = "precision")]
    numbers: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoints: Option<Checkpoints>,
    export: Vec<Export>,
    provenance: Provenance,
    /// From which teacher, texts and filters a student was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    distillation: Option<Value>,
    config: Config,
    shapes: Vec<Shape>,
}

/// A format, and whether the model can be exported in it.
#[derive(Serialize)]
struct Export {
    tool: &'static str,
    /// The kind that it becomes.
    kind: Option<&'static str>,
    /// The reason why it cannot be exported.
    problem: Option<String>,
}

/// A part of the model: all parameters with a common name prefix.
#[derive(Serialize)]
struct Part {
    name: String,
    n_parameters: usize,
}

/// A parameter.
#[derive(Serialize)]
struct Shape {
    name: String,
    shape: Vec<usize>,
}

impl Info {
    fn of(model: Description, checkpoints: Option<Checkpoints>) -> Self {
        let numbers =
            if model.is_quantized { model.precision.to_string() } else { model.numbers().to_string() };
        let export = if model.is_quantized { Vec::new() } else { exports(&model) };
        let Description { config, tokenizers, architecture, provenance, .. } = model;
        let parameters = Blueprint::new(&architecture).into_parameters().into_iter();
        let shapes = parameters.map(|ParameterDeclaration { name, shape, .. }| Shape { name, shape });
        let shapes: Vec<Shape> = shapes.collect();
        Self {
            n_parameters: shapes.iter().map(Shape::n_parameters).sum(),
            parts: parts(&shapes),
            src_vocab: tokenizers.src().vocab_size(),
            tgt_vocab: tokenizers.tgt().vocab_size(),
            labels: matches!(config.model.family.task(), Task::Tag | Task::Classify)
                .then(|| tokenizers.tgt().labels()),
            numbers,
            checkpoints,
            export,
            provenance,
            distillation: None,
            config,
            shapes,
        }
    }
}

/// Checks for each format whether the model can be exported in it.
fn exports(model: &Description) -> Vec<Export> {
    let export = |format: ExportFormat| match format.obstacle_of(model) {
        Some(problem) => Export { tool: format.tool(), kind: None, problem: Some(problem.to_string()) },
        None => {
            let kind = format.kind_of(&model.config, &model.tokenizers).ok();
            Export { tool: format.tool(), kind, problem: None }
        }
    };
    ExportFormat::ALL.map(export).into()
}

impl Shape {
    fn n_parameters(&self) -> usize {
        self.shape.iter().product()
    }

    /// The embedding or stack of layers that the parameter belongs to.
    fn part(&self) -> &str {
        self.name.split('.').next().unwrap_or(&self.name)
    }
}

/// The model's parts, in the model's order.
fn parts(shapes: &[Shape]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for shape in shapes {
        let n_parameters = shape.n_parameters();
        match parts.last_mut().filter(|part| part.name == shape.part()) {
            Some(part) => part.n_parameters += n_parameters,
            None => parts.push(Part { name: shape.part().to_owned(), n_parameters }),
        }
    }
    parts
}

pub(super) fn run(args: &Args) -> Result<()> {
    let dir = args.model.dir()?;
    let model = checkpoint::describe(&dir)?;
    let found = Run::new(&dir).checkpoints()?;
    let info = Info {
        distillation: checkpoint::read_distillation(&dir)?,
        ..Info::of(model, (!found.steps.is_empty()).then_some(found))
    };
    let mut out = OutputWriter::stdout();
    if args.json {
        out.json(&info)?;
    } else {
        show(&info, &mut out)?;
    }
    out.flush()
}

fn show(info: &Info, out: &mut OutputWriter) -> Result<()> {
    let model = &info.config.model;
    out.line(format_args!("{:<26}{:>14}, {}", "family", model.family.family(), model.family.task().verb()))?;
    let mut number =
        |label: &str, n: usize| out.line(format_args!("{label:<26}{:>14}", HumanCount(n as u64).to_string()));
    number("parameters", info.n_parameters)?;
    info.parts.iter().try_for_each(|part| number(&format!("  {}", part.name), part.n_parameters))?;
    for (label, n) in sizes(info) {
        number(label, n)?;
    }
    out.line(format_args!("{:<26}{:>14}", "number type", info.numbers))?;
    if let Some(checkpoints) = &info.checkpoints {
        out.line(format_args!("{:<26}{checkpoints}", "checkpoints of updates"))?;
    }
    if let Some(labels) = &info.labels {
        out.line(format_args!("\nlabels ({})", labels.len()))?;
        out.line(format_args!("  {}", labels.join(", ")))?;
    }
    if !info.export.is_empty() {
        out.line("\nexport")?;
    }
    for Export { tool, kind, problem } in &info.export {
        let answer = kind.or(problem.as_deref()).unwrap_or_default();
        out.line(format_args!("  {tool:<14}{answer}"))?;
    }
    show_origin(&info.provenance, out)?;
    info.distillation.iter().try_for_each(|distillation| show_teacher(distillation, out))?;
    out.line("\nshapes")?;
    for Shape { name, shape } in &info.shapes {
        out.line(format_args!("  {name} {shape:?}"))?;
    }
    out.line("\nconfiguration")?;
    info.config
        .to_toml()
        .lines()
        .try_for_each(|line| out.line(format_args!("  {line}").to_string().trim_end()))
}

/// The sizes of what the model reads and writes, with their names.
fn sizes(info: &Info) -> Vec<(&'static str, usize)> {
    let (src, tgt) = (info.src_vocab, info.tgt_vocab);
    let model = &info.config.model;
    match model.family.task() {
        Task::Translate => vec![("source vocabulary", src), ("target vocabulary", tgt)],
        Task::Generate | Task::Fill | Task::Embed => vec![("vocabulary", tgt)],
        Task::Tag => {
            let read = match model.family.d_input() {
                None => ("vocabulary", src),
                Some(width) => ("numbers per vector", width),
            };
            vec![read, ("tags and special tokens", tgt)]
        }
        Task::Classify => vec![("vocabulary", src), ("labels and special tokens", tgt)],
    }
}

/// What is said of a student's teacher.
fn show_teacher(distillation: &Value, out: &mut OutputWriter) -> Result<()> {
    let texts = |value: &Value| -> Vec<String> {
        let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    };
    let plan = &distillation["plan"];
    let rows = [
        ("teacher", [texts(&plan["teacher"]["models"]), texts(&plan["teacher"]["translations"])].concat()),
        ("licences", texts(&plan["licences"])),
    ];
    for (name, texts) in rows.into_iter().filter(|(_, texts)| !texts.is_empty()) {
        out.line(format_args!("  {name:<9} {}", texts.join("; ")))?;
    }
    Ok(())
}

fn show_origin(provenance: &Provenance, out: &mut OutputWriter) -> Result<()> {
    let Provenance { program, seed, step, averaged_steps, from, imported, data, scores, numbers: _, sha256 } =
        provenance;
    out.line("\norigin")?;
    out.line(format_args!("  program   {program}"))?;
    match imported {
        Some(Imported { path, kind }) => {
            out.line(format_args!("  imported  {path} ({kind})"))?;
        }
        None => {
            out.line(format_args!("  seed      {seed}"))?;
            out.line(format_args!("  updates   {}", HumanCount(*step)))?;
        }
    }
    if !averaged_steps.is_empty() {
        let steps: Vec<String> = averaged_steps.iter().map(u64::to_string).collect();
        out.line(format_args!("  averaged  checkpoints of updates {}", steps.join(", ")))?;
    }
    if let Some(ParentModel { path, sha256 }) = from {
        let sha256 = sha256.as_deref().unwrap_or("unknown");
        out.line(format_args!("  from      {path}, sha256 {sha256}"))?;
    }
    for (file, sha256) in sha256 {
        out.line(format_args!("  sha256    {sha256} of {file}"))?;
    }
    for file in data {
        out.line(format_args!("  {:<9} {}", file.role, file.path))?;
        if !file.sha256.is_empty() {
            out.line(format_args!(
                "            {} {}, sha256 {}",
                HumanCount(file.bytes),
                plural(file.bytes, "byte"),
                file.sha256
            ))?;
        }
    }
    for score in scores {
        let signature = score.signature.as_ref().map_or(String::new(), |signature| format!(" ({signature})"));
        out.line(format_args!("  {} = {:.3}{signature}", score.name, score.value))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        let shape = |name: &str, shape: &[usize]| Shape { name: name.into(), shape: shape.into() };
        let shapes = [
            shape("embedding.weight", &[7, 3]),
            shape("encoder.layers.0.norm.gain", &[3]),
            shape("encoder.layers.0.query.weight", &[3, 3]),
            shape("output_bias", &[7]),
        ];
        let parts: Vec<(String, usize)> =
            parts(&shapes).into_iter().map(|part| (part.name, part.n_parameters)).collect();
        assert_eq!(parts, [("embedding".into(), 21), ("encoder".into(), 12), ("output_bias".into(), 7)]);
    }
}
