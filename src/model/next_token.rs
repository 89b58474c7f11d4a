//! The most likely tokens of each row of logits.

pub(crate) use attentive_kernels::top_k::largest;
use attentive_kernels::top_k::log_sum_exp;
use burn::tensor::Tensor;
use rayon::prelude::*;

use crate::batch::TokenId;

/// A predicted token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextToken {
    /// Its id.
    pub token: TokenId,
    /// Its natural log-probability; never above 0.
    pub log_prob: f64,
}

/// The `count` most likely tokens of each row, most likely first; ties go to the lower id.
///
/// `barred` tokens are left out without renormalising the probabilities of the others. NaN counts as impossible, so a row of
/// NaN has no next token.
///
/// # Shapes
/// - `logits`: `[rows, vocab]`
pub fn likeliest(logits: Tensor<2>, count: usize, barred: &[TokenId]) -> Vec<Vec<NextToken>> {
    let [_, vocab] = logits.dims();
    values(logits)
        .par_chunks(vocab)
        .map(|row| {
            let best = largest(row, count, barred);
            let total = log_sum_exp(row);
            best.into_iter()
                .map(|(logit, token)| NextToken {
                    token,
                    log_prob: (f64::from(logit) - total).min(0.0),
                })
                .collect()
        })
        .collect()
}

/// The values of `logits`, row after row.
pub(crate) fn values(logits: Tensor<2>) -> Vec<f32> {
    let data = logits.into_data().convert::<f32>();
    data.try_into_vec().expect("logits were made f32")
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{Device, TensorData};

    fn rows(values: &[f32], vocab: usize) -> Tensor<2> {
        let data = TensorData::new(values.to_vec(), [values.len() / vocab, vocab]);
        Tensor::from_data(data, &Device::flex())
    }

    #[test]
    fn log_probs_equal_a_softmax_in_f64() {
        let logits: Vec<f32> = (0..1000).map(|i| ((i * 37) % 1000) as f32 * 0.02).collect();
        let total: f64 = logits.iter().map(|&x| f64::from(x).exp()).sum::<f64>().ln();
        let best = &likeliest(rows(&logits, 1000), 1000, &[])[0];
        assert_eq!(best.len(), 1000);
        for (next, larger) in best.iter().skip(1).zip(best) {
            assert!(next.log_prob <= larger.log_prob);
        }
        for next in best {
            let exact = f64::from(logits[next.token as usize]) - total;
            assert!((next.log_prob - exact).abs() < 1e-6, "{next:?}: {exact}");
        }
    }

    #[test]
    fn equal_logits_are_taken_by_id_and_barred_ones_not_at_all() {
        let logits = [1.0, 3.0, 2.0, 3.0, 2.0, 3.0];
        let tokens = |count, barred: &[u32]| -> Vec<TokenId> {
            let best = &likeliest(rows(&logits, 6), count, barred)[0];
            best.iter().map(|next| next.token).collect()
        };
        assert_eq!(tokens(2, &[]), [1, 3]);
        assert_eq!(tokens(4, &[0, 3]), [1, 5, 2, 4]);
        assert_eq!(tokens(9, &[0, 1]), [3, 5, 2, 4]);
    }

    #[test]
    fn nan_is_impossible() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let best = likeliest(
            rows(
                &[
                    nan, 0.0, -inf, 0.0, nan, -nan, nan, -inf, 0.0, inf, nan, -inf,
                ],
                4,
            ),
            4,
            &[],
        );
        assert_eq!(best[0].iter().map(|n| n.token).collect::<Vec<_>>(), [1, 3]);
        assert!((best[0][0].log_prob + 2f64.ln()).abs() < 1e-7);
        assert_eq!(best[1], []);
        assert_eq!(best[2][0].token, 1);
        assert_eq!(best[2][0].log_prob, 0.0);
    }
}
