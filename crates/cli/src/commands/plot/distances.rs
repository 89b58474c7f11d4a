//! Relative positions: buckets of distances, and what each head adds to the scores of keys in them.

use attentive_architecture::{
    Architecture, DecoderSpec, EncoderSpec, RelativePositions, SelfMixing, TransformerSpec,
};
use attentive_kernels::attention::Causality;
use attentive_model::model::Parameter;
use attentive_plot::{Axis, LineChart, Panel, Series};

/// Distances on either side of a query that are drawn.
const FAR: usize = 160;

/// The charts of a stack.
pub(super) struct DistanceCharts {
    pub(super) heading: String,
    pub(super) panels: Vec<Panel>,
}

/// The charts of each stack of `architecture` whose self-attention has buckets of distances; with what heads
/// add if the `parameters` of a model are given.
pub(super) fn charts(architecture: &Architecture, parameters: Option<&[Parameter]>) -> Vec<DistanceCharts> {
    let encoder = match architecture.encoder() {
        Some(EncoderSpec::Transformer(stack)) => Some(("encoder", Causality::Full, stack)),
        _ => None,
    };
    let decoder = match architecture.decoder() {
        Some(DecoderSpec::Transformer(stack)) => Some(("decoder", Causality::Causal, stack)),
        _ => None,
    };
    let stacks = [encoder, decoder].into_iter().flatten();
    stacks.filter_map(|(name, causality, stack)| of_stack(name, causality, stack, parameters)).collect()
}

fn of_stack(
    name: &str,
    causality: Causality,
    stack: &TransformerSpec,
    parameters: Option<&[Parameter]>,
) -> Option<DistanceCharts> {
    let SelfMixing::Attention(attention) = &stack.mixing else {
        return None;
    };
    let RelativePositions::Buckets { n_buckets, .. } = attention.positions else {
        return None;
    };
    let farthest = match causality {
        Causality::Full => 2 * FAR,
        Causality::Causal => FAR,
    };
    // The query is at position `FAR`; each key has a distance and a bucket.
    let bucket = |key| Some((key as f64 - FAR as f64, attention.positions.bucket(causality, FAR, key)?));
    let buckets: Vec<(f64, usize)> = (0..=farthest).filter_map(bucket).collect();
    let points = buckets.iter().map(|&(distance, bucket)| (distance, bucket as f64)).collect();
    let chart = LineChart::new("Bucket of each distance", distances(), Axis::whole("bucket"));
    let mut panels: Vec<Panel> = vec![chart.series(Series::new("", 0, points)).into()];
    if let Some(parameters) = parameters {
        let table = format!("{name}.distance_bias.table");
        let table = parameters.iter().find(|parameter| parameter.name == table);
        let table = &table.expect("a stack with buckets has a table of them").values;
        let chart = LineChart::new("What each head adds to the score", distances(), Axis::linear("score"));
        let heads = (0..).zip(biases(attention.n_heads, &buckets, table));
        let add = |chart: LineChart, (head, points)| {
            chart.series(Series::new(format!("head {}", head + 1), head, points))
        };
        panels.push(heads.fold(chart, add).into());
    }
    Some(DistanceCharts { heading: format!("relative, {name}: {n_buckets} buckets of distances"), panels })
}

/// What each head adds to the score of a key at each distance; `table` is `[n_buckets, n_heads]`.
fn biases(n_heads: usize, buckets: &[(f64, usize)], table: &[f32]) -> Vec<Vec<(f64, f64)>> {
    let of_head = |head| {
        let bias = |&(distance, bucket): &(f64, usize)| (distance, f64::from(table[bucket * n_heads + head]));
        buckets.iter().map(bias).collect()
    };
    (0..n_heads).map(of_head).collect()
}

fn distances() -> Axis {
    Axis::whole("position of the key − position of the query")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_adds_what_its_column_of_the_table_says() {
        // Buckets 0 and 1, each with a number for heads 1 and 2.
        let table = [0.5, -1.0, 2.0, 4.0];
        let found = biases(2, &[(-1.0, 1), (0.0, 0)], &table);
        assert_eq!(found, [[(-1.0, 2.0), (0.0, 0.5)], [(-1.0, 4.0), (0.0, -1.0)]]);
    }
}
