//! `attentive plot model`: a drawing of an architecture.

use std::path::PathBuf;

use attentive_architecture::{
    ActivationKind, AddedPositions, Architecture, AttentionKind, AttentionSpec, Body, CellKind, DecoderSpec,
    EncoderSpec, FeedForwardSpec, HeadSpec, InitialState, InputFeeding, InputSpec, Items, LabelLayer,
    NormKind, NormPosition, Pooling, RecurrentDecoderSpec, RecurrentEncoderSpec, RelativePositions,
    SelfMixing, TransformerSpec,
};
use attentive_base::error::{Error, Result};
use attentive_checkpoint as checkpoint;
use attentive_config::Config;
use attentive_model::nn::{Blueprint, ParameterDeclaration};
use attentive_plot::{Diagram, DiagramBox, DiagramColumn, DiagramKind, DiagramLink, DiagramPart};
use indicatif::HumanCount;

use super::OutputArgs;

const EXAMPLES: &str = "\
Examples:
  attentive plot model configs/multi30k.toml --output multi30k.svg
  attentive plot model runs/multi30k --theme dark --output model.svg
  attentive plot model config.toml --set model.norm_position=pre > pre-norm.svg";

/// Draw the architecture of a model or a configuration: its operations with their shapes, from the bottom up.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Model directory, or a configuration, whose vocabularies are drawn as large as `tokenizer.vocab_size`.
    #[arg(value_name = "MODEL|CONFIG")]
    model: PathBuf,
    /// Set a key of the configuration; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    args.output.check()?;
    let (architecture, knows_labels) = if args.model.is_dir() {
        if !args.overrides.is_empty() {
            let problem = "`--set` changes a configuration, not a model";
            return Err(Error::usage(
                problem,
                "name a configuration, such as `config.toml` in the model's folder",
            ));
        }
        (checkpoint::describe(&args.model)?.architecture, true)
    } else {
        let config = Config::load(&args.model, &args.overrides)?;
        let vocab = config.tokenizer.vocab_size;
        // How many labels there are is known once their data were read.
        (config.model.architecture(vocab, vocab), false)
    };
    let title = args.model.display().to_string();
    let diagram = diagram(&title, &architecture, knows_labels).theme(args.output.theme);
    args.output.write_svg(&diagram.svg(), [&args.model])
}

/// The drawing of `architecture`.
fn diagram(title: &str, architecture: &Architecture, knows_labels: bool) -> Diagram {
    let blueprint = Blueprint::new(architecture);
    let has_labels = matches!(architecture.head, HeadSpec::Positions(_) | HeadSpec::Sequence { .. });
    let lacks_labels = has_labels && !knows_labels;
    let counts = Counts { parameters: blueprint.parameters() };
    let (encoder, decoder) = (architecture.body.encoder(), architecture.body.decoder());
    let mut columns = Vec::new();
    let mut links = Vec::new();
    if let Some(stack) = encoder {
        let mut parts = input("src", "n", &stack.input, &counts);
        match &stack.layers {
            EncoderSpec::Transformer(layers) => parts.extend(transformer("encoder", layers, &counts)),
            EncoderSpec::Recurrent(layers) => parts.extend(recurrent_encoder(layers, &counts)),
        }
        columns.push(DiagramColumn { heading: "Encoder".into(), parts });
    }
    if let Some(stack) = decoder {
        let mut parts = input("tgt", "m", &stack.input, &counts);
        match &stack.layers {
            DecoderSpec::Transformer(layers) => parts.extend(transformer("decoder", layers, &counts)),
            DecoderSpec::Recurrent(layers) => parts.extend(recurrent_decoder(layers, &counts)),
        }
        if let (Some(encoder), Some(top)) = (encoder, columns.last().and_then(top_name)) {
            links = links_between(top, &encoder.layers, &stack.layers);
        }
        columns.push(DiagramColumn { heading: "Decoder".into(), parts });
    }
    if let Some(last) = columns.last_mut() {
        last.parts.extend(head(architecture, lacks_labels, &counts).into_iter().map(DiagramPart::Box));
    }
    let kind = match (encoder.map(|stack| &stack.layers), decoder.map(|stack| &stack.layers)) {
        (Some(EncoderSpec::Recurrent(_)) | None, Some(DecoderSpec::Recurrent(_)))
        | (Some(EncoderSpec::Recurrent(_)), None) => "recurrent",
        (Some(EncoderSpec::Recurrent(_)), _) | (_, Some(DecoderSpec::Recurrent(_))) => {
            "Transformer and recurrent"
        }
        _ => "Transformer",
    };
    let of_labels = if lacks_labels { counts.of("head") } else { 0 };
    let total = HumanCount((blueprint.n_weights() - of_labels) as u64);
    let without = if lacks_labels { " without those of the labels" } else { "" };
    let sides = match &architecture.body {
        Body::Encoder(_) => "n tokens",
        Body::Decoder(_) => "m tokens",
        Body::EncoderDecoder(..) => "n source tokens, m target tokens",
    };
    let note = format!("{kind}; {total} parameters{without}; {sides}; read from the bottom up");
    links.into_iter().fold(Diagram::new(title, columns).note(note), Diagram::link)
}

/// The parameters below a path.
struct Counts<'a> {
    parameters: &'a [ParameterDeclaration],
}

impl Counts<'_> {
    fn of(&self, path: &str) -> usize {
        let is_below =
            |name: &str| name.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        self.parameters.iter().filter(|one| is_below(&one.name)).map(ParameterDeclaration::size).sum()
    }

    /// The number in words; `None` if there are none.
    fn text(&self, paths: &[&str]) -> Option<String> {
        let count: usize = paths.iter().map(|path| self.of(path)).sum();
        (count > 0).then(|| format!("{} parameters", HumanCount(count as u64)))
    }
}

/// The box with the number of its parameters.
fn counted(one: DiagramBox, counts: &Counts<'_>, paths: &[&str]) -> DiagramBox {
    match counts.text(paths) {
        Some(text) => one.detail(text),
        None => one,
    }
}

/// The box at the top of a column.
fn top_name(column: &DiagramColumn) -> Option<String> {
    let boxes = match column.parts.last()? {
        DiagramPart::Box(one) => std::slice::from_ref(one),
        DiagramPart::Frame { boxes, .. } => boxes,
    };
    boxes.last().map(|one| one.name.clone())
}

fn links_between(top: String, encoder: &EncoderSpec, decoder: &DecoderSpec) -> Vec<DiagramLink> {
    let link = |from: &str, to: &str, label: &str| DiagramLink {
        from: from.into(),
        to: to.into(),
        label: label.into(),
    };
    match (encoder, decoder) {
        (_, DecoderSpec::Transformer(_)) => vec![link(&top, "decoder.cross_attention", "K, V")],
        (encoder, DecoderSpec::Recurrent(stack)) => {
            let mut links = Vec::new();
            if let (EncoderSpec::Recurrent(_), InitialState::Encoder) = (encoder, stack.start) {
                let label = if stack.n_layers > 1 { "final, by layer" } else { "final" };
                links.push(link(&top, "decoder.cells", label));
            }
            if stack.attention != AttentionKind::None {
                links.push(link(&top, "decoder.attention", "H"));
            }
            links
        }
    }
}

fn input(side: &str, len: &str, input: &InputSpec, counts: &Counts<'_>) -> Vec<DiagramPart> {
    let d = input.d_model;
    let mut boxes = Vec::new();
    match input.items {
        Items::Vectors => {
            boxes.push(DiagramBox::new(side, "vectors", DiagramKind::Text).detail(format!("[{len}, {d}]")))
        }
        Items::Tokens { vocab, scale, shared } => {
            let text = if side == "src" { "source tokens" } else { "target tokens so far" };
            boxes.push(DiagramBox::new(side, text, DiagramKind::Text).detail(format!("[{len}]")));
            let name = format!("{side}.embedding");
            let times = match scale {
                1.0 => String::new(),
                scale if (scale * scale - d as f64).abs() < 1e-6 => format!(" · √{d}"),
                scale => format!(" · {scale:.1}"),
            };
            let table = format!("table [{vocab}, {d}]{times} → [{len}, {d}]");
            let one = DiagramBox::new(&name, "Embedding", DiagramKind::Embedding).detail(table);
            let one = if shared { one.detail("the same table as the source's") } else { one };
            boxes.push(counted(one, counts, &[&name]));
        }
    }
    let positions = match input.positions {
        AddedPositions::None => None,
        AddedPositions::Sinusoidal(_) => Some("+ positions: sines and cosines"),
        AddedPositions::Learned { .. } => Some("+ positions: learned vectors"),
    };
    if let Some(title) = positions {
        let name = format!("{side}.positions");
        let one = DiagramBox::new(&name, title, DiagramKind::Embedding);
        boxes.push(counted(one, counts, &[&name]));
    }
    if let Some(norm) = &input.norm {
        boxes.push(norm_box(&format!("{side}.norm"), norm.kind, counts));
    }
    boxes.into_iter().map(DiagramPart::Box).collect()
}

fn norm_name(kind: NormKind) -> &'static str {
    match kind {
        NormKind::Layer => "Layer norm",
        NormKind::Rms => "RMS norm",
        NormKind::Scalar => "Norm with a scalar gain",
    }
}

fn norm_box(path: &str, kind: NormKind, counts: &Counts<'_>) -> DiagramBox {
    counted(DiagramBox::new(path, norm_name(kind), DiagramKind::Norm), counts, &[path])
}

/// The layers of a stack, and its final norm.
fn transformer(stack: &str, spec: &TransformerSpec, counts: &Counts<'_>) -> Vec<DiagramPart> {
    let layer = format!("{stack}.layers.0");
    let mut boxes = Vec::new();
    let mut sublayer = |name: &str, one: DiagramBox| {
        let residual = format!("{layer}.{name}_residual");
        let norm = norm_name(spec.norm.kind);
        match spec.norm_position {
            NormPosition::Pre => {
                boxes.push(norm_box(&residual, spec.norm.kind, counts));
                boxes.push(one);
                boxes.push(
                    DiagramBox::new(format!("{residual}.sum"), "Add the input", DiagramKind::Norm).around(2),
                );
            }
            NormPosition::Post => {
                boxes.push(one);
                let title = format!("Add the input, {}", norm.to_lowercase());
                let sum = DiagramBox::new(format!("{residual}.sum"), title, DiagramKind::Norm);
                boxes.push(counted(sum, counts, &[&residual]).around(1));
            }
        }
    };
    let path = format!("{layer}.self_attention");
    let mixer = match &spec.mixing {
        SelfMixing::Attention(attention) => {
            let title = if stack == "decoder" { "Self-attention, masked" } else { "Self-attention" };
            let one = attention_box(&format!("{stack}.self_attention"), title, attention);
            let one = match stack {
                "decoder" => one.detail("sees itself and earlier positions"),
                _ => one.detail("sees all positions"),
            };
            counted(one, counts, &[&path])
        }
        SelfMixing::Recurrent(cell) => {
            let title = format!("{} in place of self-attention", cell_name(*cell));
            let one = DiagramBox::new("decoder.cells", title, DiagramKind::Recurrent).again(states(*cell));
            counted(one, counts, &[&path])
        }
    };
    sublayer("self_attention", mixer);
    if let Some(cross) = &spec.cross {
        let one = attention_box("decoder.cross_attention", "Cross-attention", &cross.attention);
        let one = one.detail("Q from below; K and V from the encoder");
        sublayer("cross_attention", counted(one, counts, &[&format!("{layer}.cross_attention")]));
    }
    let feed_forward = feed_forward_box(stack, spec.d_model, &spec.feed_forward);
    sublayer("feed_forward", counted(feed_forward, counts, &[&format!("{layer}.feed_forward")]));
    let mut parts = vec![DiagramPart::Frame { label: format!("× {}", spec.n_layers), boxes }];
    if spec.final_norm {
        parts.push(DiagramPart::Box(norm_box(&format!("{stack}.norm"), spec.norm.kind, counts)));
    }
    parts
}

fn attention_box(name: &str, title: &str, spec: &AttentionSpec) -> DiagramBox {
    let AttentionSpec { n_heads, n_kv_heads, d_head, .. } = *spec;
    let keys =
        if n_kv_heads == n_heads { String::new() } else { format!(", {n_kv_heads} of keys and values") };
    let is_usual = (spec.scale() * (d_head as f32).sqrt() - 1.0).abs() < 1e-6;
    let factor = if is_usual { format!("/ √{d_head}") } else { format!("· {:.3}", spec.scale()) };
    let one = DiagramBox::new(name, title, DiagramKind::Attention)
        .detail(format!("softmax(Q·Kᵀ {factor})·V, then a linear map"))
        .detail(format!("{n_heads} heads of {d_head} columns{keys}"));
    match spec.positions {
        RelativePositions::None => one,
        RelativePositions::Rotary { .. } => one.detail("Q and K are rotated by their positions"),
        RelativePositions::Buckets { .. } => one.detail("+ a learned bias of each distance"),
    }
}

fn feed_forward_box(stack: &str, d: usize, spec: &FeedForwardSpec) -> DiagramBox {
    let activation = match spec.activation {
        ActivationKind::Relu => "ReLU",
        ActivationKind::Gelu | ActivationKind::GeluTanh => "GELU",
        ActivationKind::Silu => "SiLU",
    };
    let gate = if spec.gated { ", gated" } else { "" };
    DiagramBox::new(format!("{stack}.feed_forward"), "Feed-forward", DiagramKind::FeedForward)
        .detail(format!("{d} → {} → {d}, {activation}{gate}", spec.d_ff))
}

fn cell_name(cell: CellKind) -> &'static str {
    match cell {
        CellKind::Rnn => "RNN",
        CellKind::Lstm => "LSTM",
        CellKind::CoupledLstm => "LSTM with coupled gates",
        CellKind::Gru => "GRU",
        CellKind::Ssru => "SSRU",
    }
}

/// What a cell passes on to the next position.
fn states(cell: CellKind) -> &'static str {
    if cell.states() == 1 { "h" } else { "h, c" }
}

fn recurrent_encoder(spec: &RecurrentEncoderSpec, counts: &Counts<'_>) -> Vec<DiagramPart> {
    let cell = cell_name(spec.cell);
    let layer = |number: usize| {
        let d_in = if number == 0 { spec.d_in } else { spec.d_hidden };
        let (title, shape) = if spec.bidirectional {
            let both = format!("{d_in} → 2 · {} = {}, side by side", spec.d_hidden / 2, spec.d_hidden);
            (format!("{cell} → and {cell} ←"), both)
        } else {
            (format!("{cell} →"), format!("{d_in} → {}", spec.d_hidden))
        };
        let path = format!("encoder.layers.{number}");
        let one =
            DiagramBox::new(&path, title, DiagramKind::Recurrent).detail(shape).again(states(spec.cell));
        DiagramPart::Box(counted(one, counts, &[&path]))
    };
    (0..spec.n_layers).map(layer).collect()
}

fn recurrent_decoder(spec: &RecurrentDecoderSpec, counts: &Counts<'_>) -> Vec<DiagramPart> {
    let (cell, d) = (cell_name(spec.cell), spec.d_hidden);
    let mut boxes = Vec::new();
    let attention = || {
        let (title, scores) = match spec.attention {
            AttentionKind::None => return None,
            AttentionKind::Additive => ("Attention (Bahdanau)", "e_j = vᵀ tanh(W h before + U H_j)"),
            AttentionKind::Concat => ("Attention (additive)", "e_j = vᵀ tanh(W h + U H_j)"),
            AttentionKind::Dot => ("Attention (Luong, dot)", "e_j = hᵀ H_j"),
            AttentionKind::General => ("Attention (Luong, general)", "e_j = hᵀ W H_j"),
        };
        let one = DiagramBox::new("decoder.attention", title, DiagramKind::Attention)
            .detail(scores)
            .detail(format!("context = Σ softmax(e)_j H_j, {} columns", spec.d_memory));
        Some(counted(one, counts, &["decoder.attention"]))
    };
    let attends_first = spec.attention == AttentionKind::Additive;
    if attends_first {
        // It reads the state before; the embedding goes around it.
        boxes.extend(attention().map(DiagramBox::apart));
    }
    for number in 0..spec.n_layers {
        let path = format!("decoder.layers.{number}");
        let d_in = if number == 0 { spec.d_model + spec.d_fed() } else { d };
        let name = if number == 0 { "decoder.cells".to_owned() } else { path.clone() };
        let mut one = DiagramBox::new(name, format!("{cell} →"), DiagramKind::Recurrent)
            .detail(format!("{d_in} → {d}"));
        if number == 0 {
            one = match spec.input_feeding {
                InputFeeding::None => one,
                InputFeeding::Context => one.detail("reads [embedding; context before]"),
                InputFeeding::Output => one.detail("reads [embedding; output before]"),
            };
            if attends_first {
                one = one.detail("its gates read embedding and context").around(1);
            }
        }
        boxes.push(counted(one, counts, &[&path]).again(states(spec.cell)));
    }
    if !attends_first {
        boxes.extend(attention());
    }
    let attends_last = !attends_first && spec.attention != AttentionKind::None;
    let around = |one: DiagramBox| if attends_last { one.around(1) } else { one };
    let read = if spec.attention == AttentionKind::None { "h" } else { "[h; context]" };
    if spec.readout {
        let one =
            DiagramBox::new("decoder.readout", format!("t = tanh(W {read} + b)"), DiagramKind::FeedForward)
                .detail(format!("{} → {}", spec.d_read(), spec.d_model));
        boxes.push(around(counted(one, counts, &["decoder.readout"])));
    } else if spec.attention != AttentionKind::None {
        let detail = format!("{} columns", spec.d_read());
        let one = DiagramBox::new("decoder.joined", "[h; context], side by side", DiagramKind::FeedForward);
        boxes.push(around(one.detail(detail)));
    }
    boxes.into_iter().map(DiagramPart::Box).collect()
}

fn head(architecture: &Architecture, lacks_labels: bool, counts: &Counts<'_>) -> Vec<DiagramBox> {
    let len = if architecture.body.decoder().is_some() { "m" } else { "n" };
    let pooled = |pooling: Pooling, d: usize| {
        let title = match pooling {
            Pooling::Mean => "Mean of all positions",
            Pooling::First => "First position",
            Pooling::Last => "Last position",
        };
        DiagramBox::new("pooled", title, DiagramKind::Output).detail(format!("[{len}, {d}] → [{d}]"))
    };
    let labels = |rows: &str, layer: LabelLayer, d: usize, size: usize| {
        let one = DiagramBox::new("head", "Linear and softmax", DiagramKind::Output);
        let one = match layer {
            LabelLayer::None => one,
            LabelLayer::Tanh => one.detail("behind another layer with tanh"),
            LabelLayer::Relu => one.detail("behind another layer with ReLU"),
        };
        if lacks_labels {
            return one.detail(format!("{d} → one number for each label{rows}"));
        }
        counted(one.detail(format!("{d} → {size} labels{rows}")), counts, &["head"])
    };
    match &architecture.head {
        HeadSpec::Vocabulary(head) => {
            let one = DiagramBox::new("head", "Linear", DiagramKind::Output)
                .detail(format!("[{len}, {}] → [{len}, {}]", head.d_model, head.size));
            let one = if head.tied { one.detail("the same matrix as the embedding") } else { one };
            let softmax = DiagramBox::new("softmax", "Softmax", DiagramKind::Output)
                .detail("a probability for each token");
            vec![counted(one, counts, &["head"]), softmax]
        }
        HeadSpec::Positions(head) => vec![labels(" at each position", head.layer, head.d_in, head.size)],
        HeadSpec::Sequence { pooling, labels: head } => {
            vec![pooled(*pooling, head.d_in), labels("", head.layer, head.d_in, head.size)]
        }
        HeadSpec::Vector { pooling, d, .. } => vec![pooled(*pooling, *d)],
    }
}
