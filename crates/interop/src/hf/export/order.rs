//! Reorders the features between layers: all sines of the positions before all cosines.

use attentive_model::model::Parameter;

/// Returns a parameter for another order of the features between layers: first the even-numbered ones, then
/// the odd-numbered ones.
pub(super) fn halves_apart(parameter: &Parameter) -> Vec<f32> {
    let Parameter { name, shape, values } = parameter;
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let of_rows = ends(&["output.weight", "outer.weight"]);
    let of_columns = ends(&[
        "embedding.weight",
        "query.weight",
        "key.weight",
        "value.weight",
        "inner.weight",
        "head.weight",
    ]);
    let of_vector = ends(&["output.bias", "outer.bias", "norm.gain", "norm.bias"]);
    match shape[..] {
        [_] if of_vector => even_first(values).collect(),
        [_, columns] if of_columns => values.chunks_exact(columns).flat_map(even_first).collect(),
        [_, columns] if of_rows => {
            let rows: Vec<&[f32]> = values.chunks_exact(columns).collect();
            even_first(&rows).flatten().copied().collect()
        }
        _ => values.clone(),
    }
}

fn even_first<T: Copy>(values: &[T]) -> impl Iterator<Item = T> {
    let (even, odd) = (values.iter().step_by(2), values.iter().skip(1).step_by(2));
    even.chain(odd).copied()
}
