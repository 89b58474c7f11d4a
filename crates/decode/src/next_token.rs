//! Tokens with their probabilities.

use attentive_base::batch::TokenId;
use attentive_kernels::threads::Threads;
pub use attentive_kernels::top_k::largest;
use attentive_kernels::top_k::log_sum_exp;

use super::Logits;

/// A predicted token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextToken {
    /// The id of the token.
    pub token: TokenId,
    /// The natural log-probability of the token; never above 0.
    pub log_prob: f64,
}

/// Returns the `count` most likely tokens of each row, most likely first; ties go to the lower id.
///
/// `barred` tokens are left out without renormalizing the probabilities of the others. NaN counts as
/// impossible, so a row of NaN has no next token.
pub fn likeliest(logits: impl Into<Logits>, count: usize, barred: &[TokenId]) -> Vec<Vec<NextToken>> {
    let logits = logits.into();
    let of_row = |row| likeliest_of(row, count, barred);
    Threads::current().map(logits.rows(), of_row)
}

/// [`likeliest`] of one row.
pub fn likeliest_of(row: &[f32], count: usize, barred: &[TokenId]) -> Vec<NextToken> {
    let total = log_sum_exp(row);
    let scored = |(logit, token)| NextToken::new(token, logit, total);
    largest(row, count, barred).into_iter().map(scored).collect()
}

/// The `tokens` with their probabilities in a row of logits, without impossible ones.
pub fn scored(row: &[f32], tokens: &[TokenId]) -> Vec<NextToken> {
    let Some(total) = total(row) else {
        return Vec::new();
    };
    let possible = tokens.iter().filter_map(|&token| {
        let logit = row[token as usize];
        (logit > f32::NEG_INFINITY).then(|| NextToken::new(token, logit, total))
    });
    possible.collect()
}

/// The logarithm of the sum of the exponentials of a row; `None` if all of its logits are NaN or −∞.
pub fn total(row: &[f32]) -> Option<f64> {
    Some(log_sum_exp(row)).filter(|&total| total > f64::NEG_INFINITY)
}

impl NextToken {
    /// Creates the token with this logit in a row whose exponentials sum to e^`total`.
    pub fn new(token: TokenId, logit: f32, total: f64) -> Self {
        Self { token, log_prob: (f64::from(logit) - total).min(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(values: &[f32], vocab: usize) -> Logits {
        Logits::new(values.to_vec(), vocab)
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
    fn the_probability_of_a_given_token_is_that_of_the_list() {
        let logits: Vec<f32> = (0..200).map(|i| ((i * 37) % 101) as f32 * 0.1).collect();
        for next in likeliest_of(&logits, 200, &[]) {
            assert_eq!(scored(&logits, &[next.token]), [next]);
        }
        let odd = [f32::NAN, f32::NEG_INFINITY, 1.0];
        assert_eq!(scored(&odd, &[0, 1, 2]).len(), 1);
        assert_eq!(scored(&[f32::NAN; 3], &[0]), []);
    }

    #[test]
    fn nan_is_impossible() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let best =
            likeliest(rows(&[nan, 0.0, -inf, 0.0, nan, -nan, nan, -inf, 0.0, inf, nan, -inf], 4), 4, &[]);
        assert_eq!(best[0].iter().map(|n| n.token).collect::<Vec<_>>(), [1, 3]);
        assert!((best[0][0].log_prob + 2f64.ln()).abs() < 1e-7);
        assert_eq!(best[1], []);
        assert_eq!(best[2][0].token, 1);
        assert_eq!(best[2][0].log_prob, 0.0);
    }
}
