//! `attentive plot bars`: a bar chart of numbers in a table.

use std::path::{Path, PathBuf};

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_plot::{Axis, BarChart, Figure};

use super::OutputArgs;
use crate::input::read_lines;

const EXAMPLES: &str = "\
Examples:
  attentive plot bars speed.tsv --label 'times as fast' --output speed.svg
  attentive plot bars training.tsv translation.tsv --decimals 1 --theme dark --output speed.svg

A table has tab-separated columns. Its first line holds the title of the chart and the names of the series, every other line \
the name of a group and a number for each series; an empty cell has no bar. Numbers that do not fit above their bar are left \
out:

  Training<TAB>Attentive<TAB>PyTorch
  small<TAB>1.42<TAB>1
  base<TAB>1.61<TAB>1";

/// Plot tables of numbers as bar charts, side by side.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Tables, one chart each; `-` is standard input.
    #[arg(value_name = "TABLE", required = true)]
    tables: Vec<PathBuf>,
    /// Label of the vertical axis.
    #[arg(long, value_name = "TEXT", default_value = "")]
    label: String,
    /// Small print above the charts.
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
    /// Number of decimals above the bars.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(..=9))]
    decimals: u8,
    /// Width of the picture in pixels.
    #[arg(long, value_name = "PIXELS", default_value_t = 960, value_parser = clap::value_parser!(u16).range(200..=8000))]
    width: u16,
    /// Height of the charts in pixels.
    #[arg(long, value_name = "PIXELS", default_value_t = 300, value_parser = clap::value_parser!(u16).range(100..=8000))]
    height: u16,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    args.output.check()?;
    let charts: Vec<BarChart> = (args.tables.iter()).map(|path| chart(path, args)).collect::<Result<_>>()?;
    let figure = Figure::new("").note(&args.note).width(args.width.into());
    let figure = figure.row("", args.height.into(), charts);
    args.output.write(figure, &args.tables)
}

/// The chart of a table.
fn chart(path: &Path, args: &Args) -> Result<BarChart> {
    let lines = read_lines(path)?;
    let mut lines = (1..).zip(&lines).filter(|(_, line)| !line.trim().is_empty());
    let wrong = |line: usize, problem: String| Error::Line { path: path.to_path_buf(), line, problem };
    let Some((first, head)) = lines.next() else {
        return Err(wrong(1, "expected a title and the names of series, found nothing".into()));
    };
    let (title, names) = row(head);
    if names.is_empty() {
        let problem = "expected the names of series after the title, separated by tabs, found none";
        return Err(wrong(first, problem.into()));
    }
    let mut groups = Vec::new();
    let mut values = vec![Vec::new(); names.len()];
    for (number, line) in lines {
        let (group, cells) = row(line);
        if cells.len() != names.len() {
            let (expected, found) = (count(names.len(), "number"), cells.len());
            let problem = format!("expected {expected} after the name, found {found}");
            return Err(wrong(number, problem));
        }
        for (column, cell) in values.iter_mut().zip(cells) {
            let value = match cell {
                "" => Some(f64::NAN),
                cell => cell.parse().ok().filter(|it| (0.0..f64::INFINITY).contains(it)),
            };
            let problem = || format!("expected a number of at least 0, found `{cell}`");
            column.push(value.ok_or_else(|| wrong(number, problem()))?);
        }
        groups.push(group.to_owned());
    }
    if groups.is_empty() {
        return Err(wrong(1, "expected a line for each group of bars, found none".into()));
    }
    let chart = BarChart::new(title, groups, Axis::linear(&args.label), args.decimals.into());
    let series = names.iter().zip(&values).enumerate();
    Ok(series.fold(chart, |chart, (number, (name, values))| chart.series(*name, number, values)))
}

/// The first cell of a line, and the others.
fn row(line: &str) -> (&str, Vec<&str>) {
    let mut cells = line.split('\t').map(str::trim);
    (cells.next().unwrap_or_default(), cells.collect())
}
