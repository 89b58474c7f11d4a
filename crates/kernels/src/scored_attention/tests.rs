use super::*;
use crate::reference::ScoredAttention;
use crate::testing::{assert_close, assert_same_on_all_pools, bits, random, wide};

/// A call with random inputs.
#[derive(Clone)]
struct Case {
    shape: ScoredAttentionShape,
    queries: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
    pad: Option<Vec<u8>>,
    v: Option<Vec<f32>>,
    grad: Vec<f32>,
}

/// Contexts, weights and gradients.
struct Results {
    contexts: Vec<f32>,
    weights: Vec<f32>,
    dqueries: Vec<f32>,
    dkeys: Vec<f32>,
    dvalues: Vec<f32>,
    dv: Vec<f32>,
}

impl Results {
    fn all(&self) -> [&[f32]; 6] {
        [
            &self.contexts,
            &self.weights,
            &self.dqueries,
            &self.dkeys,
            &self.dvalues,
            &self.dv,
        ]
    }
}

impl Case {
    fn new(additive: bool, rows: usize, src_len: usize, d_key: usize, d_value: usize) -> Self {
        let shape = ScoredAttentionShape {
            rows,
            src_len,
            d_key,
            d_value,
        };
        Self {
            shape,
            queries: random(rows * d_key, 1),
            keys: random(rows * src_len * d_key, 2),
            values: random(rows * src_len * d_value, 3),
            pad: None,
            v: additive.then(|| random(d_key, 4)),
            grad: random(rows * d_value, 5),
        }
    }

    /// Hides keys, and puts NaN there.
    fn pad(mut self, hidden: impl Fn(usize) -> bool) -> Self {
        let keys = self.shape.rows * self.shape.src_len;
        self.pad = Some((0..keys).map(|key| u8::from(hidden(key))).collect());
        let (d_key, d_value) = (self.shape.d_key, self.shape.d_value);
        for key in (0..keys).filter(|&key| hidden(key)) {
            self.keys[key * d_key..][..d_key].fill(f32::NAN);
            self.values[key * d_value..][..d_value].fill(f32::NAN);
        }
        self
    }

    fn run(&self) -> Results {
        let shape = self.shape;
        let score = match &self.v {
            Some(v) => Score::Additive { v },
            None => Score::Dot,
        };
        let inputs = ScoredAttentionInputs {
            queries: &self.queries,
            keys: &self.keys,
            values: &self.values,
            pad: self.pad.as_deref(),
            score,
        };
        let nan = |len: usize| vec![f32::NAN; len];
        let mut results = Results {
            contexts: nan(self.grad.len()),
            weights: nan(shape.rows * shape.src_len),
            dqueries: nan(self.queries.len()),
            dkeys: nan(self.keys.len()),
            dvalues: nan(self.values.len()),
            dv: self.v.as_ref().map_or(Vec::new(), |v| nan(v.len())),
        };
        let (weights, contexts) = (&mut results.weights, &mut results.contexts);
        scored_attention(shape, inputs, weights, contexts);
        let gradients = ScoredAttentionGradients {
            queries: &mut results.dqueries,
            keys: &mut results.dkeys,
            values: &mut results.dvalues,
            v: self.v.is_some().then_some(&mut results.dv),
        };
        scored_attention_backward(shape, inputs, weights, &self.grad, gradients);
        results
    }

    fn assert_matches_the_twin(&self) {
        let [queries, keys, values] = [&self.queries, &self.keys, &self.values].map(|x| wide(x));
        let v = self.v.as_ref().map(|v| wide(v));
        let twin = ScoredAttention {
            shape: self.shape,
            queries: &queries,
            keys: &keys,
            values: &values,
            pad: self.pad.as_deref(),
            v: v.as_deref(),
        };
        let [dq, dk, dvalues, mut dv] = twin.backward(&wide(&self.grad));
        dv.truncate(self.v.as_ref().map_or(0, Vec::len));
        let expected = [twin.forward(), twin.weights(), dq, dk, dvalues, dv];
        for (number, (found, expected)) in self.run().all().into_iter().zip(&expected).enumerate() {
            let what = format!("result {number} of {:?}", self.shape);
            assert_close(found, expected, 2e-5, &what);
        }
    }

    /// One row, with `extra` further keys of padding.
    fn alone(&self, row: usize, extra: usize) -> Self {
        let ScoredAttentionShape { src_len, .. } = self.shape;
        let take = |x: &[f32], more: usize| {
            let part = x.len() / self.shape.rows;
            let mut part = x[row * part..][..part].to_vec();
            part.resize(part.len() + more, f32::NAN);
            part
        };
        let mut pad = match &self.pad {
            Some(pad) => pad[row * src_len..][..src_len].to_vec(),
            None => vec![0; src_len],
        };
        pad.resize(src_len + extra, 1);
        Self {
            shape: ScoredAttentionShape {
                rows: 1,
                src_len: src_len + extra,
                ..self.shape
            },
            queries: take(&self.queries, 0),
            keys: take(&self.keys, extra * self.shape.d_key),
            values: take(&self.values, extra * self.shape.d_value),
            pad: Some(pad),
            grad: take(&self.grad, 0),
            v: self.v.clone(),
        }
    }
}

#[test]
fn forward_and_backward_match_the_twin() {
    let shapes = [
        (0, 3, 4, 5),
        (2, 0, 4, 5),
        (1, 1, 1, 1),
        (3, 5, 7, 1),
        (2, 17, 33, 9),
        (4, 3, 0, 2),
        (4, 3, 2, 0),
        (9, 40, 130, 70),
    ];
    for (rows, src_len, d_key, d_value) in shapes {
        for additive in [false, true] {
            let case = Case::new(additive, rows, src_len, d_key, d_value);
            case.assert_matches_the_twin();
            // Every third key, the end of the rows, and all of some.
            let padded =
                case.pad(|key| key % 3 == 1 || key % src_len > 11 || (key / src_len) % 4 == 2);
            padded.assert_matches_the_twin();
        }
    }
}

#[test]
fn a_query_that_sees_nothing_gives_zeros() {
    for additive in [false, true] {
        let case = Case::new(additive, 3, 4, 5, 6).pad(|key| key / 4 == 1);
        let results = case.run();
        for part in &results.all()[..5] {
            let row = part.len() / 3;
            assert!(part[row..2 * row].iter().all(|&x| x == 0.0));
            assert!(part[..row].iter().any(|&x| x != 0.0));
        }
        assert!(results.all().into_iter().flatten().all(|x| x.is_finite()));
    }
}

#[test]
fn a_row_depends_neither_on_its_batch_nor_on_padding() {
    for additive in [false, true] {
        let batch = Case::new(additive, 5, 21, 19, 13).pad(|key| key % 7 == 5);
        let all = batch.run();
        for row in 0..5 {
            for extra in [0, 1, 60] {
                let alone = batch.alone(row, extra).run();
                for (alone, all) in alone.all().into_iter().zip(all.all()).take(5) {
                    let len = all.len() / 5;
                    assert_eq!(bits(&alone[..len]), bits(&all[row * len..][..len]));
                    assert!(alone[len..].iter().all(|&x| x == 0.0));
                }
            }
            let [narrow, padded] = [0, 60].map(|extra| batch.alone(row, extra).run());
            assert_eq!(bits(&narrow.dv), bits(&padded.dv));
        }
    }
}

#[test]
fn weights_sum_to_one() {
    for additive in [false, true] {
        let mut case = Case::new(additive, 4, 30, 16, 3).pad(|key| key % 5 == 0);
        case.queries.iter_mut().for_each(|q| *q *= 100.0);
        for weights in case.run().weights.chunks(30) {
            assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }
}

#[test]
fn scores_of_any_size_stay_finite() {
    for additive in [false, true] {
        let mut case = Case::new(additive, 2, 5, 4, 3);
        case.queries.iter_mut().for_each(|q| *q *= 1e15);
        case.keys.iter_mut().for_each(|k| *k *= 1e15);
        if let Some(v) = &mut case.v {
            v.iter_mut().for_each(|v| *v *= 1e15);
        }
        assert!(
            case.run()
                .all()
                .into_iter()
                .flatten()
                .all(|x| x.is_finite())
        );
    }
}

#[test]
fn threads_change_nothing() {
    for additive in [false, true] {
        let case = Case::new(additive, 33, 40, 60, 70).pad(|key| key % 11 == 10);
        assert_same_on_all_pools(|| case.run().all().concat());
    }
}
