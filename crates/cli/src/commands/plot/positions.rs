//! `attentive plot positions`: position encodings.

use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_config::{ModelConfig, Positions, StackKind};
use attentive_model::nn::PositionTable;
use attentive_pipeline::Pipeline;
use attentive_plot::{Axis, Figure, HeatMap, HeatMapData, LineChart, Panel, Series};
use clap::ValueEnum;

use super::OutputArgs;
use super::distances::{self, DistanceCharts};
use crate::message::as_option;

const EXAMPLES: &str = "\
Examples:
  attentive plot positions --output positions.svg
  attentive plot positions --variant sinusoidal_interleaved,rotary --d-model 512 --n-heads 8 > positions.svg
  attentive plot positions runs/multi30k --position 20 --output learned.svg

For each variant: a heat map of the first positions, and the cosine similarity of one position to all others, followed by \
an enlarged view around it. Rotary positions add no vectors: the charts show the cosines and sines of the angles by which \
they rotate the features of a head, and the cosine between a query and a key that are equal before rotation. Relative \
positions have no vectors at all: the charts show the bucket of each distance and, of a model, what each head adds to the \
scores of keys at that distance.";

/// What to see in charts of vectors.
const NOTE: &str = "Look for a similarity that falls with the distance, and as fast from every position: it lets attention find \
                    neighbors. Learned positions have it only after training.";
/// What to see in charts of relative positions.
const NOTE_OF_DISTANCES: &str =
    "Look for buckets that tell close distances apart, and for heads that prefer some of them.";

/// Positions on either side of the reference position in the enlarged chart.
const AROUND: usize = 50;
/// Default reference position, unless there are too few positions.
const POSITION: usize = 1000;
/// Default number of positions, unless a model has learned fewer.
const LEN: usize = 2001;
/// Maximum size of a table, in numbers (256 MiB).
const MAX_NUMBERS: usize = 1 << 26;
/// Seed of untrained learned positions.
const SEED: u64 = 1;

/// Plot position encodings: their vectors, and the similarity between positions.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Plot the positions of this model, with their trained values if they are learned or relative.
    #[arg(value_name = "MODEL", conflicts_with_all = ["variant", "d_model", "n_heads"])]
    model: Option<PathBuf>,
    /// Variants to plot, separated by commas [default: all but
    /// `learned_relative`].
    #[arg(long, value_name = "VARIANT", value_delimiter = ',')]
    variant: Vec<Positions>,
    /// Model width (d_model).
    #[arg(long, value_name = "N", default_value_t = 128)]
    d_model: usize,
    /// Number of heads; rotary positions rotate each head separately.
    #[arg(long, value_name = "N", default_value_t = 2)]
    n_heads: usize,
    /// Number of positions to compare [default: 2001, or as many as the model has learned].
    #[arg(long, value_name = "N")]
    len: Option<usize>,
    /// Reference position for the similarities, counted from 0 [default: 1000, or the middle if there are
    /// fewer].
    #[arg(long, value_name = "N")]
    position: Option<usize>,
    /// Number of positions in the heat map, starting at 0; at most 4096.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=4096))]
    rows: u16,
    #[command(flatten)]
    output: OutputArgs,
}

/// What is drawn in a row of charts.
enum Subject {
    /// A table of positions and its heading.
    Vectors { heading: String, table: PositionTable },
    /// Relative positions.
    Distances(DistanceCharts),
}

impl Subject {
    fn table(&self) -> Option<&PositionTable> {
        match self {
            Self::Vectors { table, .. } => Some(table),
            Self::Distances(_) => None,
        }
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    args.output.check()?;
    let subjects = match &args.model {
        Some(dir) => of_model(dir, args.len)?,
        None => of_variants(args)?,
    };
    let len = subjects.iter().filter_map(Subject::table).map(PositionTable::len).min();
    let middle = len.map_or(0, |len| if POSITION < len { POSITION } else { len / 2 });
    if let (None, Some(position)) = (len, args.position) {
        return Err(Error::usage(
            format!("relative positions have no vectors, so there is no position {position} to compare"),
            "omit `--position`",
        ));
    }
    let position = args.position.unwrap_or(middle);
    if let Some(len) = len.filter(|&len| position >= len) {
        return Err(Error::usage(
            format!("there is no position {position} among {len}, counted from 0"),
            "lower `--position` or raise `--len`",
        ));
    }
    args.output.write(figure(&subjects, position, args.rows.into()), &args.model)
}

fn of_variants(args: &Args) -> Result<Vec<Subject>> {
    let is_drawn = |variant: &Positions| variant.are_vectors() || *variant == Positions::Relative;
    let all = || Positions::value_variants().iter().copied().filter(is_drawn);
    let variants = if args.variant.is_empty() { all().collect() } else { args.variant.clone() };
    let subjects = |positions| {
        let config = ModelConfig {
            positions,
            d_model: args.d_model,
            // Heads do not matter to positions that are added to the embeddings.
            n_heads: match positions {
                Positions::Rotary => args.n_heads,
                _ => 1,
            },
            ..ModelConfig::default()
        };
        untrained(&config, args.len.unwrap_or(LEN))
    };
    let all: Vec<Vec<Subject>> = variants.into_iter().map(subjects).collect::<Result<_>>()?;
    Ok(all.into_iter().flatten().collect())
}

/// The positions of the model in `dir`: the learned and relative ones, or those of its configuration.
fn of_model(dir: &Path, len: Option<usize>) -> Result<Vec<Subject>> {
    let pipeline = Pipeline::load(dir)?;
    let config = &pipeline.config().model;
    if !config.has(StackKind::Transformer) {
        return Err(Error::usage(
            format!("`{}` is recurrent: it has no position encoding", dir.display()),
            "name a Transformer, or omit MODEL to plot every variant",
        ));
    }
    if !config.positions.are_learned() && !config.positions.are_relative() {
        return untrained(config, len.unwrap_or(LEN));
    }
    let parameters = pipeline.model().copied();
    let distances = distances::charts(pipeline.architecture(), Some(&parameters));
    let mut subjects = Vec::new();
    if config.positions.are_learned() {
        let len = len.unwrap_or(config.max_len);
        check_len(len, config.d_model)?;
        if len > config.max_len {
            return Err(Error::usage(
                format!("`{}` has learned {} positions, not {len}", dir.display(), config.max_len),
                "lower `--len`",
            ));
        }
        let learned = parameters.into_iter().filter(|one| one.name.ends_with("positions.learned"));
        subjects.extend(learned.map(|parameter| {
            let width = config.d_model;
            let table = PositionTable::rows(parameter.values, width);
            Subject::Vectors {
                heading: format!("`{}`, {}", parameter.name, features(width)),
                table: PositionTable::rows(table.first(len).to_vec(), width),
            }
        }));
    }
    subjects.extend(distances.into_iter().map(Subject::Distances));
    Ok(subjects)
}

/// The untrained positions of `config`.
fn untrained(config: &ModelConfig, len: usize) -> Result<Vec<Subject>> {
    config.validate().map_err(as_option)?;
    check_len(len, config.d_model)?;
    // Position encodings do not depend on the vocabulary.
    let architecture = config.architecture(1, 1);
    let distances = distances::charts(&architecture, None).into_iter().map(Subject::Distances);
    let mut subjects: Vec<Subject> = distances.collect();
    let Some(table) = PositionTable::new(&architecture, len, config.init, SEED) else {
        if subjects.is_empty() {
            return Err(Error::usage(
                "there are no positions to plot: `model.positions` is `none`",
                "`attentive plot positions --help` lists the variants",
            ));
        }
        return Ok(subjects);
    };
    let name = config.positions.to_possible_value();
    let name = name.as_ref().map_or("", |name| name.get_name());
    let what = match config.positions {
        Positions::SinusoidalInterleaved => "sin, cos, sin, cos, … of t / 10000^(2i/d)",
        Positions::SinusoidalConcatenated => "all sin, then all cos of t / 10000^(2i/d)",
        Positions::SinusoidalTensor2tensor => "all sin, then all cos of t / 10000^(i/(d/2 − 1))",
        Positions::Learned | Positions::LearnedRelative => "at initialization",
        Positions::Rotary => "all cos, then all sin of t / 10000^(2i/d), of one head",
        _ => "",
    };
    let heading = format!("{name}: {what}; {}", features(table.width()));
    subjects.insert(0, Subject::Vectors { heading, table });
    Ok(subjects)
}

fn check_len(len: usize, d_model: usize) -> Result<()> {
    if len >= 2 && len.saturating_mul(d_model) <= MAX_NUMBERS {
        return Ok(());
    }
    Err(Error::usage(
        format!("cannot compare {len} positions with {d_model} features"),
        format!("`--len` must be from 2 to {} here", MAX_NUMBERS / d_model),
    ))
}

fn features(width: usize) -> String {
    format!("d = {width}")
}

fn figure(subjects: &[Subject], position: usize, rows: usize) -> Figure {
    let tables = subjects.iter().filter_map(Subject::table);
    let similarities = tables.flat_map(|table| table.cosine_similarity(position));
    // A common scale makes the charts comparable.
    let least = similarities.fold(0.0, f64::min);
    let has_tables = subjects.iter().any(|subject| subject.table().is_some());
    let note = if has_tables { NOTE } else { NOTE_OF_DISTANCES };
    let figure = Figure::new("Position encodings").note(note);
    subjects.iter().fold(figure, |figure, subject| match subject {
        Subject::Vectors { heading, table } => {
            let similarity = table.cosine_similarity(position);
            let panels: [Panel; 3] = [
                heat_map(table, rows).into(),
                similarity_chart(&similarity, position, least, Reach::All).into(),
                similarity_chart(&similarity, position, least, Reach::Around).into(),
            ];
            figure.row(&**heading, 230.0, panels)
        }
        Subject::Distances(charts) => figure.row(&*charts.heading, 230.0, charts.panels.clone()),
    })
}

fn heat_map(table: &PositionTable, rows: usize) -> HeatMap {
    let matrix = HeatMapData::new(table.first(rows).to_vec(), table.width());
    let title = format!("The first {} positions", rows.min(table.len()));
    HeatMap::new(title, Axis::whole("feature"), Axis::whole("position"), matrix)
}

/// Range of positions in a chart.
#[derive(Clone, Copy)]
enum Reach {
    All,
    Around,
}

fn similarity_chart(similarity: &[f64], position: usize, least: f64, reach: Reach) -> LineChart {
    let last = similarity.len() - 1;
    let around = (position.saturating_sub(AROUND), (position + AROUND).min(last));
    let (low, high) = match reach {
        Reach::All => (0, last),
        Reach::Around => around,
    };
    let points = (low..=high).map(|t| (t as f64, similarity[t])).collect();
    let y = Axis::linear("cosine similarity").limits(least * 1.05 - 0.02, 1.05);
    let title = match reach {
        Reach::All => format!("Similarity to position {position}"),
        Reach::Around => "The same, enlarged".to_owned(),
    };
    let chart = LineChart::new(title, Axis::whole("position"), y).series(Series::new("", 0, points));
    match reach {
        Reach::All => chart.band(around.0 as f64, around.1 as f64),
        Reach::Around => chart,
    }
}
