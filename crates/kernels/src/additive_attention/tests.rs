use attentive_base::lengths::Lengths;

use super::*;
use crate::reference::ReferenceAdditiveAttention;
use crate::testing::{assert_close, assert_same_on_all_pools, bits, random, wide};

/// Operands whose padding is NaN, and a gradient of the contexts.
struct Case {
    shape: AdditiveAttentionShape,
    lengths: Lengths,
    queries: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
    v: Vec<f32>,
    grad: Vec<f32>,
}

impl Case {
    fn new(lens: &[usize], [src_len, d_key, d_value]: [usize; 3]) -> Self {
        let rows = lens.len();
        let mut case = Self {
            shape: AdditiveAttentionShape { rows, src_len, d_key, d_value },
            lengths: Lengths::new(lens, src_len),
            queries: random(rows * d_key, 1),
            keys: random(rows * src_len * d_key, 2),
            values: random(rows * src_len * d_value, 3),
            v: random(d_key, 4),
            grad: random(rows * d_value, 5),
        };
        for (key, _) in case.lengths.mask().enumerate().filter(|&(_, is_padding)| is_padding) {
            case.keys[key * d_key..][..d_key].fill(f32::NAN);
            case.values[key * d_value..][..d_value].fill(f32::NAN);
        }
        case
    }

    fn inputs(&self) -> AdditiveAttentionInputs<'_, &[f32]> {
        AdditiveAttentionInputs {
            queries: &self.queries,
            keys: &self.keys,
            values: &self.values,
            lengths: Some(&self.lengths),
            v: &self.v,
        }
    }

    /// Contexts, weights, and the gradients of queries, keys, values and v.
    fn run(&self) -> [Vec<f32>; 6] {
        let AdditiveAttentionShape { rows, src_len, d_key, d_value } = self.shape;
        let room = |len| vec![f32::NAN; len];
        let (mut out, mut weights) = (room(rows * d_value), room(rows * src_len));
        additive_attention_of_each(self.shape, self.inputs(), &mut out, &mut weights);
        let mut gradients = AdditiveAttentionGradients {
            queries: room(rows * d_key),
            keys: room(rows * src_len * d_key),
            values: room(rows * src_len * d_value),
            v: room(d_key),
        };
        let AdditiveAttentionGradients { queries, keys, values, v } = &mut gradients;
        let targets = AdditiveAttentionGradients { queries, keys, values, v }.map(Vec::as_mut_slice);
        additive_attention_backward(self.shape, self.inputs(), &weights, &self.grad, targets);
        let AdditiveAttentionGradients { queries, keys, values, v } = gradients;
        [out, weights, queries, keys, values, v]
    }
}

#[test]
fn each_query_and_its_gradients_match_the_reference() {
    for (lens, sizes) in
        [(vec![3, 0, 5, 1], [5, 7, 4]), (vec![1], [1, 1, 1]), (vec![2, 2], [2, 33, 65]), (vec![], [3, 4, 5])]
    {
        let case = Case::new(&lens, sizes);
        let without_nan = |x: &[f32]| wide(x).iter().map(|x| if x.is_nan() { 0.0 } else { *x }).collect();
        let [keys, values]: [Vec<f64>; 2] = [&case.keys, &case.values].map(|x| without_nan(x));
        let reference = ReferenceAdditiveAttention {
            shape: case.shape,
            queries: &wide(&case.queries),
            keys: &keys,
            values: &values,
            lens: Some(&lens),
            v: &wide(&case.v),
        };
        let [queries, keys, values, v] = reference.backward(&wide(&case.grad));
        let expected = [reference.forward(), reference.weights(), queries, keys, values, v];
        for (name, (found, expected)) in
            ["out", "weights", "queries", "keys", "values", "v"].iter().zip(case.run().iter().zip(&expected))
        {
            assert_close(found, expected, 1e-5, name);
        }
    }
}

#[test]
fn the_thread_count_changes_nothing() {
    let lens: Vec<usize> = (0..64).map(|row| row % 33).collect();
    let case = Case::new(&lens, [33, 40, 48]);
    assert!(case.shape.is_large());
    assert_same_on_all_pools(|| case.run().concat());
}

#[test]
fn each_query_equals_a_query_alone() {
    let case = Case::new(&[4, 2], [4, 19, 5]);
    let [out, weights, ..] = case.run();
    for (row, &len) in case.lengths.lens().iter().enumerate() {
        let mut alone = [vec![0.0; len], vec![0.0; 5]];
        let [weights_alone, context] = &mut alone;
        let part = |x: &'_ [f32], width: usize| x[row * 4 * width..][..len * width].to_vec();
        let (keys, values) = (part(&case.keys, 19), part(&case.values, 5));
        additive_attention(&case.queries[row * 19..][..19], &keys, &values, &case.v, weights_alone, context);
        assert_eq!(bits(context), bits(&out[row * 5..][..5]));
        assert_eq!(bits(weights_alone), bits(&weights[row * 4..][..len]));
    }
}
